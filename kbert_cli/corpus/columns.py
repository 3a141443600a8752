"""Which column of a table holds what, by header or by count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kbert_cli.config import ReadConfig
from kbert_cli.errors import KbertError, name_some
from kbert_cli.files import BLANKS


@dataclass(frozen=True)
class ColumnNames:
    """The columns that a task reads: header names, several for one role, and headerless orders."""

    texts: tuple[tuple[str, ...], ...]
    """For each text its header names, the preferred first."""
    label: tuple[str, ...] = ("label", "标签", "类别", "分类", "情感", "sentiment", "category")
    group: tuple[str, ...] = ()
    optional_texts: int = 0
    """How many of the texts, from the back, may be missing."""
    labels: tuple[str, ...] = ()
    """The only labels that there are; empty where any will do."""
    start: tuple[str, ...] = ()
    """Where the label, which is an answer, begins in the last text."""


TEXT_NAMES = (
    *("text_a", "text", "sentence", "review", "content", "originalText"),
    *("文本", "句子", "内容", "评论"),
)
CLASSIFICATION = ColumnNames(
    texts=(TEXT_NAMES, ("text_b",)),
    optional_texts=1,
)
NER = ColumnNames(texts=(TEXT_NAMES,))
QA = ColumnNames(
    texts=(("question", "text_a", "问题"), ("answer", "text_b", "答案", "回答")),
    group=("qid",),
    labels=("0", "1"),
)
READING = ColumnNames(
    texts=(("question", "query", "text_a", "问题"), ("context", "passage", "text_b", "文章")),
    label=("answer", "answers", "答案"),
    group=("id", "qid"),
    start=("answer_start",),
)
COLUMNS = {"classification": CLASSIFICATION, "ner": NER, "qa": QA, "reading": READING}
"""By the name of the task."""


@dataclass(frozen=True)
class Columns:
    """Indices of the columns in use."""

    texts: tuple[int, ...]
    label: int | None
    group: int | None
    width: int
    """Cells that a row must have."""
    start: int | None = None

    def describe(self) -> str:
        """For example ``label, text, text``."""
        roles = dict.fromkeys(self.texts, "text")
        roles |= {self.label: "label"} if self.label is not None else {}
        roles |= {self.group: "qid"} if self.group is not None else {}
        return ", ".join(roles.get(index, "(unused)") for index in range(self.width))

    @property
    def unused(self) -> list[int]:
        """Columns that the task does not read."""
        used = {*self.texts, self.label, self.group, self.start}
        return [index for index in range(self.width) if index not in used]


def header_columns(cells: Sequence[str], names: ColumnNames) -> Columns | None:
    """The columns that a header names, in any order; None when ``cells`` is no header.

    A row is a header when it names the first text.

    Raises:
        KbertError: it names some columns of the task, and not all that are needed.
    """
    header = [cell.strip(BLANKS) for cell in cells]
    texts = [_index(header, options) for options in names.texts]
    if texts[0] is None:
        known = [
            cell for cell in map(str.casefold, header) if cell in names.label or cell in names.group
        ]
        if known:
            raise KbertError(
                f"this looks like a header (it has {known[0]!r}) that names no text; its columns "
                f"are: {name_some(header)}",
                f"A text's column is called {' or '.join(names.texts[0])}.",
            )
        return None
    required = len(names.texts) - names.optional_texts
    if None in texts[:required]:
        missing = names.texts[texts.index(None)][0]
        raise KbertError(
            f"the header has no column {missing!r}; it has: {name_some(header)}",
            "docs/formats.md shows the columns of each task.",
        )
    return Columns(
        tuple(index for index in texts if index is not None),
        _index(header, names.label),
        _index(header, names.group),
        len(header),
        _index(header, names.start),
    )


def _index(header: list[str], options: Sequence[str]) -> int | None:
    """Where the first of the names is that are there, in capitals or not.

    Raises:
        KbertError: it is there twice.
    """
    folded = [cell.casefold() for cell in header]
    name = next((name for name in options if name.casefold() in folded), None)
    if name is None:
        return None
    if header.count(name) == 1:
        return header.index(name)
    if folded.count(name.casefold()) > 1:
        raise KbertError(f"the header has {name!r} twice: {name_some(header)}", "Rename one.")
    return folded.index(name.casefold())


def named_columns(cells: Sequence[str], reading: ReadConfig, names: ColumnNames) -> Columns | None:
    """The columns that the user named, the others by the task's names; None when none was named.

    Raises:
        KbertError: a named column is not there, or one that the task needs.
    """
    wanted = (reading.text_field, reading.text_b_field, reading.label_field)
    if wanted == (None, None, None):
        return None
    header = [cell.strip(BLANKS) for cell in cells]
    for flag, name in zip(("--text-field", "--text-b-field", "--label-field"), wanted, strict=True):
        if name is not None and name not in header:
            raise KbertError(
                f"{flag} is {name!r}, and there is no such column; there are: {name_some(header)}"
            )
        if name is not None and header.count(name) > 1:
            raise KbertError(f"{flag} is {name!r}, which the header has twice", "Rename one.")
    given = [name for name in wanted if name is not None]
    if len(set(given)) < len(given):
        raise KbertError(f"one column cannot have two roles: {name_some(given)}")
    texts: list[int] = []
    for place, name in enumerate(wanted[:2]):
        options = names.texts[place] if place < len(names.texts) else ()
        index = _index(header, options) if name is None else header.index(name)
        if index is not None:
            texts.append(index)
        elif place < len(names.texts) - names.optional_texts:
            which = "the text" if place == 0 else "the second text"
            raise KbertError(
                f"no column is {which}; there are: {name_some(header)}",
                f"Name it with {'--text-field' if place == 0 else '--text-b-field'}.",
            )
    label = (
        header.index(reading.label_field)
        if reading.label_field is not None
        else _index(header, names.label)
    )
    group, start = _index(header, names.group), _index(header, names.start)
    return Columns(tuple(texts), label, group, len(header), start)


def label_is_last(rows: Sequence[tuple[str, ...]], names: ColumnNames, texts: int | None) -> bool:
    """Whether a table without header has its label behind the texts.

    It has when the last column repeats a few short values and the first does not. Of fewer than
    ``_ENOUGH`` rows none may begin alike then.
    """
    width = len(rows[0])
    least = len(names.texts) - names.optional_texts
    if names is NER or width <= (texts or least):
        return False
    whole = [row for row in rows if len(row) == width]
    first, last = ([row[at] for row in whole] for at in (0, -1))
    if max(map(len, last)) > _LONGEST_LABEL:
        return False
    if len(whole) < _ENOUGH:
        shorter = sum(map(len, last)) < sum(map(len, first))
        return shorter and len(set(last)) < len(whole) == len(set(first))
    return len(set(last)) <= len(whole) // 4 < len(set(first))


_ENOUGH, _LONGEST_LABEL = 20, 20


def counted_columns(
    width: int, names: ColumnNames, texts: int | None, *, label_last: bool = False
) -> Columns:
    """The columns of a table without header, from the number of its cells.

    The order is label, text(s), qid; NER has the text first. Fewer cells leave out the label.

    Args:
        texts: how many texts the model takes; None when that is what the table decides.
        label_last: whether the label stands behind the texts.
    """
    least = len(names.texts) - names.optional_texts
    count = texts or (len(names.texts) if width > least + 1 else least)
    if names is NER:
        return Columns((0,), 1 if width > 1 else None, None, max(width, 1))
    if width <= count:
        return Columns(tuple(range(min(width, count))), None, None, width)
    if label_last:
        return Columns(tuple(range(count)), width - 1, None, width)
    columns = tuple(range(1, count + 1))
    group = count + 1 if names.group and width > count + 1 else None
    return Columns(columns, 0, group, width)
