"""The one exception that a user may see, and how its parts become text."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


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


def at_line(path: str | Path, line: int, reason: str) -> str:
    """``path:line: reason``, the form that editors and terminals can follow."""
    return f"{path}:{line}: {reason}"


def name_some(names: Iterable[str], limit: int = 10) -> str:
    """The first ``limit`` names, and how many more there are."""
    names = list(names)
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} … and {len(names) - limit} more"


def did_you_mean(value: str, allowed: Iterable[str]) -> str:
    """A sentence that suggests the nearest allowed value, or an empty string."""
    near = difflib.get_close_matches(value, list(allowed), n=1)
    return f"Did you mean {near[0]!r}?" if near else ""
