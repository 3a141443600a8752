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
    unused: tuple[str, ...] = ()
    """Fields and columns of the file that are passed over."""
    partial: str = ""
    """Why some of its lines are missing here; such a sentence is no example."""
    fault: str = ""
    """Why nothing was read; the other fields mean nothing then."""

    @property
    def text(self) -> str:
        """The tokens put together."""
        return "".join(self.tokens)

    def add(self, line: int, token: str, tag: str) -> None:
        """Append a token that has a line of its own."""
        self.line = self.line or line
        self.tokens.append(token)
        if self.tags is None:
            self.tags = []
        self.tags.append(tag)
        self.lines.append(line)


def mark_inside(number: int, line: str) -> str:
    """The fault of a line that begins with a byte order mark inside a file: offsets would shift."""
    if number > 1 and line.startswith("\ufeff"):
        return "a byte order mark inside the file, as where two files were joined"
    return ""
