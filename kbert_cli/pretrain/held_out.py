"""Text that is never trained on: what is asked of it, and the guess by frequency."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch

from kbert_cli.config import PretrainConfig
from kbert_cli.errors import KbertError
from kbert_cli.pretrain.batches import MaskingConfig, build_batch, plan_rows
from kbert_cli.pretrain.encoded import EncodedText

HELD_OUT_LIMIT = 2_000
"""Held-out sentences that are looked at."""
HELD_OUT_RATE = 0.15
"""Share of held-out tokens that are asked for: Devlin et al.'s, whatever training masks."""


def held_out_batches(
    text: EncodedText, held: np.ndarray, config: PretrainConfig, masking: MaskingConfig
) -> list[dict[str, torch.Tensor]]:
    """Masked once and for all, so that every look asks the same, and so do runs of other rates."""
    masking = dataclasses.replace(masking, rate=HELD_OUT_RATE)
    chance = np.random.default_rng([config.seed, 2])
    # Pairs need their neighbour, so what is looked at stays together there.
    chosen = held if config.nsp else chance.permutation(held)
    chosen = chosen[:HELD_OUT_LIMIT]
    units, borders = plan_rows(text, chosen, config.max_length, config.nsp, chance)
    rows = max(1, 4_096 // config.max_length)
    batches = [
        build_batch(text, units, borders[i : i + rows + 1], config.max_length, masking, chance)
        for i in range(0, len(borders) - 1, rows)
    ]
    asked = [batch for batch in batches if (batch["labels"] >= 0).any()]
    if not asked:
        raise KbertError(
            f"the text is too short: {len(text):,} sentences leave nothing to hold out",
            "Give some thousand sentences.",
        )
    return asked


def piece_counts(text: EncodedText, train: np.ndarray, vocabulary: int) -> np.ndarray:
    """[v] how often each piece occurs in the sentences ``train``."""
    kept = np.zeros(len(text), bool)
    kept[train] = True
    return np.bincount(text.tokens[np.repeat(kept, text.lengths)], minlength=vocabulary)
