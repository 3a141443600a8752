"""Entities marked in the text itself: ``[头痛](Symptom)`` or ``<Symptom>头痛</Symptom>``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kbert_cli.corpus.entities import Entity
from kbert_cli.corpus.lines import Line
from kbert_cli.corpus.sequences.base import Sentence

MARKED = re.compile(r"\[([^\[\]\n]+)\]\(([^()\s]+)\)|<([^<>/\s]+)>([^<>]*)</\3>")


_STRAY = re.compile(r"\]\([^()\s]+\)|</[^<>\s]+>")
"""What closes a mark."""


def read(lines: Iterable[Line], head: Sequence[str]) -> Iterator[Sentence]:
    """Sentences, a line each; what is no mark is text.

    A mark that is closed and never opened, or opened with a type of the first lines and never
    closed, is a fault: it may be one within another, which this form cannot hold.
    """
    types = {found[3] for line in head for found in MARKED.finditer(line) if found[3]}
    for number, line, broken in lines:
        if broken:
            yield Sentence(number, fault=broken)
            continue
        if not line.strip():
            continue
        text, at = "", 0
        entities = []
        rest = []
        for found in MARKED.finditer(line):
            rest.append(line[at : found.start()])
            text += rest[-1]
            shown, kind = (found[1], found[2]) if found[1] else (found[4], found[3])
            if shown:
                entities.append(Entity(len(text), len(text) + len(shown), kind))
            text += shown
            at = found.end()
        rest.append(line[at:])
        if stray := _stray(rest, types):
            yield Sentence(number, fault=f"{stray!r} belongs to no mark that is opened and closed")
            continue
        yield Sentence(number, tokens=list(text + line[at:]), entities=entities)


def _stray(parts: Sequence[str], types: Iterable[str]) -> str:
    """Half a mark in what is left of a line."""
    for part in parts:
        if found := _STRAY.search(part):
            return found[0]
        if kind := next((kind for kind in types if f"<{kind}>" in part), None):
            return f"<{kind}>"
    return ""


def write(sentences: Iterable[tuple[str, Sequence[Entity]]]) -> Iterator[str]:
    """``[头痛](Symptom)``; the entities do not overlap."""
    for text, entities in sentences:
        line, at = "", 0
        for start, end, kind in entities:
            line += f"{text[at:start]}[{text[start:end]}]({kind})"
            at = end
        yield line + text[at:] + "\n"
