"""JSON lines with entities: CLUENER's form, and lists with the begin and end of each entity."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kbert_cli.corpus.entities import Entity, fault_of, offset
from kbert_cli.corpus.json_rows import kind_of, object_of
from kbert_cli.corpus.lines import Line
from kbert_cli.corpus.sequences.base import Sentence

_TEXTS = ("text", "sentence", "originalText", "文本")
_LISTS = ("entities", "entity", "labels", "spans")
_STARTS = ("start", "begin", "start_offset", "start_pos")
_ENDS = ("end", "end_offset", "end_pos")
_TYPES = ("type", "label", "label_type", "entity_type")
_SHOWN = ("entity", "text", "mention", "word")
_ENTITY = (*_STARTS, *_ENDS, *_TYPES, *_SHOWN, "start_idx", "end_idx")


def is_cluener(record: Any) -> bool:
    """Whether an object has CLUENER's form: type → entity → pairs of offsets."""
    label = record.get("label") if isinstance(record, dict) else None
    return isinstance(label, dict) and all(isinstance(one, dict) for one in label.values())


def is_entity_list(record: Any) -> bool:
    """Whether an object has a list of entities."""
    return isinstance(record, dict) and any(isinstance(record.get(key), list) for key in _LISTS)


def read_cluener(lines: Iterable[Line], head: Sequence[str]) -> Iterator[Sentence]:
    """Sentences of CLUENER; the end of an entity is its last character."""
    for number, record, fault in _objects(lines):
        found = []
        try:
            for kind, names in ({} if fault else record.get("label")).items():
                for shown, spans in names.items():
                    found += [(Entity(offset(s), offset(e) + 1, kind), shown) for s, e in spans]
        except (TypeError, ValueError, AttributeError):
            fault = '"label" is not type → entity → [[start, end], …]'
        yield _sentence(number, record, found, "label", fault)


def read_entity_list(lines: Iterable[Line], head: Sequence[str]) -> Iterator[Sentence]:
    """Sentences with a list of entities.

    ``start_idx`` and ``end_idx`` (CMeEE) count the last character in, other names do not.
    """
    for number, record, fault in _objects(lines):
        key, found = "", []
        if not fault:
            key, fault = _list_name(record)
        try:
            found = [_entity(one) for one in record[key]] if not fault else []
        except (TypeError, ValueError, KeyError) as error:
            fault = f'"{key}" is no list of start, end and type: {_reason(error)}'
        unused = [
            f"{name} of entities"
            for one in (record[key] if key else ())
            if isinstance(one, dict)
            for name in one
            if name not in _ENTITY
        ]
        yield _sentence(number, record, found, key, fault, unused)


def _list_name(record: Any) -> tuple[str, str]:
    """The field with the entities of an object, or why there is none."""
    there = [name for name in _LISTS if name in record]
    key = next((name for name in there if isinstance(record[name], list)), None)
    if key is not None:
        return key, ""
    if there:
        return "", f'"{there[0]}" is {kind_of(record[there[0]])}, not a list of entities'
    return "", f"no list of entities: none of {', '.join(_LISTS)} is there"


def _reason(error: Exception) -> str:
    return f"no {error}" if isinstance(error, KeyError) else str(error)


def _entity(one: Any) -> tuple[Entity, str | None]:
    if not isinstance(one, list | dict):
        raise ValueError(f"an entity is {kind_of(one)}")
    if isinstance(one, list):
        if len(one) != 3:
            raise ValueError(f"an entity has {len(one)} parts")
        start, end, kind = one
        return Entity(offset(start), offset(end), _kind(kind)), None
    kind = _kind(_first(one, _TYPES))
    shown = next((one[key] for key in _SHOWN if isinstance(one.get(key), str)), None)
    if "start_idx" in one:
        return Entity(offset(one["start_idx"]), offset(one["end_idx"]) + 1, kind), shown
    return Entity(offset(_first(one, _STARTS)), offset(_first(one, _ENDS)), kind), shown


def _kind(value: Any) -> str:
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"the type is {kind_of(value)}")


def _first(record: Any, names: Sequence[str]) -> Any:
    return record[next((name for name in names if name in record), names[0])]


def _objects(lines: Iterable[Line]) -> Iterator[tuple[int, Any, str]]:
    for number, line, broken in lines:
        if not line.strip() and not broken:
            continue
        record, fault = object_of(line)
        if not fault and not any(isinstance(record.get(name), str) for name in _TEXTS):
            fault = f"no text: none of {', '.join(_TEXTS)} is there"
        yield number, record, broken or fault


def _sentence(
    number: int,
    record: Any,
    found: Sequence[tuple[Entity, str | None]],
    key: str,
    fault: str,
    unused: Sequence[str] = (),
) -> Sentence:
    if fault:
        return Sentence(number, fault=fault)
    name = next(name for name in _TEXTS if isinstance(record.get(name), str))
    faults = [fault for one, shown in found if (fault := fault_of(record[name], one, shown))]
    if faults:
        return Sentence(number, fault="; ".join(faults))
    return Sentence(
        number,
        tokens=list(record[name]),
        entities=[one for one, _ in found],
        unused=(*(other for other in record if other not in (name, key)), *unused),
    )


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
