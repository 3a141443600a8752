"""Which triples of a mention come first: ``--select``. Ties keep file order."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import islice

from kbert_cli.kg.graph import Graph
from kbert_cli.kg.triples import Triple

CONSIDERED = 1_000
"""Triples of a mention that are compared; a hub's others stay out."""


def select_triples(policy: str, graph: Graph, name: str, text: str) -> Iterable[Triple]:
    """The triples of ``name``, the ones to inject first.

    Args:
        policy: ``first`` keeps file order; ``rare`` puts first whose predicate and object are
            rare in the graph, and so tell most; ``similar`` whose wording shares most with ``text``
            beside the name itself.
        text: the sentence.
    """
    triples = graph.triples_of(name)
    if policy == "first":
        return triples
    considered = list(islice(triples, CONSIDERED))
    if policy == "rare":
        return sorted(considered, key=lambda triple: _commonness(graph, triple))
    around = _pairs(graph.key(text).replace(graph.key(name), "\n"))
    return sorted(considered, key=lambda triple: -_overlap(graph, triple, around))


def _commonness(graph: Graph, triple: Triple) -> float:
    """Log of the product of both document frequencies."""
    predicate, value = graph.frequency(triple)
    return math.log(max(predicate, 1)) + math.log(max(value, 1))


def _overlap(graph: Graph, triple: Triple, around: frozenset[str]) -> float:
    """Share of the pairs of characters in predicate and object that the sentence has too."""
    own = _pairs(graph.key(f"{triple.predicate}\n{triple.object}"))
    return len(own & around) / max(len(own), 1)


def _pairs(text: str) -> frozenset[str]:
    pairs = (text[index : index + 2] for index in range(len(text) - 1))
    return frozenset(pair for pair in pairs if "\n" not in pair)
