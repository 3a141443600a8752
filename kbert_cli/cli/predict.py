"""``kbert predict``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from kbert_cli.checkpoint import fingerprint, newest_run
from kbert_cli.cli.console import ConsoleReporter
from kbert_cli.cli.options import (
    batch_size_option,
    moved_kg_option,
    quiet_option,
    reading_options,
    run_option,
)
from kbert_cli.cli.output_part import output_part, rows_in
from kbert_cli.cli.predicted_rows import row_writer
from kbert_cli.config import ReadConfig
from kbert_cli.corpus.formats import OBJECTS, PASSAGES, TABLES
from kbert_cli.errors import KbertError, name_some
from kbert_cli.files import STDIN, require_readable
from kbert_cli.shards import begin, identity, mark_done, parse_shard

FLUSHED = 1_000
"""Rows between writes to disk."""
_FORMS = {form: form for form in TABLES} | dict.fromkeys((PASSAGES, *OBJECTS), "jsonl")
"""Format of the input → of the output."""


@click.command()
@click.argument("file")
@run_option
@moved_kg_option
@click.option("--output", metavar="FILE", help="Where to write.  [default: standard output]")
@click.option(
    "--format",
    "form",
    type=click.Choice(["tsv", "jsonl", "csv"]),
    help="Of the output.  [default: that of the input, tsv for what is no table]",
)
@reading_options("--input-format")
@click.option(
    "--shard",
    metavar="K/N",
    help="Predict part K (from 0) of N only, into a file of its own beside --output; auto asks "
    "RANK and WORLD_SIZE, or SLURM_ARRAY_TASK_ID and _COUNT. kbert merge joins the parts.",
)
@click.option("--resume", is_flag=True, help="Go on with an --output that was broken off.")
@batch_size_option
@quiet_option
def predict(
    file: str,
    run: str | None,
    kg: tuple[str, ...],
    output: str | None,
    form: str | None,
    reading: ReadConfig,
    shard: str | None,
    resume: bool,
    batch_size: int,
    quiet: bool,
) -> None:
    """Add the model's answer to every row of FILE (- is standard input).

    Rows keep their order and their cells; a label column is not needed and not used. Added are
    `prediction` and `score` (the probability of the label; for qa, of the right answer), or for ner
    `prediction` (a tag a character) and `entities` (JSON, with character offsets). A row that
    cannot be read keeps its place and its content, and `error` says why it has no prediction.
    """
    reporter = ConsoleReporter(quiet=quiet)
    part = parse_shard(shard)
    if output is None and (part or resume):
        raise KbertError("--shard and --resume need --output", "Standard output has no parts.")
    if resume and file == STDIN:
        raise KbertError(
            "--resume needs a file: whether standard input is the same nobody can tell",
            "Write it to a file first.",
        )
    require_readable(file)
    if part and file == STDIN:
        raise KbertError("--shard needs a file: standard input cannot be read in parts")
    folder = run or newest_run()
    reporter.note(f"run: {folder}")

    from kbert_cli.pipeline import open_pipeline
    from kbert_cli.prediction import OddRows, added_names, open_input, predict_rows

    pipeline, record = open_pipeline(folder, kg=kg)
    target, span = output, None
    if part:
        assert output
        target, span = part.output(output), part.span(Path(file).stat().st_size)
    table = open_input(file, pipeline, record.texts, span, reading)
    form = form or _FORMS.get(table.format, "tsv")
    if table.header is None:
        reporter.note(f"{file} has no header; columns: {table.columns.describe()}")
    elif table.format not in TABLES:
        reporter.note(f"{file}: read as {table.format}")
    headed = form != "jsonl" and table.header is not None
    odd = OddRows()
    facts = {
        "input": None if file == STDIN else identity(file),
        "run": str(Path(folder).resolve()),
        "weights": fingerprint(folder),
        "reading": {key: one for key, one in asdict(reading).items() if one is not None},
        "format": form,
        "header": headed,
    }
    if part and not resume:
        assert output
        begin(part, output)
    with (
        output_part(target, resume=resume, source=file, facts=facts) as stream,
        reporter.progress("predicting") as advance,
    ):
        done = rows_in(stream, form) - headed if resume else 0
        if done > 0:
            reporter.note(f"{target}.part: {done:,} rows are there already")
        write = row_writer(
            form,
            stream,
            table.header,
            table.columns.width,
            added_names(pipeline),
            begun=resume and stream.tell() > 0,
        )
        rows = skip = max(done, 0)
        for predicted in predict_rows(pipeline, table, odd, batch_size=batch_size, skip=skip):
            write(predicted)
            rows += 1
            if rows % FLUSHED == 0:
                # What was computed is on disk, whatever happens next.
                stream.flush()
            advance(1)
    if output:
        reporter.note(f"{target}: {rows:,} rows")
    if part:
        assert output
        mark_done(part, output, {"rows": rows, **facts})
    for what, lines in (
        ("no text", odd.empty),
        ("another number of columns", odd.wrong_width),
        ("no prediction, see the error column", odd.faulty),
    ):
        if lines:
            counted = f"{len(lines)} row{'s' * (len(lines) > 1)} with {what}"
            of = " of this part" if part and part.index else ""
            reporter.warn(
                f"{file}: {counted}, line{'s' * (len(lines) > 1)}{of} {name_some(map(str, lines))}"
            )
