"""The docs say what the program does."""

import re
import shlex
from pathlib import Path

import click
import pytest

from kbert_cli.cli.main import cli

from .conftest import run_kbert

ROOT = Path(__file__).parents[1]

if not (ROOT / "docs").is_dir():
    pytest.skip("not a checkout", allow_module_level=True)


def test_the_command_page_is_what_help_says():
    from make_command_docs import command_docs

    assert (ROOT / "docs/commands.md").read_text("utf-8") == command_docs(), (
        "run: python tools/make_command_docs.py"
    )


def shell_commands():
    """Every ``kbert …`` line in a shell block of the README and the docs."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    for page in pages:
        for block in re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.S):
            for line in block.replace("\\\n", " ").splitlines():
                if "kbert " in line and not line.startswith("pip install -c constraints.txt -e"):
                    yield f"{page.name}: {line[line.index('kbert ') :]}"


@pytest.mark.parametrize("line", list(shell_commands()))
def test_commands_in_the_docs_exist(line):
    words = shlex.split(line.split(": ", 1)[1], comments=True)[1:]
    command, context = cli, click.Context(cli)
    while isinstance(command, click.Group) and words:
        command, context = command.commands[words.pop(0)], context
    command.make_context("kbert", words, parent=context)


def test_the_drawn_tree_is_what_the_command_prints():
    page = (ROOT / "docs/tree.md").read_text("utf-8")
    command, drawing = re.search(r"```sh\n(.*?)\n```\n\n```text\n(.*?)```", page, re.S).groups()
    done = run_kbert(*shlex.split(command)[1:], "-q", cwd=ROOT)
    assert done.stdout == drawing


def test_links_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        prose = re.sub(r"`[^`\n]+`", "", page.read_text("utf-8"))
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", prose):
            assert (page.parent / target).exists(), f"{page.name} → {target}"
