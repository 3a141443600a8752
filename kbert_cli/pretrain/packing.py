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

    def take(self, order: np.ndarray) -> Units:
        """The units in another order."""
        return Units(self.starts[order], self.lengths[order], self.follows[order])


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


POOL = 65_536
"""Units that are looked at together when rows are filled."""


def pack(sizes: np.ndarray, room: int) -> list[list[int]]:
    """Rows as lists of units: each begins with the largest left and takes what fits best.

    >>> pack(np.array([5, 4, 3, 9, 1]), 10)
    [[3, 4], [0, 1], [2]]
    """
    rows = []
    for first in range(0, len(sizes), POOL):
        rows += _pack_pool(sizes[first : first + POOL].tolist(), first, room)
    return rows


def _pack_pool(sizes: list[int], first: int, room: int) -> list[list[int]]:
    waiting: list[list[int]] = [[] for _ in range(room + 1)]
    for unit in range(len(sizes) - 1, -1, -1):
        waiting[sizes[unit]].append(first + unit)
    # Bit s is set where a unit of size s waits: the largest that fits is one look away.
    present = sum(1 << size for size, units in enumerate(waiting) if units)
    rows = []
    while present:
        row: list[int] = []
        left = room
        while fitting := present & ((2 << left) - 1):
            size = fitting.bit_length() - 1
            row.append(waiting[size].pop())
            left -= size
            if not waiting[size]:
                present ^= 1 << size
        rows.append(row)
    return rows
