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
from kbert_cli.features import Part


@dataclass(frozen=True)
class Prediction:
    """What the model says of one example."""

    label: str | tuple[str, ...]
    """A class name; for NER one tag a character."""
    score: float | None = None
    """Probability of the label; in QA, of the positive label. None for NER."""
    span: tuple[int, int] | None = None
    """In reading, the characters of the context that are the answer; the label is empty then."""


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
    """Whether targets are one a token."""
    windowing: str
    """How a text beyond the length limit is read, see ``Featurizer.parts``."""
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

    def targets(self, example: Example, part: Part, labels: Sequence[str]) -> np.ndarray:
        """int64 targets of a part: [] for a class, [n] for tags, [2] for the ends of an answer.

        Any valid ones when the example has no label.
        """
        ...

    def loss(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """[]: the loss of a batch, summed over its labels but ``batch.IGNORED`` ones."""
        ...

    def build_head(self, width: int, labels: int, config: TrainingConfig) -> nn.Module:
        """From hidden states [b, n, d] and ``batch.TreeIds`` to logits: [b, l] ([e, l] where e
        examples are packed) or [b, n, l].
        """
        ...

    def summarize(
        self, logits: torch.Tensor, targets: torch.Tensor, labels: Sequence[str]
    ) -> torch.Tensor:
        """What is kept of a batch's logits: probabilities [b, l], or tag ids [b, n]."""
        ...

    def decode(self, summary: np.ndarray, part: Part, labels: Sequence[str]) -> Prediction:
        """The summary of a part as a prediction for it."""
        ...

    def join(self, first: Prediction, other: Prediction) -> Prediction:
        """One prediction from those of two windows, the second behind the first."""
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
