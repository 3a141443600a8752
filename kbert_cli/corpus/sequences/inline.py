"""Entities marked in the text itself: ``[头痛](Symptom)`` or ``<Symptom>头痛</Symptom>``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from kbert_cli.corpus.entities import Entity
from kbert_cli.corpus.sequences.base import Sentence

MARKED = re.compile(r"\[([^\[\]\n]+)\]\(([^()\s]+)\)|<([^<>/\s]+)>([^<>]*)</\3>")


def read(lines: Iterable[tuple[int, str]], head: Sequence[str]) -> Iterator[Sentence]:
    """Sentences, a line each; what is no mark is text."""
    for number, line in lines:
        if not line.strip():
            continue
        text, at = "", 0
        entities = []
        for found in MARKED.finditer(line):
            text += line[at : found.start()]
            shown, kind = (found[1], found[2]) if found[1] else (found[4], found[3])
            if shown:
                entities.append(Entity(len(text), len(text) + len(shown), kind))
            text += shown
            at = found.end()
        yield Sentence(number, tokens=list(text + line[at:]), entities=entities)


def write(sentences: Iterable[tuple[str, Sequence[Entity]]]) -> Iterator[str]:
    """``[头痛](Symptom)``; the entities do not overlap."""
    for text, entities in sentences:
        line, at = "", 0
        for start, end, kind in entities:
            line += f"{text[at:start]}[{text[start:end]}]({kind})"
            at = end
        yield line + text[at:] + "\n"
