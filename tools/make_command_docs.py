"""Write docs/commands.md from the commands' own help: `python tools/make_command_docs.py`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from kbert_cli.cli.main import cli

TARGET = Path(__file__).parents[1] / "docs" / "commands.md"
SETTINGS: dict[str, Any] = {"terminal_width": 100, "help_option_names": ["-h", "--help"]}
HEAD = """# Commands

<!-- Written by tools/make_command_docs.py from --help; a test checks it. Do not edit. -->

Exit status: 0 done, 1 a clear error in the input or the run, 2 wrong usage, 130 Ctrl-C. Results go
to stdout, progress and notes to stderr. `KBERT_HOME` moves kbert's cache, `NO_COLOR` switches
colours off, `KBERT_DEBUG=1` shows the traceback of an unexpected error.
"""


def command_docs() -> str:
    """The page, from the help of every command."""
    root = click.Context(cli, info_name="kbert", **SETTINGS)
    return HEAD + "".join(_sections(cli, root))


def _sections(command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"\n## {context.command_path}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.commands[name]
            own = click.Context(child, info_name=name, parent=context, **SETTINGS)
            yield from _sections(child, own)


if __name__ == "__main__":
    TARGET.write_text(command_docs(), encoding="utf-8")
