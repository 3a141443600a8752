"""``kbert kg``: compile graphs, and look into them. One file a few commands."""

from __future__ import annotations

import click

from kbert_cli.cli.kg.build import build
from kbert_cli.cli.kg.check import check
from kbert_cli.cli.kg.coverage import coverage
from kbert_cli.cli.kg.look import info, list_graphs, search, show, verify_graph


@click.group()
def kg() -> None:
    """Compile knowledge graphs, and look into them."""


for command in (build, check, coverage, info, list_graphs, search, show, verify_graph):
    kg.add_command(command)
