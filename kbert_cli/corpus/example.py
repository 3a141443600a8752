"""The one example type that every reader gives and every task takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """One or two texts with what is known of them."""

    texts: tuple[str, ...]
    label: str | tuple[str, ...] | None = None
    """A class name; for NER one tag a character of the text; for reading the right answers, any of
    which will do; None when unknown."""
    group: str | None = None
    """The question id of a question–answer pair."""
    line: int = 0
    """Line of the file, from 1; in JSON that is one value, the number of the question."""
    answer_starts: tuple[int | None, ...] = ()
    """Where each answer begins in the second text, None where the file does not say."""

    @property
    def answer_start(self) -> int | None:
        """Where the first answer begins in the second text, if the file says so."""
        return self.answer_starts[0] if self.answer_starts else None
