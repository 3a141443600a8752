"""Pre-training: packing, masking, batches by number, and a run that goes on exactly."""

import itertools
import json
import shutil

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from kbert_cli.batch import IGNORED
from kbert_cli.config import PretrainConfig
from kbert_cli.encoders import load_encoder
from kbert_cli.hf_pretraining import BatchTrainer, pretraining_arguments
from kbert_cli.pretrain.batches import MaskingConfig, PretrainingBatches, Stage
from kbert_cli.pretrain.encoded import build_encoded_text
from kbert_cli.pretrain.masking import mask_words
from kbert_cli.pretrain.packing import pack
from kbert_cli.pretrain.text import read_documents
from kbert_cli.tree.pieces import Pieces

from .conftest import run_kbert

MASKING = MaskingConfig(cls_id=2, sep_id=3, pad_id=0, mask_id=4, first_piece=5, vocabulary=70_000)


def characters(text):
    return Pieces([*map(ord, text)], range(len(text)), range(1, len(text) + 1))


def test_blank_lines_part_documents(write):
    files = [write("a.txt", "一\n二\n\n \n三\n"), write("b.txt", "四")]
    assert list(read_documents(files)) == [["一", "二"], ["三"], ["四"]]


@given(st.lists(st.integers(1, 10), max_size=30))
def test_rows_hold_every_unit_once_and_no_two_would_fit_in_one(sizes):
    rows = pack(np.array(sizes, np.int64), 10)
    assert sorted(itertools.chain.from_iterable(rows)) == list(range(len(sizes)))
    filled = [sum(sizes[unit] for unit in row) for row in rows]
    assert all(total <= 10 for total in filled)
    assert all(a + b > 10 for a, b in itertools.combinations(filled, 2))


def test_words_are_masked_whole_and_at_the_rate():
    chance = np.random.default_rng(0)
    tokens = np.arange(10_000).reshape(100, 100) + 5
    words = tokens // 2
    words[:, 0] = -1
    masked, targets = mask_words(
        tokens, words, chance, rate=0.15, mask_id=4, first_piece=5, vocabulary=20_000
    )
    asked = targets != IGNORED
    assert not asked[:, 0].any()
    assert asked.mean() == pytest.approx(0.15, abs=0.02)
    assert (targets[asked] == tokens[asked]).all()
    assert (masked == 4)[asked].mean() == pytest.approx(0.8, abs=0.04)
    assert (masked == tokens)[asked].mean() == pytest.approx(0.1, abs=0.03)
    assert (masked == tokens)[~asked].all()
    for word in np.unique(words[asked]):
        assert asked[words == word].all()


def corpus(folder, sentences=400):
    nouns, verbs = "患者医生孩子老人同学", "出现服用检查治疗发现"
    lines = [
        f"{nouns[i % 5 * 2 :][:2]}{verbs[i % 3 * 2 :][:2]}了头痛和高血压{i % 7}次"
        + ("\n" if i % 10 == 9 else "")
        for i in range(sentences)
    ]
    (folder / "text.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("nsp", [False, True])
def test_batches_hold_whole_units_that_do_not_see_each_other(tmp_path, nsp):
    corpus(tmp_path)
    documents = read_documents([tmp_path / "text.txt"])
    text = build_encoded_text(tmp_path / "encoded", documents, characters, whole_word=True)
    chosen, held = text.split(pairs=nsp)
    assert held.tolist() == ([198, 199, 398, 399] if nsp else [199, 399])
    lines = [line for document in read_documents([tmp_path / "text.txt"]) for line in document]
    unseen = {lines[index] for index in held}
    assert chosen.tolist() == [i for i, line in enumerate(lines) if line not in unseen]
    stages = [Stage(3, 48, 4), Stage(2, 96, 2)]
    batches = PretrainingBatches(text, chosen, stages, MASKING, nsp=nsp, seed=1)
    assert len(batches) == 5
    for index in (4, 0, 2):
        batch, again = batches[index], batches[index]
        assert all(torch.equal(batch[name], again[name]) for name in batch)
    for index in range(5):
        batch = batches[index]
        assert batch["input_ids"].shape == ((4, 48) if index < 3 else (2, 96))
        whole = torch.where(batch["labels"] == IGNORED, batch["input_ids"], batch["labels"])
        for row, column in zip(batch["unit_rows"], batch["unit_columns"], strict=True):
            unit = batch["sentence_ids"][row, column]
            own = batch["sentence_ids"][row] == unit
            ids = whole[row][own].tolist()
            assert ids[0] == MASKING.cls_id
            assert ids.count(MASKING.sep_id) == (2 if nsp else 1)
            assert batch["position_ids"][row][own].tolist() == list(range(len(ids)))
            assert batch["segment_ids"][row][own].unique().tolist() == ([0, 1] if nsp else [0])
        assert (batch["input_ids"][batch["sentence_ids"] == -1] == MASKING.pad_id).all()


def test_the_loss_is_computed_in_the_precision_asked_for(tmp_path):
    config = PretrainConfig(texts=("text.txt",), max_steps=1, precision="bf16")
    asked = []

    def loss(model, batch):
        asked.append(torch.is_autocast_enabled("cpu"))
        return model(batch["numbers"]).sum()

    BatchTrainer(
        model=torch.nn.Linear(2, 1),
        args=pretraining_arguments(config, tmp_path),
        train_dataset=[{"numbers": torch.ones(2)}],
        loss=loss,
    ).train()
    assert asked == [True]


SMALL = ("--max-steps", "12", "--tokens-per-batch", "64", "--short-length", "32")
SMALLER = (*SMALL, "--max-length", "64", "--save-steps", "6", "--precision", "fp32")


def pretrain(folder, output, *more):
    return run_kbert(
        "pretrain", "text.txt", "--output", output, *SMALLER, "--json", *more, cwd=folder
    )


@pytest.mark.slow
def test_a_run_that_is_stopped_goes_on_to_the_same_weights(tmp_path):
    corpus(tmp_path)
    whole = pretrain(tmp_path, "whole")
    assert whole.returncode == 0, whole.stderr
    figures = json.loads(whole.stdout)
    assert figures["steps"] == 12
    assert 12 * 64 * 0.8 < figures["tokens_seen"] <= 12 * 64
    assert figures["end"]["loss"] < figures["start"]["loss"]
    stopped = pretrain(tmp_path, "parts", "--max-hours", "0")
    assert json.loads(stopped.stdout)["steps"] == 1
    again = pretrain(tmp_path, "parts")
    assert again.returncode == 1
    assert "go on with --resume" in again.stderr
    # A run that was killed before its first checkpoint keeps its encoded text.
    shutil.copytree(tmp_path / "parts", tmp_path / "killed")
    shutil.rmtree(tmp_path / "killed/work/checkpoints")
    killed = pretrain(tmp_path, "killed", "--resume")
    assert json.loads(killed.stdout)["end"] == figures["end"]
    other = pretrain(tmp_path, "parts", "--resume", "--seed", "7")
    assert "different: seed" in other.stderr
    resumed = pretrain(tmp_path, "parts", "--resume")
    assert resumed.returncode == 0, resumed.stderr
    one = load_file(tmp_path / "whole/model.safetensors")
    two = load_file(tmp_path / "parts/model.safetensors")
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert json.loads(resumed.stdout)["end"] == figures["end"]
    half = pretrain(tmp_path, "parts", "--resume", "--half")
    assert half.returncode == 0, half.stderr
    stored = load_file(tmp_path / "parts/model.safetensors")
    assert all(torch.equal(stored[name], one[name].half()) for name in one)
    encoder = load_encoder(str(tmp_path / "parts"))
    assert {weight.dtype for weight in encoder.model.parameters()} == {torch.float32}
    encoder = load_encoder(str(tmp_path / "whole"))
    assert len(encoder.tokenizer) == figures["vocabulary"]


def test_next_sentences_are_an_option(tmp_path):
    corpus(tmp_path, 800)
    done = pretrain(tmp_path, "pairs", "--nsp", "--no-whole-word")
    assert done.returncode == 0, done.stderr
    assert 0 <= json.loads(done.stdout)["end"]["next_sentence"] <= 1
    assert load_encoder(str(tmp_path / "pairs")).width == 256


def test_too_little_text_is_a_clear_error(kbert_here, tmp_path):
    corpus(tmp_path, 20)
    done = kbert_here("pretrain", "text.txt", "--output", "short", *SMALLER)
    assert done.returncode == 1
    assert "the text is too short: 20 sentences" in done.stderr


def test_a_start_that_failed_leaves_no_folder(kbert_here, tmp_path):
    done = kbert_here("pretrain", "nowhere.txt", "--output", "encoder")
    assert done.returncode == 1
    assert "nowhere.txt" in done.stderr
    assert not (tmp_path / "encoder").exists()
