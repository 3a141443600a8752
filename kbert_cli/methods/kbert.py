"""K-BERT: branches in the tree, soft positions, a visible matrix; no weights of its own.

Liu et al., "K-BERT: Enabling Language Representation with Knowledge Graph", AAAI 2020;
reference code: github.com/autoliuweijie/K-BERT.
"""

from __future__ import annotations

from torch import nn

from kbert_cli.config import InjectionConfig
from kbert_cli.encoders import Encoder
from kbert_cli.methods.tree_encoder import TreeEncoder

injects_branches = True
needs_entity_ids = False


def build(encoder: Encoder, injection: InjectionConfig) -> nn.Module:
    """The encoder, whose tokens see along the tree only."""
    return TreeEncoder(encoder, visible_matrix=injection.visible_matrix)
