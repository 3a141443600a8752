"""Running text, a sentence a line; blank lines part documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from kbert_cli.files import BLANKS, read_lines


def read_documents(paths: Iterable[str | Path]) -> Iterator[list[str]]:
    """Stream documents, each a list of its sentences; every file begins a new one."""
    for path in paths:
        document: list[str] = []
        for _, line in read_lines(path):
            sentence = line.strip(BLANKS)
            if sentence:
                document.append(sentence)
            elif document:
                yield document
                document = []
        if document:
            yield document
