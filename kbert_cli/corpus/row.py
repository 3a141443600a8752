"""A row of a table, and the rows of CSV and TSV."""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kbert_cli.corpus.lines import Line
from kbert_cli.files import without_end

# The library's own limit would call long passages no CSV.
csv.field_size_limit(2**31 - 1)


@dataclass(frozen=True)
class Row:
    """A row of a table; in TSV cut at its tabs and nowhere else: quotes are plain characters."""

    line: int
    cells: tuple[str, ...]
    fault: str = ""
    """Why the row could not be read, if it could not."""
    record: dict[str, Any] | None = None
    """The object, where the row was one."""
    unread: bool = False
    """Whether its only cell is the whole line, because it could not be cut into cells."""

    def cell(self, index: int | None) -> str | None:
        """The cell, or None where the row is too short or there is no such column."""
        return self.cells[index] if index is not None and index < len(self.cells) else None


def tsv_rows(lines: Iterable[Line]) -> Iterator[Row]:
    """A row a line."""
    return (Row(number, tuple(line.split("\t")), fault) for number, line, fault in lines)


def csv_rows(lines: Iterable[Line]) -> Iterator[Row]:
    """RFC 4180: cells in double quotes may hold commas, line ends and doubled quotes.

    A line that begins no row is a fault of its own, and reading goes on with the next line: a
    quotation mark that is never closed would take all rows behind it along.

    Args:
        lines: with their ends, which belong to a cell in quotes.
    """
    lines = iter(lines)
    again: deque[Line] = deque()
    taken: list[Line] = []

    def texts() -> Iterator[str]:
        while (line := again.popleft() if again else next(lines, None)) is not None:
            taken.append(line)
            yield line[1]

    reader = csv.reader(texts(), strict=True)
    while True:
        taken.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            (first, line, _), *rest = taken
            reach = (
                f" (the quotation mark opened here reaches to line {rest[-1][0]})" if rest else ""
            )
            yield Row(first, (without_end(line),), f"no CSV: {error}{reach}", unread=True)
            again.extendleft(reversed(rest))
            reader = csv.reader(texts(), strict=True)
            continue
        faults = "; ".join(fault for _, _, fault in taken if fault)
        yield Row(taken[0][0], tuple(cells) or ("",), faults)


def csv_line(cells: Sequence[str]) -> str:
    """A row of CSV with its end."""
    written = io.StringIO()
    # The library leaves a lone CR without quotes.
    returns = any("\r" in cell for cell in cells)
    writer = csv.writer(
        written,
        lineterminator="\n",
        quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL,
    )
    writer.writerow(cells)
    return written.getvalue()
