"""Shared fixtures: the shared data where it exists, tiny graphs and encoders, the real command."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from .recorder import sitecustomize

# Graphs that tests compile are nobody's business but theirs.
_HOME = tempfile.TemporaryDirectory(prefix="kbert-tests-")
os.environ["KBERT_HOME"] = _HOME.name
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Two workers run side by side; torch's threads would fight over the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Deadlines measure the machine; random inputs would make a red run unrepeatable.
settings.register_profile("kbert", deadline=None, derandomize=True)
settings.load_profile("kbert")

ROOT = Path(__file__).parents[1]
SHARED = Path(os.environ.get("KBERT_SHARED", Path(__file__).parents[2] / "shared"))


def pytest_addoption(parser):
    parser.addoption(
        "--record-errors",
        metavar="FILE",
        help="Append every clear error that is met to FILE, for tools/make_error_docs.py.",
    )


def pytest_configure(config):
    if target := config.getoption("--record-errors"):
        os.environ[sitecustomize.TARGET] = str(Path(target).absolute())
        os.environ["PYTHONPATH"] = os.pathsep.join(
            filter(None, [str(Path(sitecustomize.__file__).parent), os.environ.get("PYTHONPATH")])
        )
        sitecustomize.install()


@pytest.fixture(scope="session")
def shared():
    """The folder of conformance and real data; tests that need it skip where it is absent."""
    if not (SHARED / "conformance").is_dir():
        pytest.skip(f"no shared data at {SHARED}; KBERT_SHARED names another place")
    return SHARED


@pytest.fixture
def write(tmp_path):
    """Write a UTF-8 file below a temporary folder and give its path."""

    def writer(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return writer


def run_kbert(*arguments, cwd, stdin=None, **environment):
    """Run the real command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "kbert_cli", *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "120", **environment},
    )


@pytest.fixture
def kbert_here(tmp_path, monkeypatch, capsys):
    """The same command line in this process: quick where no weights are trained."""
    from kbert_cli.cli.main import run

    def run_here(*arguments):
        monkeypatch.chdir(tmp_path)
        capsys.readouterr()
        status = run([*map(str, arguments)])
        return subprocess.CompletedProcess(arguments, status, *capsys.readouterr())

    return run_here


@pytest.fixture
def kbert(tmp_path):
    """The real command, run in a temporary folder."""
    return lambda *arguments, **options: run_kbert(*arguments, cwd=tmp_path, **options)


ROWS = "label\ttext_a\n1\t头痛\n0\t发热\n1\t咳嗽\n0\t头晕\n"


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    """A folder with ``train.tsv`` and a finished run of classification without a graph."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "train.tsv").write_text(ROWS, encoding="utf-8")
    command = ("finetune", "--task", "classification", "--kg", "none", "--train", "train.tsv")
    data = ("--dev", "train.tsv", "--test", "train.tsv", "--model", "scratch:mini")
    done = run_kbert(*command, *data, "--epochs", "1", "--output", "run", "-q", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder
