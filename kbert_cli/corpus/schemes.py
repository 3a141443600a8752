"""Tag schemes: told from the tags themselves, and turned into BIO."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kbert_cli.corpus.entities import OUTSIDE

_TAG = re.compile(r"([BIOESMWLUbioesmwlu])[-_](.+)")
_BEGIN, _INSIDE, _END, _SINGLE = "B", "IM", "EL", "SWU"
_LETTERS = {
    "BIO": "OBI",
    "IOB1": "OBI",
    "IO": "OI",
    "BIOES": "OBIESW",
    "BMES": "OBMESW",
    "BILOU": "OBILU",
}
SCHEMES = ("BIO", "IOB1", "IO", "BIOES", "BMES", "BILOU")


@dataclass(frozen=True)
class Mark:
    """A tag taken apart: a letter and a type; the type of O is empty."""

    letter: str
    type: str


def read_mark(tag: str) -> Mark | None:
    """The parts of ``B-X``, ``B_X`` or ``b-X``; None when this is no tag.

    >>> read_mark("b_LOC.GPE"), read_mark("X")
    (Mark(letter='B', type='LOC.GPE'), None)
    """
    if tag in ("O", "o"):
        return Mark(OUTSIDE, "")
    found = _TAG.fullmatch(tag)
    return Mark(found[1].upper(), found[2]) if found and found[1] not in "Oo" else None


def detect_scheme(sequences: Iterable[Sequence[Mark]]) -> str:
    """The scheme that tag sequences are written in."""
    letters: set[str] = set()
    orphans = adjoining = begins = 0
    for marks in sequences:
        before = Mark(OUTSIDE, "")
        for mark in marks:
            letters.add(mark.letter)
            goes_on = before.type == mark.type and before.letter != OUTSIDE
            if mark.letter == "I" and not goes_on:
                orphans += 1
            if mark.letter == "B":
                begins += 1
                adjoining += goes_on
            before = mark
    if "M" in letters:
        return "BMES"
    if letters & {"L", "U"}:
        return "BILOU"
    if letters & {"E", "S", "W"}:
        return "BIOES"
    if not begins and orphans:
        return "IO"
    return "IOB1" if orphans and adjoining == begins else "BIO"


def to_bio(marks: Sequence[Mark], scheme: str) -> tuple[list[str], list[tuple[int, str]]]:
    """Tags in BIO, and where the given ones break their scheme (index, reason).

    A tag that continues nothing begins an entity, but in BIO, where it is left as it is (strict
    scoring gives it to no entity).
    """
    tags: list[str] = []
    faults: list[tuple[int, str]] = []
    open_type = ""
    """Type of the entity that the next tag may continue."""
    ended = scheme in ("BIOES", "BMES", "BILOU")
    for index, mark in enumerate(marks):
        begins = mark.letter in _BEGIN or mark.letter in _SINGLE
        if ended and open_type and (begins or mark.letter == OUTSIDE):
            shown = mark.letter if mark.letter == OUTSIDE else f"{mark.letter}-{mark.type}"
            faults.append((index, f"{shown} behind an entity {open_type} that has no end"))
        if mark.letter not in _LETTERS[scheme]:
            faults.append((index, f"{mark.letter}-{mark.type} in tags that are {scheme}"))
        if mark.letter == OUTSIDE:
            tags.append(OUTSIDE)
            open_type = ""
            continue
        continues = bool(open_type) and open_type == mark.type
        if begins:
            tag = f"B-{mark.type}"
        elif scheme in ("IO", "IOB1"):
            tag = f"I-{mark.type}" if continues else f"B-{mark.type}"
        elif continues:
            tag = f"I-{mark.type}"
        else:
            faults.append((index, f"{mark.letter}-{mark.type} continues nothing of its type"))
            tag = f"I-{mark.type}" if scheme == "BIO" else f"B-{mark.type}"
        tags.append(tag)
        ends = mark.letter in _END or mark.letter in _SINGLE
        open_type = "" if ends else mark.type
    if open_type and ended:
        faults.append((len(marks) - 1, f"the last entity, {open_type}, has no end"))
    return tags, faults


def from_bio(tags: Sequence[str], scheme: str) -> list[str]:
    """BIO tags in another scheme (BIO, BIOES or BMES).

    >>> from_bio(["B-X", "I-X", "B-Y", "O"], "BMES")
    ['B-X', 'E-X', 'S-Y', 'O']
    """
    if scheme == "BIO":
        return list(tags)
    middle = "M" if scheme == "BMES" else "I"
    found = []
    for tag, after in zip(tags, [*tags[1:], OUTSIDE], strict=True):
        if tag == OUTSIDE:
            found.append(tag)
            continue
        goes_on = after == f"I-{tag[2:]}"
        letter = ("B" if goes_on else "S") if tag[0] == "B" else (middle if goes_on else "E")
        found.append(f"{letter}-{tag[2:]}")
    return found
