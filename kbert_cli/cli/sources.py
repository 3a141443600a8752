"""Options that say how a source of triples is read."""

from __future__ import annotations

import click

from kbert_cli.cli.options import gathered, with_options
from kbert_cli.kg.sources import FORMATS, SourceFormat


def _columns(_: click.Context, __: click.Parameter, value: str | None) -> object:
    return None if value is None else tuple(cell.strip() for cell in value.split(","))


source_options = with_options(
    [
        click.option(
            "--format", type=click.Choice(FORMATS), help="Of the sources.  [default: by name]"
        ),
        click.option("--delimiter", help="Between cells.  [default: tab; in csv a comma]"),
        click.option(
            "--columns",
            callback=_columns,
            help="Order of the cells, for example s,o,p; - skips a column.",
        ),
        click.option("--encoding", default="utf-8", show_default=True, help="Of the sources."),
    ],
    gathered(SourceFormat, "source", ("format", "delimiter", "columns", "encoding")),
)
