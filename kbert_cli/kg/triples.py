"""Triples, and reading them from any source."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kbert_cli.errors import KbertError
from kbert_cli.files import BLANKS
from kbert_cli.kg.rows import CELLS, read_rows
from kbert_cli.kg.sources import COMPRESSIONS, SourceFormat

KEPT_REJECTIONS = 1_000
"""Rejected lines that are remembered one by one; beyond that they are only counted."""


class Triple(NamedTuple):
    """One statement of a graph."""

    subject: str
    predicate: str
    object: str


@dataclass(frozen=True)
class RejectedLine:
    """A line that holds no triple, with its number (from 1) and the reason."""

    line: int
    reason: str


@dataclass
class ReadReport:
    """What became of the lines of one source."""

    path: str
    rows: int = 0
    """Lines that were meant to hold a triple: neither blank nor comment nor header."""
    triples: int = 0
    duplicates: int = 0
    self_loops: int = 0
    """Triples whose object is their subject: they tell nothing and are dropped."""
    filtered: int = 0
    """Triples that a filter left out."""
    header: str | None = None
    rejected_count: int = 0
    rejected: list[RejectedLine] = field(default_factory=list)
    """The first ``KEPT_REJECTIONS`` of them."""

    def reject(self, line: int, reason: str) -> None:
        """Note a line that holds no triple."""
        self.rejected_count += 1
        if len(self.rejected) < KEPT_REJECTIONS:
            self.rejected.append(RejectedLine(line, reason))


def read_triples(
    path: str | Path,
    source: SourceFormat,
    report: ReadReport,
    on_bytes: Callable[[int], None] = lambda _: None,
) -> Iterator[Triple]:
    """Stream the triples of a source in file order and count the rest in ``report``.

    Quotes are plain characters outside csv; outer blanks of a cell are trimmed, and line ends and
    tabs inside a cell become spaces; blank lines and lines that start with ``#`` are skipped; a
    known header in line 1 is skipped and noted. Duplicates are passed on: the graph drops them.
    """

    def note_header(header: str) -> None:
        report.header = header

    intern = sys.intern
    for number, row in read_rows(path, source, on_bytes, note_header):
        report.rows += 1
        if isinstance(row, str):
            report.reject(number, row)
            continue
        subject, predicate, value = row
        subject, predicate, value = (
            subject.strip(BLANKS),
            predicate.strip(BLANKS),
            value.strip(BLANKS),
        )
        if not (subject and predicate and value):
            empty = [name for name, cell in zip(CELLS, row, strict=True) if not cell.strip(BLANKS)]
            report.reject(number, f"empty {empty[0]}")
            continue
        if "\0" in subject or "\0" in predicate or "\0" in value:
            report.reject(number, "a NUL character")
            continue
        if "\n" in value or "\t" in value or "\n" in subject or "\t" in subject:
            subject, value = " ".join(subject.split()), " ".join(value.split())
        # Few predicates, many triples: one string object each.
        yield Triple(subject, intern(" ".join(predicate.split())), value)


def source_files(path: str | Path) -> list[Path]:
    """The files that ``path`` stands for: itself (``-`` too), or a folder's .spo in name order."""
    if not str(path):
        raise KbertError("a source has no name", "Name a file, a folder of .spo files, or -.")
    path = Path(path)
    if not path.is_dir():
        return [path]
    ends = tuple(f".spo{end}" for end in ("", *COMPRESSIONS))
    files = sorted(file for file in path.iterdir() if file.name.endswith(ends))
    if not files:
        raise KbertError(f"{path} holds no .spo file")
    return files
