"""Ways to inject knowledge. One file each; a method answers three questions and nothing else."""

from __future__ import annotations

import importlib
from typing import Protocol, cast

from torch import nn

from kbert_cli.config import InjectionConfig
from kbert_cli.encoders import Encoder
from kbert_cli.registry import METHODS


class Method(Protocol):
    """What a method module answers."""

    injects_branches: bool
    """Whether triples become branches of the tree."""
    needs_entity_ids: bool
    """Whether mentions must be linked to rows of an entity table."""

    def build(self, encoder: Encoder, injection: InjectionConfig) -> nn.Module:
        """Wrap an encoder: a module from ``batch.collate`` tensors to hidden states [b, n, d]."""
        ...


def load_method(name: str) -> Method:
    """The method of that name."""
    return cast(Method, importlib.import_module(METHODS[name]))
