"""Tables: streamed rows, their cells untouched. TSV, CSV and JSON lines."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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

_ARRAY = re.compile(r"\s*\[\s*(\{|\n)")
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
    labelled: bool = False,
    reading: ReadConfig | None = None,
    source: LineSource | None = None,
    form: str | None = None,
) -> Table:
    """Open a table and find out its columns from the header, or from the first row's width.

    Args:
        names: the columns of the task.
        texts: the number of texts that the model takes, when known.
        span: read only the rows that begin in these bytes of the file.
        faults: hand out rows that cannot be decoded, with their fault, instead of ending there.
        labelled: whether labels are wanted, and not texts alone.
        reading: how to read the file, where it does not tell by itself.
        source: the file, where it is open already.
        form: what it was told to be.

    Raises:
        KbertError: the file is missing, empty or in another encoding, or its header lacks a column.
    """
    reading = reading or ReadConfig()
    source = source or LineSource(path, reading.encoding)
    form = form or reading.format or sniff(path, source.head(), ner=False)
    if form not in TABLES:
        raise KbertError(f"{path}: --format {form} is read for --task ner only")
    if form == "tsv" and _ARRAY.match(source.beginning()):
        raise KbertError(
            f"{path} is a JSON array; JSON is read as an object a line",
            "Write it anew, for example: jq -c '.[]' FILE > FILE.jsonl",
        )
    rows = _rows(source, form, faults)
    blank: list[Row] = []
    while (first := next(rows, None)) is not None and first.cells == ("",) and not first.fault:
        blank.append(first)
    if first is None:
        if not blank:
            raise KbertError(f"{path} is empty")
        first = blank.pop(0)
    _require_first_row(source, form, first)
    try:
        columns = named_columns(first.cells, reading, names) or header_columns(first.cells, names)
    except KbertError as error:
        raise KbertError(at_line(path, first.line, error.what), error.hint) from None
    if columns is None and form == "jsonl":
        raise _no_text_field(str(path), first.cells)
    if columns is None:
        if reading.format is None:
            _require_no_other_header(source, form, first, names)
        return _headless(source, form, [*blank, first], rows, names, texts, reading, span)
    header = first.cells
    if form == "jsonl":
        rows = with_missing(rows, header, columns, names, reading, labelled=labelled)
    elif span is not None:
        rows = (row for row in _span_rows(source, form, span) if span[0] or row.line != first.line)
    else:
        rows = itertools.chain(blank, rows)
    return Table(str(path), form, header, columns, _without_headers(rows, header))


def _headless(
    source: LineSource,
    form: str,
    before: list[Row],
    rows: Iterator[Row],
    names: ColumnNames,
    texts: int | None,
    reading: ReadConfig,
    span: tuple[int, int] | None,
) -> Table:
    """A table without header; its rows tell where the label is."""
    first = before[-1]
    ahead = [first, *itertools.islice(rows, _LOOKED_AT)]
    last = reading.label_column == "last" or (
        reading.label_column is None and label_is_last([row.cells for row in ahead], names, texts)
    )
    columns = counted_columns(len(first.cells), names, texts, label_last=last)
    if span is not None:
        rows = _span_rows(source, form, span)
    else:
        rows = itertools.chain(before[:-1], ahead, rows)
    return Table(source.path, form, None, columns, rows)


def _span_rows(source: LineSource, form: str, span: tuple[int, int]) -> Iterator[Row]:
    if form != "tsv" or source.encoding != "utf-8" or source.cr:
        ends = ", lines that end with CR" if source.cr else ""
        raise KbertError(
            f"--shard cuts UTF-8 files of a row a line; {source.path} is {form}, "
            f"{source.encoding}{ends}",
            "Convert it first, or cut it yourself.",
        )
    return tsv_rows(read_span(source.path, *span))


def _without_headers(rows: Iterator[Row], header: tuple[str, ...]) -> Iterator[Row]:
    """Rows, of which those that repeat the header, as in joined files, are faults."""
    for row in rows:
        repeated = row.record is None and row.cells == header
        yield replace(row, fault="the header once more") if repeated else row


def _require_first_row(source: LineSource, form: str, first: Row) -> None:
    """Raise KbertError when the first row cannot tell the columns."""
    if form != "csv":
        return
    if first.fault:
        raise KbertError(
            at_line(source.path, first.line, first.fault),
            "The first row tells the columns: mend it.",
        )
    if len(first.cells) < 3 and first.cells[0].startswith("sep="):
        raise KbertError(
            at_line(source.path, first.line, "a spreadsheet's line that names its separator"),
            "Delete that line.",
        )


_SEPARATORS = {"\t": "tab", ",": "comma", ";": "semicolon", "|": "vertical bar"}
_OWN = {"tsv": "\t", "csv": ","}


def _require_no_other_header(source: LineSource, form: str, first: Row, names: ColumnNames) -> None:
    """Raise KbertError when the first row names columns that another sign parts."""
    line = _OWN[form].join(first.cells)
    for sign, name in _SEPARATORS.items():
        cells = line.split(sign)
        if sign == _OWN[form] or len(cells) < 2:
            continue
        try:
            other = header_columns(cells, names) is not None
        except KbertError:
            continue
        if other:
            raise KbertError(
                at_line(source.path, first.line, f"a header whose columns a {name} parts"),
                f"It was read as {form}; --format (--input-format) tsv or csv says which it is. "
                "Other signs must be replaced.",
            )


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


def _rows(source: LineSource, form: str, faults: bool) -> Iterator[Row]:
    lines = source.lines(ends=form == "csv")
    if not faults:
        lines = source.refused(lines)
    if form == "csv":
        return csv_rows(lines)
    return json_rows(lines, source.head()) if form == "jsonl" else tsv_rows(lines)
