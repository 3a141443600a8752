"""No injection: the plain encoder, the baseline of every comparison."""

from __future__ import annotations

from torch import nn

from kbert_cli.config import InjectionConfig
from kbert_cli.encoders import Encoder
from kbert_cli.methods.tree_encoder import TreeEncoder

injects_branches = False
needs_entity_ids = False


def build(encoder: Encoder, injection: InjectionConfig) -> nn.Module:
    """The encoder; only padding is hidden."""
    return TreeEncoder(encoder, visible_matrix=False)
