"""What a task answers, and the records that go in and out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn

from kbert_cli.config import TrainingConfig
from kbert_cli.corpus.columns import ColumnNames
from kbert_cli.corpus.example import Example


@dataclass(frozen=True)
class Prediction:
    """What the model says of one example."""

    label: str | tuple[str, ...]
    """A class name; for NER one tag a character."""
    score: float | None = None
    """Probability of the label; in QA, of the positive label. None for NER."""


@dataclass(frozen=True)
class Scores:
    """Figures of one split."""

    primary: str
    """The figure by which epochs are compared."""
    figures: dict[str, float]
    counts: dict[str, int] = field(default_factory=dict)
    per_label: dict[str, dict[str, float]] = field(default_factory=dict)
    """For each class or entity type precision, recall, f1 and support."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        figures = {"primary": self.primary, **self.figures, **self.counts}
        return {**figures, "per_label": self.per_label}


class Task(Protocol):
    """What a task module answers."""

    name: str
    columns: ColumnNames
    token_level: bool
    """Whether every token gets a label; texts are then read in windows, and none is cut."""
    injects_predicate: bool
    """Whether branches hold the predicate unless the user says otherwise."""
    batch_size: int
    """Sentences an optimiser step unless the user says otherwise (the reference's settings)."""

    scratch_rate: float
    """Learning rate for an encoder from nothing: weights that start as noise have far to go."""

    small_rate: float
    """Learning rate for a small pre-trained encoder."""

    def label_list(self, examples: Sequence[Example]) -> list[str]:
        """All labels of the training examples, in the order of the logits."""
        ...

    def label_problem(self, example: Example, labels: Sequence[str]) -> str | None:
        """Why the model could not be held against this example's label, or None."""
        ...

    def targets(
        self,
        label: str | tuple[str, ...] | None,
        spans: np.ndarray,
        labels: Sequence[str],
    ) -> np.ndarray:
        """int64 targets: [] for a class, [n] for tags; any valid ones when ``label`` is None."""
        ...

    def build_head(self, width: int, labels: int, config: TrainingConfig) -> nn.Module:
        """From hidden states [b, n, d], branch ids [b, n] and, where examples are packed, example
        ids [b, n] and first tokens [e] (``batch.collate_packed``) to logits [b, l] ([e, l]) or
        [b, n, l].
        """
        ...

    def summarize(
        self, logits: torch.Tensor, targets: torch.Tensor, labels: Sequence[str]
    ) -> torch.Tensor:
        """What is kept of a batch's logits: probabilities [b, l], or tag ids [b, n]."""
        ...

    def decode(
        self, summary: np.ndarray, spans: np.ndarray, length: int, labels: Sequence[str]
    ) -> Prediction:
        """One example's (or window's) summary as a prediction over ``length`` characters."""
        ...

    def score(
        self,
        examples: Sequence[Example],
        predictions: Sequence[Prediction],
        labels: Sequence[str],
    ) -> Scores:
        """Hold predictions against labels."""
        ...

    def units(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> np.ndarray:
        """[u, 2] float64: the primary figure is the sum of the first column over the second's.

        A unit is an example, or a question with its answers: what is drawn at random when two runs
        are compared.
        """
        ...
