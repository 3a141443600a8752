"""What the rest of kbert asks of a graph, and two simple graphs: in memory, and several as one."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Protocol

from kbert_cli.kg.keys import matching_key
from kbert_cli.kg.triples import Triple


class Graph(Protocol):
    """Triples by subject. Subjects that fold to one key (``ＡＢＣ`` and ``abc``) share an entry."""

    def __len__(self) -> int:
        """Triples."""
        ...

    def __iter__(self) -> Iterator[Triple]:
        """All triples, those of a subject behind each other."""
        ...

    @property
    def subject_count(self) -> int:
        """Names, folded ones counted once."""
        ...

    @property
    def content_hash(self) -> str:
        """Hex digest: equal hashes inject equally."""
        ...

    def key(self, text: str) -> str:
        """A text as names are compared: one character stays one, so that offsets stay."""
        ...

    def subjects(self, prefix: str = "") -> Iterator[str]:
        """Names, folded, that begin with ``prefix``."""
        ...

    def triples_of(self, name: str) -> Iterator[Triple]:
        """The triples whose subject folds like ``name``, in file order; none if there is none."""
        ...

    def frequency(self, triple: Triple) -> tuple[int, int]:
        """How many triples have its predicate, and about how many its object."""
        ...

    def longest_name(self, key: str, start: int, ends: Collection[int]) -> int | None:
        """The largest of ``ends`` for which ``key[start:end]`` is a name, or None.

        Args:
            key: a text as ``key`` gives it.
            start: where the name must begin.
            ends: allowed ends.
        """
        ...


class MemoryGraph:
    """A graph of triples that are at hand, without duplicates and self-loops."""

    def __init__(self, triples: Iterable[Triple] = ()) -> None:
        self._entries: dict[str, list[Triple]] = {}
        self._longest: dict[str, int] = {}
        seen: set[Triple] = set()
        for triple in triples:
            if triple.subject == triple.object or triple in seen:
                continue
            seen.add(triple)
            key = self.key(triple.subject)
            self._entries.setdefault(key, []).append(triple)
            self._longest[key[0]] = max(self._longest.get(key[0], 0), len(key))
        self._size = len(seen)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Triple]:
        for entry in self._entries.values():
            yield from entry

    @property
    def subject_count(self) -> int:
        """Names, folded ones counted once."""
        return len(self._entries)

    @property
    def content_hash(self) -> str:
        """SHA-256 over all triples in order."""
        digest = hashlib.sha256()
        for triple in self:
            digest.update(("\t".join(triple) + "\n").encode())
        return digest.hexdigest()

    def key(self, text: str) -> str:
        """Width, compatibility forms and case folded."""
        return matching_key(text)

    def subjects(self, prefix: str = "") -> Iterator[str]:
        """Names in the order of their first triples."""
        return (key for key in self._entries if key.startswith(self.key(prefix)))

    def triples_of(self, name: str) -> Iterator[Triple]:
        """The triples of ``name`` in file order."""
        return iter(self._entries.get(self.key(name), ()))

    def frequency(self, triple: Triple) -> tuple[int, int]:
        """Counted anew each time: such a graph is small."""
        return (
            sum(other.predicate == triple.predicate for other in self),
            sum(other.object == triple.object for other in self),
        )

    def longest_name(self, key: str, start: int, ends: Collection[int]) -> int | None:
        """See ``Graph``."""
        reach = min(start + self._longest.get(key[start], 0), len(key))
        for end in range(reach, start, -1):
            if end in ends and key[start:end] in self._entries:
                return end
        return None


class MergedGraph:
    """Several graphs as one: the triples of the first come first, and equal ones count once."""

    def __init__(self, graphs: Sequence[Graph]) -> None:
        self._graphs = tuple(graphs)

    def __len__(self) -> int:
        return sum(map(len, self._graphs))

    def __iter__(self) -> Iterator[Triple]:
        for graph in self._graphs:
            yield from graph

    @property
    def subject_count(self) -> int:
        """An upper bound: names in several graphs count in each."""
        return sum(graph.subject_count for graph in self._graphs)

    @property
    def content_hash(self) -> str:
        """Of the parts' hashes in their order."""
        joined = "\n".join(graph.content_hash for graph in self._graphs)
        return hashlib.sha256(joined.encode()).hexdigest()

    def key(self, text: str) -> str:
        """Folded as every part folds it."""
        for graph in self._graphs:
            text = graph.key(text)
        return text

    def subjects(self, prefix: str = "") -> Iterator[str]:
        """Names of each part; one in several parts comes once."""
        for index, graph in enumerate(self._graphs):
            for name in graph.subjects(prefix):
                if not any(_has(other, name) for other in self._graphs[:index]):
                    yield name

    def triples_of(self, name: str) -> Iterator[Triple]:
        """The triples of ``name``, graph by graph."""
        seen: set[Triple] = set()
        for graph in self._graphs:
            for triple in graph.triples_of(name):
                if triple not in seen:
                    seen.add(triple)
                    yield triple

    def frequency(self, triple: Triple) -> tuple[int, int]:
        """Summed over the parts."""
        found = [graph.frequency(triple) for graph in self._graphs]
        return sum(one for one, _ in found), sum(other for _, other in found)

    def longest_name(self, key: str, start: int, ends: Collection[int]) -> int | None:
        """See ``Graph``."""
        found = (graph.longest_name(key, start, ends) for graph in self._graphs)
        return max((end for end in found if end is not None), default=None)


def _has(graph: Graph, name: str) -> bool:
    return next(graph.triples_of(name), None) is not None
