"""``kbert kg``: list and show graphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from kbert_cli.cli.console import ConsoleReporter, print_json, print_table
from kbert_cli.cli.options import json_option, quiet_option
from kbert_cli.errors import KbertError, did_you_mean
from kbert_cli.kg.catalog import bundled_graphs, open_graph


@click.group()
def kg() -> None:
    """Look into knowledge graphs."""


@kg.command("list")
@json_option
def list_graphs(as_json: bool) -> None:
    """List the bundled graphs."""
    cards = bundled_graphs().values()
    if as_json:
        print_json([{**card.facts, "path": str(card.path)} for card in cards])
        return
    rows = [
        (card.name, card.domain, card.facts["triples"], card.facts["subjects"], card.title)
        for card in cards
    ]
    print_table("bundled graphs", ("name", "domain", "triples", "subjects", "title"), rows)


@kg.command()
@click.argument("graph", metavar="KG")
@click.argument("entity")
@json_option
@quiet_option
def show(graph: str, entity: str, as_json: bool, quiet: bool) -> None:
    """Show the triples of ENTITY in KG, in the order in which they are injected."""
    reporter = ConsoleReporter(quiet=quiet)
    opened = open_graph([graph])
    rejected = sum(len(report.rejected) for report in opened.reports)
    if rejected:
        reporter.warn(f"{graph}: {rejected:,} lines hold no triple")
    triples = opened.graph.triples_of(entity)
    if not triples:
        raise KbertError(
            f"no subject {entity!r} in {graph} ({opened.graph.subject_count:,} subjects)",
            did_you_mean(entity, _akin(entity, opened.graph.subjects())),
        )
    if as_json:
        print_json([triple._asdict() for triple in triples])
        return
    rows = [tuple(triple) for triple in triples]
    print_table(f"{len(rows)} triples", ("subject", "predicate", "object"), rows)


def _akin(entity: str, names: Iterable[str]) -> Iterator[str]:
    """Names worth comparing closely: millions of them would take minutes."""
    return (
        name
        for name in names
        if abs(len(name) - len(entity)) <= 2 and (name[0] == entity[:1] or name[-1] == entity[-1:])
    )
