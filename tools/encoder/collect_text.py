"""Gather the texts of training splits, a sentence a line, for ``kbert pretrain``.

Lines that some dev or test split holds as well are left out.

    python tools/encoder/collect_text.py DATA OUTPUT

DATA holds classification/, ner/, qa/ and relation/; OUTPUT gets a file for each corpus.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

Row = list[str]
SENTENCE_END = re.compile(r"(?<=[。！？!?；])(?![”’」』）)])")


def column(name: str) -> Callable[[list[Row]], Iterator[str]]:
    """Reads a named column of a table with a header."""

    def read(rows: list[Row]) -> Iterator[str]:
        at = rows[0].index(name)
        return (row[at] for row in rows[1:] if len(row) > at)

    return read


def columns(*numbers: int) -> Callable[[list[Row]], Iterator[str]]:
    """Reads columns by number of a table without header."""
    return lambda rows: (row[at] for row in rows for at in numbers if len(row) > at)


def tagged(rows: list[Row]) -> Iterator[str]:
    """Reads characters that blanks part."""
    return (text.replace(" ", "") for text in column("text_a")(rows))


CORPORA: dict[str, tuple[str, tuple[str, ...], Callable[[list[Row]], Iterable[str]]]] = {
    "medical_ner": ("ner/medical_ner/train.tsv", ("dev.tsv", "test.tsv"), tagged),
    "cmedqq": ("qa/cmedqq/train.txt", ("dev.txt", "test.txt"), columns(1, 2)),
    "chnsenticorp": (
        "classification/chnsenticorp/train.tsv",
        ("dev.tsv", "test.tsv"),
        column("text_a"),
    ),
    "smp2020_ewect": (
        "classification/smp2020_ewect/train.tsv",
        ("dev.tsv", "test.tsv"),
        column("text_a"),
    ),
    "finre": ("relation/finre/train.txt", ("valid.txt", "test.txt"), columns(3)),
}


def read_rows(path: Path) -> list[Row]:
    """Cells of a table; quotes are text."""
    with open(path, encoding="utf-8-sig", newline="") as stream:
        return list(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def sentences(text: str) -> list[str]:
    """A text cut behind its sentence ends."""
    return [part.strip() for part in SENTENCE_END.split(text) if part.strip()]


def main(data: Path, output: Path) -> None:
    """Write a file for each corpus."""
    output.mkdir(parents=True, exist_ok=True)
    for name, (train, others, read) in CORPORA.items():
        path = data / train
        asked = {text for other in others for text in read(read_rows(path.with_name(other)))}
        kept = [text for text in dict.fromkeys(read(read_rows(path))) if text not in asked]
        lines = "\n\n".join("\n".join(sentences(text)) for text in kept if sentences(text))
        (output / f"{name}.txt").write_text(lines + "\n", encoding="utf-8")
        print(f"{name}: {len(kept):,} texts")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
