"""``kbert inspect-tree``."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator

import click

from kbert_cli.cli.console import ConsoleReporter
from kbert_cli.cli.options import injection_options, offline_option, quiet_option
from kbert_cli.config import DEFAULT_ENCODER, InjectionConfig
from kbert_cli.files import STDIN, atomic_output, read_lines
from kbert_cli.kg.catalog import open_graph


@click.command("inspect-tree")
@click.argument("text")
@click.option("--text-b", help="Second text of a pair.")
@click.option(
    "--kg",
    multiple=True,
    default=["medical"],
    show_default=True,
    metavar="NAME|FILE|none",
    help="Graph (repeatable).",
)
@click.option(
    "--model",
    default=DEFAULT_ENCODER,
    show_default=True,
    metavar="NAME|DIR",
    help="Whose tokenizer to use; that of scratch:mini knows all characters.",
)
@offline_option
@click.option("--run", metavar="DIR", help="Use a run's graph, settings and tokenizer instead.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="A drawing, or data.",
)
@click.option("--output", metavar="FILE", help="Where to write.  [default: standard output]")
@injection_options
@quiet_option
def inspect_tree(
    text: str,
    text_b: str | None,
    kg: tuple[str, ...],
    model: str,
    run: str | None,
    form: str,
    output: str | None,
    injection: InjectionConfig,
    quiet: bool,
) -> None:
    """Show what a graph injects into TEXT, token by token, just as a model would get it.

    With --run DIR exactly as that run does (an ner run, for one, leaves predicates out).

    TEXT - reads standard input, a text a line. With --format json each text gives one object on one
    line.
    """
    from kbert_cli.inspection import Inspector, run_inspector
    from kbert_cli.render.terminal import render_terminal
    from kbert_cli.render.view import tree_as_dict

    reporter = ConsoleReporter(quiet=quiet)
    if run:
        reporter.note(f"run: {run}")
        inspector = run_inspector(run)
    else:
        reporter.note(f"graph: {', '.join(kg)}")
        inspector = Inspector(open_graph(kg, reporter), injection, model)
    visible = inspector.injection.visible_matrix
    colour = output is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 200
    shown = []
    for one in _texts(text):
        seen = inspector.inspect([one] if text_b is None else [one, text_b])
        if form == "json":
            value = tree_as_dict(
                seen.tree, seen.layout, visible=visible, unknown_id=inspector.unknown_id
            )
            shown.append(json.dumps(value, ensure_ascii=False) + "\n")
        else:
            shown.append(
                render_terminal(
                    seen.tree,
                    seen.layout,
                    colour=colour,
                    width=width,
                    visible=visible,
                    unknown_id=inspector.unknown_id,
                )
            )
    if output is None:
        click.echo("".join(shown), nl=False)
        return
    with atomic_output(output) as stream:
        stream.writelines(shown)


def _texts(text: str) -> Iterator[str]:
    return (line for _, line in read_lines(STDIN)) if text == STDIN else iter([text])
