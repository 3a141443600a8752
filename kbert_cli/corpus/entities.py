"""Entities as offsets: held against their text, freed of overlaps, turned into tags and back."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

OUTSIDE = "O"


class Entity(NamedTuple):
    """Characters ``[start, end)`` of a text and their type."""

    start: int
    end: int
    type: str


_WHOLE = re.compile(r"(-?[0-9]{1,18})(?:\.0+)?")


def offset(value: object) -> int:
    """An offset as files have it: a whole number, or its digits.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and (found := _WHOLE.fullmatch(value.strip())):
        return int(found[1])
    raise ValueError(f"{value!r} is no whole number")


def fault_of(text: str, entity: Entity, shown: str | None = None) -> str:
    """Why an entity does not fit its text; empty when it does.

    Args:
        shown: the entity's own text, where the file has it.
    """
    start, end, kind = entity
    if not kind:
        return f"an entity at {start} to {end} without a type"
    if not 0 <= start < end <= len(text):
        return f"offsets {start} to {end} do not fit a text of {len(text)} characters"
    if shown is not None and text[start:end] != shown:
        return f"offsets {start} to {end} are {text[start:end]!r}, not {shown!r}"
    return ""


def without_overlaps(entities: Sequence[Entity]) -> list[Entity]:
    """Of entities that share characters the longest, of equally long ones the first; in order."""
    kept: list[Entity] = []
    for entity in sorted(set(entities), key=lambda one: (one.start - one.end, one.start, one.type)):
        if all(entity.end <= other.start or other.end <= entity.start for other in kept):
            kept.append(entity)
    return sorted(kept)


def tags_of(length: int, entities: Sequence[Entity]) -> tuple[str, ...]:
    """BIO tags of a text of ``length`` characters; entities do not overlap."""
    tags = [OUTSIDE] * length
    for start, end, kind in entities:
        tags[start:end] = [f"B-{kind}"] + [f"I-{kind}"] * (end - start - 1)
    return tuple(tags)


def entities_of(tags: Sequence[str]) -> list[Entity]:
    """Entities of strict BIO: each begins with B-; an I- that continues nothing belongs to none.

    >>> entities_of(["B-X", "I-X", "I-Y", "B-X", "O"])
    [Entity(start=0, end=2, type='X'), Entity(start=3, end=4, type='X')]
    """
    found: list[Entity] = []
    kind, start = None, 0
    for index, tag in enumerate([*tags, OUTSIDE]):
        if kind is not None and tag != f"I-{kind}":
            found.append(Entity(start, index, kind))
            kind = None
        if tag.startswith("B-"):
            kind, start = tag[2:], index
    return found
