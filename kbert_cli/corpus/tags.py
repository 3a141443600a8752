"""Texts of NER tables: characters separated by single spaces."""

from __future__ import annotations

from kbert_cli.corpus.schemes import read_mark


def is_spaced(text: str) -> bool:
    """Whether a text is written a character at a time (``山 ， 男``) rather than plainly."""
    parts = text.split(" ")
    return len(parts) > 1 and all(len(part) == 1 for part in parts)


def joined_tokens(cell: str, tags: str | None) -> str:
    """The text of a cell as training reads it, where its tags are there; else ``plain_text``."""
    tokens = cell.split(" ")
    marks = tags.split(" ") if tags else []
    if len(tokens) == len(marks) and "" not in tokens and all(map(read_mark, marks)):
        return "".join(tokens)
    return plain_text(cell)


def plain_text(cell: str) -> str:
    """The text of a cell without tags: a spaced one is joined."""
    return cell.replace(" ", "") if is_spaced(cell) else cell
