"""What every reader of tagged sentences gives."""

from __future__ import annotations

from dataclasses import dataclass, field

from kbert_cli.corpus.entities import Entity


@dataclass
class Sentence:
    """A text with tags or with entities, or a place in the file that cannot be read."""

    line: int
    """Where it begins, from 1."""
    tokens: list[str] = field(default_factory=list)
    """Characters, or words, whose tags spread over their characters."""
    tags: list[str] | None = None
    """A tag a token as the file has them; None where the format has entities."""
    lines: list[int] = field(default_factory=list)
    """Line of each token, where tokens have lines of their own."""
    entities: list[Entity] = field(default_factory=list)
    fault: str = ""
    """Why nothing was read; the other fields mean nothing then."""

    @property
    def text(self) -> str:
        """The tokens put together."""
        return "".join(self.tokens)
