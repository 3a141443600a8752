"""A mapped table: key → lines, on disk, opened in no time, read where it is asked.

``NAME.trie``     marisa-trie of the keys: key → number, prefix search
``NAME.offsets``  little-endian uint64 by number: where the key's lines begin
``NAME.records``  UTF-8 lines of one key behind each other, a blank line behind the last
"""

from __future__ import annotations

import mmap
import os
import sys
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path

import marisa_trie

from kbert_cli.errors import KbertError

TRIE, OFFSETS, RECORDS = ".trie", ".offsets", ".records"
SUFFIXES = (TRIE, OFFSETS, RECORDS)
_FIRST_READ, _LAST_READ = 1_024, 1 << 20
_END = b"\n\n"


class Table:
    """The reading side. Only verified files may be mapped: a damaged trie can end the process."""

    def __init__(self, folder: Path, name: str) -> None:
        self._place = (folder, name)
        self._trie = marisa_trie.Trie()
        self._trie.mmap(str(folder / (name + TRIE)))
        self.prefixes: Callable[[str], list[str]] = self._trie.prefixes
        """The keys with which a text begins, short ones first."""
        self._records = os.open(folder / (name + RECORDS), os.O_RDONLY)
        self._offsets = _map_numbers(folder / (name + OFFSETS))

    def __reduce__(self) -> tuple[type[Table], tuple[Path, str]]:
        """Pickles as its place, so that worker processes share the mapping."""
        return Table, self._place

    def __del__(self) -> None:
        if hasattr(self, "_records"):
            os.close(self._records)

    def __len__(self) -> int:
        return len(self._trie)

    def __contains__(self, key: str) -> bool:
        return key in self._trie

    def names(self, prefix: str = "") -> Iterator[str]:
        """Keys that begin with ``prefix``, in no particular but always the same order."""
        found: Iterator[str] = self._trie.iterkeys(prefix)
        return found

    def line_counts(self) -> list[int]:
        """How many lines each key has, in the order of the records."""
        counts = [0]
        with open(self._place[0] / (self._place[1] + RECORDS), "rb") as stream:
            for line in stream:
                if line == b"\n":
                    counts.append(0)
                else:
                    counts[-1] += 1
        return counts[:-1]

    def lines(self, key: str) -> Iterator[str]:
        """The lines of ``key``, in the order in which they were added; none for no such key."""
        number = self._trie.get(key)
        if number is None:
            return
        position, size = self._offsets[number], _FIRST_READ
        while True:
            chunk = os.pread(self._records, size, position)
            end = chunk.find(_END)
            if end >= 0:
                yield from chunk[:end].decode().split("\n")
                return
            if len(chunk) < size:
                raise KbertError(
                    f"{self._place[0]} is damaged: a record does not end",
                    "`kbert kg verify` checks the index; build it anew.",
                )
            # The last byte may be half of the end mark.
            cut = chunk.rfind(b"\n", 0, size - 1)
            if cut > 0:
                yield from chunk[:cut].decode().split("\n")
                position += cut + 1
            size = min(size * 4, _LAST_READ) if cut > 0 else size * 4


def map_bytes(path: Path) -> mmap.mmap | bytes:
    """A file, mapped; an empty one cannot be."""
    with open(path, "rb") as stream:
        if not os.fstat(stream.fileno()).st_size:
            return b""
        return mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)


def _map_numbers(path: Path) -> memoryview | array[int]:
    view = memoryview(map_bytes(path)).cast("Q")
    if sys.byteorder == "little":
        return view
    numbers = array("Q", view)
    numbers.byteswap()
    return numbers
