"""What a job tells while it runs. Jobs do not print: the command line decides how this looks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator


class Reporter:
    """Silent; the command line's reporter overrides all three."""

    def note(self, text: str) -> None:
        """Something worth knowing."""

    def warn(self, text: str) -> None:
        """Something that may be wrong."""

    @contextlib.contextmanager
    def progress(self, what: str, total: int | None = None) -> Iterator[Callable[..., None]]:
        """A bar of ``total`` steps; call what it yields with the steps just done, and a text."""

        def advance(steps: int = 1, text: str = "") -> None:
            pass

        yield advance
