"""Figures of a compiled graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kbert_cli.kg.compiled import CompiledGraph

TOP = 20
QUANTILES = {"median": 0.5, "p99": 0.99}


def graph_statistics(graph: CompiledGraph) -> dict[str, Any]:
    """Counts, sizes on disk, the most frequent predicates, triples a subject."""
    manifest = graph.manifest
    predicates = sorted(graph.predicate_counts.items(), key=lambda item: -item[1])
    return {
        "folder": str(graph.folder),
        "counts": manifest.counts,
        "bytes": sum(one["bytes"] for one in manifest.files.values()),
        "files": manifest.files,
        "sources": [report.path for report in manifest.sources],
        "licence": manifest.licence,
        "content_hash": manifest.content_hash,
        "longest_name": manifest.longest_name,
        "triples_a_subject": spread(graph.triple_counts()),
        "top_predicates": dict(predicates[:TOP]),
    }


def spread(counts: Sequence[int]) -> dict[str, int]:
    """Median, 99 % and largest of some counts."""
    ordered = sorted(counts)
    if not ordered:
        return {**dict.fromkeys(QUANTILES, 0), "largest": 0}
    last = len(ordered) - 1
    found = {name: ordered[round(share * last)] for name, share in QUANTILES.items()}
    return {**found, "largest": ordered[-1]}
