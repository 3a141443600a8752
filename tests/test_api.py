"""The Python interface: its own examples, and that it gives what the commands give."""

import doctest
import json
import pickle

import pytest

import kbert_cli
from kbert_cli import api
from kbert_cli.errors import KbertError

from .conftest import run_kbert


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("api")


@pytest.fixture
def here(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return folder


def test_the_examples_in_its_docstrings(here):
    names = vars(kbert_cli) | {name: getattr(kbert_cli, name) for name in kbert_cli.__all__}
    order = ["finetune", "load", "predict", "inspect_tree", "Predictor.__call__"]
    found = {one.name: one for one in doctest.DocTestFinder().find(api, "api", globs=names)}
    runner = doctest.DocTestRunner()
    for name in order:
        example = found[f"api.{name}"]
        assert example.examples, name
        runner.run(example)
    assert runner.summarize(verbose=False) == (
        0,
        sum(len(found[f"api.{n}"].examples) for n in order),
    )


def test_it_predicts_what_the_command_predicts(here):
    if not (here / "runs/doc").exists():
        kbert_cli.finetune("ner", "medical", epochs=0.1, output="runs/doc")
    texts = ["患者头痛伴高血压3天。", "查心电图。"]
    (here / "in.tsv").write_text("text_a\n" + "\n".join(texts) + "\n", encoding="utf-8")
    done = run_kbert("predict", "in.tsv", "--run", "runs/doc", "--format", "jsonl", cwd=here)
    expected = [json.loads(line)["prediction"] for line in done.stdout.splitlines()]
    predictor = pickle.loads(pickle.dumps(kbert_cli.load("runs/doc")))
    assert [" ".join(one.label) for one in predictor(texts)] == expected
    batch = predictor.map_batch({"text": texts, "id": [1, 2]})
    assert batch["prediction"] == expected
    assert batch["id"] == [1, 2]


def test_what_is_wrong_is_said(here):
    with pytest.raises(KbertError, match="unknown options: epoch"):
        kbert_cli.finetune("ner", "medical", epoch=1)
    with pytest.raises(AttributeError):
        kbert_cli.nothing  # noqa: B018
