"""It learns, and the graph is why: labels that only the graph can tell."""

import itertools
import random

import pytest

from kbert_cli.config import FinetuneConfig, TrainingConfig
from kbert_cli.reporting import Reporter
from kbert_cli.training import finetune

CHARACTERS = "甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳"
KINDS = {"果实": "0", "矿石": "1"}
SENTENCES = ["昨天看见了{}。", "他说{}不错", "这里有{}吗？", "我们需要{}，越多越好"]


def toy(folder):
    """A graph of invented names, and a corpus whose test names training never shows."""
    chance = random.Random(5)
    names = ["".join(pair) for pair in itertools.permutations(CHARACTERS, 2)]
    chance.shuffle(names)
    kinds = {name: list(KINDS)[index % 2] for index, name in enumerate(names)}
    (folder / "kg.spo").write_text(
        "".join(f"{name}\t类别\t{kind}\n" for name, kind in kinds.items()), encoding="utf-8"
    )
    for split, part in {"train": names[:160], "dev": names[160:200], "test": names[200:]}.items():
        rows = [
            f"{KINDS[kinds[name]]}\t{sentence.format(name)}\n"
            for name in part
            for sentence in (SENTENCES if split == "train" else [chance.choice(SENTENCES)])
        ]
        (folder / f"{split}.tsv").write_text("label\ttext_a\n" + "".join(rows), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return toy(tmp_path_factory.mktemp("toy"))


def accuracy(folder, **changes):
    config = FinetuneConfig(
        task="classification",
        train=str(folder / "train.tsv"),
        dev=str(folder / "dev.tsv"),
        test=str(folder / "test.tsv"),
        **{"kg": (str(folder / "kg.spo"),), **changes},
        training=TrainingConfig(epochs=6, seed=1),
    )
    output = folder / "-".join(["run", *map(str, changes)])
    return finetune(config, Reporter(), output=output).metrics["test"]["accuracy"]


def test_kbert_solves_what_only_the_graph_can_tell(folder):
    assert accuracy(folder) >= 0.95


def test_the_plain_encoder_cannot(folder):
    assert accuracy(folder, method="none") <= 0.6
