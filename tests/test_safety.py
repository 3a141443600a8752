"""What is handed in is data: nothing of it runs, nothing asks the network, any name is a name."""

import gzip
import io
import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from kbert_cli.comparison import _units
from kbert_cli.errors import KbertError
from kbert_cli.files import LOCK, exclusive

from .conftest import ROWS, run_kbert
from .test_conversion import CONFIG, PIECES, SOURCE
from .tiny import tiny_bert

TELLTALE = "import socket, pathlib\n" + "\n".join(
    f"socket.{name} = lambda *a, **k: pathlib.Path({{path!r}}).write_text({name!r}) and 1 / 0"
    for name in ("getaddrinfo", "create_connection", "socket.connect")
)


@pytest.fixture
def wired(tmp_path):
    """The real command where every try to reach the network leaves a file; that file's path."""
    tried = tmp_path / "tried"
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(TELLTALE.format(path=str(tried)), encoding="utf-8")

    def run(*arguments, **environment):
        environment = {"HF_HUB_OFFLINE": "0", "PYTHONPATH": str(site), **environment}
        return run_kbert(*arguments, cwd=tmp_path, **environment)

    return run, tried


def test_offline_forbids_the_network(wired):
    run, tried = wired
    command = ("inspect-tree", "头痛", "--model", "no-such-team/no-such-model")
    done = run(*command, "--offline")
    assert done.returncode == 1
    assert "the network is forbidden (--offline or HF_HUB_OFFLINE)" in done.stderr
    assert not tried.exists()
    # The same without it does try: the wire is a real one.
    assert run(*command).returncode == 1
    assert tried.exists()


def test_without_a_hub_name_the_network_is_not_asked(wired, write):
    run, tried = wired
    write("train.tsv", ROWS)
    done = run(
        *("finetune", "--task", "classification", "--kg", "medical", "--train", "train.tsv"),
        *("--dev", "train.tsv", "--epochs", "1", "--output", "run", "-q"),
    )
    assert done.returncode == 0, done.stderr
    done = run("predict", "train.tsv", "--run", "run", "-q")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 5)
    assert not tried.exists()


def test_offline_may_stand_in_a_settings_file_and_for_all_arms(kbert_here, write, monkeypatch):
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    write("train.tsv", ROWS)
    options = ("--task", "classification", "--train", "train.tsv", "--test", "train.tsv")
    model = ("--model", "no/such")
    write("kbert.toml", "offline = true\n")
    done = kbert_here("finetune", "--config", "kbert.toml", "--kg", "none", *options, *model)
    assert "the network is forbidden" in done.stderr
    monkeypatch.delenv("HF_HUB_OFFLINE")
    arms = ("compare", "--kg", "none", "--kg", "medical", "--output", "cmp")
    assert "the network is forbidden" in kbert_here(*arms, *options, *model, "--offline").stderr
    monkeypatch.delenv("HF_HUB_OFFLINE")


class Bomb:
    """Unpickled, it makes the folder ``exploded``."""

    def __reduce__(self):
        return os.mkdir, ("exploded",)


def encoder_folder(place, weights):
    encoder = tiny_bert()
    encoder.model.save_pretrained(place)
    encoder.tokenizer.save_pretrained(place)
    (place / "model.safetensors").unlink()
    (place / "pytorch_model.bin").write_bytes(weights)


def test_nothing_is_unpickled(kbert_here, write, tmp_path):
    write("train.tsv", ROWS)
    bomb = pickle.dumps(Bomb())
    tensors = io.BytesIO()
    torch.save({"a": Bomb()}, tensors)
    for number, weights in enumerate((bomb, tensors.getvalue())):
        encoder_folder(tmp_path / f"encoder{number}", weights)
        done = kbert_here(
            *("finetune", "--task", "classification", "--kg", "none", "--train", "train.tsv"),
            *("--model", f"./encoder{number}", "--output", "run", "--max-length", "32"),
        )
        assert (done.returncode, "cannot load the folder" in done.stderr) == (1, True), done.stderr
        (tmp_path / "uer.bin").write_bytes(weights)
        write("uer.json", json.dumps(CONFIG))
        write("vocab.txt", "\n".join(PIECES))
        done = kbert_here(*SOURCE, "--output", "x")
        assert (done.returncode, "could run code" in done.stderr) == (1, True), done.stderr
    assert not (tmp_path / "exploded").exists()


def test_pickles_in_a_run_or_a_comparison_stay_closed(finished, kbert_here, tmp_path):
    shutil.copytree(finished / "run", tmp_path / "run")
    shutil.copy(finished / "train.tsv", tmp_path)
    (tmp_path / "run/head.safetensors").write_bytes(pickle.dumps(Bomb()))
    done = kbert_here("predict", "train.tsv", "--run", "run")
    assert (done.returncode, "cannot load run/head.safetensors" in done.stderr) == (1, True)
    np.save(tmp_path / "run/test_units.npy", np.array([Bomb()], object), allow_pickle=True)
    with pytest.raises(KbertError, match=r"test_units\.npy"):
        _units(tmp_path / "run" / "test_units.npy")
    assert not (tmp_path / "exploded").exists()


def test_archives_are_no_corpora(kbert_here, tmp_path):
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("../../outside.tsv", ROWS)
    (tmp_path / "data.tsv.gz").write_bytes(gzip.compress(ROWS.encode()))
    for name in ("data.zip", "data.tsv.gz"):
        done = kbert_here("corpus", "check", name, "--task", "classification")
        assert done.returncode == 1
        assert "compressed" in done.stderr, done.stderr
        done = kbert_here("kg", "check", "data.zip")
        assert done.returncode == 1
        assert "compressed" in done.stderr, done.stderr
    assert not (tmp_path.parent / "outside.tsv").exists()


NAMES = [
    "two words",
    "'single' \"double\"",
    "-leading",
    "中文 名字。",
    "a%20&b;c#d",
    "$(touch x)",
    "*",
]


@pytest.mark.parametrize("name", NAMES)
def test_any_file_name_is_a_name(kbert_here, finished, tmp_path, name):
    shutil.copytree(finished / "run", tmp_path / f"{name}run")
    (tmp_path / f"{name}.spo").write_text("头痛\t类别\t症状\n", encoding="utf-8")
    (tmp_path / f"{name}.tsv").write_text(ROWS, encoding="utf-8")
    data, graph = f"{name}.tsv", f"{name}.spo"
    done = kbert_here("predict", f"--run={name}run", f"--output={name}.out", "--", data)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert len((tmp_path / f"{name}.out").read_text(encoding="utf-8").splitlines()) == 5
    done = kbert_here("kg", "coverage", "--json", "--", graph, data)
    assert json.loads(done.stdout)["mentions"] == 1
    done = kbert_here("corpus", "check", "--task=classification", "--json", "--", data)
    assert json.loads(done.stdout)["rows"] == 4
    done = kbert_here("kg", "build", f"--output={name}graph", "--json", "--", graph)
    assert json.loads(done.stdout)["triples"] == 1
    assert "类别" in kbert_here("inspect-tree", "头痛", f"--kg={name}graph", "-q").stdout
    done = kbert_here("kg", "check", "--", f"{name}missing")
    assert (done.returncode, f"{name}missing" in done.stderr) == (1, True)


UNWRITABLE = ["/proc/kbert", "file/run"]


@pytest.mark.parametrize("place", UNWRITABLE)
def test_places_that_cannot_be_written_are_told_before_any_work(
    kbert_here, finished, write, tmp_path, place
):
    write("train.tsv", ROWS)
    write("file", "")
    write("kg.spo", "头痛\t类别\t症状\n")
    if place.startswith("/proc") and not Path("/proc").is_dir():
        pytest.skip("no /proc here")
    for command in (
        ("finetune", "--task", "classification", "--kg", "none", "--train", "train.tsv"),
        ("pretrain", "train.tsv"),
        ("predict", "train.tsv", "--run", finished / "run"),
        ("kg", "build", "kg.spo"),
        ("inspect-tree", "头痛"),
        ("corpus", "convert", "train.tsv", f"{place}.jsonl", "--task", "classification"),
    ):
        output = () if command[0] == "corpus" else ("--output", place)
        done = kbert_here(*command, *output)
        assert done.returncode == 1, (command, done.stderr)
        assert "cannot write" in done.stderr, (command, done.stderr)
        assert "bug of kbert" not in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_no_place_for_a_run(kbert_here, write, tmp_path):
    write("train.tsv", ROWS)
    (tmp_path / "shut").mkdir(mode=0o500)
    command = ("finetune", "--task", "classification", "--kg", "none", "--train", "train.tsv")
    done = kbert_here(*command, "--output", "shut/run")
    assert "shut may not be written to" in done.stderr


def test_one_writer_at_a_time(tmp_path):
    lock = tmp_path / "new" / LOCK
    with (
        exclusive(lock, "new"),
        pytest.raises(KbertError, match="another process is writing new"),
        exclusive(lock, "new"),
    ):
        pass
    # Nothing is left where nothing was written, and the place is free again.
    assert not lock.parent.exists()
    with exclusive(lock, "new"):
        (lock.parent / "kept").touch()
    assert [path.name for path in lock.parent.iterdir()] == ["kept"]


def test_a_killed_holder_holds_nothing(tmp_path):
    code = (
        "import os, sys, pathlib\n"
        "from kbert_cli.files import exclusive\n"
        "with exclusive(pathlib.Path(sys.argv[1]), 'x'): os._exit(9)\n"
    )
    lock = tmp_path / LOCK
    done = subprocess.run([sys.executable, "-c", code, lock], check=False, timeout=60)
    assert (done.returncode, lock.exists()) == (9, True)
    with exclusive(lock, "x"):
        pass
    assert not lock.exists()


def test_two_runs_into_one_folder_leave_one_whole_run(finished, tmp_path):
    shutil.copy(finished / "train.tsv", tmp_path)
    command = ("finetune", "--task", "classification", "--kg", "none", "--train", "train.tsv")
    data = ("--dev", "train.tsv", "--model", "scratch:mini", "--epochs", "2")
    done = []
    threads = [
        threading.Thread(
            target=lambda: done.append(
                run_kbert(
                    *command, *data, "--output", "run", "-q", cwd=tmp_path, OMP_NUM_THREADS="1"
                )
            )
        )
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one, two = sorted(done, key=lambda run: run.returncode)
    # The later one finds the folder taken, or held, or, had it come much later, complete.
    assert (one.returncode, two.returncode) == (0, 1), (one.stderr, two.stderr)
    assert "another process is writing run" in two.stderr or "exists already" in two.stderr
    predicted = run_kbert("predict", "train.tsv", "--run", "run", "-q", cwd=tmp_path)
    assert (predicted.returncode, len(predicted.stdout.splitlines())) == (0, 5)
