"""Notes and progress on stderr, results on stdout."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from kbert_cli.reporting import Reporter


class ConsoleReporter(Reporter):
    """Writes to stderr; ``quiet`` leaves warnings only."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bar: Any = None

    def note(self, text: str) -> None:
        """A line, unless quiet."""
        if not self._quiet:
            self._write(text)

    def warn(self, text: str) -> None:
        """A line that starts with Warning."""
        self._write(f"Warning: {text}")

    def _write(self, text: str) -> None:
        if self._bar is None:
            click.echo(text, err=True)
        else:
            # A plain line would tear the bar that is being drawn.
            self._bar.console.print(text, markup=False, highlight=False, soft_wrap=True)

    @contextlib.contextmanager
    def progress(self, what: str, total: int | None = None) -> Iterator[Callable[..., None]]:
        """A bar with speed and time left, where stderr is a terminal."""
        if self._quiet or not sys.stderr.isatty():
            with super().progress(what, total) as advance:
                yield advance
            return
        from rich.progress import Progress

        with Progress(*_columns(), console=_stderr(), transient=True) as bar:
            task = bar.add_task(what, total=total, text="")
            self._bar = bar
            try:
                yield lambda steps=1, text="": bar.update(task, advance=steps, text=text)
            finally:
                self._bar = None


def _columns() -> list[Any]:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return [
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[text]}", markup=False),
    ]


def _stderr() -> Any:
    from rich.console import Console

    return Console(stderr=True)


def print_json(value: Any) -> None:
    """One JSON value on stdout."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """A table on stdout: text left, numbers right. Cells are text, never markup."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # Not the table's own title, which would be folded to its width.
    if title:
        click.echo(title)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, name in enumerate(header):
        numeric = bool(rows) and all(isinstance(row[index], (int, float)) for row in rows)
        table.add_column(Text(name), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    # A pipe has no width of its own: let no line be folded there.
    width = None if sys.stdout.isatty() else 200
    Console(width=width).print(table)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def print_scores(title: str, scores: dict[str, Any]) -> None:
    """The figures of a split, and a row for each label."""
    figures = [
        (name + (" *" if name == scores.get("primary") else ""), value)
        for name, value in scores.items()
        if isinstance(value, (int, float))
    ]
    print_table(f"{title} (* decides)", ("figure", "value"), figures)
    per_label = scores.get("per_label", {})
    if per_label:
        rows = [
            (label, row["precision"], row["recall"], row["f1"], int(row["support"]))
            for label, row in per_label.items()
        ]
        print_table("", ("label", "precision", "recall", "f1", "support"), rows)
