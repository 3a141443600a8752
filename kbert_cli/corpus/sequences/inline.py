"""Entities marked in the text itself: ``[头痛](Symptom)`` or ``<Symptom>头痛</Symptom>``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kbert_cli.corpus.entities import Entity
from kbert_cli.corpus.lines import Line
from kbert_cli.corpus.sequences.base import Sentence, mark_inside

MARKED = re.compile(r"\[([^\[\]\n]+)\]\(([^()\s:/]+)\)|<([^\W\d][^<>/\s]*)>([^<>]+)</\3>")


_STRAY = re.compile(r"\]\(|</[^<>]*>|<[^\W\d][^<>]*>")
"""Parts of marks."""


def mostly_marked(lines: Sequence[str]) -> bool:
    """Whether most lines with text hold a mark."""
    filled = [line for line in lines if line.strip()]
    return sum(bool(MARKED.search(line)) for line in filled) * 2 > len(filled)


def read(lines: Iterable[Line], head: Sequence[str]) -> Iterator[Sentence]:
    """Sentences, a line each; what is no mark is text.

    Half a mark is a fault: it may be one within another, which this form cannot hold.
    """
    for number, line, broken in lines:
        if fault := broken or mark_inside(number, line):
            yield Sentence(number, fault=fault)
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
        if stray := _stray(rest):
            yield Sentence(number, fault=f"{stray!r} belongs to no mark that is opened and closed")
            continue
        yield Sentence(number, tokens=list(text + line[at:]), entities=entities)


def _stray(parts: Sequence[str]) -> str:
    """Half a mark in what is left of a line."""
    for part in parts:
        if found := _STRAY.search(part):
            return found[0]
        if part.count("[") != part.count("]"):
            return "[" if part.count("[") > part.count("]") else "]"
    return ""


def write(sentences: Iterable[tuple[str, Sequence[Entity]]]) -> Iterator[str]:
    """``[头痛](Symptom)``; the entities do not overlap."""
    for text, entities in sentences:
        line, at = "", 0
        for start, end, kind in entities:
            line += f"{text[at:start]}[{text[start:end]}]({kind})"
            at = end
        yield line + text[at:] + "\n"
