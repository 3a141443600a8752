"""Packing: short sentences side by side in full rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kbert_cli.pretrain.encoded import EncodedText


@dataclass(frozen=True)
class Units:
    """What is put into rows: u sentences, parts of long ones, or pairs of sentences."""

    starts: np.ndarray
    """[u, 2] int64, first token of each text; the second is unused without pairs"""
    lengths: np.ndarray
    """[u, 2] int64, its tokens; 0 for no second text"""
    follows: np.ndarray
    """[u] int64: 1 where the second text follows the first, else 0"""

    @property
    def sizes(self) -> np.ndarray:
        """[u] tokens in a row, [CLS] and each [SEP] included."""
        sizes: np.ndarray = self.lengths.sum(1) + 2 + (self.lengths[:, 1] > 0)
        return sizes


def sentence_units(text: EncodedText, chosen: np.ndarray, room: int) -> Units:
    """Each chosen sentence, long ones in parts of at most ``room`` - 2 tokens."""
    limit = room - 2
    lengths = text.lengths[chosen].astype(np.int64)
    parts = np.maximum(-(-lengths // limit), 0)
    owner = np.repeat(np.arange(len(chosen)), parts)
    number = np.arange(len(owner)) - np.repeat(np.cumsum(parts) - parts, parts)
    starts = text.starts[chosen][owner] + number * limit
    sizes = np.minimum(lengths[owner] - number * limit, limit)
    zeros = np.zeros_like(sizes)
    return Units(np.stack([starts, zeros], 1), np.stack([sizes, zeros], 1), zeros)


def pair_units(
    text: EncodedText, chosen: np.ndarray, room: int, chance: np.random.Generator
) -> Units:
    """Sentence pairs for the next-sentence objective: half follow each other, half are random.

    The longer text of a pair that does not fit loses its end.
    """
    # Neighbours across the border between training and held-out text are no pair.
    first = chosen[np.isin(chosen + 1, chosen)]
    first = first[~text.last[first] & (text.lengths[first] > 0) & (text.lengths[first + 1] > 0)]
    follows = chance.integers(0, 2, len(first))
    second = np.where(follows == 1, first + 1, chance.choice(first, len(first)))
    lengths = np.stack([text.lengths[first], text.lengths[second]], 1).astype(np.int64)
    limit = room - 3
    half = limit // 2
    shorter = np.minimum(lengths.min(1), half)
    fitted = np.minimum(lengths, np.maximum(limit - shorter, half)[:, None])
    return Units(np.stack([text.starts[first], text.starts[second]], 1), fitted, follows)


def pack(sizes: np.ndarray, room: int) -> np.ndarray:
    """[r + 1] borders of rows: units border[i] … border[i + 1] - 1 in order fill row i.

    >>> pack(np.array([5, 4, 3, 9, 1]), 10)
    array([0, 2, 3, 5])
    """
    ends = np.cumsum(sizes)
    borders = [0]
    while borders[-1] < len(sizes):
        before = ends[borders[-1] - 1] if borders[-1] else 0
        following = int(np.searchsorted(ends, before + room, side="right"))
        borders.append(max(following, borders[-1] + 1))
    return np.array(borders)
