"""JSON lines as rows of a table: an object a row, whose fields may differ from row to row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from kbert_cli.config import ReadConfig
from kbert_cli.corpus.columns import ColumnNames, Columns
from kbert_cli.corpus.lines import Line
from kbert_cli.corpus.row import Row
from kbert_cli.errors import name_some
from kbert_cli.files import BLANKS, parse_json

BLANK_LINE = "a blank line"


def json_rows(lines: Iterable[Line], head: Sequence[str]) -> Iterator[Row]:
    """Objects as rows, the fields of the first ones as header; others are in ``record`` only."""
    keys: dict[str, None] = {}
    for line in head:
        record, _ = object_of(line)
        keys |= dict.fromkeys(record)
    yield Row(1, tuple(keys))
    for number, line, fault in lines:
        if not line.strip(BLANKS):
            yield Row(number, ("",), fault or BLANK_LINE, unread=True)
            continue
        record, why = object_of(line)
        if fault or why:
            yield Row(number, (line,), fault or why, unread=True)
            continue
        yield Row(number, tuple(_cell(record.get(key)) for key in keys), record=record)


def with_missing(
    rows: Iterable[Row],
    header: Sequence[str],
    columns: Columns,
    names: ColumnNames,
    reading: ReadConfig,
    *,
    labelled: bool,
) -> Iterator[Row]:
    """Rows whose texts are missing, or are no texts, get a fault that says so.

    Args:
        labelled: whether more than the texts in ``columns`` may be wanted.
    """
    used = [header[index] for index in columns.texts]
    roles = {name for options in (*names.texts, names.label, names.group) for name in options}
    if not labelled or reading.text_field or reading.text_b_field or reading.label_field:
        roles = set()
    late = roles.difference(header)
    for row in rows:
        if row.record is None:
            yield row
            continue
        faults = [fault for name in used if (fault := _text_fault(row.record, name))]
        faults += [
            f"field {name!r}, which the first rows lack, would not be read"
            for name in late.intersection(row.record)
        ]
        yield replace(row, fault="; ".join(faults)) if faults else row


def _text_fault(record: dict[str, Any], name: str) -> str:
    if name not in record:
        return f"no field {name!r}; there are: {name_some(record)}"
    value = record[name]
    if isinstance(value, str) or (isinstance(value, int | float) and not isinstance(value, bool)):
        return ""
    return f"field {name!r} is {kind_of(value)}, not a text"


def kind_of(value: Any) -> str:
    """What a JSON value is called, for messages."""
    if value is None:
        return "null"
    kinds = {bool: "true or false", list: "a list", dict: "an object", str: "a text"}
    return kinds.get(type(value), "a number")


def object_of(line: str) -> tuple[dict[str, Any], str]:
    """The object of a line, or an empty one and why there is none."""
    try:
        value = parse_json(line)
    except ValueError as error:
        return {}, f"no JSON: {error}"
    return (value, "") if isinstance(value, dict) else ({}, f"no JSON object: {kind_of(value)}")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
