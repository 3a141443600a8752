"""Which examples make a batch: alike lengths together, or several to a row. Numbers only."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_POOL = 100
"""Batches' worth of random examples that are sorted by length together."""


@dataclass(frozen=True)
class BatchSettings:
    """What an optimiser step takes, whatever number of processes share it."""

    sentences: int
    tokens: int | None = None
    """Tokens a step, padding included; instead of a number of sentences."""
    packed: bool = False
    """Whether short examples share rows; their order is random then, not by length."""
    row_length: int = 256
    """Tokens of a packed row, about."""


class BatchPlan:
    """All batches of a run, known before it starts, so that it can be gone on with at any step."""

    def __init__(
        self,
        lengths: np.ndarray,
        settings: BatchSettings,
        *,
        epochs: float,
        parts: int = 1,
        seed: int = 0,
    ) -> None:
        """Plan ``epochs`` passes over examples of ``lengths`` [m] tokens.

        The order of an epoch hangs on seed and epoch alone, and the batch of a step not on
        ``parts``: in how many micro-batches (processes times accumulated ones) a step is taken.
        """
        self.parts = parts
        self.epoch_ends: list[int] = []
        """Optimiser steps after which a pass is complete."""
        self._steps: list[np.ndarray] = []
        for epoch in range(math.ceil(epochs)):
            steps = _epoch(lengths, settings, np.random.default_rng([seed, epoch]))
            self._steps += steps[: math.ceil(len(steps) * min(1.0, epochs - epoch))]
            self.epoch_ends.append(len(self._steps))
        self._settings = settings
        self._lengths = lengths

    @property
    def steps(self) -> int:
        """Optimiser steps in all."""
        return len(self._steps)

    def __len__(self) -> int:
        """Micro-batches in all."""
        return len(self._steps) * self.parts

    def __getitem__(self, index: int) -> np.ndarray:
        """Micro-batch ``index``: the examples' indices; empty where a step has too few for all."""
        step, part = divmod(index, self.parts)
        # Neighbours are alike in length; contiguous parts stay so.
        return np.array_split(self._steps[step], self.parts)[part]

    def epoch_at(self, step: int) -> float:
        """Passes that are complete after ``step`` steps."""
        done = int(np.searchsorted(self.epoch_ends, step, "right"))
        if done == len(self.epoch_ends):
            return float(done)
        begin = self.epoch_ends[done - 1] if done else 0
        return done + (step - begin) / (self.epoch_ends[done] - begin)

    def padding_share(self) -> float:
        """Share of the tokens given to the model that are padding."""
        real = given = 0
        for index in range(len(self)):
            lengths = self._lengths[self[index]]
            if not len(lengths):
                continue
            rows = (
                pack(lengths, self._settings.row_length)
                if self._settings.packed
                else [[number] for number in range(len(lengths))]
            )
            real += int(lengths.sum())
            given += len(rows) * max(int(lengths[row].sum()) for row in rows)
        return 1 - real / given if given else 0.0


def _epoch(
    lengths: np.ndarray, settings: BatchSettings, chance: np.random.Generator
) -> list[np.ndarray]:
    order = chance.permutation(len(lengths))
    if settings.packed:
        return _cut(order, lengths, settings, padded=False)
    pool = _POOL * settings.sentences
    if settings.tokens is not None:
        pool = max(1, round(_POOL * settings.tokens / max(1.0, float(lengths.mean()))))
    batches: list[np.ndarray] = []
    for start in range(0, len(order), pool):
        drawn = order[start : start + pool]
        by_length = drawn[np.argsort(-lengths[drawn], kind="stable")]
        batches += _cut(by_length, lengths, settings, padded=True)
    return [batches[index] for index in chance.permutation(len(batches))]


def _cut(
    order: np.ndarray, lengths: np.ndarray, settings: BatchSettings, *, padded: bool
) -> list[np.ndarray]:
    """Cut a sequence of examples into batches; a single one may exceed the budget."""
    if settings.tokens is None:
        size = settings.sentences
        return [order[start : start + size] for start in range(0, len(order), size)]
    batches, start = [], 0
    longest = total = 0
    for index, length in enumerate(lengths[order].tolist()):
        longest = max(longest, length)
        total += length
        cost = (index - start + 1) * longest if padded else total
        if cost > settings.tokens and index > start:
            batches.append(order[start:index])
            start, longest, total = index, length, length
    return [*batches, order[start:]] if len(order) else batches


def pack(lengths: Sequence[int] | np.ndarray, row_length: int) -> list[list[int]]:
    """Spread examples over the fewest rows of about ``row_length`` tokens, evenly.

    The longest first, each into the emptiest row (Graham's LPT rule): rows come out nearly equal,
    so that little is padded, and may exceed ``row_length`` by part of an example.

    Returns:
        The rows as indices into ``lengths``.

    >>> pack([3, 9, 4, 2], 9)
    [[1], [2, 0, 3]]
    """
    count = max(1, -(-int(sum(lengths)) // max(row_length, *map(int, lengths), 1)))
    rows: list[list[int]] = [[] for _ in range(count)]
    fill = [(0, number) for number in range(count)]
    for index in sorted(range(len(lengths)), key=lambda one: (-int(lengths[one]), one)):
        used, number = heapq.heappop(fill)
        rows[number].append(index)
        heapq.heappush(fill, (used + int(lengths[index]), number))
    return [row for row in rows if row]
