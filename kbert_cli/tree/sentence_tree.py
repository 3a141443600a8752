"""The sentence tree: a trunk (the text) with branches (triples) on its mentions.

K-BERT (Liu et al., AAAI 2020), K-Query and K-Inject; the tree is one branch deep.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kbert_cli.kg.graph import Graph
from kbert_cli.kg.select import select_triples
from kbert_cli.kg.triples import Triple
from kbert_cli.mentions.finder import Mention

_REMEMBERED = 65_536
"""Names whose branches are kept at hand."""


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


class Knot(NamedTuple):
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


class BranchSource:
    """Chooses the branches of mentions; choices that hang on the name alone are remembered."""

    def __init__(
        self, graph: Graph, *, max_entities: int, predicate: bool, select: str = "first"
    ) -> None:
        """``max_entities`` triples a mention, in the order that ``select`` says.

        Branches of one mention that would read alike (the same object under two predicates, when
        the predicate is left out) are injected once.
        """
        self._graph = graph
        self._limit = max_entities
        self._predicate = predicate
        self._select = select
        self._known = functools.lru_cache(maxsize=_REMEMBERED)(lambda name: self._choose(name, ""))

    def branches_of(self, name: str, text: str) -> tuple[Branch, ...]:
        """The branches of a mention ``name`` in the sentence ``text``."""
        return self._choose(name, text) if self._select == "similar" else self._known(name)

    def _choose(self, name: str, text: str) -> tuple[Branch, ...]:
        chosen: dict[tuple[str, ...], Branch] = {}
        if self._limit:
            for triple in select_triples(self._select, self._graph, name, text):
                branch = Branch(triple, self._predicate)
                chosen.setdefault(branch.parts, branch)
                if len(chosen) == self._limit:
                    break
        return tuple(chosen.values())


def grow_tree(
    texts: Sequence[str], mentions: Sequence[Sequence[Mention]], source: BranchSource
) -> SentenceTree:
    """Hang the branches of each mention on it.

    Args:
        texts: one text, or the two of a pair.
        mentions: the mentions of each text, in text order, not overlapping.
    """
    branches_of = source.branches_of
    knots = [
        Knot(index, mention, branches_of(mention.name, texts[index]))
        for index, found in enumerate(mentions)
        for mention in found
    ]
    return SentenceTree(tuple(texts), tuple(knots))
