"""A Hugging Face encoder that is given a mask and positions of its own."""

from __future__ import annotations

import inspect
from typing import Any

import torch
from torch import nn

from kbert_cli.batch import additive_mask, block_mask
from kbert_cli.encoders import Encoder, is_flex


class TreeEncoder(nn.Module):
    """Runs an encoder over trees; adds no weights."""

    def __init__(self, encoder: Encoder, *, visible_matrix: bool) -> None:
        super().__init__()
        self.encoder = encoder.model
        self._offset = encoder.position_offset
        self._visible_matrix = visible_matrix
        accepted = inspect.signature(encoder.model.forward).parameters
        config: Any = encoder.model.config
        self._takes_segments = (
            "token_type_ids" in accepted and getattr(config, "type_vocab_size", 0) > 1
        )

    def forward(
        self,
        input_ids: torch.Tensor,
        segment_ids: torch.Tensor,
        position_ids: torch.Tensor,
        branch_ids: torch.Tensor,
        mention_ids: torch.Tensor,
        example_ids: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Hidden states [b, n, d] of ``batch.collate``'s tensors, all [b, n]."""
        options = {"token_type_ids": segment_ids} if self._takes_segments else {}
        tree = self._visible_matrix
        mask = (
            block_mask(branch_ids, mention_ids, tree=tree, example_ids=example_ids)
            if is_flex(self.encoder)
            else additive_mask(
                branch_ids,
                mention_ids,
                self._score_dtype(input_ids),
                tree=tree,
                example_ids=example_ids,
            )
        )
        output = self.encoder(
            input_ids=input_ids,
            attention_mask=mask,
            position_ids=position_ids + self._offset,
            **options,
        )
        states: torch.Tensor = output.last_hidden_state
        return states

    def _score_dtype(self, input_ids: torch.Tensor) -> torch.dtype:
        """The type of the attention scores: autocast's where it is on, else the weights'."""
        device = input_ids.device.type
        if torch.is_autocast_enabled(device):
            return torch.get_autocast_dtype(device)
        dtype: torch.dtype = next(self.encoder.parameters()).dtype
        return dtype
