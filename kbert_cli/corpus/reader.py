"""From files to examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from kbert_cli.config import ReadConfig
from kbert_cli.corpus.columns import NER, READING, ColumnNames, Columns
from kbert_cli.corpus.example import Example
from kbert_cli.corpus.formats import PASSAGES, TABLES, sniff
from kbert_cli.corpus.lines import LineSource
from kbert_cli.corpus.passages import (
    answer_fault,
    as_reading,
    is_passages,
    passages_table,
    read_passages,
)
from kbert_cli.corpus.table import Row, Table, open_table, require_label
from kbert_cli.corpus.tagged import read_sentences, read_tagged_file
from kbert_cli.corpus.tags import plain_text
from kbert_cli.errors import KbertError, at_line, name_some
from kbert_cli.files import BLANKS, read_lines


@dataclass
class Split:
    """All examples of one file, and what a user should know of how it read."""

    path: str
    examples: list[Example]
    notes: list[str] = field(default_factory=list)


def read_split(
    path: str | Path,
    names: ColumnNames,
    *,
    texts: int | None = None,
    reading: ReadConfig | None = None,
) -> Split:
    """Read a labelled file whole; blank lines are skipped, labels are strings.

    Raises:
        KbertError: there is no label column or no example, or some rows cannot be read: all of them
            are named, because training on the rest would hide the damage.
    """
    reading = reading or ReadConfig()
    if names is NER:
        found = read_tagged_file(path, reading)
        _refuse(path, [at_line(path, line, fault) for line, fault in found.faults], found.examples)
        return Split(str(path), found.examples, found.notes)
    if names is READING:
        return _read_reading(path, reading)
    return _read_table(path, names, texts, reading)


def read_questions(
    path: str | Path, reading: ReadConfig
) -> tuple[str, list[Example], list[tuple[int, str]]]:
    """The format of a file of reading, its examples, and what cannot be used with the reason."""
    source = LineSource(path, reading.encoding)
    if is_passages(source, reading):
        return PASSAGES, *read_passages(source)
    form, split, faults = read_rows(path, READING, 2, reading)
    examples = []
    for example in map(as_reading, split.examples):
        fault = answer_fault(example)
        faults += [(example.line, fault)] if fault else []
        examples += [] if fault else [example]
    return form, examples, faults


def _read_reading(path: str | Path, reading: ReadConfig) -> Split:
    _, examples, faults = read_questions(path, reading)
    _refuse(path, [at_line(path, line, fault) for line, fault in faults], examples)
    return Split(str(path), examples)


def _read_table(
    path: str | Path, names: ColumnNames, texts: int | None, reading: ReadConfig
) -> Split:
    _, split, faults = read_rows(path, names, texts, reading)
    _refuse(path, [at_line(path, line, fault) for line, fault in faults], split.examples)
    return split


def read_rows(
    path: str | Path, names: ColumnNames, texts: int | None, reading: ReadConfig
) -> tuple[str, Split, list[tuple[int, str]]]:
    """The format of a labelled table, its examples, and the lines that hold none with the reason.

    Raises:
        KbertError: the file cannot be opened, or has no label column.
    """
    table = open_table(path, names, texts=texts, reading=reading)
    require_label(table)
    split = Split(str(path), [])
    if table.header is None:
        split.notes.append(f"{path} has no header; columns: {table.columns.describe()}")
    classes = _classes(reading.classes)
    faults: list[tuple[int, str]] = []
    trimmed, empty = [], []
    for row in table.rows:
        if row.cells == ("",):
            continue
        try:
            example = _labelled(row, table, classes)
        except ValueError as error:
            faults.append((row.line, str(error)))
            continue
        split.examples.append(example)
        if classes is None and example.label != row.cell(table.columns.label):
            trimmed.append(str(row.line))
        if not all(text.strip(BLANKS) for text in example.texts):
            empty.append(str(row.line))
    if trimmed:
        split.notes.append(f"{path}: blanks around labels removed, lines {name_some(trimmed)}")
    if empty:
        split.notes.append(f"{path}: empty texts in lines {name_some(empty)}")
    alike = _look_alike({str(example.label) for example in split.examples})
    if alike:
        split.notes.append(f"{path}: labels that differ in form only: {alike}")
    return table.format, split, faults


def _classes(path: str | None) -> list[str] | None:
    if path is None:
        return None
    return [line.strip(BLANKS) for _, line in read_lines(path) if line.strip(BLANKS)]


def _look_alike(labels: set[str]) -> str:
    """Labels that are one number, or one word but for case: ``1, 1.0``."""
    groups: dict[str, list[str]] = {}
    for label in sorted(labels):
        try:
            key = repr(float(label))
        except ValueError:
            key = label.casefold()
        groups.setdefault(key, []).append(label)
    return "; ".join(", ".join(group) for group in groups.values() if len(group) > 1)


def _refuse(path: str | Path, bad: list[str], examples: list[Example]) -> None:
    if bad:
        shown = "\n".join(bad[:20])
        more = f"\n… and {len(bad) - 20} more" if len(bad) > 20 else ""
        raise KbertError(
            f"{len(bad)} rows of {path} cannot be read:\n{shown}{more}",
            "kbert corpus check FILE --task TASK lists them all.",
        )
    if not examples:
        raise KbertError(f"{path} holds no example")


def _labelled(row: Row, table: Table, classes: list[str] | None) -> Example:
    columns = table.columns
    if row.fault:
        raise ValueError(row.fault)
    if len(row.cells) != columns.width:
        raise ValueError(f"{len(row.cells)} columns, expected {columns.width}")
    texts = tuple(row.cells[index] for index in columns.texts)
    assert columns.label is not None
    label = row.cells[columns.label].strip(BLANKS)
    if not label:
        raise ValueError("empty label")
    if classes is not None:
        if not label.isdigit() or int(label) >= len(classes):
            raise ValueError(f"label {label!r} is no number from 0 to {len(classes) - 1}")
        label = classes[int(label)]
    return Example(texts, label, row.cell(columns.group), row.line)


def unlabelled_example(row: Row, table: Table, names: ColumnNames) -> Example:
    """The texts of a row, its label left alone; missing cells are empty texts."""
    read: Callable[[str], str] = plain_text if names is NER else str
    texts = tuple(read(row.cell(index) or "") for index in table.columns.texts)
    return Example(texts, line=row.line)


def unlabelled_examples(table: Table, names: ColumnNames) -> Iterator[tuple[Row, Example]]:
    """Stream every row of a table with its example."""
    return ((row, unlabelled_example(row, table, names)) for row in table.rows)


def open_unlabelled(
    path: str | Path,
    names: ColumnNames,
    *,
    texts: int | None = None,
    span: tuple[int, int] | None = None,
    reading: ReadConfig | None = None,
) -> Table:
    """A file to predict as a table, rows that cannot be read included; see ``open_table``.

    Formats of ner that are no tables give a row with the text of each sentence.
    """
    reading = reading or ReadConfig()
    source = LineSource(path, reading.encoding)
    if names is READING and is_passages(source, reading):
        return passages_table(path, source)
    form = reading.format or sniff(path, source.head(), ner=names is NER)
    if form in TABLES:
        known = replace(reading, format=form)
        return open_table(
            path, names, texts=texts, span=span, faults=True, reading=known, source=source
        )
    if names is not NER:
        raise KbertError(f"{path}: the format {form} is read for --task ner only")
    rows = (
        Row(one.line, ("",) if one.fault else (one.text,), one.fault)
        for one in read_sentences(source, form, reading)
    )
    return Table(str(path), form, ("text_a",), Columns((0,), None, None, 1), rows)
