"""What a graph can do for a corpus, before any training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kbert_cli.config import ReadConfig
from kbert_cli.corpus.columns import COLUMNS, NER, ColumnNames
from kbert_cli.corpus.formats import SEQUENCES, sniff
from kbert_cli.corpus.lines import LineSource
from kbert_cli.corpus.reader import open_unlabelled, unlabelled_examples
from kbert_cli.corpus.row import Row
from kbert_cli.corpus.sequences.inline import mostly_marked
from kbert_cli.corpus.table import Table
from kbert_cli.corpus.tags import plain_text
from kbert_cli.errors import KbertError, at_line
from kbert_cli.files import BLANKS, STDIN
from kbert_cli.inspection import Inspector

TOP = 20


@dataclass(frozen=True)
class Coverage:
    """Counts over the texts of a file (a pair counts as one)."""

    texts: int
    with_mention: int
    mentions: int
    branches: int
    over_length: int
    """Trees that lose branches or text to ``max_length``."""
    truncated: int
    """Trees that lose text."""
    tokens: int
    names: dict[str, int]
    """The names found most often."""
    predicates: dict[str, int]
    """The predicates injected most often."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, shares included."""
        return {
            **vars(self),
            "share_with_mention": self.with_mention / self.texts,
            "mentions_a_text": self.mentions / self.texts,
            "branches_a_text": self.branches / self.texts,
            "tokens_a_text": self.tokens / self.texts,
        }


def read_texts(
    path: str | Path, task: str | None, reading: ReadConfig | None = None
) -> Iterator[tuple[str, ...]]:
    """The texts of a corpus file, or of plain text, a text a line.

    Without ``task`` the form of the file, or its header, decides; a .txt file or standard input
    that has neither is plain text.
    A text whose characters are parted by blanks is put together, as NER tables have it.

    Raises:
        KbertError: the file, or one of its rows, cannot be read.
    """
    reading = reading or ReadConfig()
    source = LineSource(path, reading.encoding)
    if task == "ner" or (task is None and _is_tagged(source, reading)):
        return _texts_of(open_unlabelled(path, NER, reading=reading, source=source), NER)
    names = COLUMNS[task or "classification"]
    table = open_unlabelled(path, names, reading=reading, source=source)
    if (
        task is None
        and table.header is None
        and (str(path) == STDIN or Path(path).suffix == ".txt")
    ):
        lines = ("\t".join(row.cells) for row in _sound_rows(table))
        return ((plain_text(line),) for line in lines if line.strip(BLANKS))
    found = _texts_of(table, names)
    return found if task else (tuple(map(plain_text, texts)) for texts in found)


def _is_tagged(source: LineSource, reading: ReadConfig) -> bool:
    """Whether a file has a form that ner alone has."""
    form = reading.format or sniff(source.path, source.head(), ner=True)
    if form == "inline" and reading.format is None:
        return mostly_marked(source.head())
    return form in SEQUENCES


def _texts_of(table: Table, names: ColumnNames) -> Iterator[tuple[str, ...]]:
    sound = replace(table, rows=_sound_rows(table))
    return (example.texts for _, example in unlabelled_examples(sound, names))


def _sound_rows(table: Table) -> Iterator[Row]:
    for row in table.rows:
        if row.fault and row.cells != ("",):
            raise KbertError(at_line(table.path, row.line, row.fault))
        yield row


def cover(
    inspector: Inspector,
    texts: Iterator[tuple[str, ...]],
    on_text: Callable[[], None] = lambda: None,
) -> Coverage:
    """Grow the tree of every text and count.

    Raises:
        KbertError: there is no text.
    """
    counts: Counter[str] = Counter()
    names: Counter[str] = Counter()
    predicates: Counter[str] = Counter()
    for text in texts:
        seen = inspector.inspect(text)
        found = [knot.mention.name for knot in seen.tree.knots]
        branches = list(seen.tree.branches())
        names.update(found)
        predicates.update(branch.triple.predicate for branch in branches)
        cut = seen.layout.truncated_characters > 0
        counts.update(
            texts=1,
            with_mention=int(bool(found)),
            mentions=len(found),
            branches=len(branches),
            over_length=int(cut or bool(seen.layout.dropped_branches)),
            truncated=int(cut),
            tokens=len(seen.layout),
        )
        on_text()
    if not counts["texts"]:
        raise KbertError("the file holds no text")
    fields = ("texts", "with_mention", "mentions", "branches", "over_length", "truncated", "tokens")
    return Coverage(
        **{name: counts[name] for name in fields},
        names=dict(names.most_common(TOP)),
        predicates=dict(predicates.most_common(TOP)),
    )
