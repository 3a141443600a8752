"""What rows of batches are made of: encoded examples with their targets, in memory or on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from kbert_cli.corpus.example import Example
from kbert_cli.feature_table import FeatureTable
from kbert_cli.features import Features, Part
from kbert_cli.tasks.base import Task


@dataclass(frozen=True)
class Item:
    """An example, or a window of a long one, as the model takes it."""

    example: int
    """Index of the example among those encoded together."""
    part: Part
    targets: np.ndarray

    @property
    def features(self) -> Features:
        """Of the part."""
        return self.part.features


def make_item(task: Task, labels: Sequence[str], index: int, example: Example, part: Part) -> Item:
    """``part`` of example ``index`` with the targets that belong to it."""
    return Item(index, part, task.targets(example, part, labels))


class StoredItems(Sequence[Item]):
    """Items whose features lie on disk; one is made when it is asked for, and not kept."""

    def __init__(
        self, table: FeatureTable, examples: Sequence[Example], task: Task, labels: Sequence[str]
    ) -> None:
        self.table = table
        self._examples = examples
        self._task = task
        self._labels = labels

    def __len__(self) -> int:
        return len(self.table)

    @overload
    def __getitem__(self, index: int) -> Item: ...

    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...

    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        example, part = self.table[index]
        return make_item(self._task, self._labels, example, self._examples[example], part)
