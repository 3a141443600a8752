"""Question–answer matching: is this the answer to that question? Label 1 is yes, 0 is no."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kbert_cli.corpus.columns import QA
from kbert_cli.corpus.example import Example
from kbert_cli.features import Part
from kbert_cli.tasks import classification
from kbert_cli.tasks.base import Prediction, Scores
from kbert_cli.tasks.ranking import rank_answers, reciprocal_ranks
from kbert_cli.tasks.sentence import class_scores

name = "qa"
columns = QA
token_level = False
windowing = classification.windowing
injects_predicate = True
batch_size = 32
scratch_rate = classification.scratch_rate
small_rate = classification.small_rate

NEGATIVE, POSITIVE = LABELS = QA.labels


def label_list(examples: Sequence[Example]) -> list[str]:
    """Always 0 and 1."""
    return list(LABELS)


def label_problem(example: Example, labels: Sequence[str]) -> str | None:
    """Only 0 and 1 are labels."""
    if example.label in LABELS:
        return None
    return f"label {example.label!r}; --task qa takes 1 (right answer) and 0 (wrong answer)"


# A pair of texts with two classes: head, targets and probabilities are classification's.
targets = classification.targets
loss = classification.loss
join = classification.join
build_head = classification.build_head
summarize = classification.summarize


def decode(summary: np.ndarray, part: Part, labels: Sequence[str]) -> Prediction:
    """The label, and the probability that the answer is right."""
    return Prediction(labels[int(summary.argmax())], float(summary[labels.index(POSITIVE)]))


def units(examples: Sequence[Example], predictions: Sequence[Prediction]) -> np.ndarray:
    """[q, 2]: a question's reciprocal rank, and one; without question ids, F1's parts a pair."""
    positive = np.array([example.label == POSITIVE for example in examples], float)
    groups = [example.group for example in examples]
    if None in groups or not groups:
        predicted = np.array([item.label == POSITIVE for item in predictions], float)
        return np.stack([2 * positive * predicted, positive + predicted], 1)
    ranks = reciprocal_ranks(
        [str(group) for group in groups],
        [item.score or 0.0 for item in predictions],
        [bool(one) for one in positive],
    )
    return np.stack([ranks, np.ones(len(ranks))], 1)


def score(
    examples: Sequence[Example], predictions: Sequence[Prediction], labels: Sequence[str]
) -> Scores:
    """Accuracy and the positive class's F1; with question ids MRR (primary then) and MAP too."""
    gold = [str(example.label) for example in examples]
    scores = class_scores(gold, [str(item.label) for item in predictions], labels, "f1")
    figures = {
        "accuracy": scores.figures["accuracy"],
        **{key: scores.per_label[POSITIVE][key] for key in ("f1", "precision", "recall")},
    }
    groups = [example.group for example in examples]
    if None in groups or not groups:
        return Scores("f1", figures, scores.counts, scores.per_label)
    ranking = rank_answers(
        [str(group) for group in groups],
        [item.score or 0.0 for item in predictions],
        [label == POSITIVE for label in gold],
    )
    figures |= {"mrr": ranking.mrr, "map": ranking.map}
    counts = scores.counts | {
        "questions": ranking.questions,
        "questions_without_positive": ranking.without_positive,
    }
    return Scores("mrr", figures, counts, scores.per_label)
