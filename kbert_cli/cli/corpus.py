"""``kbert corpus``: list corpora."""

from __future__ import annotations

import click

from kbert_cli.cli.console import print_json, print_table
from kbert_cli.cli.options import json_option
from kbert_cli.corpus.catalog import bundled_corpora


@click.group()
def corpus() -> None:
    """Look into corpora."""


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
