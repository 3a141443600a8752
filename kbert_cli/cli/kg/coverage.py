"""``kbert kg coverage``."""

from __future__ import annotations

import click

from kbert_cli.cli.console import ConsoleReporter, print_json, print_table
from kbert_cli.cli.options import (
    injection_options,
    json_option,
    offline_option,
    quiet_option,
    reading_options,
)
from kbert_cli.config import DEFAULT_ENCODER, InjectionConfig, ReadConfig
from kbert_cli.kg.catalog import open_graph
from kbert_cli.registry import TASKS


@click.command()
@click.argument("graph", metavar="KG")
@click.argument("file")
@click.option(
    "--task",
    type=click.Choice(list(TASKS)),
    help="Whose columns FILE has.  [default: what its form and header say; without, a text a line "
    "for .txt, else label and text]",
)
@click.option(
    "--model",
    default=DEFAULT_ENCODER,
    show_default=True,
    metavar="NAME|DIR",
    help="Whose tokenizer counts the tokens.",
)
@injection_options
@reading_options()
@offline_option
@json_option
@quiet_option
def coverage(
    graph: str,
    file: str,
    task: str | None,
    model: str,
    injection: InjectionConfig,
    reading: ReadConfig,
    as_json: bool,
    quiet: bool,
) -> None:
    """Say, before any training, what KG can do for the texts of FILE."""
    from kbert_cli.coverage import cover, read_texts
    from kbert_cli.inspection import Inspector

    reporter = ConsoleReporter(quiet=quiet)
    inspector = Inspector(open_graph([graph], reporter), injection, model)
    with reporter.progress("growing trees") as advance:
        found = cover(inspector, read_texts(file, task, reading), advance)
    if as_json:
        print_json(found.as_dict())
        return
    figures = {
        name.replace("_", " "): value
        for name, value in found.as_dict().items()
        if isinstance(value, (int, float))
    }
    print_table(f"{graph} on {file}", ("figure", "value"), list(figures.items()))
    if found.mentions:
        print_table("", ("name", "mentions"), list(found.names.items()))
        print_table("", ("predicate", "branches"), list(found.predicates.items()))
    if not found.mentions:
        reporter.warn("no text mentions an entity of this graph: it cannot help here")
