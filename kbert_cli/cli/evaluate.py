"""``kbert evaluate``."""

from __future__ import annotations

import click

from kbert_cli.checkpoint import newest_run
from kbert_cli.cli.console import ConsoleReporter, print_json, print_scores, print_table
from kbert_cli.cli.options import (
    batch_size_option,
    json_option,
    moved_kg_option,
    quiet_option,
    reading_options,
    run_option,
)
from kbert_cli.config import ReadConfig
from kbert_cli.files import require_readable


@click.command()
@click.argument("file")
@run_option
@moved_kg_option
@reading_options()
@batch_size_option
@json_option
@quiet_option
def evaluate(
    file: str,
    run: str | None,
    kg: tuple[str, ...],
    reading: ReadConfig,
    batch_size: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Score a run on the labelled rows of FILE (- is standard input)."""
    reporter = ConsoleReporter(quiet=quiet)
    require_readable(file)
    folder = run or newest_run()
    reporter.note(f"run: {folder}")

    from kbert_cli.evaluation import evaluate_file
    from kbert_cli.pipeline import open_pipeline

    pipeline, record = open_pipeline(folder, kg=kg)
    result = evaluate_file(
        pipeline, file, record.texts, reporter, batch_size=batch_size, reading=reading
    )
    if as_json:
        print_json({"run": str(folder), **result.scores, "confusion": result.confusion})
        return
    print_scores(file, result.scores)
    if result.confusion:
        labels = list(result.confusion)
        rows = [(gold, *result.confusion[gold].values()) for gold in labels]
        print_table("rows: gold, columns: predicted", ("", *labels), rows)
