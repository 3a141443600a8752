"""Mean reciprocal rank and mean average precision of answers grouped by question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Ranking:
    """Means over the questions that have a right answer."""

    mrr: float
    map: float
    questions: int
    without_positive: int
    """Questions without a right answer: no rank exists, so they count in no mean."""


def reciprocal_ranks(
    groups: Sequence[str], scores: Sequence[float], positive: Sequence[bool]
) -> np.ndarray:
    """[q]: 1 over the rank of the first right answer, for each question that has one."""
    found = [1 / ranks[0] for ranks in _positive_ranks(groups, scores, positive) if len(ranks)]
    return np.array(found, float)


def _positive_ranks(
    groups: Sequence[str], scores: Sequence[float], positive: Sequence[bool]
) -> list[np.ndarray]:
    """For each question in order the ranks, from 1, of its right answers."""
    members: dict[str, list[int]] = {}
    for index, group in enumerate(groups):
        members.setdefault(group, []).append(index)
    values, relevant = np.asarray(scores, float), np.asarray(positive, bool)
    orders = (
        np.array(indices)[np.argsort(-values[indices], kind="stable")]
        for indices in members.values()
    )
    return [np.flatnonzero(relevant[order]) + 1 for order in orders]


def rank_answers(
    groups: Sequence[str], scores: Sequence[float], positive: Sequence[bool]
) -> Ranking:
    """Rank each group's answers by falling score; tied answers keep their order in the input.

    >>> rank_answers(["q", "q", "q"], [0.2, 0.9, 0.5], [True, False, True])
    Ranking(mrr=0.5, map=0.5833333333333333, questions=1, without_positive=0)
    """
    everyone = _positive_ranks(groups, scores, positive)
    found = [ranks for ranks in everyone if len(ranks)]
    average = [np.mean(np.arange(1, len(ranks) + 1) / ranks) for ranks in found]
    return Ranking(
        float(np.mean([1 / ranks[0] for ranks in found])) if found else 0.0,
        float(np.mean(average)) if found else 0.0,
        len(found),
        len(everyone) - len(found),
    )
