"""Mention finding: the longest names between word boundaries, left to right."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from kbert_cli.kg.keys import matching_key
from kbert_cli.kg.store import KnowledgeGraph
from kbert_cli.mentions.boundaries import word_boundaries


@dataclass(frozen=True)
class Mention:
    """A span ``[start, end)`` of characters that names a subject of the graph."""

    start: int
    end: int
    name: str
    """The span as the text writes it."""


class MentionFinder:
    """Finds the mentions of one text; mentions do not overlap."""

    def __init__(self, graph: KnowledgeGraph, *, min_length: int = 2) -> None:
        self._graph = graph
        self._min_length = min_length

    def find(self, text: str) -> list[Mention]:
        """Mentions in text order. The longest name that begins at a boundary wins."""
        if not self._graph.subject_count:
            return []
        key = matching_key(text)
        boundaries = word_boundaries(key)
        mentions = []
        position = 0
        while position < len(boundaries) - 1:
            start = boundaries[position]
            first = bisect_right(boundaries, start + self._min_length - 1)
            end = self._graph.longest_name(key, start, boundaries[first:])
            if end is None:
                position += 1
                continue
            mentions.append(Mention(start, end, text[start:end]))
            position = bisect_right(boundaries, end - 1)
        return mentions
