"""brat's stand-off: the text in NAME.txt, its entities in NAME.ann; a line is a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kbert_cli.corpus.entities import Entity, fault_of
from kbert_cli.corpus.sequences.base import Sentence

SUFFIX = ".ann"
_OTHERS = "relations, events and notes"


def annotation_of(path: str | Path) -> Path:
    """The file with the entities of a text file."""
    return Path(path).with_suffix(SUFFIX)


def read(
    lines: Iterable[tuple[int, str]], annotation: Iterable[tuple[int, str]], name: str
) -> Iterator[Sentence]:
    """Sentences of a text, with the entities of its annotation.

    Offsets count the characters of the whole text, line ends as one. Entities in several pieces,
    and those that reach over a line end, are faults. Relations, events and notes are passed over.
    """
    texts = list(lines)
    starts, at = [], 0
    for _, text in texts:
        starts.append(at)
        at += len(text) + 1
    found: list[list[Entity]] = [[] for _ in texts]
    others: tuple[str, ...] = ()
    for number, line in annotation:
        if not line.startswith("T"):
            others = others or ((_OTHERS,) if line.strip() else ())
            continue
        entity, fault = _entity(line)
        index = None
        if entity is not None:
            index = _line_of(starts, entity.start)
            begin, text = starts[index], texts[index][1]
            moved = Entity(entity.start - begin, entity.end - begin, entity.type)
            fault = fault_of(text, moved, line.split("\t")[2] if line.count("\t") > 1 else None)
            entity = moved
        if fault or entity is None or index is None:
            yield Sentence(number, fault=f"{name}: {fault}")
            continue
        found[index].append(entity)
    for (number, text), entities in zip(texts, found, strict=True):
        if text.strip():
            yield Sentence(number, tokens=list(text), entities=entities, unused=others)


def _entity(line: str) -> tuple[Entity | None, str]:
    cells = line.split("\t")
    parts = cells[1].split() if len(cells) > 1 else []
    if ";" in (cells[1] if len(cells) > 1 else ""):
        return None, f"{cells[0]} lies in several pieces"
    if len(parts) != 3 or not (parts[1].isdecimal() and parts[2].isdecimal()):
        return None, f"{line!r} is not id, type, start and end"
    return Entity(int(parts[1]), int(parts[2]), parts[0]), ""


def _line_of(starts: Sequence[int], offset: int) -> int:
    from bisect import bisect_right

    return max(0, bisect_right(starts, offset) - 1)
