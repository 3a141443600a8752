"""From what ``--kg`` says to a graph: names, files, folders, several merged, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kbert_cli.cards import Card, read_card
from kbert_cli.config import NO_GRAPH
from kbert_cli.errors import KbertError, did_you_mean
from kbert_cli.files import STDIN, bundled_folder
from kbert_cli.kg.compiled import CompiledGraph
from kbert_cli.kg.graph import Graph, MemoryGraph, MergedGraph
from kbert_cli.kg.home import named_folder, named_graphs, open_source_graph
from kbert_cli.kg.manifest import is_compiled
from kbert_cli.kg.triples import ReadReport, source_files
from kbert_cli.reporting import Reporter


def bundled_graphs() -> dict[str, Card]:
    """Name → card of the bundled graphs, in name order."""
    folder = bundled_folder("kgs")
    cards = (read_card(file, file.with_suffix(".spo")) for file in sorted(folder.glob("*.toml")))
    return {card.name: card for card in cards}


def domain_of(source: str) -> str | None:
    """The domain of a bundled graph; None for any other source."""
    card = bundled_graphs().get(source)
    return card.domain if card else None


@dataclass(frozen=True)
class OpenedGraph:
    """A graph together with how its sources read."""

    graph: Graph
    reports: tuple[ReadReport, ...]


def resolve_source(source: str) -> Path:
    """The path of a bundled or built name, a file or a folder.

    Raises:
        KbertError: there is neither a graph nor a path of that name.
    """
    bundled = bundled_graphs()
    if source in bundled:
        return bundled[source].path
    built = named_graphs()
    if source in built:
        return named_folder(source)
    if not Path(source).exists():
        names = [*bundled, *built]
        raise KbertError(
            f"no graph {source!r}: neither a graph ({', '.join([*names, NO_GRAPH])}) nor a file",
            did_you_mean(source, names)
            or "`kbert kg list` shows the graphs that have names; if a run's graph has moved, name "
            "its new place with --kg.",
        )
    return Path(source)


def absolute_source(source: str) -> str:
    """A source that means the same from any working folder; names stay names."""
    if source == NO_GRAPH or source in bundled_graphs() or source in named_graphs():
        return source
    return str(resolve_source(source).resolve())


def short_name(source: str) -> str:
    """What a run folder calls a source: its name without folder and end."""
    return Path(source).stem or "graph"


def open_graph(sources: Sequence[str], reporter: Reporter | None = None) -> OpenedGraph:
    """Open the sources, merged in the order given; ``none`` gives an empty graph.

    Files are compiled on first use.

    Raises:
        KbertError: a source is missing or unreadable, or none of its lines holds a triple though
            some were meant to.
    """
    reporter = reporter or Reporter()
    graphs = [_open(source, reporter) for source in sources if source != NO_GRAPH]
    reports = tuple(report for graph in graphs for report in graph.manifest.sources)
    if not graphs:
        return OpenedGraph(MemoryGraph(), ())
    return OpenedGraph(graphs[0] if len(graphs) == 1 else MergedGraph(graphs), reports)


def _open(source: str, reporter: Reporter) -> CompiledGraph:
    if source == STDIN:
        raise KbertError(
            "--kg cannot read standard input", "Compile it first: kbert kg build - --name NAME"
        )
    path = resolve_source(source)
    if path.is_dir() and is_compiled(path):
        return CompiledGraph(path)
    return open_source_graph(source_files(path), reporter)
