"""The visible matrix, from two integers a token."""

from __future__ import annotations

from typing import Any

PADDING = -1
"""Branch id of padding: padding sees padding, and nothing else sees it."""


def visible_matrix(branch_ids: Any, mention_ids: Any) -> Any:
    """Which token may attend to which: M of K-BERT (Liu et al. 2020, eq. 3) as a boolean matrix.

    Two tokens see each other when they are in one branch (the trunk is one), or when one lies in
    the other's anchor: they share a mention and exactly one of them is on the trunk.

    Args:
        branch_ids: [..., n] integers, 0 on the trunk; a numpy array or a torch tensor.
        mention_ids: [..., n] integers, 0 for none.

    Returns:
        [..., n, n] booleans of the same kind and on the same device.

    >>> import numpy as np
    >>> visible_matrix(np.array([0, 0, 1, 0]), np.array([0, 1, 1, 0])).astype(int)
    array([[1, 1, 0, 1],
           [1, 1, 1, 1],
           [0, 1, 1, 0],
           [1, 1, 0, 1]])
    """
    same_branch = branch_ids[..., :, None] == branch_ids[..., None, :]
    same_mention = mention_ids[..., :, None] == mention_ids[..., None, :]
    on_trunk = branch_ids == 0
    # A token without a mention (0) that is off the trunk is padding: it anchors nothing.
    one_on_trunk = on_trunk[..., :, None] != on_trunk[..., None, :]
    has_mention = mention_ids > 0
    return same_branch | (same_mention & one_on_trunk & has_mention[..., :, None])
