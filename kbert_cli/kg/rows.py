"""Rows of a source: lines of each format as subject, predicate and object."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

from kbert_cli.errors import KbertError
from kbert_cli.files import BLANKS, parse_json
from kbert_cli.kg.sources import SourceFormat, read_source_lines

CELLS = ("subject", "predicate", "object")
_CELL_NAMES: dict[str, str] = {
    name: cell
    for cell, names in {
        "subject": ("subject", "s", "head", "entity", "实体", "主语", "头实体", "h"),
        "predicate": ("predicate", "p", "relation", "attribute", "属性", "谓语", "关系", "r"),
        "object": ("object", "o", "tail", "value", "值", "属性值", "宾语", "尾实体", "t"),
    }.items()
    for name in names
}
"""How headers and JSON objects call the cells."""

Row = Sequence[str] | str
"""Three cells, or the reason why there are none."""


def read_rows(
    path: str | Path,
    source: SourceFormat,
    on_bytes: Callable[[int], None] = lambda _: None,
    on_header: Callable[[str], None] = lambda _: None,
) -> Iterator[tuple[int, Row]]:
    """``(line number, row)`` of a source in file order; blank lines and comments are skipped."""
    lines = read_source_lines(path, source.encoding, on_bytes)
    match source.of(path):
        case "csv":
            return _csv_rows(lines, source, on_header)
        case "nt":
            return _nt_rows(lines)
        case "jsonl":
            return _jsonl_rows(lines)
    return _spo_rows(lines, source, on_header)


def _order(columns: Sequence[str] | None) -> list[int] | None:
    """Where subject, predicate and object stand; None for the usual order."""
    return None if columns is None else [list(columns).index(cell) for cell in "spo"]


def _spo_rows(
    lines: Iterable[tuple[int, str]], source: SourceFormat, on_header: Callable[[str], None]
) -> Iterator[tuple[int, Row]]:
    delimiter = source.delimiter or "\t"
    order = _order(source.columns)
    width = len(source.columns or CELLS)
    shown = "tabs" if delimiter == "\t" else repr(delimiter)
    for number, line in lines:
        cells = line.split(delimiter)
        if len(cells) < width and (
            not line.strip(BLANKS) or (line.startswith("#") and delimiter not in line)
        ):
            continue
        if number == 1 and (found := header_order(cells)):
            on_header(line)
            order = order or (None if found == [0, 1, 2] else found)
            continue
        if len(cells) != width:
            yield number, _wrong_width(line, cells, width, shown)
            continue
        yield number, cells if order is None else [cells[at] for at in order]


_OTHER_DELIMITERS = ("\t", "|||", ",", "，", ";", "|", " ")


def _wrong_width(line: str, cells: Sequence[str], width: int, shown: str) -> str:
    others = [mark for mark in _OTHER_DELIMITERS if len(line.split(mark)) == width]
    hint = f"; {others[0]!r} would give {width}" if len(cells) == 1 and others else ""
    wanted = "subject, predicate, object" if width == 3 else "as --columns says"
    return f"{len(cells)} columns, expected {width} ({wanted}) separated by {shown}{hint}"


def header_order(cells: Sequence[str]) -> list[int] | None:
    """Where a header's columns stand, or None when this is no header."""
    names = [_CELL_NAMES.get(cell.strip(BLANKS).casefold()) for cell in cells]
    if any(cell not in names for cell in CELLS):
        return None
    return [names.index(cell) for cell in CELLS]


def _csv_rows(
    lines: Iterable[tuple[int, str]],
    source: SourceFormat,
    on_header: Callable[[str], None],
) -> Iterator[tuple[int, Row]]:
    numbers: list[int] = [0]

    def feed() -> Iterator[str]:
        for number, line in lines:
            numbers[0] = number
            yield line + "\n"

    csv.field_size_limit(1 << 27)
    delimiter = source.delimiter or ","
    if len(delimiter) != 1:
        raise KbertError(f"--delimiter {delimiter!r}: csv takes one character")
    reader = csv.reader(feed(), delimiter=delimiter, strict=True)
    order, width = _order(source.columns), len(source.columns or CELLS)
    first = True
    while True:
        begin = numbers[0] + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            lines_lost = f" (lines {begin} to {numbers[0]})" if numbers[0] > begin else ""
            yield begin, f"no csv: {error}{lines_lost}"
            continue
        found = header_order(cells) if first else None
        if found:
            on_header(delimiter.join(cells))
            order, width = order or found, len(cells)
        elif cells:
            if len(cells) == width:
                yield begin, [cells[at] for at in order] if order else cells
            else:
                yield begin, f"{len(cells)} columns, expected {width}"
        first = False


_NT = re.compile(
    r"\s*(<[^>]*>|_:\S+)\s+<([^>]*)>\s+(<[^>]*>|_:\S+|\"(?:[^\"\\]|\\.)*\")"
    r"(?:@[A-Za-z0-9-]+|\^\^<[^>]*>)?\s*\.\s*(?:#.*)?$"
)
_NT_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_NT_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")


def _nt_rows(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, Row]]:
    for number, line in lines:
        if not line.strip(BLANKS) or line.lstrip().startswith("#"):
            continue
        match = _NT.match(line)
        if match is None:
            yield number, 'no N-Triples statement: <subject> <predicate> <object or "text"> .'
            continue
        subject, predicate, value = match.groups()
        try:
            row = (_local(subject), _local(predicate), _term(value))
        except ValueError:
            yield number, "an escape that stands for no character"
            continue
        yield number, row if _is_text(row) else _NO_TEXT


_NO_TEXT = "half of a character (a surrogate)"


def _is_text(row: Iterable[str]) -> bool:
    """Whether escapes left nothing that UTF-8 cannot hold."""
    try:
        "".join(row).encode()
    except UnicodeEncodeError:
        return False
    return True


def _term(value: str) -> str:
    return _nt_text(value[1:-1]) if value.startswith('"') else _local(value)


def _nt_text(text: str) -> str:
    def resolve(match: re.Match[str]) -> str:
        short, long, char = match.groups()
        return chr(int(short or long, 16)) if char is None else _NT_ESCAPES.get(char, char)

    return _NT_ESCAPE.sub(resolve, text) if "\\" in text else text


def _local(iri: str) -> str:
    """The last part of an IRI, as people write names: /resource/%E5%A4%B4_a → 头 a."""
    path = _nt_text(iri.strip("<>")).rstrip("/#")
    return unquote(re.split(r"[/#]", path)[-1]).replace("_", " ")


def _is_plain(cell: object) -> bool:
    """Text or a finite number."""
    if isinstance(cell, float):
        return math.isfinite(cell)
    return isinstance(cell, (str, int)) and not isinstance(cell, bool)


def _jsonl_rows(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, Row]]:
    for number, line in lines:
        if not line.strip(BLANKS):
            continue
        try:
            value = parse_json(line)
        except ValueError as error:
            yield number, f"no JSON: {error}"
            continue
        if not isinstance(value, dict):
            yield number, "no JSON object"
            continue
        cells = {_CELL_NAMES.get(str(name).casefold()): one for name, one in value.items()}
        if any(cell not in cells for cell in CELLS):
            yield number, "an object needs subject, predicate and object (or s, p, o)"
            continue
        many = cells["object"] if isinstance(cells["object"], list) else [cells["object"]]
        if not many:
            yield number, "the list of objects is empty"
        for one in many:
            row = (cells["subject"], cells["predicate"], one)
            if all(map(_is_plain, row)):
                found = [str(cell) for cell in row]
                yield number, found if _is_text(found) else _NO_TEXT
            else:
                yield number, "subject, predicate and object must be text or numbers"
