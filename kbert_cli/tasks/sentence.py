"""What classification and QA share: one label a tree."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from kbert_cli.batch import TreeIds
from kbert_cli.config import TrainingConfig
from kbert_cli.corpus.example import Example
from kbert_cli.tasks.base import Scores


class SentenceHead(nn.Module):
    """tanh layer and output layer on a pooled state, as in the reference (trained afresh)."""

    def __init__(self, width: int, labels: int, config: TrainingConfig) -> None:
        super().__init__()
        self.mean = config.pooling == "mean"
        self.hidden = nn.Linear(width, width)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(width, labels)

    def forward(self, states: torch.Tensor, ids: TreeIds) -> torch.Tensor:
        """States [b, n, d] → logits [b, l]; packed, [e, l]."""
        branch_ids, _, example_ids, first_tokens = ids
        if self.mean:
            pooled = (
                trunk_mean(states, branch_ids)
                if example_ids is None or first_tokens is None
                else packed_trunk_mean(states, branch_ids, example_ids, len(first_tokens))
            )
        else:
            pooled = states[:, 0] if first_tokens is None else states.flatten(0, 1)[first_tokens]
        logits: torch.Tensor = self.output(self.dropout(torch.tanh(self.hidden(pooled))))
        return logits


def trunk_mean(states: torch.Tensor, branch_ids: torch.Tensor) -> torch.Tensor:
    """[b, d]: the mean state of the trunk; branches and padding do not count."""
    weights = (branch_ids == 0).to(states.dtype)[..., None]
    return (states * weights).sum(1) / weights.sum(1)


def packed_trunk_mean(
    states: torch.Tensor, branch_ids: torch.Tensor, example_ids: torch.Tensor, examples: int
) -> torch.Tensor:
    """[e, d]: the same of each of the examples that share rows."""
    # Added up in full precision: index_add rounds at every step.
    weights = (branch_ids == 0).flatten().float()[:, None]
    owners = example_ids.flatten().clamp(min=0)
    sums = torch.zeros(examples, states.shape[-1], device=states.device)
    sums = sums.index_add(0, owners, states.flatten(0, 1).float() * weights)
    counts = torch.zeros(examples, 1, device=states.device).index_add(0, owners, weights)
    return (sums / counts).to(states.dtype)


def class_target(label: str | None, labels: Sequence[str]) -> np.ndarray:
    """[] int64: the label's index, 0 when it is unknown."""
    return np.array(0 if label is None else labels.index(label), np.int64)


def unknown_label(example: Example, labels: Sequence[str]) -> str | None:
    """Why an example's label is out of reach, or None."""
    if example.label in labels:
        return None
    return f"label {example.label!r} does not occur in the training split"


def class_scores(
    gold: Sequence[str], predicted: Sequence[str], labels: Sequence[str], primary: str
) -> Scores:
    """Accuracy, macro F1, and precision, recall, F1 a class; 0 where a ratio has no denominator."""
    from sklearn.metrics import accuracy_score, precision_recall_fscore_support

    precision, recall, f1, support = precision_recall_fscore_support(
        gold, predicted, labels=list(labels), zero_division=0
    )
    per_label = {
        label: {
            "precision": float(precision[index]),
            "recall": float(recall[index]),
            "f1": float(f1[index]),
            "support": int(support[index]),
        }
        for index, label in enumerate(labels)
    }
    figures = {"accuracy": float(accuracy_score(gold, predicted)), "macro_f1": float(np.mean(f1))}
    return Scores(primary, figures, {"examples": len(gold)}, per_label)
