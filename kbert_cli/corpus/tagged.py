"""Files of ner in any format as examples with BIO tags, and what was odd about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kbert_cli.config import ReadConfig
from kbert_cli.corpus.columns import NER
from kbert_cli.corpus.entities import OUTSIDE, Entity, tags_of, without_overlaps
from kbert_cli.corpus.example import Example
from kbert_cli.corpus.formats import FORMATS, SEQUENCES, TABLES, sniff
from kbert_cli.corpus.json_rows import kind_of
from kbert_cli.corpus.lines import LineSource
from kbert_cli.corpus.row import Row
from kbert_cli.corpus.schemes import Mark, detect_scheme, read_mark, to_bio
from kbert_cli.corpus.sequences import brat, cmeee, conll, inline, objects
from kbert_cli.corpus.sequences.base import Sentence
from kbert_cli.corpus.table import Table, open_table, require_label
from kbert_cli.errors import KbertError, name_some
from kbert_cli.files import STDIN

_READERS = {
    "conll": conll.read,
    "cluener": objects.read_cluener,
    "entities": objects.read_entity_list,
    "cmeee": cmeee.read,
    "inline": inline.read,
}


@dataclass
class TaggedFile:
    """All examples of a file."""

    path: str
    format: str
    scheme: str | None = None
    """Of the tags; None where the format has entities."""
    examples: list[Example] = field(default_factory=list)
    entities: list[list[Entity]] = field(default_factory=list)
    """The entities of each example, nested ones included; empty where the format has tags."""
    faults: list[tuple[int, str]] = field(default_factory=list)
    """Lines that cannot be read, and why."""
    odd_tags: list[tuple[int, str]] = field(default_factory=list)
    """Lines whose tags break their scheme, and how."""
    nested: int = 0
    """Entities left out because a longer one shares characters with them."""
    notes: list[str] = field(default_factory=list)
    unused: dict[str, None] = field(default_factory=dict)
    """Fields and columns that are passed over."""

    @property
    def nested_note(self) -> str:
        """What became of entities that share characters."""
        kept = sum(len(without_overlaps(one)) for one in self.entities)
        return (
            f"{self.path}: {kept} entities kept, {self.nested} left out that share characters "
            "with a longer one"
        )


def read_tagged_file(path: str | Path, reading: ReadConfig) -> TaggedFile:
    """Read a file of tagged sentences whole.

    Raises:
        KbertError: it cannot be opened, or has no labels at all.
    """
    refuse_class_options(reading, "ner")
    source = LineSource(path, reading.encoding)
    form = reading.format or sniff(path, source.head(), ner=True)
    found = TaggedFile(str(path), form)
    sentences = []
    for sentence in _sentences(source, form, reading, found):
        found.unused |= dict.fromkeys(sentence.unused)
        if sentence.fault:
            found.faults.append((sentence.line, sentence.fault))
        elif sentence.tags is None:
            _add_entities(found, sentence)
        else:
            sentences.append(sentence)
    if sentences:
        _add_tagged(found, sentences)
    source.refuse_if_foreign(found.faults, len(found.examples) + len(found.faults))
    _note(found)
    return found


def _sentences(
    source: LineSource, form: str, reading: ReadConfig, found: TaggedFile
) -> Iterator[Sentence]:
    if form in TABLES:
        if (fault := source.first_fault()) and form != "jsonl":
            raise source.fault_error(1, fault)
        table = open_table(
            source.path,
            NER,
            reading=reading,
            source=source,
            form=form,
            faults=True,
            labelled=True,
        )
        require_label(table)
        if table.header is None:
            found.notes.append(f"{source.path} has no header; columns: {table.columns.describe()}")
        return _table_sentences(table)
    return read_sentences(source, form, reading)


def read_sentences(source: LineSource, form: str, reading: ReadConfig) -> Iterator[Sentence]:
    """The sentences of a file in one of ``SEQUENCES``.

    Raises:
        KbertError: the format has no such name.
    """
    refuse_fields(reading, form, source.path)
    if form == "brat":
        if source.path == STDIN:
            raise KbertError("brat's files come in pairs: standard input cannot hold them")
        annotation = brat.annotation_of(source.path)
        marks = LineSource(annotation, reading.encoding).good_lines()
        return brat.read(source.good_lines(), marks, annotation.name)
    if form not in _READERS:
        allowed = (one for one in FORMATS if one in TABLES or one in SEQUENCES)
        raise KbertError(f"--format is {form!r}; for ner it must be one of {', '.join(allowed)}")
    return _READERS[form](source.lines(), source.head())


def text_rows(source: LineSource, form: str, reading: ReadConfig) -> Iterator[Row]:
    """The texts of a file in one of ``SEQUENCES``, whatever becomes of its entities.

    Where a line is a sentence, blank lines and those that cannot be read are rows too.
    """
    if form not in ("cmeee", "inline"):
        for one in read_sentences(source, form, reading):
            if not one.fault:
                yield Row(one.line, (one.text,), one.partial)
        return
    refuse_fields(reading, form, source.path)
    for line in source.lines():
        if not line[1].strip() and not line[2]:
            yield Row(line[0], (line[1],))
        for one in _READERS[form]([line], source.head()):
            text = (line[1] if one.fault else one.text,)
            yield Row(line[0], text, one.fault, unread=bool(one.fault))


def refuse_class_options(reading: ReadConfig, task: str) -> None:
    """Raise KbertError when options for classes are given to a task that has none."""
    for flag, value in (("--classes", reading.classes), ("--label-column", reading.label_column)):
        if value is not None:
            raise KbertError(f"{flag} {value} is for classes, and --task {task} has none")


def refuse_fields(reading: ReadConfig, form: str, path: str) -> None:
    """Raise KbertError when options name columns of a file that has none."""
    named = {
        "--text-field": reading.text_field,
        "--text-b-field": reading.text_b_field,
        "--label-field": reading.label_field,
    }
    for flag, value in named.items():
        if value is not None:
            raise KbertError(
                f"{flag} is {value!r}, and {path} is read as {form}, which has no such fields",
                "It is for tsv, csv and jsonl; --format (--input-format) names the form of a file.",
            )


def _table_sentences(table: Table) -> Iterator[Sentence]:
    columns = table.columns
    header = table.header or [f"column {index + 1}" for index in range(columns.width)]
    unused = tuple(header[index] for index in columns.unused)
    for row in table.rows:
        if row.cells == ("",):
            continue
        given = (row.record or {}).get(header[columns.label or 0])
        listed = f"the label is {kind_of(given)}, not tags parted by blanks"
        fault = row.fault or (listed if isinstance(given, list | dict) else "")
        if fault or len(row.cells) != columns.width:
            fault = fault or f"{len(row.cells)} columns, expected {columns.width}"
            yield Sentence(row.line, fault=fault)
            continue
        assert columns.label is not None
        tokens = row.cells[columns.texts[0]].split(" ")
        tags = row.cells[columns.label].split(" ")
        if "" in tokens or "" in tags:
            where = "the text" if "" in tokens else "the tags"
            fault = f"an empty token in {where} (a doubled, leading or trailing space)"
            if len(tokens) != len(tags):
                fault += f"; {len(tokens)} tokens but {len(tags)} tags"
            yield Sentence(row.line, fault=fault)
        elif len(tokens) != len(tags):
            yield Sentence(row.line, fault=f"{len(tokens)} tokens but {len(tags)} tags")
        else:
            late = [name for name in row.record or () if name not in header]
            yield Sentence(row.line, tokens, tags, unused=(*unused, *late))


def _add_entities(found: TaggedFile, sentence: Sentence) -> None:
    if sentence.partial:
        return
    text = sentence.text
    kept = without_overlaps(sentence.entities)
    found.nested += len(set(sentence.entities)) - len(kept)
    found.entities.append(sorted(set(sentence.entities)))
    found.examples.append(Example((text,), tags_of(len(text), kept), line=sentence.line))


def _add_tagged(found: TaggedFile, sentences: Iterable[Sentence]) -> None:
    read = [(sentence, _marks(found, sentence)) for sentence in sentences]
    found.scheme = detect_scheme([mark for mark in marks if mark] for _, marks in read)
    for sentence, given in read:
        marks = [mark for mark in given if mark]
        if len(marks) < len(given):
            continue
        tags, odd = to_bio(marks, found.scheme)
        lines = sentence.lines or [sentence.line] * len(tags)
        found.odd_tags += [(lines[index], reason) for index, reason in odd]
        if sentence.partial:
            continue
        spread: list[str] = []
        for token, tag in zip(sentence.tokens, tags, strict=True):
            rest = tag if tag == OUTSIDE else "I-" + tag[2:]
            spread += [tag] + [rest] * (len(token) - 1)
        found.examples.append(Example((sentence.text,), tuple(spread), line=sentence.line))


def _marks(found: TaggedFile, sentence: Sentence) -> list[Mark | None]:
    """The tags taken apart; None, and a fault, where one is none."""
    marks = [read_mark(tag) for tag in sentence.tags or ()]
    for index, (mark, tag) in enumerate(zip(marks, sentence.tags or (), strict=True)):
        if mark is None:
            line = sentence.lines[index] if sentence.lines else sentence.line
            found.faults.append((line, f"tag {tag!r}; expected O, B-TYPE, I-TYPE or the like"))
    return marks


def _note(found: TaggedFile) -> None:
    if found.format != "tsv":
        found.notes.append(f"{found.path}: read as {found.format}")
    if found.scheme not in (None, "BIO"):
        found.notes.append(f"{found.path}: tags are {found.scheme}, read as BIO")
    if found.scheme == "IO":
        found.notes.append(
            f"{found.path}: no tag begins with B-, so neighbours of one type count as one entity"
        )
    if found.odd_tags:
        lines = name_some(dict.fromkeys(str(line) for line, _ in found.odd_tags))
        found.notes.append(
            f"{found.path}: {len(found.odd_tags)} tags break {found.scheme} (the first: "
            f"{found.odd_tags[0][1]}), lines {lines}"
        )
    if found.nested:
        found.notes.append(found.nested_note)
