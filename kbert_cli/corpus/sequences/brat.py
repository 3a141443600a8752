"""brat's stand-off: the text in NAME.txt, its entities in NAME.ann; a line is a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kbert_cli.corpus.entities import Entity, fault_of
from kbert_cli.corpus.sequences.base import Sentence

SUFFIX = ".ann"
_KINDS = ("R", "E", "A", "M", "N", "#", "*")
"""Relations, events, attributes, modifications, normalizations, notes, equivalences."""
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
    whole = "\n".join(text for _, text in texts)
    found: list[list[Entity]] = [[] for _ in texts]
    partial: dict[int, str] = {}
    others: tuple[str, ...] = ()
    for number, line in annotation:
        if not line.startswith("T"):
            if line.strip() and not line.startswith(_KINDS):
                yield Sentence(0, fault=f"{name}:{number}: {line[:40]!r} is no annotation")
            elif line.strip():
                others = (_OTHERS,)
            continue
        entity, fault = _entity(line)
        if entity is not None and not fault:
            shown = line.split("\t")[2] if line.count("\t") > 1 else None
            fault = fault_of(whole, entity, shown)
            if not fault and "\n" in whole[entity.start : entity.end]:
                fault = f"{line[:40]!r} reaches over a line end"
        index = _line_of(starts, entity.start) if entity is not None else None
        if fault or entity is None or index is None:
            yield Sentence(0, fault=f"{name}:{number}: {fault}")
            if index is not None:
                partial[index] = fault
            continue
        begin = starts[index]
        found[index].append(Entity(entity.start - begin, entity.end - begin, entity.type))
    for index, (number, text) in enumerate(texts):
        if text.strip():
            yield Sentence(
                number,
                tokens=list(text),
                entities=found[index],
                unused=others,
                partial=partial.get(index, ""),
            )


def _entity(line: str) -> tuple[Entity | None, str]:
    """The entity of a line, or where it would begin, and why it is none."""
    cells = line.split("\t")
    parts = cells[1].split() if len(cells) > 1 else []
    start = parts[1] if len(parts) > 1 else ""
    if not (len(parts) > 2 and start.isdecimal() and parts[2].split(";")[0].isdecimal()):
        return None, f"{line[:40]!r} is not id, type, start and end"
    entity = Entity(int(start), int(parts[2].split(";")[0]), parts[0])
    if ";" in cells[1]:
        return entity, f"{cells[0]} lies in several pieces"
    return entity, "" if len(parts) == 3 else f"{line[:40]!r} is not id, type, start and end"


def _line_of(starts: Sequence[int], offset: int) -> int:
    from bisect import bisect_right

    return max(0, bisect_right(starts, offset) - 1)
