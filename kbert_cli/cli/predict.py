"""``kbert predict``."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import click

from kbert_cli.checkpoint import newest_run
from kbert_cli.cli.console import ConsoleReporter
from kbert_cli.cli.options import batch_size_option, moved_kg_option, quiet_option, run_option
from kbert_cli.errors import name_some
from kbert_cli.files import named_output_errors


@click.command()
@click.argument("file")
@run_option
@moved_kg_option
@click.option("--output", metavar="FILE", help="Where to write.  [default: standard output]")
@click.option(
    "--format",
    "form",
    type=click.Choice(["tsv", "jsonl"]),
    default="tsv",
    show_default=True,
    help="Of the output.",
)
@batch_size_option
@quiet_option
def predict(
    file: str,
    run: str | None,
    kg: tuple[str, ...],
    output: str | None,
    form: str,
    batch_size: int,
    quiet: bool,
) -> None:
    """Add the model's answer to every row of FILE (- is standard input).

    Rows keep their order and their cells; a label column is not needed and not used. Added are
    `prediction` and `score` (the probability of the label; for qa, of the right answer), or for ner
    `prediction` (a tag a character) and `entities` (JSON, with character offsets).
    """
    reporter = ConsoleReporter(quiet=quiet)
    folder = run or newest_run()
    reporter.note(f"run: {folder}")

    from kbert_cli.pipeline import open_pipeline
    from kbert_cli.prediction import OddRows, added_names, open_input, predict_rows

    pipeline, record = open_pipeline(folder, kg=kg)
    table = open_input(file, pipeline, record.texts)
    if table.header is None:
        reporter.note(f"{file} has no header; columns: {table.columns.describe()}")
    odd = OddRows()
    with _sink(output) as stream, reporter.progress("predicting") as advance:
        write = _writer(form, stream, table.header, table.columns.width, added_names(pipeline))
        for predicted in predict_rows(pipeline, table, odd, batch_size=batch_size):
            write(predicted.row.cells, predicted.added)
            advance(1)
    for what, lines in (("no text", odd.empty), ("another number of columns", odd.wrong_width)):
        if lines:
            reporter.warn(
                f"{file}: {len(lines)} rows with {what}, lines {name_some(map(str, lines))}"
            )


@contextlib.contextmanager
def _sink(output: str | None) -> Iterator[IO[str]]:
    """Standard output, or ``FILE.part`` that becomes FILE when all is written."""
    if output is None:
        yield sys.stdout
        sys.stdout.flush()
        return
    part = Path(f"{output}.part")
    with named_output_errors(output):
        # Not removed on an error: what was computed is not lost.
        with open(part, "w", encoding="utf-8", newline="\n") as stream:
            yield stream
        part.replace(output)


def _writer(
    form: str,
    stream: IO[str],
    header: tuple[str, ...] | None,
    width: int,
    added_names: tuple[str, ...],
) -> Callable[[tuple[str, ...], dict[str, Any]], None]:
    names = header or tuple(f"column_{number}" for number in range(1, width + 1))
    free = {name: _free_name(name, names) for name in added_names}
    if header and form == "tsv":
        stream.write("\t".join((*header, *free.values())) + "\n")

    def write(cells: tuple[str, ...], added: dict[str, Any]) -> None:
        added = {free[name]: value for name, value in added.items()}
        padded = (*cells, *[""] * (width - len(cells)))
        if form == "jsonl":
            record = dict(zip(names, padded, strict=False)) | added
            if len(cells) > width:
                record["more_columns"] = list(cells[width:])
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
            return
        # Surplus cells go behind the answer, so that its columns line up.
        row = (*padded[:width], *map(_tsv_cell, added.values()), *padded[width:])
        stream.write("\t".join(row) + "\n")

    return write


def _free_name(name: str, taken: tuple[str, ...]) -> str:
    return f"kbert_{name}" if name in taken else name


def _tsv_cell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
