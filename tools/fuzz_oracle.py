"""What damaged files hold, told in the simplest way, to hold kbert's reading against."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from kbert_cli.files import BLANKS

TEXTS = ("text_a", "text", "sentence", "review", "content", "originalText")


def lines_of(data: bytes) -> dict[int, str] | None:
    """Lines by number from 1, ended by LF or CR LF; None where they cannot be told so simply."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if "\r" in text.replace("\r\n", "\n"):
        return None
    return dict(enumerate(text.replace("\r\n", "\n").split("\n"), 1))


def unexplained(
    form: str, data: bytes, faults: Mapping[int, str], written: list[dict[str, Any]]
) -> str:
    """What a file holds that is neither a row that was written nor a fault; empty if nothing.

    Args:
        form: as ``kbert corpus check`` names it.
        faults: line → reason, as it names them.
        written: the rows, as ``kbert corpus convert`` wrote them to JSON lines.
    """
    lines = lines_of(data)
    if lines is None or form not in _HELD:
        return ""
    left = [(number, line) for number, line in lines.items() if number not in faults]
    filled = [(number, line) for number, line in left if _filled(line, form)]
    # A first line may be a header.
    for skipped in (0, 1) if form == "tsv" else (0,):
        rows = filled[skipped:]
        if len(rows) == len(written) and all(
            _held(form, line, row) for (_, line), row in zip(rows, written, strict=True)
        ):
            return ""
    odd = next(
        (
            number
            for (number, line), row in zip(filled, written, strict=False)
            if not _held(form, line, row)
        ),
        None,
    )
    return f"{len(filled)} lines and no fault, {len(written)} rows; the first odd line is {odd}"


def _held(form: str, line: str, row: Mapping[str, Any]) -> bool:
    try:
        return _HELD[form](line, row)
    except (ValueError, KeyError, TypeError, AttributeError):
        return False


def _filled(line: str, form: str) -> bool:
    return line != "" if form == "tsv" else line.strip() != ""


def _in_cells(line: str, row: Mapping[str, Any]) -> bool:
    """Whether a row's values are cells of a line, the label but for its outer blanks."""
    cells = line.split("\t")
    stripped = [cell.strip(BLANKS) for cell in cells]
    return all(
        value in cells or (key == "label" and value.strip(BLANKS) in stripped)
        for key, value in row.items()
    )


def _in_object(line: str, row: Mapping[str, Any]) -> bool:
    """Whether a row's values are those of an object."""
    record = json.loads(line)
    given = [one if isinstance(one, str) else json.dumps(one) for one in record.values()]
    return all(value in given or value in [one.strip() for one in given] for value in row.values())


def _entities_in_object(line: str, row: Mapping[str, Any]) -> bool:
    record = json.loads(line)
    if row["text"] not in record.values():
        return False
    return _spans(row) == set(_given_spans(record))


def _spans(row: Mapping[str, Any]) -> set[tuple[int, int, str]]:
    return {(one["start"], one["end"], one["type"]) for one in row["entities"]}


def _given_spans(record: Mapping[str, Any]) -> Iterator[tuple[int, int, str]]:
    if isinstance(record.get("label"), dict):
        for kind, names in record["label"].items():
            for spans in names.values():
                yield from ((int(start), int(end) + 1, kind) for start, end in spans)
        return
    for one in record["entities"]:
        start = one["begin"] if "begin" in one else one["start"]
        yield int(start), int(one["end"]), str(one.get("label", one.get("type")))


def _cmeee(line: str, row: Mapping[str, Any]) -> bool:
    text, *parts = line.split("|||")
    cells = [part.split() for part in parts if part.strip()]
    return text == row["text"] and _spans(row) == {
        (int(start), int(end) + 1, kind) for start, end, kind in cells
    }


_HELD = {
    "tsv": _in_cells,
    "jsonl": _in_object,
    "cluener": _entities_in_object,
    "entities": _entities_in_object,
    "cmeee": _cmeee,
}
"""Format → whether a row is what a line holds."""


def not_given_back(data: bytes, suffix: str, out: str) -> str:
    """What ``kbert predict`` lost or changed of its input; empty if nothing."""
    lines = lines_of(data)
    if lines is None:
        return ""
    given = [*lines.values()]
    if given and not given[-1]:
        given.pop()
    found = out.split("\n")[:-1]
    if suffix == ".jsonl" or next(filter(str.strip, given), "").lstrip().startswith("{"):
        return _objects_not_given_back(given, found)
    # The first line of the output is a header where that of the input is.
    for number, (line, back) in enumerate(zip(given, found, strict=False), 1):
        # What exceeds the first row's width stands behind the answer.
        cells = iter(back.split("\t"))
        if not all(cell in cells for cell in line.split("\t")):
            return f"line {number} came back as {back[:80]!r}"
    return "" if len(given) == len(found) else f"{len(given)} lines in, {len(found)} out"


def _objects_not_given_back(given: list[str], found: list[str]) -> str:
    if len(given) != len(found):
        return f"{len(given)} lines in, {len(found)} out"
    for number, (line, back) in enumerate(zip(given, found, strict=True), 1):
        record = json.loads(back)
        try:
            before = json.loads(line)
        except (ValueError, RecursionError):
            before = None
        kept = (
            all(key in record and same(record[key], value) for key, value in before.items())
            if isinstance(before, dict) and "unread" not in record
            else record.get("unread", "") == line or not line.strip()
        )
        if not kept:
            return f"line {number} came back as {back[:80]!r}"
        if "error" not in record and not any(
            isinstance((before or {}).get(name), str | int | float) for name in TEXTS
        ):
            return f"line {number} has no text and no error"
    return ""


def same(one: object, two: object) -> bool:
    """Whether JSON values are equal; NaN is NaN."""
    return json.dumps(one) == json.dumps(two)
