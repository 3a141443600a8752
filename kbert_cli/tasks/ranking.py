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


def rank_answers(
    groups: Sequence[str], scores: Sequence[float], positive: Sequence[bool]
) -> Ranking:
    """Rank each group's answers by falling score; tied answers keep their order in the input.

    >>> rank_answers(["q", "q", "q"], [0.2, 0.9, 0.5], [True, False, True])
    Ranking(mrr=0.5, map=0.5833333333333333, questions=1, without_positive=0)
    """
    members: dict[str, list[int]] = {}
    for index, group in enumerate(groups):
        members.setdefault(group, []).append(index)
    values, relevant = np.asarray(scores, float), np.asarray(positive, bool)
    reciprocal, average = [], []
    for indices in members.values():
        order = np.argsort(-values[indices], kind="stable")
        ranks = np.flatnonzero(relevant[indices][order]) + 1
        if len(ranks):
            reciprocal.append(1 / ranks[0])
            average.append(np.mean(np.arange(1, len(ranks) + 1) / ranks))
    return Ranking(
        float(np.mean(reciprocal)) if reciprocal else 0.0,
        float(np.mean(average)) if average else 0.0,
        len(reciprocal),
        len(members) - len(reciprocal),
    )
