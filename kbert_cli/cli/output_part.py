"""Output that may be broken off: FILE.part, gone on with, and FILE when it is whole."""

from __future__ import annotations

import contextlib
import csv
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from kbert_cli.errors import KbertError
from kbert_cli.files import LOCK, exclusive, named_output_errors, read_json, write_json


@contextlib.contextmanager
def output_part(
    output: str | None, *, resume: bool, source: str = "", facts: dict[str, Any] | None = None
) -> Iterator[IO[str]]:
    """Standard output, or ``FILE.part`` that becomes FILE when all is written.

    What is there and no regular file (a device, a pipe) is written to as it is.

    Args:
        source: the input, which must not be what is written to.
        facts: what the output is made from; ``resume`` goes on with the very same only.
    """
    if output is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    # A link stays a link.
    target = Path(os.path.realpath(output))
    part = target.with_name(f"{target.name}.part")
    notes = target.with_name(f"{target.name}.part.json")
    with named_output_errors(output):
        _refuse_own_input(source, (target, part))
        if target.exists() and not target.is_file():
            with open(target, "w", encoding="utf-8", newline="\n") as stream:
                yield stream
            return
        with exclusive(part.with_name(f"{part.name}{LOCK}"), str(output)):
            if resume and not part.exists():
                if target.exists():
                    raise KbertError(f"{output} is complete", "There is nothing to resume.")
                resume = False
            if resume:
                _require_same(notes, facts)
                _cut_last_row(part, quoted=bool(facts and facts["format"] == "csv"))
            else:
                write_json(notes, facts)
            # Not removed on an error: what was computed is not lost.
            with open(part, "a+" if resume else "w+", encoding="utf-8", newline="\n") as stream:
                yield stream
            part.replace(target)
            notes.unlink(missing_ok=True)


def _refuse_own_input(source: str, written: tuple[Path, ...]) -> None:
    for path in written:
        if source and path.exists() and Path(source).exists() and path.samefile(source):
            raise KbertError(f"{source} would be written over while it is read", "Name another.")


def _require_same(notes: Path, facts: dict[str, Any] | None) -> None:
    before = read_json(notes) if notes.is_file() else None
    if before != facts:
        raise KbertError(
            f"{notes.with_suffix('')} was begun with another input, run or format",
            "Delete it to begin anew, or name another --output.",
        )


def _cut_last_row(part: Path, *, quoted: bool) -> None:
    """Drop a last row that was not written whole.

    Args:
        quoted: line ends between quotation marks end no row.
    """
    whole = at = 0
    inside = False
    with open(part, "rb+") as stream:
        for line in stream:
            at += len(line)
            inside ^= quoted and line.count(b'"') % 2 == 1
            if line.endswith(b"\n") and not inside:
                whole = at
        stream.truncate(whole)


def rows_in(stream: IO[str], form: str) -> int:
    """Rows of an output that is open for appending; the place stays at its end."""
    stream.seek(0)
    # Cells of CSV may hold line ends.
    count = sum(1 for _ in (csv.reader(stream) if form == "csv" else stream))
    stream.seek(0, 2)
    return count
