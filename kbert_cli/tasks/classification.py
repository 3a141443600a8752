"""Text classification: one of any number of string labels for one or two texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from kbert_cli.config import TrainingConfig
from kbert_cli.corpus.columns import CLASSIFICATION
from kbert_cli.corpus.example import Example
from kbert_cli.features import WHOLE, Part
from kbert_cli.tasks.base import Prediction, Scores
from kbert_cli.tasks.loss import summed_loss
from kbert_cli.tasks.sentence import SentenceHead, class_scores, class_target, unknown_label

name = "classification"
columns = CLASSIFICATION
token_level = False
windowing = WHOLE
injects_predicate = True
batch_size = 32
scratch_rate = 2e-4
small_rate = 2e-4


def label_list(examples: Sequence[Example]) -> list[str]:
    """The distinct labels, sorted."""
    return sorted({str(example.label) for example in examples})


def label_problem(example: Example, labels: Sequence[str]) -> str | None:
    """A label that training lacks can never be predicted."""
    return unknown_label(example, labels)


def targets(example: Example, part: Part, labels: Sequence[str]) -> np.ndarray:
    """[] int64: the label's index."""
    return class_target(None if example.label is None else str(example.label), labels)


loss = summed_loss


def build_head(width: int, labels: int, config: TrainingConfig) -> nn.Module:
    """Logits [b, l] off [CLS] or the trunk's mean."""
    return SentenceHead(width, labels, config)


def summarize(logits: torch.Tensor, targets: torch.Tensor, labels: Sequence[str]) -> torch.Tensor:
    """Probabilities [b, l]."""
    return logits.float().softmax(-1)


def decode(summary: np.ndarray, part: Part, labels: Sequence[str]) -> Prediction:
    """The most probable label; the first in order where several are."""
    best = int(summary.argmax())
    return Prediction(labels[best], float(summary[best]))


def join(first: Prediction, other: Prediction) -> Prediction:
    """There is one window."""
    raise NotImplementedError


def units(examples: Sequence[Example], predictions: Sequence[Prediction]) -> np.ndarray:
    """[e, 2]: whether the label is right; one."""
    right = [
        str(example.label) == str(item.label)
        for example, item in zip(examples, predictions, strict=True)
    ]
    return np.stack([np.array(right, float), np.ones(len(right))], 1)


def score(
    examples: Sequence[Example], predictions: Sequence[Prediction], labels: Sequence[str]
) -> Scores:
    """Accuracy (primary), macro F1, and figures a class."""
    gold = [str(example.label) for example in examples]
    return class_scores(gold, [str(item.label) for item in predictions], labels, "accuracy")
