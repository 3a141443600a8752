"""From what ``--kg`` says to a graph: bundled names, files, folders, several merged, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kbert_cli.cards import Card, read_card
from kbert_cli.config import NO_GRAPH
from kbert_cli.errors import KbertError, did_you_mean
from kbert_cli.files import bundled_folder
from kbert_cli.kg.store import KnowledgeGraph
from kbert_cli.kg.triples import ReadReport, read_spo, spo_files


def bundled_graphs() -> dict[str, Card]:
    """Name → card of the bundled graphs, in name order."""
    folder = bundled_folder("kgs")
    cards = (read_card(file, file.with_suffix(".spo")) for file in sorted(folder.glob("*.toml")))
    return {card.name: card for card in cards}


@dataclass(frozen=True)
class OpenedGraph:
    """A graph together with how its sources read."""

    graph: KnowledgeGraph
    reports: tuple[ReadReport, ...]


def resolve_source(source: str) -> Path:
    """The path of a bundled name, a file or a folder.

    Raises:
        KbertError: there is neither a bundled graph nor a path of that name.
    """
    bundled = bundled_graphs()
    if source in bundled:
        return bundled[source].path
    if not Path(source).exists():
        names = ", ".join([*bundled, NO_GRAPH])
        raise KbertError(
            f"no graph {source!r}: neither a bundled graph ({names}) nor a file",
            did_you_mean(source, bundled) or "`kbert kg list` shows the bundled graphs.",
        )
    return Path(source)


def absolute_source(source: str) -> str:
    """A source that means the same from any working folder; bundled names stay names."""
    if source == NO_GRAPH or source in bundled_graphs():
        return source
    return str(resolve_source(source).resolve())


def short_name(source: str) -> str:
    """What a run folder calls a source: its name without folder and end."""
    return Path(source).stem or "graph"


def open_graph(sources: Sequence[str]) -> OpenedGraph:
    """Read the sources and merge them in the order given; ``none`` gives an empty graph.

    Raises:
        KbertError: a source is missing or unreadable, or none of its lines holds a triple though
            some were meant to.
    """
    graph = KnowledgeGraph()
    reports = []
    for source in sources:
        if source == NO_GRAPH:
            continue
        files = spo_files(resolve_source(source))
        own = [_add_file(graph, file) for file in files]
        _require_some(source, own)
        reports += own
    return OpenedGraph(graph, tuple(reports))


def _add_file(graph: KnowledgeGraph, file: Path) -> ReadReport:
    report = ReadReport(str(file))
    graph.add(read_spo(file, report), report)
    return report


def _require_some(source: str, reports: list[ReadReport]) -> None:
    rows = sum(report.rows for report in reports)
    rejected = [(report, bad) for report in reports for bad in report.rejected]
    if rows and len(rejected) == rows:
        report, first = rejected[0]
        raise KbertError(
            f"{source}: none of its {rows} rows is a triple; the first is "
            f"{report.path}:{first.line}: {first.reason}",
            "A graph has one triple a line: subject, tab, predicate, tab, object.",
        )
