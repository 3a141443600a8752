"""From one data format to another, with what the target cannot hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kbert_cli.config import ReadConfig
from kbert_cli.corpus.columns import NER, QA, READING, ColumnNames
from kbert_cli.corpus.entities import Entity, entities_of, tags_of
from kbert_cli.corpus.example import Example
from kbert_cli.corpus.formats import PASSAGES, TABLES, sniff
from kbert_cli.corpus.holds import why_not
from kbert_cli.corpus.lines import LineSource
from kbert_cli.corpus.passages import placed_answers, write_questions, write_squad
from kbert_cli.corpus.reader import Split, read_questions, read_rows
from kbert_cli.corpus.row import csv_line
from kbert_cli.corpus.schemes import from_bio
from kbert_cli.corpus.sequences import cmeee, conll, inline, objects
from kbert_cli.corpus.tagged import TaggedFile, read_tagged_file
from kbert_cli.errors import KbertError, at_line, name_some
from kbert_cli.files import BLANKS, STDIN, atomic_output, require_parent

TARGETS = ("tsv", "csv", "jsonl", "conll", "cluener", "entities", "cmeee", "inline", PASSAGES)
_SUFFIXES = {f".{form}": form for form in TABLES} | {".json": PASSAGES}
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
    if str(target) == STDIN:
        raise KbertError("OUT must be a file: what is written is read back")
    require_parent(target)
    form = form or _SUFFIXES.get(Path(target).suffix.casefold())
    if form not in TARGETS:
        raise KbertError(
            f"no format to write to {target}", f"--to names one of {', '.join(TARGETS)}."
        )
    if form not in TABLES and names is not (READING if form == PASSAGES else NER):
        task = "reading" if form == PASSAGES else "ner"
        raise KbertError(f"--to {form} is written for --task {task} only")
    if scheme != "BIO" and not (names is NER and form in _HOLD_TAGS):
        raise KbertError(f"--scheme {scheme} is for tags, and {form} has none here")
    if names is NER:
        tagged = read_tagged_file(source, reading)
        done = Converted(form, len(tagged.examples), tagged.faults, notes=tagged.notes)
        if form in _HOLD_NESTED:
            done.notes = [note for note in tagged.notes if note != tagged.nested_note]
        written, lines = _tagged_lines(tagged, form, scheme, done)
        unused = list(tagged.unused)
    else:
        split, done, unused = _read_table(source, names, reading, form)
        written, lines = (
            _reading_lines(split.examples, form, done)
            if names is READING
            else _table_lines(split.examples, names, form, done)
        )
    if unused:
        done.losses.append(f"other columns and fields: {name_some(unused)}")
    if done.faults and not skip_bad:
        shown = "\n".join(at_line(source, line, fault) for line, fault in done.faults[:20])
        raise KbertError(
            f"{len(done.faults)} rows of {source} cannot be read:\n{shown}",
            "Nothing was written. --skip-bad leaves them out.",
        )
    with atomic_output(target) as stream:
        stream.writelines(lines)
        stream.flush()
        _verify(stream.name, names, form, written, target)
    _note_form(target, names, done)
    return done


def _read_table(
    source: str | Path, names: ColumnNames, reading: ReadConfig, form: str
) -> tuple[Split, Converted, list[str]]:
    if names is READING:
        _, split, faults = read_questions(source, reading)
    else:
        _, split, faults = read_rows(source, names, None, reading)
    done = Converted(form, len(split.examples), faults, notes=split.notes)
    return split, done, split.unused


Content = Sequence[tuple[tuple[str, ...], object]]
"""Texts and label of each example, as the target should give them."""


def _verify(path: str, names: ColumnNames, form: str, written: Content, target: str | Path) -> None:
    """Raise KbertError unless a file that was just written reads back as it should."""
    if not written:
        return
    reading = ReadConfig(format=form)
    found: list[tuple[tuple[str, ...], object]]
    if names is NER:
        found = [(one.texts, one.label) for one in read_tagged_file(path, reading).examples]
    elif names is READING:
        examples = read_questions(path, reading)[1].examples
        found = [(one.texts, one.label) for one in examples]
    else:
        examples = read_rows(path, names, None, reading)[1].examples
        found = [(one.texts, (one.label, one.group)) for one in examples]
    if found != list(written):
        pairs = zip(found, written, strict=False)
        at = next((at for at, (one, two) in enumerate(pairs) if one != two), len(found))
        raise KbertError(
            f"{target} would not read back as it should from example {at + 1} on",
            "Nothing was written. "
            + (_HOLD_ALL if names is NER else "--to jsonl holds any text and label."),
        )


_HOLD_ALL = "--to entities holds any text and type."


def _note_form(target: str | Path, names: ColumnNames, done: Converted) -> None:
    """Say so where the target's content will not tell its format."""
    if names is READING:
        return
    if (told := sniff(target, LineSource(target).head(), ner=names is NER)) != done.format:
        done.notes.append(
            f"{target} looks like {told}: read it with --format {done.format} (--input-format)"
        )


def _tagged_lines(
    tagged: TaggedFile, form: str, scheme: str, done: Converted
) -> tuple[Content, Iterator[str]]:
    flat = [entities_of(one.label or ()) for one in tagged.examples]
    texts = [one.texts[0] for one in tagged.examples]
    if form in _HOLD_NESTED:
        pairs = list(zip(texts, tagged.entities or flat, strict=True))
    else:
        pairs = list(zip(texts, flat, strict=True))
        if tagged.nested:
            done.losses.append(f"{tagged.nested} entities that a longer one covers")
    _require_held(tagged, pairs, form)
    sound = [tags_of(len(text), found) for text, found in zip(texts, flat, strict=True)]
    tags = [tuple(one.label or ()) for one in tagged.examples]
    if form not in _HOLD_TAGS or scheme != "BIO":
        # Entities, and other schemes, do not hold a tag that continues nothing.
        if odd := sum(one != two for one, two in zip(tags, sound, strict=True)):
            done.losses.append(f"tags that continue nothing in {odd} rows, which became O")
        tags = sound
    written: Content = [((text,), marks) for text, marks in zip(texts, tags, strict=True)]
    if form not in _HOLD_TAGS:
        return written, _ENTITY_WRITERS[form](pairs)
    marked = zip(texts, (from_bio(one, scheme) for one in tags), strict=True)
    if form == "conll":
        return written, conll.write(marked)
    rows = ((" ".join(text), " ".join(marks)) for text, marks in marked)
    return written, _rows(("text_a", "label"), rows, form)


_HOLD_TAGS = (*TABLES, "conll")
_ENTITY_WRITERS = {
    "cluener": objects.write_cluener,
    "entities": objects.write_entity_list,
    "cmeee": cmeee.write,
    "inline": inline.write,
}


def _require_held(
    tagged: TaggedFile, pairs: Sequence[tuple[str, Sequence[Entity]]], form: str
) -> None:
    """Raise KbertError when some texts or types cannot be written in a format."""
    bad: dict[str, list[str]] = {}
    for example, (text, entities) in zip(tagged.examples, pairs, strict=True):
        if reason := why_not(form, text, entities):
            bad.setdefault(reason, []).append(str(example.line))
    if bad:
        count = sum(map(len, bad.values()))
        listed = "; ".join(f"{reason}: lines {name_some(lines)}" for reason, lines in bad.items())
        raise KbertError(f"{count} texts cannot be written as {form}: {listed}", _HOLD_ALL)


def _table_lines(
    examples: Sequence[Example], names: ColumnNames, form: str, done: Converted
) -> tuple[Content, Iterator[str]]:
    count = max((len(one.texts) for one in examples), default=1)
    header = ["label", *(options[0] for options in names.texts[:count])]
    grouped = names is QA and any(one.group is not None for one in examples)
    rows = [
        (str(one.label), *one.texts, *([one.group or ""] if grouped else [])) for one in examples
    ]
    held = _held(rows, form, done)
    written: Content = [
        (row[1 : count + 1], (row[0], row[count + 1] if grouped else None)) for row in held
    ]
    return written, _rows([*header, *(["qid"] if grouped else [])], held, form)


def _reading_lines(
    examples: Sequence[Example], form: str, done: Converted
) -> tuple[Content, Iterator[str]]:
    if form in (PASSAGES, "jsonl"):
        written: Content = [(one.texts, one.label) for one in examples]
        return written, (write_squad if form == PASSAGES else write_questions)(examples)
    firsts = [placed_answers(one)[:1] for one in examples]
    if more := sum(len(one.label or ()) > 1 for one in examples):
        done.losses.append(f"all answers but the first of {more} questions")
    if none := sum(not first or not str(first[0]["text"]).strip(BLANKS) for first in firsts):
        raise KbertError(
            f"{none} questions have no answer, which {form} cannot hold",
            f"--to {PASSAGES} or jsonl holds them.",
        )
    rows = []
    for (first,), one in zip(firsts, examples, strict=True):
        answer = str(first["text"]).rstrip(BLANKS)
        trimmed = answer.lstrip(BLANKS)
        start = first["answer_start"] + len(answer) - len(trimmed)
        rows.append((trimmed, *one.texts, one.group or "", str(start)))
    if trims := sum(row[0] != first["text"] for row, (first,) in zip(rows, firsts, strict=True)):
        done.losses.append(f"blanks around {trims} answers, which tables trim")
    held = _held(rows, form, done)
    header = ("answer", "question", "context", "id", "answer_start")
    return [(row[1:3], (row[0],)) for row in held], _rows(header, held, form)


def _held(rows: list[tuple[str, ...]], form: str, done: Converted) -> list[tuple[str, ...]]:
    """The rows as the format can hold them."""
    if form != "tsv":
        return rows
    held = [tuple(cell.translate(_BLANKED) for cell in row) for row in rows]
    if broken := sum(one != two for one, two in zip(rows, held, strict=True)):
        done.losses.append(f"{broken} rows with tabs or line ends, which became blanks")
    return held


_BLANKED = str.maketrans("\t\n\r", "   ")


def _rows(header: Sequence[str], rows: Iterable[Sequence[str]], form: str) -> Iterator[str]:
    if form == "jsonl":
        for row in rows:
            yield json.dumps(dict(zip(header, row, strict=True)), ensure_ascii=False) + "\n"
        return
    for row in (header, *rows):
        yield csv_line(row) if form == "csv" else "\t".join(row) + "\n"
