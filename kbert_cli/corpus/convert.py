"""From one data format to another, with what the target cannot hold."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kbert_cli.config import ReadConfig
from kbert_cli.corpus.columns import NER, QA, READING, ColumnNames
from kbert_cli.corpus.entities import Entity, entities_of, tags_of
from kbert_cli.corpus.example import Example
from kbert_cli.corpus.formats import PASSAGES
from kbert_cli.corpus.passages import write_squad
from kbert_cli.corpus.reader import read_questions, read_rows
from kbert_cli.corpus.schemes import from_bio
from kbert_cli.corpus.sequences import cmeee, conll, inline, objects
from kbert_cli.corpus.tagged import TaggedFile, read_tagged_file
from kbert_cli.errors import KbertError, at_line, name_some
from kbert_cli.files import BLANKS, atomic_output

TARGETS = ("tsv", "csv", "jsonl", "conll", "cluener", "entities", "cmeee", "inline", PASSAGES)
_TABLES = ("tsv", "csv", "jsonl")
_SUFFIXES = {f".{form}": form for form in _TABLES} | {".json": PASSAGES}
_HOLD_NESTED = ("cluener", "entities", "cmeee")
WRITTEN_SCHEMES = ("BIO", "BIOES", "BMES")


@dataclass
class Converted:
    """What became of a file."""

    format: str
    rows: int
    faults: list[tuple[int, str]]
    """Lines that could not be read."""
    losses: list[str] = field(default_factory=list)
    """What the target cannot hold."""
    notes: list[str] = field(default_factory=list)


def convert_file(
    source: str | Path,
    target: str | Path,
    names: ColumnNames,
    reading: ReadConfig,
    *,
    form: str | None = None,
    scheme: str = "BIO",
    skip_bad: bool = False,
) -> Converted:
    """Write the examples of ``source`` in another format.

    Args:
        form: one of ``TARGETS``; by default what the end of ``target`` says.
        scheme: of the tags that are written, one of ``WRITTEN_SCHEMES``.
        skip_bad: leave out rows that cannot be read.

    Raises:
        KbertError: a file cannot be read or written, or the format does not fit the task.
    """
    form = form or _SUFFIXES.get(Path(target).suffix.casefold())
    if form not in TARGETS:
        raise KbertError(
            f"no format to write to {target}", f"--to names one of {', '.join(TARGETS)}."
        )
    if form not in _TABLES and names is not (READING if form == PASSAGES else NER):
        task = "reading" if form == PASSAGES else "ner"
        raise KbertError(f"--to {form} is written for --task {task} only")
    if names is NER:
        tagged = read_tagged_file(source, reading)
        done = Converted(form, len(tagged.examples), tagged.faults, notes=tagged.notes)
        lines = _tagged_lines(tagged, form, scheme, done)
    elif names is READING:
        _, examples, faults = read_questions(source, reading)
        done = Converted(form, len(examples), faults)
        lines = _reading_lines(examples, form, done)
    else:
        _, split, faults = read_rows(source, names, None, reading)
        done = Converted(form, len(split.examples), faults, notes=split.notes)
        lines = _table_lines(split.examples, names, form, done)
    if done.faults and not skip_bad:
        shown = "\n".join(at_line(source, line, fault) for line, fault in done.faults[:20])
        raise KbertError(
            f"{len(done.faults)} rows of {source} cannot be read:\n{shown}",
            "Nothing was written. --skip-bad leaves them out.",
        )
    with atomic_output(target) as stream:
        stream.writelines(lines)
    return done


def _tagged_lines(tagged: TaggedFile, form: str, scheme: str, done: Converted) -> Iterator[str]:
    whole = tagged.entities or [entities_of(one.label or ()) for one in tagged.examples]
    flat = [entities_of(one.label or ()) for one in tagged.examples]
    texts = [one.texts[0] for one in tagged.examples]
    if tagged.nested and form not in _HOLD_NESTED:
        done.losses.append(f"{tagged.nested} entities that a longer one covers")
    if form in _HOLD_NESTED:
        pairs = list(zip(texts, whole, strict=True))
        if form == "cmeee":
            _require(done, pairs, lambda text: cmeee.MARK not in text, f"{cmeee.MARK} in the text")
            return cmeee.write(pairs)
        write = objects.write_cluener if form == "cluener" else objects.write_entity_list
        return write(pairs)
    if form == "inline":
        pairs = list(zip(texts, flat, strict=True))
        _require(done, pairs, lambda text: not set("[]<>\n") & set(text), "brackets in the text")
        return inline.write(pairs)
    whole_tags = [tuple(one.label or ()) for one in tagged.examples]
    if scheme != "BIO":
        # Other schemes would read a tag that continues nothing as an entity.
        sound = [tuple(tags_of(len(text), found)) for text, found in zip(texts, flat, strict=True)]
        if odd := sum(one != two for one, two in zip(whole_tags, sound, strict=True)):
            done.losses.append(f"tags that continue nothing in {odd} rows, which became O")
        whole_tags = sound
    tags = [from_bio(one, scheme) for one in whole_tags]
    if form == "conll":
        _require(done, [(t, []) for t in texts], lambda text: not set("\t\n\r") & set(text), "tabs")
        return conll.write(zip(texts, tags, strict=True))
    if any(set(" \t\n\r") & set(text) for text in texts):
        lines = [str(one.line) for one in tagged.examples if set(" \t\n\r") & set(one.texts[0])]
        raise KbertError(
            f"{len(lines)} texts hold blanks, which part the characters in {form}: lines "
            f"{name_some(lines)}",
            "--to conll, entities or cluener hold them.",
        )
    rows = [(" ".join(text), " ".join(marks)) for text, marks in zip(texts, tags, strict=True)]
    return _rows(("text_a", "label"), rows, form)


def _require(
    done: Converted, pairs: Sequence[tuple[str, Sequence[Entity]]], fits: object, what: str
) -> None:
    bad = [text for text, _ in pairs if not fits(text)]  # type: ignore[operator]
    if bad:
        raise KbertError(
            f"{len(bad)} texts cannot be written as {done.format}: {what}",
            "--to entities holds any text.",
        )


def _table_lines(
    examples: Sequence[Example], names: ColumnNames, form: str, done: Converted
) -> Iterator[str]:
    count = max((len(one.texts) for one in examples), default=1)
    header = ["label", *(options[0] for options in names.texts[:count])]
    grouped = names is QA and any(one.group is not None for one in examples)
    rows = [
        (str(one.label), *one.texts, *([one.group or ""] if grouped else [])) for one in examples
    ]
    return _rows([*header, *(["qid"] if grouped else [])], _held(rows, form, done), form)


def _reading_lines(examples: Sequence[Example], form: str, done: Converted) -> Iterator[str]:
    if form == PASSAGES:
        return write_squad(examples)
    answers = [tuple(dict.fromkeys(one.label or ())) for one in examples]
    if more := sum(len(found) > 1 for found in answers):
        done.losses.append(f"all answers but the first of {more} questions")
    if trimmed := sum(one.strip(BLANKS) != one for found in answers for one in found[:1]):
        done.losses.append(f"blanks around {trimmed} answers, which tables trim")
    if none := sum(not found for found in answers):
        done.losses.append(f"{none} questions without an answer, whose answer is empty")
    rows = [
        (found[0] if found else "", *one.texts)
        for found, one in zip(answers, examples, strict=True)
    ]
    return _rows(("answer", "question", "context"), _held(rows, form, done), form)


def _held(rows: list[tuple[str, ...]], form: str, done: Converted) -> list[tuple[str, ...]]:
    """The rows as the format can hold them."""
    broken = sum(any(set("\t\n\r") & set(cell) for cell in row) for row in rows)
    if form != "tsv" or not broken:
        return rows
    done.losses.append(f"{broken} rows with tabs or line ends, which became blanks")
    table = str.maketrans("\t\n\r", "   ")
    return [tuple(cell.translate(table) for cell in row) for row in rows]


def _rows(header: Sequence[str], rows: Iterable[Sequence[str]], form: str) -> Iterator[str]:
    if form == "jsonl":
        for row in rows:
            yield json.dumps(dict(zip(header, row, strict=True)), ensure_ascii=False) + "\n"
        return
    for row in (header, *rows):
        if form == "tsv":
            yield "\t".join(row) + "\n"
            continue
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(row)
        yield line.getvalue()
