"""The model of a task: an encoder in a method's wrapping, and a head."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from kbert_cli.batch import IGNORED


class TaskModel(nn.Module):
    """Encoder and head; returns a loss when there are labels."""

    def __init__(self, encoder: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    def forward(
        self,
        input_ids: torch.Tensor,
        segment_ids: torch.Tensor,
        position_ids: torch.Tensor,
        branch_ids: torch.Tensor,
        mention_ids: torch.Tensor,
        labels: torch.Tensor | None = None,
    ) -> dict[str, torch.Tensor]:
        """``logits`` [b, l] or [b, n, l]; given ``labels`` [b] or [b, n], the mean ``loss`` too."""
        states = self.encoder(input_ids, segment_ids, position_ids, branch_ids, mention_ids)
        logits = self.head(states, branch_ids)
        if labels is None:
            return {"logits": logits}
        flat = logits.flatten(0, -2).float()
        loss = F.cross_entropy(flat, labels.flatten(), ignore_index=IGNORED)
        return {"loss": loss, "logits": logits}
