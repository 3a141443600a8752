"""Triples, and reading them from ``.spo`` files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kbert_cli.errors import KbertError
from kbert_cli.files import BLANKS, read_lines

HEADERS = {
    ("subject", "predicate", "object"),
    ("s", "p", "o"),
    ("head", "relation", "tail"),
    ("实体", "属性", "值"),
    ("主语", "谓语", "宾语"),
    ("头实体", "关系", "尾实体"),
}


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
    header: str | None = None
    rejected: list[RejectedLine] = field(default_factory=list)


def read_spo(path: str | Path, report: ReadReport) -> Iterator[Triple]:
    """Stream the triples of a tab-separated file in file order and count the rest in ``report``.

    Quotes are plain characters; outer blanks of a cell are trimmed; blank lines and lines that
    start with ``#`` and hold no tab are skipped; a known header in line 1 is skipped and noted.
    Duplicates are passed on: the graph drops them.
    """
    for number, line in read_lines(path):
        if not line.strip(BLANKS) or (line.startswith("#") and "\t" not in line):
            continue
        cells = [cell.strip(BLANKS) for cell in line.split("\t")]
        if number == 1 and tuple(cell.casefold() for cell in cells) in HEADERS:
            report.header = line
            continue
        report.rows += 1
        reason = _why_rejected(cells)
        if reason:
            report.rejected.append(RejectedLine(number, reason))
            continue
        subject, predicate, value = cells
        # Few predicates, many triples: one string object each.
        yield Triple(subject, sys.intern(predicate), value)


def _why_rejected(cells: list[str]) -> str | None:
    if len(cells) != 3:
        return f"{len(cells)} columns, expected 3 (subject, predicate, object) separated by tabs"
    for name, cell in zip(("subject", "predicate", "object"), cells, strict=True):
        if not cell:
            return f"empty {name}"
    return None


def spo_files(path: str | Path) -> list[Path]:
    """The ``.spo`` files that ``path`` stands for: the file itself, or a folder's in name order."""
    path = Path(path)
    if not path.is_dir():
        return [path]
    files = sorted(path.glob("*.spo"))
    if not files:
        raise KbertError(f"{path} holds no .spo file")
    return files
