"""Floors, start-up, and that nothing heavy is loaded where it is not used."""

import subprocess
import sys
from pathlib import Path

import pytest

from kbert_cli.cli.main import cli

HEAVY = ("torch", "transformers", "pandas", "jieba", "sklearn")
ROOT = Path(__file__).parents[1]


def loaded_by(arguments, folder):
    """The heavy modules that a command has loaded when it ends."""
    code = (
        "import sys; from kbert_cli.cli.main import run; "
        f"status = run({arguments!r}); "
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr); "
        "sys.exit(status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, encoding="utf-8", check=True
    )
    return done.stderr.strip().splitlines()[-1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["finetune", "--help"],
        ["kg", "list"],
        ["kg", "show", "medical", "高血压"],
        ["corpus", "list", "--json"],
    ],
)
def test_light_commands_load_nothing_heavy(arguments, tmp_path):
    assert loaded_by(arguments, tmp_path) == "[]"


def test_inspection_needs_no_torch(tmp_path):
    # Not even jieba where rjieba is installed.
    assert loaded_by(["inspect-tree", "患者头痛伴高血压3天"], tmp_path) in ("['jieba']", "[]")


def test_import_contracts():
    if not (ROOT / "pyproject.toml").is_file():
        pytest.skip("not a checkout")
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout


def commands(group, path=()):
    """Every command with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        yield (*path, name), command


@pytest.mark.parametrize(("words", "command"), list(commands(cli)), ids=str)
def test_every_command_and_option_has_help(words, command):
    assert command.help
    for parameter in command.params:
        if parameter.param_type_name == "option":
            assert parameter.help, f"{' '.join(words)} {parameter.opts}"
