"""The graph in use: which names it has, and the triples of each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from kbert_cli.kg.keys import matching_key
from kbert_cli.kg.triples import ReadReport, Triple


class KnowledgeGraph:
    """Triples by subject, in the order in which they were read, without duplicates.

    Subjects that fold to one key (``ＡＢＣ`` and ``abc``) share an entry.
    """

    def __init__(self, triples: Iterable[Triple] = ()) -> None:
        self._entries: dict[str, list[Triple]] = {}
        self._longest: dict[str, int] = {}
        self._seen: set[Triple] = set()
        self.add(triples)

    def add(self, triples: Iterable[Triple], report: ReadReport | None = None) -> None:
        """Append triples; duplicates and self-loops are dropped and counted in ``report``."""
        report = report or ReadReport("")
        for triple in triples:
            if triple.subject == triple.object:
                report.self_loops += 1
            elif triple in self._seen:
                report.duplicates += 1
            else:
                report.triples += 1
                self._seen.add(triple)
                self._append(triple)

    def _append(self, triple: Triple) -> None:
        key = matching_key(triple.subject)
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = []
            self._longest[key[0]] = max(self._longest.get(key[0], 0), len(key))
        entry.append(triple)

    def __len__(self) -> int:
        return len(self._seen)

    def __iter__(self) -> Iterator[Triple]:
        for entry in self._entries.values():
            yield from entry

    @property
    def subject_count(self) -> int:
        """Names, folded ones counted once."""
        return len(self._entries)

    def subjects(self) -> Iterator[str]:
        """Names as the graph writes them, in file order."""
        return (entry[0].subject for entry in self._entries.values())

    def triples_of(self, name: str) -> Sequence[Triple]:
        """The triples whose subject folds like ``name``, in file order; empty if there is none."""
        return self._entries.get(matching_key(name), ())

    def longest_name(self, key: str, start: int, ends: Sequence[int]) -> int | None:
        """The largest of ``ends`` for which ``key[start:end]`` is a name, or None.

        Args:
            key: a text as ``matching_key`` gives it.
            start: where the name must begin.
            ends: allowed ends, all beyond ``start``, ascending.
        """
        reach = start + self._longest.get(key[start], 0)
        for end in reversed(ends):
            if end <= reach and key[start:end] in self._entries:
                return end
        return None

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 over all triples in order: equal hashes inject equally."""
        digest = hashlib.sha256()
        for triple in self:
            digest.update(("\t".join(triple) + "\n").encode())
        return digest.hexdigest()
