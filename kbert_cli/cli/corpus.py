"""``kbert corpus``: list corpora, check and convert files."""

from __future__ import annotations

from typing import Any

import click

from kbert_cli.cli.console import ConsoleReporter, print_json, print_table
from kbert_cli.cli.options import json_option, quiet_option, reading_options
from kbert_cli.config import ReadConfig
from kbert_cli.corpus.catalog import bundled_corpora
from kbert_cli.corpus.columns import COLUMNS
from kbert_cli.corpus.convert import TARGETS, WRITTEN_SCHEMES
from kbert_cli.errors import KbertError, name_some
from kbert_cli.registry import TASKS

_SHOWN = 50
_task_option = click.option(
    "--task", type=click.Choice(list(TASKS)), required=True, help="What the file is for."
)


@click.group()
def corpus() -> None:
    """Look into corpora, check and convert them."""


@corpus.command("list")
@json_option
def list_corpora(as_json: bool) -> None:
    """List the bundled corpora."""
    cards = bundled_corpora().values()
    if as_json:
        print_json([{**card.facts, "path": str(card.path)} for card in cards])
        return
    rows = []
    for card in cards:
        splits = card.facts["splits"]
        sizes = (splits["train"], splits["dev"], splits["test"])
        rows.append((card.name, card.facts["task"], card.domain, *sizes, card.title))
    header = ("name", "task", "domain", "train", "dev", "test", "title")
    print_table("bundled corpora", header, rows)


@corpus.command("check")
@click.argument("file")
@_task_option
@click.option(
    "--against",
    multiple=True,
    metavar="FILE",
    help="Another split, whose texts should not occur in FILE (repeatable).",
)
@reading_options()
@json_option
def check(
    file: str, task: str, against: tuple[str, ...], reading: ReadConfig, as_json: bool
) -> None:
    """Say how FILE reads and what is wrong with it, line by line and counted.

    Fails when a row cannot be read or tags break their scheme.
    """
    from kbert_cli.corpus.check import check_file

    found = check_file(file, COLUMNS[task], reading, against)
    if as_json:
        print_json(found.as_dict())
    else:
        _print_findings(found)
    if not (found.rows or found.faults):
        raise KbertError(f"{file} holds no example")
    if not found.clean:
        raise KbertError(
            f"{file}: {len(found.faults)} rows cannot be read, {len(found.odd_tags)} tags break "
            "their scheme"
        )


def _print_findings(found: Any) -> None:
    named = ("format", "scheme", "rows", "duplicates", "nested", "length_median", "length_99")
    figures = [(name.replace("_", " "), getattr(found, name)) for name in named]
    figures.append(("length largest", found.length_largest))
    figures += [(f"with {kind} characters", count) for kind, count in found.odd_characters.items()]
    figures += [(f"also in {other}", count) for other, count in found.shared.items()]
    print_table(found.path, ("figure", "value"), [row for row in figures if row[1] is not None])
    if found.labels:
        print_table("", ("label", "count"), list(found.labels.items()))
    for what, lines in (("no text", found.empty), ("another label", found.contradictions)):
        if lines:
            click.echo(
                f"{found.path}: {what} than before in lines {name_some(map(str, lines))}"
                if what == "another label"
                else f"{found.path}: {what} in lines {name_some(map(str, lines))}"
            )
    for line, reason in [*found.faults, *found.odd_tags][:_SHOWN]:
        click.echo(f"{found.path}:{line}: {reason}")
    more = len(found.faults) + len(found.odd_tags) - _SHOWN
    if more > 0:
        click.echo(f"… and {more:,} more; --json has all")
    for note in found.notes:
        click.echo(note)


@corpus.command("convert")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@_task_option
@click.option(
    "--to", "form", type=click.Choice(TARGETS), help="Format of OUT.  [default: told by its end]"
)
@click.option(
    "--scheme",
    type=click.Choice(WRITTEN_SCHEMES),
    default="BIO",
    show_default=True,
    help="Of the tags that are written.",
)
@click.option("--skip-bad", is_flag=True, help="Leave out rows that cannot be read.")
@reading_options()
@quiet_option
def convert(
    source: str,
    target: str,
    task: str,
    form: str | None,
    scheme: str,
    skip_bad: bool,
    reading: ReadConfig,
    quiet: bool,
) -> None:
    """Write IN in another format to OUT, and say what that cannot hold."""
    from kbert_cli.corpus.convert import convert_file

    reporter = ConsoleReporter(quiet=quiet)
    done = convert_file(
        source, target, COLUMNS[task], reading, form=form, scheme=scheme, skip_bad=skip_bad
    )
    for note in done.notes:
        reporter.note(note)
    for line, reason in done.faults[:_SHOWN]:
        reporter.warn(f"{source}:{line}: {reason}; left out")
    for loss in done.losses:
        reporter.warn(f"lost: {loss}")
    click.echo(f"{target}: {done.rows:,} examples as {done.format}")
