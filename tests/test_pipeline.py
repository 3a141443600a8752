"""The path as a whole: no graph is plain BERT, and equal seeds give equal runs."""

import hashlib

import pytest
import torch

from kbert_cli.config import FinetuneConfig, InjectionConfig
from kbert_cli.corpus.example import Example
from kbert_cli.kg.graph import MemoryGraph
from kbert_cli.kg.triples import Triple
from kbert_cli.pipeline import Pipeline

from .conftest import run_kbert
from .test_cli import corpora
from .tiny import tiny_bert

KG = MemoryGraph([Triple("高血压", "类别", "疾病"), Triple("头痛", "类别", "症状")])
EXAMPLES = [Example((text,)) for text in ("患者头痛伴高血压3天", "服用阿司匹林后好转", "", "😀")]


def scores(graph, task="classification", **changes):
    torch.manual_seed(0)
    settings = FinetuneConfig(task=task, injection=InjectionConfig(max_length=64), **changes)
    pipeline = Pipeline(settings, ["O", "B-X", "I-X"], graph, tiny_bert())
    return [(one.label, one.score) for one in pipeline.predict(EXAMPLES)]


@pytest.mark.parametrize("task", ["classification", "ner"])
def test_no_graph_an_empty_one_and_one_without_matches_are_plain_bert(task):
    unrelated = MemoryGraph([Triple("航空母舰", "类别", "军舰")])
    plain = scores(KG, task, method="none")
    assert scores(MemoryGraph(), task) == plain
    assert scores(unrelated, task) == plain
    if task == "classification":
        assert scores(KG, task)[0] != plain[0]
        # Beside a longer tree they are padded more: equal up to rounding.
        for (label, score), (other, expected) in zip(scores(KG, task)[1:], plain[1:], strict=True):
            assert (label, score) == (other, pytest.approx(expected, abs=1e-5))


def test_batches_do_not_mix_examples():
    torch.manual_seed(0)
    config = FinetuneConfig(task="classification", injection=InjectionConfig(max_length=64))
    pipeline = Pipeline(config, ["a", "b"], KG, tiny_bert())
    alone = [pipeline.predict([example])[0] for example in EXAMPLES]
    together = pipeline.predict(EXAMPLES, batch_size=3)
    assert [one.label for one in alone] == [one.label for one in together]
    assert [one.score for one in alone] == pytest.approx([one.score for one in together])


def test_windows_of_a_long_text_cover_it():
    config = FinetuneConfig(task="ner", injection=InjectionConfig(max_length=10))
    pipeline = Pipeline(config, ["O", "B-X", "I-X"], KG, tiny_bert())
    text = "患者头痛，伴高血压3天。" * 4 + "服用阿司匹林后好转" * 3
    windows = list(pipeline.featurizer.windows(text))
    assert "".join(text[start:end] for start, end in windows) == text
    assert windows[0] == (0, 5)  # Behind the comma, not in the middle of a word.
    items = pipeline.encode([Example((text,))])
    assert max(len(item.features) for item in items) <= 10
    assert not any(item.features.truncated_characters for item in items)
    assert len(pipeline.predict([Example((text,))])[0].label) == len(text)


@pytest.mark.slow
def test_five_hash_seeds_give_the_same_bytes(tmp_path):
    corpora(tmp_path)
    found = set()
    for seed in "01234":
        run = f"run-{seed}"
        done = run_kbert(
            *("finetune", "--task", "ner", "--kg", "kg.spo", "--train", "ner.tsv", "-q"),
            *("--epochs", "1", "--output", run),
            cwd=tmp_path,
            PYTHONHASHSEED=seed,
        )
        assert done.returncode == 0, done.stderr
        predicted = run_kbert("predict", "ner.tsv", "--run", run, cwd=tmp_path, PYTHONHASHSEED=seed)
        assert predicted.returncode == 0, predicted.stderr
        weights = (tmp_path / run / "encoder/model.safetensors").read_bytes()
        found.add((predicted.stdout, hashlib.sha256(weights).hexdigest()))
    assert len(found) == 1
