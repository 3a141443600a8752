"""Features on disk: the same as in memory, small, computed once."""

from dataclasses import replace

import numpy as np
import pytest

from kbert_cli import feature_table, features
from kbert_cli.config import FinetuneConfig, InjectionConfig
from kbert_cli.corpus.example import Example
from kbert_cli.feature_table import featurized
from kbert_cli.kg.graph import MemoryGraph
from kbert_cli.kg.triples import Triple
from kbert_cli.pipeline import Pipeline

from .tiny import tiny_bert

KG = MemoryGraph([Triple("高血压", "类别", "疾病"), Triple("头痛", "类别", "症状")])
TEXT = "患者头痛伴高血压3天，服用阿司匹林后好转。"
TEXTS = ["", "头痛", TEXT, TEXT * 9, " 头痛\t\u200b高血压 abc ", "😀", "x" * 300]


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("KBERT_HOME", str(tmp_path / "home"))


def pipeline_for(task, **injection):
    config = FinetuneConfig(task=task, injection=InjectionConfig(**{"max_length": 32, **injection}))
    return Pipeline(config, ["O", "B-X", "I-X"], KG, tiny_bert())


def examples_for(task, texts=TEXTS):
    if task == "ner":
        return [Example((text,), ("O",) * len(text)) for text in texts]
    return [Example((text, "头痛"), "O") for text in texts]


@pytest.mark.parametrize("task", ["ner", "classification"])
@pytest.mark.parametrize("chunk", [2, 100])
def test_stored_items_are_those_in_memory(task, chunk, monkeypatch):
    monkeypatch.setattr(feature_table, "_CHUNK", chunk)
    pipeline, examples = pipeline_for(task), examples_for(task)
    direct, stored = pipeline.encode(examples), pipeline.stored(examples)
    assert len(stored) == len(direct)
    assert len(direct) > len(examples) or task != "ner"
    for one, other in zip(direct, stored, strict=True):
        assert (one.example, one.part.start, one.part.length) == (
            other.example,
            other.part.start,
            other.part.length,
        )
        for name, value in vars(one.features).items():
            np.testing.assert_array_equal(getattr(other.features, name), value, err_msg=name)
        np.testing.assert_array_equal(other.targets, one.targets)
    assert stored.table.lengths.tolist() == [len(item.features) for item in direct]


def test_worker_processes_give_the_same(monkeypatch, tmp_path):
    monkeypatch.setattr(feature_table, "_CHUNK", 3)
    pipeline, texts = pipeline_for("ner"), [(text,) for text in TEXTS]

    def files(home, workers):
        monkeypatch.setenv("KBERT_HOME", str(tmp_path / home))
        done = []
        featurized(
            pipeline.recipe,
            texts,
            windowing=features.TEXT,
            workers=workers,
            on_examples=done.append,
        )
        assert sum(done) == len(texts)
        found = sorted((tmp_path / home / "features").rglob("*.safetensors"))
        return [(path.relative_to(tmp_path / home), path.read_bytes()) for path in found]

    assert files("one", 0) == files("two", 2)


def test_features_are_found_again_by_content(monkeypatch):
    pipeline, examples = pipeline_for("ner"), examples_for("ner")
    pipeline.stored(examples)
    monkeypatch.setattr(feature_table, "_compute", lambda *_: pytest.fail("computed again"))
    again = pipeline_for("ner").stored(
        [replace(one, label=("B-X",) * len(one.texts[0])) for one in examples]
    )
    assert len(again) > len(examples)
    for changed in (
        lambda: pipeline_for("ner", max_entities=1).stored(examples),
        lambda: pipeline_for("ner").stored(examples[1:]),
    ):
        with pytest.raises(pytest.fail.Exception):
            changed()


def test_an_example_at_rest_is_small(tmp_path):
    pipeline = pipeline_for("classification", max_length=256)
    texts = [(("患者头痛伴高血压" * 40)[: 230 + number % 5],) for number in range(500)]
    table = featurized(pipeline.recipe, texts, windowing=features.WHOLE)
    size = sum(path.stat().st_size for path in (tmp_path / "home").rglob("*.safetensors"))
    assert table.lengths.mean() > 250
    assert size / len(texts) < 3 * 1024


def test_a_home_that_cannot_be_written_does_not_stop_a_run(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("KBERT_HOME", str(blocked / "home"))
    assert len(pipeline_for("ner").stored(examples_for("ner"))) > len(TEXTS)
