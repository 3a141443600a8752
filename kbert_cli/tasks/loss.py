"""The loss that tasks share."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from kbert_cli.batch import IGNORED


def summed_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """[]: cross entropy summed over all labels but ``IGNORED``; [..., l] and [...]."""
    return F.cross_entropy(
        logits.flatten(0, -2).float(), labels.flatten(), ignore_index=IGNORED, reduction="sum"
    )
