"""Rows of the input with what the model adds, as lines of the output."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import IO, TYPE_CHECKING, Any

from kbert_cli.corpus.row import csv_line

if TYPE_CHECKING:
    from kbert_cli.prediction import PredictedRow

UNREAD = "unread"
"""Field of JSON lines that holds a line which is no row."""


def row_writer(
    form: str,
    stream: IO[str],
    header: tuple[str, ...] | None,
    width: int,
    added_names: tuple[str, ...],
    *,
    begun: bool = False,
) -> Callable[[PredictedRow], None]:
    """A function that writes one row after the other.

    Args:
        form: of the output: tsv, csv or jsonl.
        width: cells of a row of the input.
        added_names: the columns that a prediction adds.
        begun: whether the header is written already.
    """
    names = _distinct(header) if header else _numbered(width)
    free = {name: _free_name(name, names) for name in added_names}
    if form == "jsonl":
        return lambda row: _write_object(stream, row, names, free)
    line_of = csv_line if form == "csv" else _tsv_line

    def put(cells: Sequence[str]) -> None:
        stream.write(line_of(cells))

    if header and not begun:
        put((*header, *free.values()))

    def write(predicted: PredictedRow) -> None:
        row = predicted.row
        cells = (*row.cells, *[""] * (width - len(row.cells)))
        values = {**predicted.added, "error": predicted.error}
        # Surplus cells go behind the answer, so that its columns line up.
        more = {key: one for key, one in (row.record or {}).items() if key not in names}
        surplus = (*cells[width:], *([_cell(more)] if more else []))
        put((*cells[:width], *(_cell(values.get(name, "")) for name in free), *surplus))

    return write


def _write_object(
    stream: IO[str], predicted: PredictedRow, names: Sequence[str], free: dict[str, str]
) -> None:
    """An object of the input stays what it was, but for what is added."""
    row = predicted.row
    if row.record is not None:
        record = dict(row.record)
    elif row.unread:
        record = {UNREAD: row.cells[0]} if row.cells[0] else {}
    else:
        padded = (*row.cells, *[""] * (len(names) - len(row.cells)))
        record = dict(zip(names, padded, strict=False))
        if surplus := row.cells[len(names) :]:
            record[_free_name("more_columns", names)] = list(surplus)
    values = {**predicted.added, **({"error": predicted.error} if predicted.error else {})}
    added = {_free_name(free[name], record): value for name, value in values.items()}
    stream.write(json.dumps(record | added, ensure_ascii=False) + "\n")


def _numbered(width: int) -> tuple[str, ...]:
    return tuple(f"column_{number}" for number in range(1, width + 1)) if width > 1 else ("text",)


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Names as keys: a repeated one gets a number."""
    seen: dict[str, None] = {}
    for name in names:
        number = 2
        free = name
        while free in seen:
            free, number = f"{name}_{number}", number + 1
        seen[free] = None
    return tuple(seen)


def _tsv_line(cells: Sequence[str]) -> str:
    """A row; tabs and line ends in a cell, which TSV cannot hold, become blanks."""
    return "\t".join(map(_one_line, cells)) + "\n"


def _one_line(cell: str) -> str:
    return cell.translate(_BLANKED)


_BLANKED = str.maketrans("\t\n\r", "   ")


def _free_name(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name = f"kbert_{name}"
    return name


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
