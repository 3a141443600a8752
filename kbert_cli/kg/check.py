"""Looking over sources before they are compiled: what is wrong, and where."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kbert_cli.kg.sources import SourceFormat
from kbert_cli.kg.triples import ReadReport, RejectedLine, read_triples

OVERLONG = 30
"""Characters from which on a name is more of a sentence."""
SHOWN = 20


@dataclass
class Findings:
    """What one source looks like."""

    path: str
    rows: int
    triples: int
    """Distinct ones, as ``kg build`` keeps them."""
    rejected: int
    reasons: dict[str, int]
    """Reason → how many of the lines that are remembered one by one."""
    first_rejected: list[RejectedLine]
    duplicates: int
    self_loops: int
    one_character_subjects: int
    overlong_subjects: int
    overlong_objects: int
    header: str | None = None
    examples: dict[str, list[str]] = field(default_factory=dict)

    @property
    def clean(self) -> bool:
        """Whether every row is a triple, and a new one."""
        return not (self.rejected or self.duplicates or self.self_loops)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**asdict(self), "clean": self.clean}


def check_source(
    path: str | Path,
    source: SourceFormat,
    on_bytes: Callable[[int], None] = lambda _: None,
) -> Findings:
    """Read a source and count what is odd; 8 bytes a triple are kept."""
    report = ReadReport(str(path))
    digests = array("Q")
    counts: Counter[str] = Counter()
    examples: dict[str, list[str]] = {}

    def note(kind: str, shown: str) -> None:
        counts[kind] += 1
        if len(found := examples.setdefault(kind, [])) < 5:
            found.append(shown)

    for triple in read_triples(path, source, report, on_bytes):
        subject, _, value = triple
        if subject == value:
            note("self_loops", subject)
            continue
        digests.append(_digest(triple))
        if len(subject) == 1:
            note("one_character_subjects", subject)
        elif len(subject) > OVERLONG:
            note("overlong_subjects", subject)
        if len(value) > OVERLONG:
            note("overlong_objects", value)
    distinct = _distinct(digests)
    return Findings(
        path=str(path),
        rows=report.rows,
        triples=distinct,
        rejected=report.rejected_count,
        reasons=_reasons(report.rejected),
        first_rejected=report.rejected[:SHOWN],
        duplicates=len(digests) - distinct,
        self_loops=counts["self_loops"],
        one_character_subjects=counts["one_character_subjects"],
        overlong_subjects=counts["overlong_subjects"],
        overlong_objects=counts["overlong_objects"],
        header=report.header,
        examples=examples,
    )


def _digest(triple: Sequence[str]) -> int:
    hashed = hashlib.blake2b("\t".join(triple).encode(), digest_size=8).digest()
    return int.from_bytes(hashed, "little")


def _distinct(digests: array[int]) -> int:
    import numpy as np

    return len(np.unique(np.frombuffer(digests, np.uint64)))


def _reasons(rejected: Sequence[RejectedLine]) -> dict[str, int]:
    return dict(Counter(bad.reason for bad in rejected).most_common())
