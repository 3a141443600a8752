"""``kbert inspect-tree``."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from kbert_cli.cli.console import ConsoleReporter
from kbert_cli.cli.options import injection_options, offline_option, quiet_option
from kbert_cli.config import DEFAULT_ENCODER, InjectionConfig
from kbert_cli.files import STDIN, atomic_output, read_lines, require_parent
from kbert_cli.kg.catalog import open_graph

if TYPE_CHECKING:
    from kbert_cli.inspection import Inspected, Inspector


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
    type=click.Choice(["text", "json", "html", "svg"]),
    default="text",
    show_default=True,
    help="A drawing for the terminal, data, one page, or one picture.",
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
    line; html and svg put all texts into one page or picture.
    """
    from kbert_cli.inspection import Inspector, run_inspector

    if output is not None:
        require_parent(output)
    reporter = ConsoleReporter(quiet=quiet)
    if run:
        reporter.note(f"run: {run}")
        inspector = run_inspector(run)
    else:
        reporter.note(f"graph: {', '.join(kg)}")
        inspector = Inspector(open_graph(kg, reporter), injection, model)
    shown = [inspector.inspect([one] if text_b is None else [one, text_b]) for one in _texts(text)]
    written = _rendered(form, shown, inspector, output is None and sys.stdout.isatty())
    if output is None:
        click.echo(written, nl=False)
        return
    with atomic_output(output) as stream:
        stream.write(written)


def _texts(text: str) -> Iterator[str]:
    return (line for _, line in read_lines(STDIN)) if text == STDIN else iter([text])


def _rendered(form: str, shown: list[Inspected], inspector: Inspector, terminal: bool) -> str:
    """Trees in the form that was asked for; ``terminal`` is whether it goes to one."""
    options: dict[str, Any] = {
        "visible": inspector.injection.visible_matrix,
        "unknown_id": inspector.unknown_id,
    }
    if form == "html":
        from kbert_cli.render.html import render_html

        return render_html([(one.tree, one.layout) for one in shown], **options)
    if form == "svg":
        from kbert_cli.render.svg import render_svg

        return render_svg([one.layout for one in shown], **options)
    if form == "json":
        from kbert_cli.render.view import tree_as_dict

        objects = (tree_as_dict(one.tree, one.layout, **options) for one in shown)
        return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in objects)
    from kbert_cli.render.terminal import render_terminal

    options["colour"] = terminal and not os.environ.get("NO_COLOR")
    options["width"] = shutil.get_terminal_size().columns if terminal else 200
    return "".join(render_terminal(one.tree, one.layout, **options) for one in shown)
