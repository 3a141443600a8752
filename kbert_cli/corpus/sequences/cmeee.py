"""CMeEE's lines: ``text|||start end type|||start end type|||``, ends included."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kbert_cli.corpus.entities import Entity, fault_of
from kbert_cli.corpus.lines import Line
from kbert_cli.corpus.sequences.base import Sentence, mark_inside

MARK = "|||"


def read(lines: Iterable[Line], head: Sequence[str]) -> Iterator[Sentence]:
    """Sentences; the end of an entity is its last character."""
    for number, line, broken in lines:
        if fault := broken or mark_inside(number, line):
            yield Sentence(number, fault=fault)
            continue
        if not line.strip():
            continue
        text, *parts = line.split(MARK)
        entities, faults = [], []
        for part in parts:
            if not part.strip():
                continue
            cells = part.split()
            if len(cells) != 3 or not (cells[0].isdecimal() and cells[1].isdecimal()):
                faults.append(f"{part!r} is not start, end and type")
                continue
            entity = Entity(int(cells[0]), int(cells[1]) + 1, cells[2])
            faults += [fault] if (fault := fault_of(text, entity)) else []
            entities.append(entity)
        if faults:
            yield Sentence(number, fault="; ".join(faults))
        else:
            yield Sentence(number, tokens=list(text), entities=entities)


def write(sentences: Iterable[tuple[str, Sequence[Entity]]]) -> Iterator[str]:
    """The same form; it holds nested entities."""
    for text, entities in sentences:
        parts = [f"{start}    {end - 1}    {kind}" for start, end, kind in entities]
        yield MARK.join([text, *parts, ""]) + "\n"
