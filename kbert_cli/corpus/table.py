"""Tab-separated tables: streamed rows, their cells untouched."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kbert_cli.corpus.columns import ColumnNames, Columns, counted_columns, header_columns
from kbert_cli.errors import KbertError
from kbert_cli.files import read_lines, read_lines_or_faults, read_span


@dataclass(frozen=True)
class Row:
    """A line of a table, cut at its tabs and nowhere else: quotes are plain characters."""

    line: int
    cells: tuple[str, ...]
    fault: str = ""
    """Why the line could not be decoded, if it could not."""

    def cell(self, index: int | None) -> str | None:
        """The cell, or None where the row is too short or there is no such column."""
        return self.cells[index] if index is not None and index < len(self.cells) else None


@dataclass(frozen=True)
class Table:
    """A table whose columns are known; ``rows`` can be read once."""

    path: str
    header: tuple[str, ...] | None
    columns: Columns
    rows: Iterator[Row]


def open_table(
    path: str | Path,
    names: ColumnNames,
    *,
    texts: int | None = None,
    span: tuple[int, int] | None = None,
    faults: bool = False,
) -> Table:
    """Open a table and find out its columns from the header, or from the first row's width.

    Args:
        names: the columns of the task.
        texts: the number of texts that the model takes, when known.
        span: read only the rows that begin in these bytes of the file.
        faults: hand out rows that are not UTF-8, with their fault, instead of ending there.

    Raises:
        KbertError: the file is missing, empty or not UTF-8, or its header lacks a column.
    """
    rows = _rows(read_lines_or_faults(path) if faults else _faultless(path))
    first = next(rows, None)
    if first is None:
        raise KbertError(f"{path} is empty")
    try:
        columns = header_columns(first.cells, names)
    except KbertError as error:
        raise KbertError(f"{path}:{first.line}: {error.what}", error.hint) from None
    header = first.cells if columns is not None else None
    columns = columns or counted_columns(len(first.cells), names, texts)
    if span is not None:
        rows = _rows(read_span(path, *span))
        if header and span[0] == 0:
            next(rows, None)
    elif not header:
        rows = itertools.chain([first], rows)
    return Table(str(path), header, columns, rows)


def _rows(lines: Iterable[tuple[int, str, str]]) -> Iterator[Row]:
    return (Row(number, tuple(line.split("\t")), fault) for number, line, fault in lines)


def _faultless(path: str | Path) -> Iterator[tuple[int, str, str]]:
    return ((number, line, "") for number, line in read_lines(path))
