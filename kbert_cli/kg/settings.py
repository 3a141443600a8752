"""How a graph is built: reading and filters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from kbert_cli.kg.keys import matching_key
from kbert_cli.kg.sources import SourceFormat
from kbert_cli.kg.triples import Triple


@dataclass(frozen=True)
class BuildSettings:
    """How sources are read, and which of their triples are kept."""

    source: SourceFormat = field(default_factory=SourceFormat)
    include_predicates: tuple[str, ...] = ()
    """Only these, when there are any."""
    exclude_predicates: tuple[str, ...] = ()
    description_predicates: tuple[str, ...] = ()
    """Their objects are kept apart, as the entity's description."""
    min_subject_length: int = 1
    max_subject_length: int | None = None
    max_object_length: int | None = None
    stop_names: tuple[str, ...] = ()
    """Subjects that are left out."""
    simplified: bool = False
    """Whether traditional characters are matched as simplified ones."""
    licence: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def triple_filter(settings: BuildSettings) -> Callable[[Triple], bool] | None:
    """Whether a triple is kept; None when all are."""
    included, excluded = set(settings.include_predicates), set(settings.exclude_predicates)
    stopped = {matching_key(name) for name in settings.stop_names}
    least = settings.min_subject_length
    most = settings.max_subject_length or 1 << 60
    longest = settings.max_object_length or 1 << 60
    describing = set(settings.description_predicates)
    if not (included or excluded or stopped) and least <= 1 and min(most, longest) == 1 << 60:
        return None

    def keeps(triple: Triple) -> bool:
        subject, predicate, value = triple
        if not least <= len(subject) <= most or matching_key(subject) in stopped:
            return False
        if predicate in describing:
            return True
        return (
            len(value) <= longest
            and predicate not in excluded
            and (not included or predicate in included)
        )

    return keeps
