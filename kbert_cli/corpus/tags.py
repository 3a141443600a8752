"""Texts and tags of NER tables: characters and BIO tags, separated by single spaces."""

from __future__ import annotations

OUTSIDE = "O"


def is_spaced(text: str) -> bool:
    """Whether a text is written a character at a time (``山 ， 男``) rather than plainly."""
    parts = text.split(" ")
    return len(parts) > 1 and all(len(part) == 1 for part in parts)


def read_tagged(text: str, tags: str) -> tuple[str, tuple[str, ...]]:
    """The plain text of a spaced one, and one tag a character.

    A token of several characters (a Latin word, a number) spreads its tag: B-X over it becomes
    B-X I-X ….

    Raises:
        ValueError: the counts differ, a token is empty, or a tag is none of O, B-TYPE, I-TYPE.

    >>> read_tagged("查 CT", "O B-Examine")
    ('查CT', ('O', 'B-Examine', 'I-Examine'))
    """
    tokens, marks = text.split(" "), tags.split(" ")
    if "" in tokens or "" in marks:
        where = "the text" if "" in tokens else "the tags"
        raise ValueError(f"an empty token in {where} (a doubled, leading or trailing space)")
    if len(tokens) != len(marks):
        raise ValueError(f"{len(tokens)} tokens but {len(marks)} tags")
    spread: list[str] = []
    for token, mark in zip(tokens, marks, strict=True):
        check_tag(mark)
        spread += [mark] + [_continued(mark)] * (len(token) - 1)
    return "".join(tokens), tuple(spread)


def check_tag(tag: str) -> None:
    """Raise ValueError unless ``tag`` is O, B-TYPE or I-TYPE."""
    if tag != OUTSIDE and (tag[:2] not in ("B-", "I-") or len(tag) < 3):
        raise ValueError(f"tag {tag!r}; expected O, B-TYPE or I-TYPE")


def _continued(tag: str) -> str:
    return tag if tag == OUTSIDE else "I-" + tag[2:]


def plain_text(cell: str) -> str:
    """The text of a cell without tags: a spaced one is joined."""
    return cell.replace(" ", "") if is_spaced(cell) else cell
