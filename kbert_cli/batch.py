"""From features to tensors; the visible matrix is built here, on the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np
import torch

from kbert_cli.features import Features
from kbert_cli.tree.visibility import PADDING, visible_matrix

IGNORED = -100
"""Target of a token without label, as torch's cross entropy has it."""


class TreeIds(NamedTuple):
    """What a head must know of the tokens; all [b, n] int64 but the last."""

    branch_ids: torch.Tensor
    segment_ids: torch.Tensor
    example_ids: torch.Tensor | None = None
    """In packed rows, see ``collate_packed``."""
    first_tokens: torch.Tensor | None = None
    """[e]"""


def collate(
    features: Sequence[Features],
    targets: Sequence[np.ndarray],
    *,
    pad_token_id: int,
    multiple: int = 1,
    per_token: bool = False,
) -> dict[str, torch.Tensor]:
    """Stack b examples, padded to the longest (n, rounded up to ``multiple``).

    Args:
        targets: one array an example: a class id of shape [], ids of any one shape, or, with
            ``per_token``, ids of shape [n] (``IGNORED`` where there is no label).

    Returns:
        ``input_ids``, ``segment_ids``, ``position_ids``, ``branch_ids`` and ``mention_ids``, all
        [b, n] int64, and ``labels`` [b, …] or [b, n] int64. Padding has branch id -1.
    """
    longest = max(map(len, features))
    width = -(-longest // multiple) * multiple
    columns = {
        "input_ids": ([item.token_ids for item in features], pad_token_id),
        "segment_ids": ([item.segment_ids for item in features], 0),
        "position_ids": ([item.positions for item in features], 0),
        "branch_ids": ([item.branch_ids for item in features], PADDING),
        "mention_ids": ([item.mention_ids for item in features], 0),
    }
    batch = {name: _stack(rows, width, fill) for name, (rows, fill) in columns.items()}
    if per_token:
        batch["labels"] = _stack(targets, width, IGNORED)
    else:
        batch["labels"] = torch.from_numpy(np.stack(targets).astype(np.int64))
    return batch


def collate_packed(
    features: Sequence[Features],
    targets: Sequence[np.ndarray],
    rows: Sequence[Sequence[int]],
    *,
    pad_token_id: int,
    multiple: int = 1,
) -> dict[str, torch.Tensor]:
    """Stack e examples, several to a row; neighbours never see each other.

    Args:
        rows: b rows as indices of the examples in them, each example once.

    Returns:
        What ``collate`` gives ([b, n], ``labels`` [e] or [b, n]), ``example_ids`` [b, n] int64
        (-1 on padding) and ``first_tokens`` [e] int64, where each example begins in [b * n].
    """
    per_token = targets[0].ndim > 0
    joined = [_joined([features[index] for index in row]) for row in rows]
    batch = collate(
        joined,
        [np.concatenate([np.atleast_1d(targets[index]) for index in row]) for row in rows],
        pad_token_id=pad_token_id,
        multiple=multiple,
        per_token=True,
    )
    width = batch["input_ids"].shape[1]
    ids = [np.repeat(row, [len(features[index]) for index in row]) for row in rows]
    batch["example_ids"] = _stack(ids, width, PADDING)
    first = np.empty(len(features), np.int64)
    for number, row in enumerate(rows):
        lengths = np.array([len(features[index]) for index in row])
        first[list(row)] = number * width + np.cumsum(lengths) - lengths
    batch["first_tokens"] = torch.from_numpy(first)
    if not per_token:
        batch["labels"] = torch.from_numpy(np.stack(targets).astype(np.int64))
    return batch


def _joined(features: Sequence[Features]) -> Features:
    """Trees one behind the other; ids and positions stay each tree's own."""
    names = [field.name for field in fields(Features)]
    values: dict[str, Any] = {name: [getattr(one, name) for one in features] for name in names}
    for name, found in values.items():
        values[name] = np.concatenate(found) if isinstance(found[0], np.ndarray) else sum(found)
    return Features(**values)


def _stack(rows: Sequence[np.ndarray], width: int, fill: int) -> torch.Tensor:
    stacked = np.full((len(rows), width), fill, np.int64)
    for index, row in enumerate(rows):
        stacked[index, : len(row)] = row
    return torch.from_numpy(stacked)


def additive_mask(
    branch_ids: torch.Tensor,
    mention_ids: torch.Tensor,
    dtype: torch.dtype,
    *,
    tree: bool = True,
    example_ids: torch.Tensor | None = None,
) -> torch.Tensor:
    """The mask that Hugging Face encoders take: 0 where visible, the lowest number elsewhere.

    A boolean or integer 4-D mask would be *added* under eager attention and leak silently.

    Args:
        branch_ids: [b, n], -1 on padding.
        mention_ids: [b, n].
        dtype: that of the attention scores; its own minimum is used, because a wider type's would
            become -inf there.
        tree: False hides padding only (no visible matrix).
        example_ids: [b, n], in packed rows: no example sees another.

    Returns:
        [b, 1, n, n] of ``dtype``.
    """
    visible = _visible(branch_ids, mention_ids, tree=tree, example_ids=example_ids)
    mask = torch.zeros(visible.shape, dtype=dtype, device=visible.device)
    return mask.masked_fill_(~visible, torch.finfo(dtype).min)[:, None]


def block_mask(
    branch_ids: torch.Tensor,
    mention_ids: torch.Tensor,
    *,
    tree: bool = True,
    example_ids: torch.Tensor | None = None,
) -> Any:
    """The same for flex attention, which skips blocks of tokens that see nothing of each other.

    Returns:
        A ``torch.nn.attention.flex_attention.BlockMask``.
    """
    from torch.nn.attention.flex_attention import create_block_mask

    rows, width = branch_ids.shape
    visible = _visible(branch_ids, mention_ids, tree=tree, example_ids=example_ids)
    return create_block_mask(
        lambda row, _head, query, key: visible[row, query, key],
        rows,
        None,
        width,
        width,
        device=str(visible.device),
    )


def _visible(
    branch_ids: torch.Tensor,
    mention_ids: torch.Tensor,
    *,
    tree: bool,
    example_ids: torch.Tensor | None,
) -> torch.Tensor:
    """[b, n, n] bool."""
    if tree:
        visible: torch.Tensor = visible_matrix(branch_ids, mention_ids)
    else:
        padding = branch_ids == PADDING
        visible = padding[..., :, None] == padding[..., None, :]
    if example_ids is not None:
        visible = visible & (example_ids[..., :, None] == example_ids[..., None, :])
    return visible
