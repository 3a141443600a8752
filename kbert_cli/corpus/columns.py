"""Which column of a table holds what, by header or by count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kbert_cli.errors import KbertError, name_some
from kbert_cli.files import BLANKS


@dataclass(frozen=True)
class ColumnNames:
    """The columns that a task reads: header names, several for one role, and headerless orders."""

    texts: tuple[tuple[str, ...], ...]
    """For each text its header names, the preferred first."""
    label: tuple[str, ...] = ("label", "标签", "类别")
    group: tuple[str, ...] = ()
    optional_texts: int = 0
    """How many of the texts, from the back, may be missing."""


CLASSIFICATION = ColumnNames(
    texts=(("text_a", "text", "sentence", "文本", "句子", "内容"), ("text_b",)),
    optional_texts=1,
)
NER = ColumnNames(texts=(("text_a", "text", "sentence", "文本", "句子", "内容"),))
QA = ColumnNames(
    texts=(("question", "text_a", "问题"), ("answer", "text_b", "答案", "回答")),
    group=("qid",),
)


@dataclass(frozen=True)
class Columns:
    """Indices of the columns in use."""

    texts: tuple[int, ...]
    label: int | None
    group: int | None
    width: int
    """Cells that a row must have."""

    def describe(self) -> str:
        """For example ``label, text, text``."""
        roles = dict.fromkeys(self.texts, "text")
        roles |= {self.label: "label"} if self.label is not None else {}
        roles |= {self.group: "qid"} if self.group is not None else {}
        return ", ".join(roles.get(index, "(unused)") for index in range(self.width))


def header_columns(cells: Sequence[str], names: ColumnNames) -> Columns | None:
    """The columns that a header names, in any order; None when ``cells`` is no header.

    A row is a header when it names the first text.

    Raises:
        KbertError: it names some columns of the task, and not all that are needed.
    """
    header = [cell.strip(BLANKS).casefold() for cell in cells]
    texts = [_index(header, options) for options in names.texts]
    if texts[0] is None:
        known = [cell for cell in header if cell in names.label or cell in names.group]
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
    )


def _index(header: list[str], options: Sequence[str]) -> int | None:
    return next((header.index(name) for name in options if name in header), None)


def counted_columns(width: int, names: ColumnNames, texts: int | None) -> Columns:
    """The columns of a table without header, from the number of its cells.

    The order is label, text(s), qid; NER has the text first. Fewer cells leave out the label.

    Args:
        texts: how many texts the model takes; None when that is what the table decides.
    """
    least = len(names.texts) - names.optional_texts
    count = texts or (len(names.texts) if width > least + 1 else least)
    if names is NER:
        return Columns((0,), 1 if width > 1 else None, None, max(width, 1))
    if width <= count:
        return Columns(tuple(range(min(width, count))), None, None, width)
    columns = tuple(range(1, count + 1))
    group = count + 1 if names.group and width > count + 1 else None
    return Columns(columns, 0, group, width)
