"""``kbert kg list``, ``info``, ``verify``, ``show`` and ``search``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import click

from kbert_cli.cli.console import ConsoleReporter, print_json, print_table
from kbert_cli.cli.options import json_option, quiet_option
from kbert_cli.errors import KbertError, did_you_mean
from kbert_cli.kg.catalog import bundled_graphs, open_graph, resolve_source
from kbert_cli.kg.compiled import CompiledGraph
from kbert_cli.kg.home import named_folder, named_graphs
from kbert_cli.kg.manifest import is_compiled, read_manifest, verify


@click.command("list")
@json_option
def list_graphs(as_json: bool) -> None:
    """List the graphs that have names: bundled ones, and those that kg build made."""
    cards = bundled_graphs().values()
    built = {}
    for name in named_graphs():
        try:
            built[name] = read_manifest(named_folder(name))
        except KbertError as error:
            # One damaged graph does not hide the others.
            ConsoleReporter().warn(error.what)
    if as_json:
        print_json(
            [
                *({**card.facts, "path": str(card.path)} for card in cards),
                *(
                    {"name": name, "path": str(named_folder(name)), **manifest.counts}
                    for name, manifest in built.items()
                ),
            ]
        )
        return
    rows: list[tuple[Any, ...]] = [
        (card.name, card.domain, card.facts["triples"], card.facts["subjects"], card.title)
        for card in cards
    ]
    rows += [
        (
            name,
            "",
            manifest.counts["triples"],
            manifest.counts["subjects"],
            ", ".join(Path(report.path).name for report in manifest.sources[:3]),
        )
        for name, manifest in built.items()
    ]
    print_table("graphs", ("name", "domain", "triples", "subjects", "title or sources"), rows)


@click.command()
@click.argument("graph", metavar="KG")
@json_option
@quiet_option
def info(graph: str, as_json: bool, quiet: bool) -> None:
    """Counts, size, most frequent predicates and triples a subject of KG."""
    from kbert_cli.kg.statistics import graph_statistics

    found = graph_statistics(open_compiled(graph, ConsoleReporter(quiet=quiet)))
    if as_json:
        print_json(found)
        return
    figures = [*found["counts"].items(), ("bytes on disk", found["bytes"])]
    figures += [(f"triples a subject, {name}", n) for name, n in found["triples_a_subject"].items()]
    print_table(graph, ("figure", "value"), figures)
    print_table("", ("predicate", "triples"), list(found["top_predicates"].items()))
    click.echo(f"hash {found['content_hash']}\n{found['folder']}")


@click.command("verify")
@click.argument("graph", metavar="KG")
@json_option
def verify_graph(graph: str, as_json: bool) -> None:
    """Hash the files of a compiled KG and compare them with its manifest."""
    folder = resolve_source(graph)
    if not (folder.is_dir() and is_compiled(folder)):
        folder = open_compiled(graph, ConsoleReporter(quiet=True)).folder
    manifest = read_manifest(folder)
    verify(folder, manifest)
    if as_json:
        print_json({"folder": str(folder), "files": len(manifest.files), "verified": True})
        return
    click.echo(f"{folder}: {len(manifest.files)} files are as they were built")


@click.command()
@click.argument("graph", metavar="KG")
@click.argument("entity")
@click.option("--limit", type=click.IntRange(1), default=1_000, show_default=True, help="Triples.")
@json_option
@quiet_option
def show(graph: str, entity: str, limit: int, as_json: bool, quiet: bool) -> None:
    """Show the triples of ENTITY in KG, in the order in which they are injected."""
    opened = open_compiled(graph, ConsoleReporter(quiet=quiet))
    triples = list(islice(opened.triples_of(entity), limit))
    description = opened.description_of(entity)
    if not triples and description is None:
        near = islice(opened.subjects(entity[:1]), 200_000)
        raise KbertError(
            f"no subject {entity!r} in {graph} ({opened.subject_count:,} subjects)",
            did_you_mean(entity, _akin(entity, near)),
        )
    aliases = opened.entities_of(entity)
    if as_json:
        records = [triple._asdict() for triple in triples]
        print_json({"triples": records, "description": description, "alias_of": aliases})
        return
    if description:
        click.echo(description)
    if aliases:
        click.echo(f"alias of {', '.join(aliases)}")
    rows = [tuple(triple) for triple in triples]
    print_table(f"{len(rows)} triples", ("subject", "predicate", "object"), rows)


@click.command()
@click.argument("graph", metavar="KG")
@click.argument("prefix")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Names.")
@json_option
@quiet_option
def search(graph: str, prefix: str, limit: int, as_json: bool, quiet: bool) -> None:
    """List the subjects of KG that begin with PREFIX."""
    opened = open_compiled(graph, ConsoleReporter(quiet=quiet))
    names = list(islice(opened.subjects(prefix), limit + 1))
    if as_json:
        print_json(names[:limit])
        return
    for name in names[:limit]:
        click.echo(name)
    if not names:
        raise KbertError(f"no subject of {graph} begins with {prefix!r}")
    if len(names) > limit:
        click.echo(f"… more than {limit}; --limit shows them", err=True)


def open_compiled(source: str, reporter: ConsoleReporter) -> CompiledGraph:
    """One graph, compiled."""
    graph = open_graph([source], reporter).graph
    if not isinstance(graph, CompiledGraph):
        raise KbertError(f"{source!r} is no graph", "`kbert kg list` shows them.")
    return graph


def _akin(entity: str, names: Iterable[str]) -> Iterator[str]:
    """Names worth comparing closely: millions of them would take minutes."""
    return (
        name
        for name in names
        if abs(len(name) - len(entity)) <= 2 and (name[0] == entity[:1] or name[-1] == entity[-1:])
    )
