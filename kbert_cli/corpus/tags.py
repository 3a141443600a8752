"""Texts of NER tables: characters separated by single spaces."""

from __future__ import annotations


def is_spaced(text: str) -> bool:
    """Whether a text is written a character at a time (``山 ， 男``) rather than plainly."""
    parts = text.split(" ")
    return len(parts) > 1 and all(len(part) == 1 for part in parts)


def plain_text(cell: str) -> str:
    """The text of a cell without tags: a spaced one is joined."""
    return cell.replace(" ", "") if is_spaced(cell) else cell
