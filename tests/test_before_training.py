"""What could end a run later is found before it starts, and told together."""

import pytest

from kbert_cli import precision
from kbert_cli.errors import KbertError, Problems

ROWS = "label\ttext_a\n1\t头痛\n0\t发热\n1\t咳嗽\n"


def test_everything_is_told_at_once(kbert_here, write, tmp_path):
    write("train.tsv", ROWS + "1\n")
    write("dev.tsv", "label\ttext_a\n")
    write("test.tsv", "label\ttext_a\n2\t头痛\n")
    write("taken/config.json", "{}")
    done = kbert_here(
        *("finetune", "--task", "classification", "--kg", "nowhere.spo", "--train", "train.tsv"),
        *("--dev", "dev.tsv", "--test", "test.tsv", "--output", "taken", "--max-length", "999"),
        *("--freeze-layers", "9", "--attention", "flex"),
    )
    assert done.returncode == 1
    for part in (
        "things are in the way:",
        "--output taken exists already",
        "--attention flex needs a GPU",
        "--max-length 999 exceeds",
        "no graph 'nowhere.spo'",
        "train.tsv:5: 1 columns, expected 2",
        "dev.tsv holds no example",
    ):
        assert part in done.stderr, part
    assert done.stderr.count("no graph") == 1
    assert not (tmp_path / "runs").exists()


def test_labels_of_dev_and_test_are_told_with_a_missing_encoder(kbert_here, write):
    write("train.tsv", ROWS)
    write("dev.tsv", "label\ttext_a\n1\t头痛\n2\t发热\n")
    write("test.tsv", "label\ttext_a\n3\t头痛\n")
    done = kbert_here(
        *("finetune", "--task", "classification", "--kg", "none", "--train", "train.tsv"),
        *("--dev", "dev.tsv", "--test", "test.tsv", "--model", "./nothing"),
    )
    assert done.returncode == 1
    assert "the model './nothing' is neither a folder here" in done.stderr
    assert "dev.tsv:3: label '2'" in done.stderr
    assert "test.tsv:2: label '3'" in done.stderr


def test_a_single_problem_reads_as_ever():
    problems = Problems()
    assert problems.check(lambda: 3) == 3
    problems.raise_all()

    def fail():
        raise KbertError("a", "b")

    assert problems.check(fail) is None
    assert problems.check(fail) is None
    with pytest.raises(KbertError, match=r"^a\nb$"):
        problems.raise_all()


def test_slow_arithmetic_is_told(monkeypatch):
    monkeypatch.setattr(precision, "_cpu_has_bf16", lambda: False)
    monkeypatch.setattr(precision.torch.cuda, "is_available", lambda: False)
    assert "no instructions for bf16" in precision.slow_precision("bf16")
    assert precision.slow_precision("fp32") == ""
    monkeypatch.setattr(precision, "_cpu_has_bf16", lambda: True)
    assert precision.slow_precision("bf16") == ""


def test_what_is_cut_is_told_for_every_split(kbert_here, write):
    write("train.tsv", ROWS + "0\t" + "长" * 40 + "\n")
    write("dev.tsv", "label\ttext_a\n" + "1\t" + "长" * 50 + "\n0\t短\n")
    write("test.tsv", "label\ttext_a\n" + ("1\t" + "长" * 33 + "\n") * 2)
    done = kbert_here(
        *("finetune", "--task", "classification", "--kg", "none", "--train", "train.tsv"),
        *("--dev", "dev.tsv", "--test", "test.tsv", "--max-length", "32", "--epochs", "1"),
        *("--model", "scratch:mini"),
    )
    assert done.returncode == 0, done.stderr
    for part in (
        "1 of 4 train texts exceed --max-length 32: 10 characters cut",
        "1 of 2 dev texts exceed --max-length 32: 20 characters cut",
        "2 of 2 test texts exceed --max-length 32: 6 characters cut",
    ):
        assert part in done.stderr, (part, done.stderr)
