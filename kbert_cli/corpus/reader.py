"""From files to examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kbert_cli.config import ReadConfig
from kbert_cli.corpus.classes import named_class, read_classes
from kbert_cli.corpus.columns import NER, READING, ColumnNames, Columns
from kbert_cli.corpus.example import Example
from kbert_cli.corpus.formats import OBJECTS, PASSAGES, TABLES, sniff
from kbert_cli.corpus.json_rows import kind_of
from kbert_cli.corpus.lines import LineSource
from kbert_cli.corpus.passages import (
    answered,
    is_passages,
    one_of,
    passages_table,
    read_passages,
)
from kbert_cli.corpus.row import Row
from kbert_cli.corpus.sequences.inline import mostly_marked
from kbert_cli.corpus.table import Table, open_table, require_label
from kbert_cli.corpus.tagged import (
    read_tagged_file,
    refuse_class_options,
    refuse_fields,
    text_rows,
)
from kbert_cli.corpus.tags import joined_tokens
from kbert_cli.errors import KbertError, at_line, name_some
from kbert_cli.files import BLANKS


@dataclass
class Split:
    """All examples of one file, and what a user should know of how it read."""

    path: str
    examples: list[Example]
    notes: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    """Columns, or fields, that the task does not read."""


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
) -> tuple[str, Split, list[tuple[int, str]]]:
    """The format of a file of reading, its examples, and what cannot be used with the reason."""
    refuse_class_options(reading, "reading")
    source = LineSource(path, reading.encoding)
    if is_passages(source, reading):
        refuse_fields(reading, PASSAGES, source.path)
        examples, faults, unused = read_passages(source)
        return PASSAGES, Split(str(path), examples, unused=unused), faults
    return read_rows(path, READING, 2, reading, source)


def _read_reading(path: str | Path, reading: ReadConfig) -> Split:
    _, split, faults = read_questions(path, reading)
    _refuse(path, [at_line(path, line, fault) for line, fault in faults], split.examples)
    return split


def _read_table(
    path: str | Path, names: ColumnNames, texts: int | None, reading: ReadConfig
) -> Split:
    _, split, faults = read_rows(path, names, texts, reading)
    _refuse(path, [at_line(path, line, fault) for line, fault in faults], split.examples)
    return split


def read_rows(
    path: str | Path,
    names: ColumnNames,
    texts: int | None,
    reading: ReadConfig,
    source: LineSource | None = None,
) -> tuple[str, Split, list[tuple[int, str]]]:
    """The format of a labelled table, its examples, and the lines that hold none with the reason.

    Raises:
        KbertError: the file cannot be opened, has no label column, or is in another encoding.
    """
    source = source or LineSource(path, reading.encoding)
    objects = (reading.format or sniff(path, source.head(), ner=False)) == "jsonl"
    if not objects and (fault := source.first_fault()):
        # It tells the columns.
        raise source.fault_error(1, fault)
    table = open_table(
        path, names, texts=texts, reading=reading, faults=True, labelled=True, source=source
    )
    require_label(table)
    split = Split(str(path), [])
    if table.header is None:
        split.notes.append(f"{path} has no header; columns: {table.columns.describe()}")
    classes = read_classes(reading.classes, reading.encoding)
    faults: list[tuple[int, str]] = []
    trimmed, empty = [], []
    late: dict[str, None] = {}
    for row in table.rows:
        if row.cells == ("",):
            continue
        try:
            example = _labelled(row, table, names, classes)
        except ValueError as error:
            faults.append((row.line, str(error)))
            continue
        split.examples.append(example)
        late |= dict.fromkeys(row.record or ())
        if classes is None and names is not READING:
            trimmed += [str(row.line)] if example.label != row.cell(table.columns.label) else []
        if not all(text.strip(BLANKS) for text in example.texts):
            empty.append(str(row.line))
    source.refuse_if_foreign(faults, len(split.examples) + len(faults))
    if trimmed:
        split.notes.append(f"{path}: blanks around labels removed, lines {name_some(trimmed)}")
    if empty:
        split.notes.append(f"{path}: empty texts in lines {name_some(empty)}")
    split.unused = _unused(table, late)
    if names is not READING:
        split.notes += _label_notes(split, table, reading)
    return table.format, split, faults


def _unused(table: Table, late: Iterable[str]) -> list[str]:
    columns = table.columns
    if table.header is None:
        return [f"column {index + 1}" for index in columns.unused]
    return [
        *(table.header[index] for index in columns.unused),
        *(name for name in late if name not in table.header),
    ]


def _label_notes(split: Split, table: Table, reading: ReadConfig) -> list[str]:
    notes = []
    labels = {str(example.label) for example in split.examples}
    if alike := _look_alike(labels):
        notes.append(f"{split.path}: labels that differ in form only: {alike}")
    if (
        table.header is None
        and reading.label_column is None
        and 2 < len(labels) == len(split.examples)
    ):
        notes.append(
            f"{split.path}: each row has a label of its own; where the labels are the last column, "
            "say --label-column last"
        )
    return notes


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


def _labelled(row: Row, table: Table, names: ColumnNames, classes: Sequence[str] | None) -> Example:
    columns = table.columns
    if row.fault:
        raise ValueError(row.fault)
    if len(row.cells) != columns.width:
        raise ValueError(f"{len(row.cells)} columns, expected {columns.width}")
    texts = tuple(row.cells[index] for index in columns.texts)
    assert columns.label is not None
    group = row.cell(columns.group)
    group = None if group is None else group.strip(BLANKS)
    if names is READING:
        return _answered(row, table, Example(texts, None, group or None, row.line))
    if group == "":
        raise ValueError("empty qid")
    label = row.cells[columns.label].strip(BLANKS)
    if row.record is not None and table.header is not None:
        for what, index in (("label", columns.label), ("qid", columns.group)):
            value = row.record.get(table.header[index]) if index is not None else None
            if isinstance(value, list | dict):
                raise ValueError(f"the {what} is {kind_of(value)}, not a text or number")
    if not label:
        raise ValueError("empty label")
    if classes is not None:
        label = named_class(label, classes)
    if names.labels and label not in names.labels:
        raise ValueError(f"label {label!r}; it must be one of {', '.join(names.labels)}")
    return Example(texts, label, group, row.line)


def _answered(row: Row, table: Table, example: Example) -> Example:
    columns = table.columns
    assert columns.label is not None
    if row.record is not None and table.header is not None:
        own = table.header[columns.label]
        answers = one_of(row.record, READING.label if own in READING.label else (own,))
        start = None if columns.start is None else row.record.get(table.header[columns.start])
    else:
        answers = row.cells[columns.label].strip(BLANKS)
        start = (row.cell(columns.start) or "").strip(BLANKS) or None
        if not answers:
            raise ValueError("empty answer")
    if isinstance(answers, str):
        answers = [{"text": answers, "answer_start": start}]
    return answered(example, answers)


def unlabelled_example(row: Row, table: Table, names: ColumnNames) -> Example:
    """The texts of a row, its label left alone; missing cells are empty texts."""
    cells = [row.cell(index) or "" for index in table.columns.texts]
    # Objects with entities hold texts as they are.
    if names is NER and table.format in TABLES:
        tags = row.cell(table.columns.label)
        cells = [joined_tokens(cell, tags) for cell in cells]
    return Example(tuple(cells), line=row.line)


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
    source: LineSource | None = None,
) -> Table:
    """A file to predict as a table, rows that cannot be read included; see ``open_table``.

    Formats of ner that are no tables give a row with the text of each sentence; those that are
    objects keep their fields.
    """
    reading = reading or ReadConfig()
    source = source or LineSource(path, reading.encoding)
    if names is READING and is_passages(source, reading):
        return passages_table(path, source)
    form = reading.format or sniff(path, source.head(), ner=names is NER)
    if form == "inline" and reading.format is None and not mostly_marked(source.head()):
        # Texts to predict that hold some brackets.
        form = "tsv"
    if form in TABLES or (form in OBJECTS and names is NER):
        if form in OBJECTS:
            refuse_fields(reading, form, source.path)
        table = open_table(
            path,
            names,
            texts=texts,
            span=span,
            faults=True,
            reading=reading,
            source=source,
            form="jsonl" if form in OBJECTS else form,
        )
        return replace(table, format=form)
    if names is not NER:
        raise KbertError(f"{path}: the format {form} is read for --task ner only")
    rows = text_rows(source, form, reading)
    return Table(str(path), form, ("text_a",), Columns((0,), None, None, 1), rows)
