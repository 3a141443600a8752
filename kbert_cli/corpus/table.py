"""Tables: streamed rows, their cells untouched. TSV, CSV and JSON lines."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kbert_cli.config import ReadConfig
from kbert_cli.corpus.columns import (
    ColumnNames,
    Columns,
    counted_columns,
    header_columns,
    label_is_last,
    named_columns,
)
from kbert_cli.corpus.formats import TABLES, sniff
from kbert_cli.corpus.json_rows import json_rows, with_missing
from kbert_cli.corpus.lines import LineSource
from kbert_cli.corpus.row import Row, csv_rows, tsv_rows
from kbert_cli.errors import KbertError, at_line, name_some
from kbert_cli.files import read_span

_ARRAYS = ("[{", "[\n", "[\r\n")
_LOOKED_AT = 200
"""Rows of a table without header that tell where its label is."""


@dataclass(frozen=True)
class Table:
    """A table whose columns are known; ``rows`` can be read once."""

    path: str
    format: str
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
    reading: ReadConfig | None = None,
    source: LineSource | None = None,
) -> Table:
    """Open a table and find out its columns from the header, or from the first row's width.

    Args:
        names: the columns of the task.
        texts: the number of texts that the model takes, when known.
        span: read only the rows that begin in these bytes of the file.
        faults: hand out rows that cannot be decoded, with their fault, instead of ending there.
        reading: how to read the file, where it does not tell by itself.
        source: the file, where it is open already.

    Raises:
        KbertError: the file is missing, empty or in another encoding, or its header lacks a column.
    """
    reading = reading or ReadConfig()
    source = source or LineSource(path, reading.encoding)
    form = reading.format or sniff(path, source.head(), ner=False)
    if form not in TABLES:
        raise KbertError(f"{path}: --format {form} is read for --task ner only")
    if form == "tsv" and source.beginning().lstrip().startswith(_ARRAYS):
        raise KbertError(
            f"{path} is a JSON array; JSON is read as an object a line",
            "Write it anew, for example: jq -c '.[]' FILE > FILE.jsonl",
        )
    rows = _rows(source, form, faults)
    first = next(rows, None)
    if first is None:
        raise KbertError(f"{path} is empty")
    if first.fault and form == "csv":
        raise KbertError(
            at_line(path, first.line, first.fault), "The first row tells the columns: mend it."
        )
    try:
        columns = named_columns(first.cells, reading, names) or header_columns(first.cells, names)
    except KbertError as error:
        raise KbertError(f"{path}:{first.line}: {error.what}", error.hint) from None
    if columns is None and form == "jsonl":
        raise _no_text_field(str(path), first.cells)
    header = first.cells if columns is not None else None
    if columns is not None and header is not None and form == "jsonl":
        rows = with_missing(rows, header, columns, names, reading)
    if columns is None:
        ahead = [first, *itertools.islice(rows, _LOOKED_AT)]
        rows = itertools.chain(ahead[1:], rows)
        last = reading.label_column == "last" or (
            reading.label_column is None
            and label_is_last([row.cells for row in ahead], names, texts)
        )
        columns = counted_columns(len(first.cells), names, texts, label_last=last)
    if span is not None:
        _require_splittable(source, form)
        rows = (
            Row(number, tuple(line.split("\t")), fault)
            for number, line, fault in read_span(path, *span)
        )
        if header and span[0] == 0:
            next(rows, None)
    elif not header:
        rows = itertools.chain([first], rows)
    return Table(str(path), form, header, columns, rows)


def _no_text_field(path: str, keys: Sequence[str]) -> KbertError:
    if not keys:
        return KbertError(
            f"{path} holds no JSON object at its beginning",
            "A JSONL file has one object a line; --format names another form.",
        )
    return KbertError(
        f"no field of {path} is the text; there are: {name_some(keys)}",
        "Name it with --text-field.",
    )


def require_label(table: Table) -> None:
    """Raise KbertError when a table has no label column."""
    if table.columns.label is None:
        columns = ", ".join(table.header) if table.header else table.columns.describe()
        raise KbertError(
            f"{table.path} has no label column; its columns are: {columns}",
            "It was read as "
            f"{table.format}. --label-field names a column; docs/formats.md shows the forms.",
        )


def _require_splittable(source: LineSource, form: str) -> None:
    if form != "tsv" or source.encoding != "utf-8":
        raise KbertError(
            f"--shard cuts UTF-8 files of a row a line; {source.path} is {form}, {source.encoding}",
            "Convert it first, or cut it yourself.",
        )


def _rows(source: LineSource, form: str, faults: bool) -> Iterator[Row]:
    lines = source.lines() if faults else ((n, line, "") for n, line in source.good_lines())
    if form == "csv":
        return csv_rows(lines)
    return json_rows(lines, source.head()) if form == "jsonl" else tsv_rows(lines)
