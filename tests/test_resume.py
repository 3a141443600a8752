"""A run that was broken off: nothing is lost, and it ends as if nothing had happened."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from kbert_cli.cli.main import run

from .conftest import run_kbert
from .test_cli import corpora

COMMAND = (
    *("finetune", "--task", "ner", "--kg", "kg.spo", "--model", "scratch:mini", "--json", "-q"),
    *("--train", "ner.tsv", "--dev", "ner.tsv", "--test", "ner.tsv"),
    *("--batch-size", "4", "--epochs", "6", "--eval-steps", "4"),
)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return corpora(tmp_path_factory.mktemp("work"))


@pytest.fixture(scope="module")
def whole(work):
    """The figures of a run that nothing disturbs."""
    done = run_kbert(*COMMAND, "--output", "whole", cwd=work)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def figures(metrics):
    """What must be equal: everything but times and places."""
    return {key: metrics[key] for key in ("dev", "looks", "steps", "test", "tree")}


def kill_when(condition, work, output):
    """Start the command, and kill it with no chance to tidy up as soon as ``condition`` holds."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kbert_cli", *COMMAND, "--output", output],
        cwd=work,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 120
    while process.poll() is None and not condition(work / output / "checkpoints"):
        assert time.monotonic() < end
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return process.returncode


def saved(folder):
    return sorted(path.name for path in folder.glob("checkpoint-*"))


MOMENTS = {
    "before the first save": lambda folder: (folder / "origin.json").exists(),
    "while the first is written": lambda folder: (folder / "saving").exists(),
    "after the first": lambda folder: bool(saved(folder)),
    "while a later one is written": lambda folder: saved(folder) and (folder / "saving").exists(),
    "in the middle": lambda folder: "checkpoint-16" in saved(folder),
    "at the last": lambda folder: "checkpoint-36" in saved(folder),
}


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_and_resumed_it_ends_as_undisturbed(work, whole, moment):
    output = f"killed {moment}"
    assert kill_when(MOMENTS[moment], work, output) == -signal.SIGKILL
    left = saved(work / output / "checkpoints")
    done = run_kbert(*COMMAND, "--output", output, "--resume", cwd=work)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert figures(json.loads(done.stdout)) == figures(whole)
    assert left or moment in ("before the first save", "while the first is written")
    assert not (work / output / "checkpoints").exists()
    steps = [
        json.loads(line)["step"]
        for line in (work / output / "metrics.jsonl").read_text().splitlines()
    ]
    assert steps == sorted(steps)


class Stop(BaseException):
    """What breaks a run off inside this process."""


@pytest.fixture
def broken(work, monkeypatch, tmp_path, capsys):
    """A run folder with two checkpoints, and the command that goes on with it."""
    monkeypatch.chdir(work)
    from kbert_cli.hf_checkpoints import SafeCheckpoints

    original = SafeCheckpoints._save_checkpoint

    def save_and_stop(self, model, trial):
        original(self, model, trial)
        if self.state.global_step == 12:
            raise Stop

    output = tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr(SafeCheckpoints, "_save_checkpoint", save_and_stop)
        with pytest.raises(Stop):
            run([*COMMAND, "--output", str(output), "--save-total", "3"])
    capsys.readouterr()

    def resume(*more):
        status = run([*COMMAND, "--output", str(output), "--save-total", "3", "--resume", *more])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return output, resume


def test_resumed_in_this_process_it_ends_as_undisturbed(broken, whole):
    output, resume = broken
    assert len(saved(output / "checkpoints")) == 3
    status, out, err = resume()
    assert (status, err) == (0, "")
    assert figures(json.loads(out)) == figures(whole)
    status, _, err = resume()
    assert (status, "is complete" in err) == (1, True)


def test_a_run_folder_may_have_been_moved(broken, whole, capsys):
    output, _ = broken
    moved = output.with_name("moved")
    output.rename(moved)
    assert run([*COMMAND, "--output", str(moved), "--resume"]) == 0
    assert figures(json.loads(capsys.readouterr().out)) == figures(whole)


def damage_newest(folder):
    path = folder / "checkpoint-12" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:100])


def damage_all(folder):
    for path in folder.glob("checkpoint-*/optimizer.pt"):
        path.unlink()


def test_a_damaged_checkpoint_is_named_and_the_one_before_serves(broken, whole):
    output, resume = broken
    damage_newest(output / "checkpoints")
    status, out, err = resume()
    assert status == 0
    assert "checkpoint-12/model.safetensors is damaged: 100 bytes" in err
    assert "going on from checkpoint-" in err
    assert figures(json.loads(out)) == figures(whole)


def test_nothing_whole_is_an_error_of_one_line(broken):
    output, resume = broken
    damage_all(output / "checkpoints")
    status, out, err = resume()
    assert (status, out) == (1, "")
    assert "checkpoint-12/optimizer.pt is missing" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("change", "named"),
    [(("--learning-rate", "1e-3"), "learning_rate"), (("--seed", "5"), "seed")],
)
def test_other_settings_are_refused_and_named(broken, change, named):
    _, resume = broken
    status, _, err = resume(*change)
    assert status == 1
    assert f"other settings or data: {named}" in err


def test_other_data_is_refused(broken, work):
    _, resume = broken
    before = (work / "ner.tsv").read_text(encoding="utf-8")
    try:
        (work / "ner.tsv").write_text(before + before.splitlines()[-1] + "\n", encoding="utf-8")
        status, _, err = resume()
    finally:
        (work / "ner.tsv").write_text(before, encoding="utf-8")
    assert (status, "data" in err) == (1, True)


@pytest.mark.parametrize("output", ["nowhere", None])
def test_a_mistyped_folder_is_no_fresh_start(work, monkeypatch, capsys, output):
    monkeypatch.chdir(work)
    named = ("--output", output) if output else ()
    assert run([*COMMAND, "--resume", *named]) == 1
    assert "Start without --resume" in capsys.readouterr().err
    assert not (work / "nowhere").exists()


def test_without_output_the_newest_unfinished_run_is_found(broken, whole, work, capsys):
    output, _ = broken
    place = work / "runs" / "20260101-000000-ner-kg"
    place.parent.mkdir(exist_ok=True)
    output.rename(place)
    assert run([*COMMAND, "--resume"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["run"] == str(place.relative_to(work))
    assert figures(found) == figures(whole)


def test_a_full_disk_is_a_clear_error_and_keeps_what_was_saved(work, tmp_path):
    # The limit on a file's size stands for the disk: the optimiser's file is the first beyond it.
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000,) * 2);"
        "from kbert_cli.cli.main import run; sys.exit(run(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", limited, *COMMAND, "--output", str(tmp_path / "run")],
        cwd=work,
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 1
    assert "cannot write a checkpoint" in done.stderr
    assert "Traceback" not in done.stderr
    assert not saved(tmp_path / "run" / "checkpoints")


def test_early_stopping_counts_on_after_a_break(broken, work, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(work)
    command = [*COMMAND, "--early-stopping", "2", "--learning-rate", "1e-7"]
    assert run([*command, "--output", str(tmp_path / "stopped")]) == 0
    found = json.loads(capsys.readouterr().out)
    best = [look["primary"] for look in found["looks"]]
    assert len(best) < 12
    assert max(best[-2:]) <= max(best[:-2])
