"""The one exception that a user may see, and how its parts become text."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

Checked = TypeVar("Checked")


class KbertError(Exception):
    """An error in the input or the run; the command line prints it and exits with 1.

    ``what`` says what happened, with the value and what is allowed; ``hint`` says what to do next.
    """

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what}\n{self.hint}" if self.hint else self.what


class Problems:
    """Errors of checks that do not hang on each other, reported together."""

    def __init__(self) -> None:
        self._found: list[KbertError] = []

    def check(self, work: Callable[[], Checked]) -> Checked | None:
        """What ``work`` gives; None when it raised a KbertError, which is kept."""
        try:
            return work()
        except KbertError as error:
            if str(error) not in map(str, self._found):
                self._found.append(error)
            return None

    def raise_all(self) -> None:
        """Raise what was found as one error; nothing when nothing was."""
        if len(self._found) == 1:
            raise self._found[0]
        if self._found:
            listed = (f"{number}. {error}" for number, error in enumerate(self._found, 1))
            raise KbertError(f"{len(self._found)} things are in the way:\n" + "\n".join(listed))


def at_line(path: str | Path, line: int, reason: str) -> str:
    """``path:line: reason``, the form that editors and terminals can follow.

    Line 0 is none: the reason says the place.
    """
    return f"{path}:{line}: {reason}" if line else f"{path}: {reason}"


def name_some(names: Iterable[str], limit: int = 10) -> str:
    """The first ``limit`` names, and how many more there are."""
    names = list(names)
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} … and {len(names) - limit} more"


def did_you_mean(value: str, allowed: Iterable[str]) -> str:
    """A sentence that suggests the nearest allowed value, or an empty string."""
    near = difflib.get_close_matches(value, list(allowed), n=1)
    return f"Did you mean {near[0]!r}?" if near else ""
