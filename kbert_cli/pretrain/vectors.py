"""Word vectors by counting, as a start for an encoder's embeddings.

Neighbourhood counts turned into positive pointwise mutual information with a smoothed context
distribution, and factorised (Levy, Goldberg and Dagan 2015). Seconds of counting spare an encoder
the first million tokens, in which it learns nothing but frequencies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kbert_cli.pretrain.encoded import EncodedText

WINDOW = 5
"""Neighbours on either side that count, at 1/distance."""
SMOOTHING = 0.75
"""Exponent of the context distribution: without it rare contexts weigh too much."""
_CHUNK = 20_000_000
"""Tokens at a time, to bound memory."""


def count_vectors(
    text: EncodedText, chosen: np.ndarray, vocabulary: int, width: int, seed: int
) -> np.ndarray:
    """[v, d] float32 vectors of pieces, rows of length 1; zeros for pieces without neighbours.

    Args:
        chosen: sentences that are counted.
        vocabulary: v; each token id is below it.
        width: d. Where v leaves fewer factors than that, the last columns are zero.
    """
    from scipy import sparse
    from sklearn.utils.extmath import randomized_svd

    counts = _neighbours(text, chosen, vocabulary)
    vectors = np.zeros((vocabulary, width), np.float32)
    if not counts.nnz:
        return vectors
    total = np.asarray(counts.sum(axis=1)).ravel()
    context = total**SMOOTHING
    context /= context.sum()
    entries = counts.tocoo()
    information = np.log(entries.data / (total[entries.row] * context[entries.col]))
    positive = sparse.csr_matrix(
        (np.maximum(information, 0), (entries.row, entries.col)), shape=counts.shape
    )
    factors = min(width, vocabulary - 1)
    left, sizes, _ = randomized_svd(positive, factors, n_iter=4, random_state=seed)
    found = left * np.sqrt(sizes)
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    vectors[:, :factors] = found / np.maximum(lengths, 1e-9)
    return vectors


def _neighbours(text: EncodedText, chosen: np.ndarray, vocabulary: int) -> Any:
    """[v, v] sparse, symmetric: how often two pieces stand in one sentence within the window."""
    from scipy import sparse

    kept = np.zeros(len(text), bool)
    kept[chosen] = True
    counts = sparse.csr_matrix((vocabulary, vocabulary), dtype=np.float64)
    ends = np.cumsum(text.lengths, dtype=np.int64)
    first = 0
    while first < len(text):
        last = int(np.searchsorted(ends, text.starts[first] + _CHUNK, side="right"))
        last = max(last, first + 1)
        span = slice(int(text.starts[first]), int(ends[last - 1]))
        tokens = text.tokens[span].astype(np.int64)
        owners = np.repeat(
            np.where(kept[first:last], np.arange(last - first), -1), text.lengths[first:last]
        )
        for distance in range(1, WINDOW + 1):
            near = (owners[:-distance] == owners[distance:]) & (owners[distance:] >= 0)
            pairs, times = np.unique(
                (tokens[:-distance] * vocabulary + tokens[distance:])[near], return_counts=True
            )
            found = sparse.csr_matrix(
                (times / distance, (pairs // vocabulary, pairs % vocabulary)), shape=counts.shape
            )
            counts = counts + found + found.T
        first = last
    return counts
