"""Named-entity recognition: one BIO tag a character, strict entity F1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from kbert_cli.batch import IGNORED, TreeIds
from kbert_cli.config import TrainingConfig
from kbert_cli.corpus.columns import NER
from kbert_cli.corpus.entities import OUTSIDE
from kbert_cli.corpus.example import Example
from kbert_cli.features import TEXT, Part
from kbert_cli.tasks.base import Prediction, Scores
from kbert_cli.tasks.bio import (
    Counts,
    best_tags,
    character_tags,
    count_entities,
    tag_list,
    token_targets,
)
from kbert_cli.tasks.loss import summed_loss

name = "ner"
columns = NER
token_level = True
windowing = TEXT
injects_predicate = False
batch_size = 16
scratch_rate = 5e-4
small_rate = 5e-4


def label_list(examples: Sequence[Example]) -> list[str]:
    """O, and B- and I- of every type that occurs."""
    tags = {tag for example in examples for tag in example.label or ()}
    return tag_list({tag[2:] for tag in tags if tag != OUTSIDE})


def label_problem(example: Example, labels: Sequence[str]) -> str | None:
    """A type that training lacks can never be predicted."""
    unknown = sorted(set(example.label or ()).difference(labels))
    return f"tags {', '.join(unknown)} do not occur in the training split" if unknown else None


def targets(example: Example, part: Part, labels: Sequence[str]) -> np.ndarray:
    """[n] int64, ``batch.IGNORED`` on branches and special tokens."""
    label = (OUTSIDE,) * part.length
    if example.label is not None:
        label = tuple(example.label[part.start : part.start + part.length])
    return token_targets(label, part.features.spans, labels)


loss = summed_loss


class TokenHead(nn.Module):
    """One output layer on every token."""

    def __init__(self, width: int, labels: int, config: TrainingConfig) -> None:
        super().__init__()
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(width, labels)

    def forward(self, states: torch.Tensor, ids: TreeIds) -> torch.Tensor:
        """States [b, n, d] → logits [b, n, l]; those of branches are never decoded."""
        logits: torch.Tensor = self.output(self.dropout(states))
        return logits


def build_head(width: int, labels: int, config: TrainingConfig) -> nn.Module:
    """Logits [b, n, l]."""
    return TokenHead(width, labels, config)


def summarize(logits: torch.Tensor, targets: torch.Tensor, labels: Sequence[str]) -> torch.Tensor:
    """Tag ids [b, n] of the best valid sequence over the tokens that carry tags."""
    return best_tags(logits, targets != IGNORED, labels)


def decode(summary: np.ndarray, part: Part, labels: Sequence[str]) -> Prediction:
    """One tag a character."""
    return Prediction(character_tags(summary, part.features.spans, part.length, labels))


def join(first: Prediction, other: Prediction) -> Prediction:
    """The tags of both windows."""
    return Prediction((*first.label, *other.label))


def units(examples: Sequence[Example], predictions: Sequence[Prediction]) -> np.ndarray:
    """[e, 2]: twice the right entities; predicted and gold ones together."""
    counts = [
        count_entities([tuple(example.label or ())], [tuple(item.label)])
        for example, item in zip(examples, predictions, strict=True)
    ]
    return np.array(
        [
            (
                2 * sum(one.right for one in kinds.values()),
                sum(one.predicted + one.gold for one in kinds.values()),
            )
            for kinds in counts
        ],
        float,
    ).reshape(-1, 2)


def score(
    examples: Sequence[Example], predictions: Sequence[Prediction], labels: Sequence[str]
) -> Scores:
    """Strict micro precision, recall and F1 (primary), and the same a type."""
    counts = count_entities(
        [tuple(example.label or ()) for example in examples],
        [tuple(item.label) for item in predictions],
    )
    total = Counts(*map(sum, zip(*counts.values(), strict=True))) if counts else Counts(0, 0, 0)
    per_type = {kind: one.figures() | {"support": one.gold} for kind, one in counts.items()}
    return Scores(
        "f1",
        total.figures(),
        {"examples": len(examples), "entities": total.gold},
        per_type,
    )
