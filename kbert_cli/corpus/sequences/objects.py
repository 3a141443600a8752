"""JSON lines with entities: CLUENER's form, and lists with the begin and end of each entity."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kbert_cli.corpus.entities import Entity, fault_of
from kbert_cli.corpus.sequences.base import Sentence
from kbert_cli.files import parse_json

_TEXTS = ("text", "sentence", "originalText", "文本")
_LISTS = ("entities", "entity", "labels", "spans")
_STARTS = ("start", "begin", "start_offset", "start_pos")
_ENDS = ("end", "end_offset", "end_pos")
_TYPES = ("type", "label", "label_type", "entity_type")
_SHOWN = ("entity", "text", "mention", "word")


def is_cluener(record: Any) -> bool:
    """Whether an object has CLUENER's form: type → entity → pairs of offsets."""
    label = record.get("label") if isinstance(record, dict) else None
    return isinstance(label, dict) and all(isinstance(one, dict) for one in label.values())


def is_entity_list(record: Any) -> bool:
    """Whether an object has a list of entities."""
    return isinstance(record, dict) and any(isinstance(record.get(key), list) for key in _LISTS)


def read_cluener(lines: Iterable[tuple[int, str]], head: Sequence[str]) -> Iterator[Sentence]:
    """Sentences of CLUENER; the end of an entity is its last character."""
    for number, record, fault in _objects(lines):
        if fault:
            yield Sentence(number, fault=fault)
            continue
        found = []
        try:
            for kind, names in (record.get("label") or {}).items():
                for shown, spans in names.items():
                    found += [(Entity(int(s), int(e) + 1, kind), shown) for s, e in spans]
        except (TypeError, ValueError, AttributeError):
            yield Sentence(number, fault='"label" is not type → entity → [[start, end], …]')
            continue
        yield _sentence(number, record, found)


def read_entity_list(lines: Iterable[tuple[int, str]], head: Sequence[str]) -> Iterator[Sentence]:
    """Sentences with a list of entities.

    ``start_idx`` and ``end_idx`` (CMeEE) count the last character in, other names do not.
    """
    for number, record, fault in _objects(lines):
        if fault:
            yield Sentence(number, fault=fault)
            continue
        key = next((one for one in _LISTS if isinstance(record.get(one), list)), None)
        try:
            found = [_entity(one) for one in record[key]] if key else []
        except (TypeError, ValueError, KeyError):
            yield Sentence(number, fault=f'"{key}" is no list of start, end and type')
            continue
        yield _sentence(number, record, found)


def _entity(one: Any) -> tuple[Entity, str | None]:
    if isinstance(one, list):
        start, end, kind = one
        return Entity(int(start), int(end), str(kind)), None
    kind = str(_first(one, _TYPES))
    shown = next((one[key] for key in _SHOWN if isinstance(one.get(key), str)), None)
    if "start_idx" in one:
        return Entity(int(one["start_idx"]), int(one["end_idx"]) + 1, kind), shown
    return Entity(int(_first(one, _STARTS)), int(_first(one, _ENDS)), kind), shown


def _first(record: Any, names: Sequence[str]) -> Any:
    return (
        next(record[name] for name in names if name in record)
        if any(name in record for name in names)
        else record[names[0]]
    )


def _objects(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, Any, str]]:
    for number, line in lines:
        if not line.strip():
            continue
        try:
            record = parse_json(line)
        except ValueError as error:
            yield number, None, f"no JSON: {error}"
            continue
        if not isinstance(record, dict):
            yield number, None, "no JSON object"
        elif not any(isinstance(record.get(name), str) for name in _TEXTS):
            yield number, None, f"no text: none of {', '.join(_TEXTS)} is there"
        else:
            yield number, record, ""


def _sentence(number: int, record: Any, found: Sequence[tuple[Entity, str | None]]) -> Sentence:
    text = next(record[name] for name in _TEXTS if isinstance(record.get(name), str))
    faults = [fault for one, shown in found if (fault := fault_of(text, one, shown))]
    if faults:
        return Sentence(number, fault="; ".join(faults))
    return Sentence(number, tokens=list(text), entities=[one for one, _ in found])


def write_cluener(sentences: Iterable[tuple[str, Sequence[Entity]]]) -> Iterator[str]:
    """CLUENER's form, which holds nested entities."""
    for text, entities in sentences:
        label: dict[str, dict[str, list[list[int]]]] = {}
        for start, end, kind in entities:
            label.setdefault(kind, {}).setdefault(text[start:end], []).append([start, end - 1])
        yield json.dumps({"text": text, "label": label}, ensure_ascii=False) + "\n"


def write_entity_list(sentences: Iterable[tuple[str, Sequence[Entity]]]) -> Iterator[str]:
    """Text and entities, which may be nested; the end is behind the last character."""
    for text, entities in sentences:
        found = [
            {"start": start, "end": end, "type": kind, "entity": text[start:end]}
            for start, end, kind in entities
        ]
        yield json.dumps({"text": text, "entities": found}, ensure_ascii=False) + "\n"
