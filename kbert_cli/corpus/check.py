"""Looking a corpus file over before anything is trained on it."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kbert_cli.config import ReadConfig
from kbert_cli.corpus.columns import NER, READING, ColumnNames
from kbert_cli.corpus.entities import entities_of
from kbert_cli.corpus.example import Example
from kbert_cli.corpus.reader import read_questions, read_rows
from kbert_cli.corpus.tagged import read_tagged_file
from kbert_cli.files import BLANKS

_ODD = {
    "zero-width or format": "Cf",
    "control": "Cc",
    "private use": "Co",
    "unassigned": "Cn",
    "surrogate": "Cs",
}


@dataclass
class CorpusFindings:
    """What one file looks like."""

    path: str
    format: str
    scheme: str | None = None
    """Of the tags of ner."""
    rows: int = 0
    """Examples that can be read."""
    faults: list[tuple[int, str]] = field(default_factory=list)
    """Line → why it cannot be read."""
    odd_tags: list[tuple[int, str]] = field(default_factory=list)
    """Line → how its tags break their scheme."""
    labels: dict[str, int] = field(default_factory=dict)
    """Class → examples; in ner type → entities."""
    nested: int = 0
    """Entities that a longer one covers."""
    length_median: int = 0
    length_99: int = 0
    length_largest: int = 0
    """Characters of an example, both texts of a pair together."""
    empty: list[int] = field(default_factory=list)
    """Lines without text."""
    duplicates: int = 0
    """Examples whose texts occurred before in this file."""
    contradictions: list[int] = field(default_factory=list)
    """Lines whose texts occurred before with another label."""
    odd_characters: dict[str, int] = field(default_factory=dict)
    """Kind of character → examples that hold it."""
    shared: dict[str, int] = field(default_factory=dict)
    """Other file → examples here whose texts are there too."""
    notes: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether there are rows, all can be read, and no tag breaks the scheme."""
        return self.rows > 0 and not (self.faults or self.odd_tags)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "clean": self.clean}


def check_file(
    path: str | Path, names: ColumnNames, reading: ReadConfig, others: Sequence[str] = ()
) -> CorpusFindings:
    """Read a labelled file and count what is odd.

    Args:
        others: files whose texts should not occur here (the other splits).

    Raises:
        KbertError: a file cannot be opened or has no labels.
    """
    examples, found = _read(path, names, reading)
    found.rows = len(examples)
    if names is NER:
        types = (one.type for example in examples for one in entities_of(example.label or ()))
        found.labels = dict(sorted(Counter(types).items()))
    elif names is not READING:
        found.labels = dict(sorted(Counter(str(one.label) for one in examples).items()))
    _measure(found, examples)
    _find_repeats(found, examples)
    own = Counter(example.texts for example in examples)
    for other in others:
        there = {example.texts for example in _read(other, names, reading)[0]}
        found.shared[other] = sum(count for texts, count in own.items() if texts in there)
    return found


def _read(
    path: str | Path, names: ColumnNames, reading: ReadConfig
) -> tuple[list[Example], CorpusFindings]:
    if names is NER:
        tagged = read_tagged_file(path, reading)
        found = CorpusFindings(str(path), tagged.format, tagged.scheme)
        found.faults, found.odd_tags = sorted(tagged.faults), tagged.odd_tags
        found.nested, found.notes = tagged.nested, tagged.notes
        return tagged.examples, found
    if names is READING:
        form, split, faults = read_questions(path, reading)
    else:
        form, split, faults = read_rows(path, names, None, reading)
    return split.examples, CorpusFindings(str(path), form, faults=faults, notes=split.notes)


def _measure(found: CorpusFindings, examples: Sequence[Example]) -> None:
    lengths = sorted(sum(map(len, example.texts)) for example in examples)
    if lengths:
        found.length_median = lengths[len(lengths) // 2]
        found.length_99 = lengths[len(lengths) * 99 // 100]
        found.length_largest = lengths[-1]
    kinds: Counter[str] = Counter()
    for example in examples:
        categories = {unicodedata.category(char) for text in example.texts for char in text}
        kinds.update(kind for kind, category in _ODD.items() if category in categories)
        if not any(text.strip(BLANKS) for text in example.texts):
            found.empty.append(example.line)
    found.odd_characters = dict(kinds)


def _find_repeats(found: CorpusFindings, examples: Sequence[Example]) -> None:
    seen: dict[tuple[str, ...], object] = {}
    for example in examples:
        if example.texts not in seen:
            seen[example.texts] = example.label
            continue
        found.duplicates += 1
        if seen[example.texts] != example.label:
            found.contradictions.append(example.line)
