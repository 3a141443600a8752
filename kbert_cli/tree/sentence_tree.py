"""The sentence tree: a trunk (the text) with branches (triples) on its mentions.

K-BERT (Liu et al., AAAI 2020), K-Query and K-Inject; the tree is one branch deep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kbert_cli.kg.graph import Graph
from kbert_cli.kg.select import select_triples
from kbert_cli.kg.triples import Triple
from kbert_cli.mentions.finder import Mention


@dataclass(frozen=True)
class Branch:
    """A triple as it hangs on a mention."""

    triple: Triple
    with_predicate: bool

    @property
    def parts(self) -> tuple[str, ...]:
        """The texts to inject, in order."""
        _, predicate, value = self.triple
        return (predicate, value) if self.with_predicate else (value,)


@dataclass(frozen=True)
class Knot:
    """A mention in one of the texts, and the branches that hang on it."""

    text_index: int
    mention: Mention
    branches: tuple[Branch, ...]


@dataclass(frozen=True)
class SentenceTree:
    """One or two texts and their knots in reading order."""

    texts: tuple[str, ...]
    knots: tuple[Knot, ...] = ()

    def branches(self) -> Iterator[Branch]:
        """All branches in reading order."""
        return (branch for knot in self.knots for branch in knot.branches)


def grow_tree(
    texts: Sequence[str],
    mentions: Sequence[Sequence[Mention]],
    graph: Graph,
    *,
    max_entities: int,
    predicate: bool,
    select: str = "first",
) -> SentenceTree:
    """Hang ``max_entities`` triples of each mention on it, in the order that ``select`` says.

    Branches of one mention that would read alike (the same object under two predicates, when the
    predicate is left out) are injected once.

    Args:
        texts: one text, or the two of a pair.
        mentions: the mentions of each text, in text order, not overlapping.
    """
    knots = tuple(
        Knot(
            index,
            mention,
            _branches(
                select_triples(select, graph, mention.name, texts[index]), max_entities, predicate
            ),
        )
        for index, found in enumerate(mentions)
        for mention in found
    )
    return SentenceTree(tuple(texts), knots)


def _branches(triples: Iterable[Triple], limit: int, predicate: bool) -> tuple[Branch, ...]:
    chosen: dict[tuple[str, ...], Branch] = {}
    if limit:
        for triple in triples:
            branch = Branch(triple, predicate)
            chosen.setdefault(branch.parts, branch)
            if len(chosen) == limit:
                break
    return tuple(chosen.values())
