"""A check before training: does this encoder really obey the mask and the positions?"""

from __future__ import annotations

import torch
from torch import nn

from kbert_cli.errors import KbertError
from kbert_cli.tree.visibility import PADDING

TOLERANCE = 1e-4


@torch.no_grad()
def check_encoder(encoder: nn.Module, vocabulary_size: int, *, tree: bool) -> None:
    """Refuse an encoder that leaks: one tiny batch, a few milliseconds.

    A row holds a trunk of six tokens, two tokens that nothing on the trunk may see, and two of
    padding. Other ids for those four must leave the trunk's states alone; other positions for the
    trunk must not.

    Args:
        encoder: what ``Method.build`` gives.
        tree: whether the visible matrix is in use; without it only padding is hidden.

    Raises:
        KbertError: the states show a leak, or positions have no effect.
    """
    training = encoder.training
    encoder.eval()
    device = next(encoder.parameters()).device
    try:
        _check(encoder, vocabulary_size, tree, device)
    finally:
        encoder.train(training)


def _check(encoder: nn.Module, vocabulary_size: int, tree: bool, device: torch.device) -> None:
    ids = torch.arange(10, device=device)[None] % (vocabulary_size // 2)
    other = ids + vocabulary_size // 2
    zeros = torch.zeros_like(ids)
    positions = ids * 0 + torch.arange(10, device=device)
    branches = torch.tensor([[0] * 6 + [1] * 2 + [PADDING] * 2], device=device)
    hidden = branches != 0 if tree else branches == PADDING

    def trunk(token_ids: torch.Tensor, position_ids: torch.Tensor) -> torch.Tensor:
        states: torch.Tensor = encoder(token_ids, zeros, position_ids, branches, zeros)
        return states[0, :6].float()

    before = trunk(ids, positions)
    scale = before.abs().mean().item()
    if not (trunk(torch.where(hidden, other, ids), positions) - before).abs().max() < (
        TOLERANCE * scale
    ):
        raise KbertError(
            "this encoder lets tokens see what the mask hides; training on it would be worthless",
            "Try --attention eager, or another encoder. Please report the model and versions.",
        )
    if (trunk(ids, positions.flip(1)) - before).abs().max() < TOLERANCE * scale:
        raise KbertError(
            "this encoder ignores position ids, so soft positions would do nothing",
            "Use another encoder.",
        )
