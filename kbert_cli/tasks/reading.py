"""Extractive reading: the answer to a question is a span of a passage (CMRC 2018, SQuAD).

Long passages are read in windows that overlap by half. A window without the answer points at [CLS]
(Devlin et al. 2019, SQuAD 2.0); of all windows the most probable span is the answer. Only tokens of
the passage itself can be answers, never those of branches or of the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from kbert_cli.batch import IGNORED, TreeIds
from kbert_cli.config import TrainingConfig
from kbert_cli.corpus.columns import READING
from kbert_cli.corpus.example import Example
from kbert_cli.corpus.passages import answer_fault
from kbert_cli.features import CONTEXT, Part
from kbert_cli.tasks.answers import best_f1, exact_match
from kbert_cli.tasks.base import Prediction, Scores

name = "reading"
columns = READING
token_level = False
windowing = CONTEXT
injects_predicate = True
batch_size = 16
scratch_rate = 5e-4
small_rate = 5e-4

LONGEST = 96
"""Tokens of an answer."""
_BEST = 20
"""Beginnings and ends that are tried with each other."""
_NEVER = -1e9


def label_list(examples: Sequence[Example]) -> list[str]:
    """The two ends; there are no classes."""
    return ["start", "end"]


def label_problem(example: Example, labels: Sequence[str]) -> str | None:
    """An answer must be in its passage."""
    if example.label is None:
        return "no answer"
    return answer_fault(example) or None


def targets(example: Example, part: Part, labels: Sequence[str]) -> np.ndarray:
    """[2] int64: first and last token of the answer; 0 and 0 ([CLS]) where it is not whole here."""
    if example.label is None:
        return np.zeros(2, np.int64)
    answer = example.label[0]
    start = example.answer_start
    if start is None:
        start = example.texts[1].find(answer)
    start -= part.start
    end = start + len(answer)
    tokens = _passage(part)
    spans = part.features.spans
    touched = [token for token in tokens if spans[token, 1] > start and spans[token, 0] < end]
    if start < 0 or end > part.length or not touched:
        return np.zeros(2, np.int64)
    return np.array([touched[0], touched[-1]], np.int64)


def _passage(part: Part) -> np.ndarray:
    """Tokens of the passage's own characters."""
    features = part.features
    found: np.ndarray = np.flatnonzero((features.segment_ids == 1) & (features.spans[:, 0] >= 0))
    return found


class SpanHead(nn.Module):
    """Two numbers a token: how likely the answer begins, and ends, there."""

    def __init__(self, width: int, config: TrainingConfig) -> None:
        super().__init__()
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(width, 2)

    def forward(self, states: torch.Tensor, ids: TreeIds) -> torch.Tensor:
        """States [b, n, d] → logits [b, n, 2]; out of reach for what cannot be an answer."""
        logits = self.output(self.dropout(states)).float()
        allowed = (ids.branch_ids == 0) & (ids.segment_ids == 1)
        # [CLS] stands for no answer.
        allowed[:, 0] = True
        reachable: torch.Tensor = logits.masked_fill(~allowed[..., None], _NEVER)
        return reachable


def build_head(width: int, labels: int, config: TrainingConfig) -> nn.Module:
    """Logits [b, n, 2]."""
    return SpanHead(width, config)


def loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """[]: cross entropy over the tokens, summed over both ends; [b, n, 2] and [b, 2]."""
    return F.cross_entropy(
        logits.transpose(1, 2).flatten(0, 1),
        labels.flatten(),
        ignore_index=IGNORED,
        reduction="sum",
    )


def summarize(logits: torch.Tensor, targets: torch.Tensor, labels: Sequence[str]) -> torch.Tensor:
    """Log probabilities [b, n, 2] over the tokens."""
    return logits.float().log_softmax(1)


def decode(summary: np.ndarray, part: Part, labels: Sequence[str]) -> Prediction:
    """The most probable span of the window, its characters counted in the whole passage."""
    tokens = _passage(part)
    starts, ends = (summary[tokens, end] for end in (0, 1))
    spans = part.features.spans
    best = (-np.inf, 0, 0)
    for first in np.argsort(-starts, kind="stable")[:_BEST]:
        for last in np.argsort(-ends, kind="stable")[:_BEST]:
            if first <= last < first + LONGEST:
                found = (float(starts[first] + ends[last]), int(first), int(last))
                best = max(best, found, key=lambda one: one[0])
    score, first, last = best
    if not np.isfinite(score):
        return Prediction("", 0.0, (part.start, part.start))
    begin = part.start + int(spans[tokens[first], 0])
    return Prediction("", float(np.exp(score)), (begin, part.start + int(spans[tokens[last], 1])))


def join(first: Prediction, other: Prediction) -> Prediction:
    """The more probable one; the first where both are."""
    return other if (other.score or 0.0) > (first.score or 0.0) else first


def with_text(prediction: Prediction, context: str) -> Prediction:
    """The prediction with the answer itself as its label."""
    start, end = prediction.span or (0, 0)
    return replace(prediction, label=context[start:end])


def units(examples: Sequence[Example], predictions: Sequence[Prediction]) -> np.ndarray:
    """[q, 2]: a question's F1, and one."""
    found = [
        best_f1(str(with_text(one, example.texts[1]).label), tuple(example.label or ()))
        for example, one in zip(examples, predictions, strict=True)
    ]
    return np.stack([np.array(found, float), np.ones(len(found))], 1)


def score(
    examples: Sequence[Example], predictions: Sequence[Prediction], labels: Sequence[str]
) -> Scores:
    """F1 (primary) and exact match, means over the questions."""
    answers = [
        (str(with_text(one, example.texts[1]).label), tuple(example.label or ()))
        for example, one in zip(examples, predictions, strict=True)
    ]
    count = max(1, len(answers))
    figures = {
        "f1": sum(best_f1(found, right) for found, right in answers) / count,
        "exact_match": sum(exact_match(found, right) for found, right in answers) / count,
    }
    return Scores("f1", figures, {"examples": len(examples)})
