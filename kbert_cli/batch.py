"""From features to tensors; the visible matrix is built here, on the device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from kbert_cli.features import Features
from kbert_cli.tree.visibility import PADDING, visible_matrix

IGNORED = -100
"""Target of a token without label, as torch's cross entropy has it."""


def collate(
    features: Sequence[Features],
    targets: Sequence[np.ndarray],
    *,
    pad_token_id: int,
    multiple: int = 1,
) -> dict[str, torch.Tensor]:
    """Stack b examples, padded to the longest (n, rounded up to ``multiple``).

    Args:
        targets: one array an example: a class id of shape [] or ids of shape [n] (``IGNORED`` where
            there is no label).

    Returns:
        ``input_ids``, ``segment_ids``, ``position_ids``, ``branch_ids`` and ``mention_ids``, all
        [b, n] int64, and ``labels`` [b] or [b, n] int64. Padding has branch id -1.
    """
    longest = max(map(len, features))
    width = -(-longest // multiple) * multiple
    fields = {
        "input_ids": ([item.token_ids for item in features], pad_token_id),
        "segment_ids": ([item.segment_ids for item in features], 0),
        "position_ids": ([item.positions for item in features], 0),
        "branch_ids": ([item.branch_ids for item in features], PADDING),
        "mention_ids": ([item.mention_ids for item in features], 0),
    }
    batch = {name: _stack(rows, width, fill) for name, (rows, fill) in fields.items()}
    if targets[0].ndim:
        batch["labels"] = _stack(targets, width, IGNORED)
    else:
        batch["labels"] = torch.from_numpy(np.stack(targets).astype(np.int64))
    return batch


def _stack(rows: Sequence[np.ndarray], width: int, fill: int) -> torch.Tensor:
    stacked = np.full((len(rows), width), fill, np.int64)
    for index, row in enumerate(rows):
        stacked[index, : len(row)] = row
    return torch.from_numpy(stacked)


def additive_mask(
    branch_ids: torch.Tensor, mention_ids: torch.Tensor, dtype: torch.dtype, *, tree: bool = True
) -> torch.Tensor:
    """The mask that Hugging Face encoders take: 0 where visible, the lowest number elsewhere.

    A boolean or integer 4-D mask would be *added* under eager attention and leak silently.

    Args:
        branch_ids: [b, n], -1 on padding.
        mention_ids: [b, n].
        dtype: that of the attention scores; its own minimum is used, because a wider type's would
            become -inf there.
        tree: False hides padding only (no visible matrix).

    Returns:
        [b, 1, n, n] of ``dtype``.
    """
    if tree:
        visible = visible_matrix(branch_ids, mention_ids)
    else:
        padding = branch_ids == PADDING
        visible = padding[..., :, None] == padding[..., None, :]
    mask = torch.zeros(visible.shape, dtype=dtype, device=visible.device)
    return mask.masked_fill_(~visible, torch.finfo(dtype).min)[:, None]
