"""From table rows to examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kbert_cli.corpus.columns import NER, ColumnNames
from kbert_cli.corpus.example import Example
from kbert_cli.corpus.table import Row, Table, open_table
from kbert_cli.corpus.tags import plain_text, read_tagged
from kbert_cli.errors import KbertError, at_line, name_some
from kbert_cli.files import BLANKS


@dataclass
class Split:
    """All examples of one file, and what a user should know of how it read."""

    path: str
    examples: list[Example]
    notes: list[str] = field(default_factory=list)


def read_split(path: str | Path, names: ColumnNames, *, texts: int | None = None) -> Split:
    """Read a labelled file whole; blank lines are skipped, labels are strings.

    Raises:
        KbertError: there is no label column or no example, or some rows cannot be read: all of them
            are named, because training on the rest would hide the damage.
    """
    table = open_table(path, names, texts=texts)
    if table.columns.label is None:
        raise KbertError(
            f"{path} has no label column; its columns are: "
            + (", ".join(table.header) if table.header else table.columns.describe()),
            "Cells are separated by tabs. docs/formats.md shows the columns of each task.",
        )
    split = Split(str(path), [])
    if table.header is None:
        split.notes.append(f"{path} has no header; columns: {table.columns.describe()}")
    bad = []
    trimmed, empty = [], []
    for row in table.rows:
        if row.cells == ("",):
            continue
        try:
            example = _labelled(row, table, names)
        except ValueError as error:
            bad.append(at_line(path, row.line, str(error)))
            continue
        split.examples.append(example)
        if example.label != row.cell(table.columns.label) and names is not NER:
            trimmed.append(str(row.line))
        if not all(text.strip(BLANKS) for text in example.texts):
            empty.append(str(row.line))
    _refuse(path, bad, split.examples)
    if trimmed:
        split.notes.append(f"{path}: blanks around labels removed, lines {name_some(trimmed)}")
    if empty:
        split.notes.append(f"{path}: empty texts in lines {name_some(empty)}")
    return split


def _refuse(path: str | Path, bad: list[str], examples: list[Example]) -> None:
    if bad:
        shown = "\n".join(bad[:20])
        more = f"\n… and {len(bad) - 20} more" if len(bad) > 20 else ""
        raise KbertError(f"{len(bad)} rows of {path} cannot be read:\n{shown}{more}")
    if not examples:
        raise KbertError(f"{path} holds no example")


def _labelled(row: Row, table: Table, names: ColumnNames) -> Example:
    columns = table.columns
    if len(row.cells) != columns.width:
        raise ValueError(f"{len(row.cells)} columns, expected {columns.width}")
    texts = tuple(row.cells[index] for index in columns.texts)
    assert columns.label is not None
    label = row.cells[columns.label]
    if names is NER:
        text, tags = read_tagged(texts[0], label)
        return Example((text,), tags, line=row.line)
    label = label.strip(BLANKS)
    if not label:
        raise ValueError("empty label")
    return Example(texts, label, row.cell(columns.group), row.line)


def unlabelled_example(row: Row, table: Table, names: ColumnNames) -> Example:
    """The texts of a row, its label left alone; missing cells are empty texts."""
    read: Callable[[str], str] = plain_text if names is NER else str
    texts = tuple(read(row.cell(index) or "") for index in table.columns.texts)
    return Example(texts, line=row.line)


def unlabelled_examples(table: Table, names: ColumnNames) -> Iterator[tuple[Row, Example]]:
    """Stream every row of a table with its example."""
    return ((row, unlabelled_example(row, table, names)) for row in table.rows)
