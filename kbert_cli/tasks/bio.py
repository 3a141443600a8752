"""BIO tags: spans, tags of characters and tokens, decoding under the scheme, strict F1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch

from kbert_cli.batch import IGNORED
from kbert_cli.corpus.entities import OUTSIDE, entities_of


class Span(NamedTuple):
    """An entity: characters ``[start, end)`` and its type."""

    type: str
    start: int
    end: int


def spans_of(tags: Sequence[str]) -> list[Span]:
    """Entities of strict BIO: each begins with B-; an I- that continues nothing belongs to none.

    >>> spans_of(["B-X", "I-X", "I-Y", "B-X", "O"])
    [Span(type='X', start=0, end=2), Span(type='X', start=3, end=4)]
    """
    return [Span(kind, start, end) for start, end, kind in entities_of(tags)]


def tag_list(types: Iterable[str]) -> list[str]:
    """O, then B- and I- of each type in order."""
    return [OUTSIDE, *(f"{mark}-{kind}" for kind in sorted(types) for mark in "BI")]


def carriers(spans: np.ndarray) -> np.ndarray:
    """[n] bool: the tokens that carry a tag.

    These are the trunk's tokens, and of several that stand for one character (byte-level
    vocabularies) the first.
    """
    starts, ends = spans[:, 0], spans[:, 1]
    before = np.concatenate([[0], np.maximum.accumulate(np.maximum(ends, 0))[:-1]])
    return (ends > starts) & (starts >= before)


def token_targets(tags: Sequence[str], spans: np.ndarray, labels: Sequence[str]) -> np.ndarray:
    """[n] int64: each carrying token has the tag of its first character, the others are ignored."""
    index = {label: number for number, label in enumerate(labels)}
    result = np.full(len(spans), IGNORED, np.int64)
    for token in np.flatnonzero(carriers(spans)):
        result[token] = index[tags[spans[token, 0]]]
    return result


def character_tags(
    token_tags: np.ndarray, spans: np.ndarray, length: int, labels: Sequence[str]
) -> tuple[str, ...]:
    """One tag a character from one tag a token.

    Characters inside a token continue its tag. Characters without a token (white space, what the
    tokenizer removes) continue an entity when the next token does, and are O otherwise.
    """
    tags = [OUTSIDE] * length
    covered = 0
    for token in np.flatnonzero(carriers(spans)):
        start, end = spans[token]
        tag = labels[int(token_tags[token])]
        rest = OUTSIDE if tag == OUTSIDE else f"I-{tag[2:]}"
        gap = rest if tag.startswith("I-") else OUTSIDE
        tags[covered:start] = [gap] * (start - covered)
        tags[start:end] = [tag] + [rest] * (end - start - 1)
        covered = end
    return tuple(tags)


def best_tags(logits: torch.Tensor, carrying: torch.Tensor, labels: Sequence[str]) -> torch.Tensor:
    """The most probable tag sequence that BIO allows (I-X only behind B-X or I-X), by Viterbi.

    Args:
        logits: [b, n, l].
        carrying: [b, n] bool; other tokens (branches, special tokens, padding) are stepped over.

    Returns:
        [b, n] int64; meaningless where ``carrying`` is false.
    """
    scores = logits.float().log_softmax(-1)
    batch, length, size = scores.shape
    penalty, first = _transitions(labels, scores.device)
    best = torch.zeros(batch, size, device=scores.device)
    started = torch.zeros(batch, 1, dtype=torch.bool, device=scores.device)
    own = torch.arange(size, device=scores.device).expand(batch, size)
    back = []
    for step in range(length):
        here = carrying[:, step, None]
        reached, origin = (best[:, :, None] + penalty).max(1)
        fresh = torch.where(started, reached, first) + scores[:, step]
        best = torch.where(here, fresh, best)
        back.append(torch.where(here & started, origin, own))
        started = started | here
    tag = best.argmax(-1)
    path = []
    for step in reversed(range(length)):
        path.append(tag)
        tag = back[step].gather(1, tag[:, None])[:, 0]
    return torch.stack(path[::-1], 1)


def _transitions(labels: Sequence[str], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """[l, l] and [l]: 0 where a tag may follow another or begin a text, -inf elsewhere."""
    allowed = torch.tensor(
        [
            [not after.startswith("I-") or before[2:] == after[2:] for after in labels]
            for before in labels
        ],
        device=device,
    )
    start = torch.tensor([not label.startswith("I-") for label in labels], device=device)
    zero, never = torch.tensor(0.0, device=device), torch.tensor(-torch.inf, device=device)
    return torch.where(allowed, zero, never), torch.where(start, zero, never)


class Counts(NamedTuple):
    """Right, predicted and gold entities."""

    right: int
    predicted: int
    gold: int

    def figures(self) -> dict[str, float]:
        """Precision, recall and F1; 0 where a ratio has no denominator."""
        precision = self.right / self.predicted if self.predicted else 0.0
        recall = self.right / self.gold if self.gold else 0.0
        total = self.predicted + self.gold
        f1 = 2 * self.right / total if total else 0.0
        return {"precision": precision, "recall": recall, "f1": f1}


def count_entities(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> dict[str, Counts]:
    """Counts a type, types in order; an entity is right when type and both borders agree."""
    right: Counter[str] = Counter()
    totals: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for gold_tags, predicted_tags in zip(gold, predicted, strict=True):
        gold_spans, predicted_spans = set(spans_of(gold_tags)), set(spans_of(predicted_tags))
        right.update(span.type for span in gold_spans & predicted_spans)
        totals[0].update(span.type for span in gold_spans)
        totals[1].update(span.type for span in predicted_spans)
    kinds = sorted(totals[0] | totals[1])
    return {kind: Counts(right[kind], totals[1][kind], totals[0][kind]) for kind in kinds}
