"""What a text with entities must not have to be written in a format of ner, and read back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kbert_cli.corpus.entities import Entity
from kbert_cli.corpus.formats import OBJECTS, TABLES
from kbert_cli.corpus.sequences.cmeee import MARK

_BLANKS = " \t\r\n"
_NAMED = {"\t": "a tab", "\r": "a line end", "\n": "a line end", " ": "a blank"}
_TEXT = {
    **dict.fromkeys(TABLES, _BLANKS),
    "conll": "\t\r\n",
    "cmeee": "\r\n",
    "inline": "\r\n[]<>",
}
_TYPE = {
    **dict.fromkeys(TABLES, _BLANKS),
    "conll": _BLANKS,
    "cmeee": _BLANKS + "|",
    "inline": _BLANKS + "[]()<>:/",
}


def why_not(form: str, text: str, entities: Iterable[Entity]) -> str:
    """Why a format cannot hold a text and its entities; empty where it can."""
    if form in OBJECTS:
        return ""
    if not text or (form in ("cmeee", "inline") and not text.strip()):
        return "an empty text"
    if reason := _found(text, _TEXT[form], "the text"):
        return reason
    if form == "cmeee" and (MARK in text or text.endswith("|")):
        return f"{MARK} in the text, or | at its end"
    if text.startswith("\ufeff"):
        return "a byte order mark at the beginning of the text"
    for entity in entities:
        if reason := _found(entity.type, _TYPE[form], f"the type {entity.type!r}"):
            return reason
        # Other white space is taken for what parts the cells.
        if entity.type.split() != [entity.type]:
            return f"a blank in the type {entity.type!r}"
    return ""


def _found(value: str, forbidden: Sequence[str], where: str) -> str:
    sign = next((sign for sign in value if sign in forbidden), None)
    return "" if sign is None else f"{_NAMED.get(sign, sign)} in {where}"
