"""Mention finding: the longest names between word boundaries, left to right."""

from __future__ import annotations

from typing import NamedTuple

from kbert_cli.kg.graph import Graph
from kbert_cli.mentions.boundaries import word_boundaries


class Mention(NamedTuple):
    """A span ``[start, end)`` of characters that names a subject of the graph."""

    start: int
    end: int
    name: str
    """The span as the text writes it."""


class MentionFinder:
    """Finds the mentions of one text; mentions do not overlap."""

    def __init__(self, graph: Graph, *, min_length: int = 2) -> None:
        self._graph = graph
        self._min_length = min_length

    def find(self, text: str) -> list[Mention]:
        """Mentions in text order. The longest name that begins at a boundary wins."""
        if not self._graph.subject_count:
            return []
        key = self._graph.key(text)
        boundaries = word_boundaries(key)
        ends = frozenset(boundaries)
        mentions = []
        free = 0
        for start in boundaries[:-1]:
            if start < free:
                continue
            end = self._graph.longest_name(key, start, ends)
            # Every shorter name is too short as well.
            if end is None or end - start < self._min_length:
                continue
            mentions.append(Mention(start, end, text[start:end]))
            free = end
        return mentions
