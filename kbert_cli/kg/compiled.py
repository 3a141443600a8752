"""A compiled graph: opened in no time, memory that does not grow with the graph."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from zlib import crc32

from kbert_cli.files import parse_json
from kbert_cli.kg.keys import folded_key
from kbert_cli.kg.manifest import Manifest, read_manifest, require_verified
from kbert_cli.kg.table import SUFFIXES, TRIE, Table, map_bytes
from kbert_cli.kg.triples import Triple

TRIPLES, ALIASES, DESCRIPTIONS = "triples", "aliases", "descriptions"
PREDICATES, OBJECT_COUNTS, FOLDING = "predicates.json", "objects.counts", "folding.json"
NEEDED = (*(TRIPLES + suffix for suffix in SUFFIXES), PREDICATES, OBJECT_COUNTS)
"""Files without which there is no graph."""


class CompiledGraph:
    """See ``Graph``; subjects that an alias table names besides are names too."""

    def __init__(self, folder: Path) -> None:
        """Map a compiled graph.

        Raises:
            KbertError: it is none, foreign or damaged; nothing of it is mapped then.
        """
        self.folder = folder
        self.manifest: Manifest = read_manifest(folder)
        require_verified(folder, self.manifest, NEEDED)
        self._triples = Table(folder, TRIPLES)
        self._reach = self.manifest.longest_name
        self._aliases = self._optional(ALIASES)
        self._descriptions = self._optional(DESCRIPTIONS)
        predicates = parse_json((folder / PREDICATES).read_text(encoding="utf-8"))
        self._predicates: list[str] = list(predicates)
        self._predicate_counts: dict[str, int] = predicates
        self._object_counts = map_bytes(folder / OBJECT_COUNTS)
        self._folding: dict[int, str] = {}
        if FOLDING in self.manifest.files:
            self._folding = str.maketrans(
                parse_json((folder / FOLDING).read_text(encoding="utf-8"))
            )

    def _optional(self, name: str) -> Table | None:
        return Table(self.folder, name) if name + TRIE in self.manifest.files else None

    def __reduce__(self) -> tuple[type[CompiledGraph], tuple[Path]]:
        return CompiledGraph, (self.folder,)

    def __len__(self) -> int:
        return self.manifest.counts["triples"]

    def __iter__(self) -> Iterator[Triple]:
        for name in self._triples.names():
            yield from self._own_triples(name)

    @property
    def subject_count(self) -> int:
        """Names, folded ones counted once."""
        return len(self._triples)

    @property
    def content_hash(self) -> str:
        """Hash over all records, whatever the order of the subjects."""
        return self.manifest.content_hash

    def key(self, text: str) -> str:
        """Width, compatibility forms and case folded; in some graphs traditional characters too."""
        return folded_key(text, self._folding)

    def subjects(self, prefix: str = "") -> Iterator[str]:
        """Names, folded, that begin with ``prefix``."""
        return self._triples.names(self.key(prefix))

    def triples_of(self, name: str) -> Iterator[Triple]:
        """The triples of ``name`` in file order; then those of the entities it is an alias of."""
        key = self.key(name)
        yield from self._own_triples(key)
        if self._aliases is not None:
            for entity in self._aliases.lines(key):
                yield from self._own_triples(entity)

    def _own_triples(self, key: str) -> Iterator[Triple]:
        predicates = self._predicates
        for line in self._triples.lines(key):
            spelling, predicate, value = line.split("\t")
            yield Triple(spelling or key, predicates[int(predicate)], value)

    @property
    def predicate_counts(self) -> dict[str, int]:
        """Predicate → triples, duplicates included."""
        return self._predicate_counts

    def triple_counts(self) -> list[int]:
        """How many triples each subject has, in no particular order."""
        return self._triples.line_counts()

    def entities_of(self, alias: str) -> list[str]:
        """The subjects that ``alias`` leads to, in the order of the mention table."""
        return [] if self._aliases is None else list(self._aliases.lines(self.key(alias)))

    def description_of(self, name: str) -> str | None:
        """The first description of an entity, or None."""
        if self._descriptions is None:
            return None
        return next(self._descriptions.lines(self.key(name)), None)

    def frequency(self, triple: Triple) -> tuple[int, int]:
        """How many triples have its predicate, and about how many its object.

        The second is a count in one of many buckets, rounded to a power of two.
        """
        bucket = crc32(triple.object.encode()) % len(self._object_counts)
        return self._predicate_counts.get(triple.predicate, 0), 1 << self._object_counts[bucket]

    def longest_name(self, key: str, start: int, ends: Collection[int]) -> int | None:
        """See ``Graph``."""
        span = key[start : start + self._reach]
        names = self._triples.prefixes(span)
        if self._aliases is not None:
            names = sorted([*names, *self._aliases.prefixes(span)], key=len)
        for name in reversed(names):
            end = start + len(name)
            if end in ends:
                return end
        return None
