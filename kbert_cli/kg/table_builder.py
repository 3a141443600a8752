"""Building a table in bounded memory: rows are parted by hash, then grouped part by part.

Within a key, rows keep the order in which they came; equal rows are kept once.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from zlib import crc32

import marisa_trie

from kbert_cli.kg.table import OFFSETS, RECORDS, TRIE

LINE_CAP = 100_000
"""Lines a key may have: no text uses more, and one subject must not fill the memory."""
PART_BYTES = 24 << 20
"""Aimed at bytes of a part; grouping takes about eight times as much memory."""
MAX_PARTS = 512
_BUFFERED = 1_000_000
"""Characters that wait before they are written to their parts."""


@dataclass
class TableCounts:
    """What became of the rows."""

    keys: int = 0
    lines: int = 0
    duplicates: int = 0
    capped: int = 0
    """Rows beyond ``LINE_CAP`` of their key."""
    longest_key: int = 0
    digest: int = 0
    """Sum of the records' hashes: equal for equal content, whatever the order of the keys."""


class TableBuilder:
    """Collects rows and writes a table's three files."""

    def __init__(self, folder: Path, name: str, expected_bytes: int | None) -> None:
        """``expected_bytes``: size of the rows to come, None when nobody knows."""
        self._folder, self._name = folder, name
        self._work = folder / f"{name}.parts"
        self._work.mkdir()
        parts = 64 if expected_bytes is None else expected_bytes // PART_BYTES + 1
        self._parts = min(parts, MAX_PARTS)
        self._waiting: list[list[str]] = [[] for _ in range(self._parts)]
        self._waiting_size = 0
        self._files: list[IO[str]] = [
            open(self._part(number), "w", encoding="utf-8", newline="\n")  # noqa: SIM115
            for number in range(self._parts)
        ]

    def _part(self, number: int) -> Path:
        return self._work / f"{number}"

    def add(self, key: str, line: str) -> None:
        """Add one row: no line end in either, no tab in ``key``; ``line`` is not empty."""
        row = f"{key}\t{line}\n"
        self._waiting[crc32(key.encode()) % self._parts].append(row)
        self._waiting_size += len(row)
        if self._waiting_size > _BUFFERED:
            self._flush()

    def _flush(self) -> None:
        for rows, stream in zip(self._waiting, self._files, strict=True):
            stream.write("".join(rows))
            rows.clear()
        self._waiting_size = 0

    def close(self) -> None:
        """Close the parts; safe to call more than once."""
        for stream in self._files:
            stream.close()

    def finish(self, on_part: Callable[[float], None] = lambda _: None) -> TableCounts:
        """Group, write, and remove the parts. ``on_part`` hears the share that was just done."""
        self._flush()
        self.close()
        counts = TableCounts()
        positions = array("Q")
        keys = self._work / "keys"
        with (
            open(self._folder / (self._name + RECORDS), "wb") as records,
            open(keys, "w", encoding="utf-8", newline="\n") as names,
        ):
            for number in range(self._parts):
                _write_groups(self._part(number), records, names, positions, counts)
                self._part(number).unlink()
                on_part(0.6 / self._parts)
        trie = marisa_trie.Trie(_read_keys(keys))
        trie.save(str(self._folder / (self._name + TRIE)))
        on_part(0.2)
        offsets = array("Q", bytes(8 * len(positions)))
        # The trie numbers keys as it likes.
        for key, position in zip(_read_keys(keys), positions, strict=True):
            offsets[trie.key_id(key)] = position
        if sys.byteorder != "little":
            offsets.byteswap()
        with open(self._folder / (self._name + OFFSETS), "wb") as stream:
            offsets.tofile(stream)
        shutil.rmtree(self._work)
        on_part(0.2)
        return counts


def _write_groups(
    part: Path, records: IO[bytes], names: IO[str], positions: array[int], counts: TableCounts
) -> None:
    # The inner dictionary is an ordered set.
    groups: dict[str, dict[str, None]] = {}
    with open(part, encoding="utf-8", newline="\n") as stream:
        for row in stream:
            key, _, line = row.partition("\t")
            group = groups.get(key)
            if group is None:
                groups[key] = {line: None}
            elif line in group:
                counts.duplicates += 1
            elif len(group) >= LINE_CAP:
                counts.capped += 1
            else:
                group[line] = None
    position = records.tell()
    for key, group in groups.items():
        record = ("".join(group) + "\n").encode()
        records.write(record)
        names.write(key + "\n")
        positions.append(position)
        position += len(record)
        counts.lines += len(group)
        counts.longest_key = max(counts.longest_key, len(key))
        hashed = hashlib.blake2b(key.encode() + b"\t" + record, digest_size=16).digest()
        counts.digest = (counts.digest + int.from_bytes(hashed, "little")) % (1 << 128)
    counts.keys += len(groups)


def _read_keys(path: Path) -> Iterator[str]:
    with open(path, encoding="utf-8", newline="\n") as stream:
        for line in stream:
            yield line[:-1]
