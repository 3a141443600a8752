"""Output that may be broken off: FILE.part, gone on with, and FILE when it is whole."""

from __future__ import annotations

import contextlib
import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from kbert_cli.errors import KbertError
from kbert_cli.files import named_output_errors


@contextlib.contextmanager
def output_part(output: str | None, *, resume: bool) -> Iterator[IO[str]]:
    """Standard output, or ``FILE.part`` that becomes FILE when all is written."""
    if output is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    part = Path(f"{output}.part")
    with named_output_errors(output):
        if resume and not part.exists():
            if Path(output).exists():
                raise KbertError(f"{output} is complete", "There is nothing to resume.")
            resume = False
        if resume:
            _cut_last_line(part)
        # Not removed on an error: what was computed is not lost.
        with open(part, "a+" if resume else "w+", encoding="utf-8", newline="\n") as stream:
            yield stream
        part.replace(output)


def _cut_last_line(part: Path) -> None:
    """Drop a last line that was not written whole."""
    with open(part, "rb+") as stream:
        size = stream.seek(0, 2)
        while size:
            first = max(0, size - (1 << 16))
            stream.seek(first)
            found = stream.read(size - first).rfind(b"\n")
            if found >= 0:
                stream.truncate(first + found + 1)
                return
            size = first
        stream.truncate(0)


def rows_in(stream: IO[str], form: str) -> int:
    """Rows of an output that is open for appending; the place stays at its end."""
    stream.seek(0)
    # Cells of CSV may hold line ends.
    count = sum(1 for _ in (csv.reader(stream) if form == "csv" else stream))
    stream.seek(0, 2)
    return count
