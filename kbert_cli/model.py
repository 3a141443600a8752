"""The model of a task: an encoder in a method's wrapping, and a head."""

from __future__ import annotations

import torch
from torch import nn

from kbert_cli.batch import TreeIds


class TaskModel(nn.Module):
    """Encoder and head."""

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
        example_ids: torch.Tensor | None = None,
        first_tokens: torch.Tensor | None = None,
    ) -> dict[str, torch.Tensor]:
        """``logits``, as the head gives them: [b, n, l], or [b, l]; [e, l] where examples are
        packed.
        """
        states = self.encoder(
            input_ids, segment_ids, position_ids, branch_ids, mention_ids, example_ids
        )
        ids = TreeIds(branch_ids, segment_ids, example_ids, first_tokens)
        return {"logits": self.head(states, ids)}
