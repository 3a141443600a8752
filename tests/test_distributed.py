"""Two processes on one run: the figures of one."""

import json
import os
import subprocess
import sys

import pytest
import torch

from .test_cli import corpora
from .tiny import tiny_bert


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = corpora(tmp_path_factory.mktemp("work"))
    encoder = tiny_bert()
    # Each process would drop other values out.
    encoder.model.config.hidden_dropout_prob = 0.0
    encoder.model.config.attention_probs_dropout_prob = 0.0
    encoder.model.save_pretrained(folder / "encoder")
    encoder.tokenizer.save_pretrained(folder / "encoder")
    return folder


def finetune(work, launcher, output, *more):
    command = (
        *("-m", "kbert_cli", "finetune", "--task", "ner", "--kg", "kg.spo", "--model", "encoder"),
        *("--train", "ner.tsv", "--dev", "ner.tsv", "--test", "ner.tsv", "--max-length", "64"),
        *("--batch-size", "5", "--epochs", "3", "--dropout", "0", "--learning-rate", "1e-3"),
    )
    done = subprocess.run(
        [sys.executable, *launcher, *command, "--output", output, "--json", "-q", *more],
        cwd=work,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")


def assert_alike(one, other):
    assert one["steps"] == other["steps"]
    for split in ("dev", "test"):
        assert one[split]["f1"] == pytest.approx(other[split]["f1"], abs=0.02)
    assert one["test"]["examples"] == other["test"]["examples"]


def losses(folder):
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [line["loss"] for line in lines if "loss" in line]


@pytest.fixture(scope="module")
def alone(work):
    return finetune(work, (), "alone")[0]


def test_parts_of_a_step_make_the_step(work, alone):
    parted, _ = finetune(work, (), "parted", "--gradient-accumulation", "3")
    assert_alike(parted, alone)
    assert losses(work / "parted") == pytest.approx(losses(work / "alone"), abs=2e-3)


def test_two_processes_give_the_figures_of_one(work, alone):
    both, errors = finetune(work, TORCHRUN, "both")
    assert_alike(both, alone)
    assert losses(work / "both") == pytest.approx(losses(work / "alone"), abs=2e-3)
    assert "Traceback" not in errors
    assert not (work / "both" / "checkpoints").exists()
    assert len(list((work / "both").glob("metrics.json*"))) == 2


def test_more_gpus_than_there_are_is_a_clear_error(work):
    if torch.cuda.device_count() >= 64:
        pytest.skip("this machine has them")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "kbert_cli",
            "finetune",
            "--task",
            "ner",
            "--kg",
            "none",
            "--gpus",
            "64",
        ],
        cwd=work,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 1
    assert "--gpus is 64" in done.stderr
