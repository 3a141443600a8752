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
    order = ["finetune", "load", "predict", "inspect_tree", "Predictor.__call__", "BatchPredictor"]
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
    batch = kbert_cli.BatchPredictor("runs/doc")({"text": texts, "id": [1, 2]})
    assert batch["prediction"] == expected
    assert batch["id"] == [1, 2]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_data_gives_the_same_in_two_workers(here):
    ray = pytest.importorskip("ray", reason="the extra ray is not installed")
    if not (here / "runs/doc").exists():
        kbert_cli.finetune("ner", "medical", epochs=0.1, output="runs/doc")
    texts = [f"患者头痛伴高血压{number}天。" for number in range(40)]
    expected = [" ".join(one.label) for one in kbert_cli.load("runs/doc")(texts)]
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    try:
        ray.data.DataContext.get_current().enable_progress_bars = False
        table = [{"id": n, "text": text} for n, text in enumerate(texts)]
        rows = ray.data.from_items(table, override_num_blocks=2)
        answers = rows.map_batches(
            kbert_cli.BatchPredictor,
            fn_constructor_args=(str(here / "runs/doc"),),
            batch_size=10,
            concurrency=2,
        )
        found = sorted(answers.take_all(), key=lambda row: row["id"])
    finally:
        ray.shutdown()
    assert [row["text"] for row in found] == texts
    assert [row["prediction"] for row in found] == expected


def test_what_is_wrong_is_said(here):
    with pytest.raises(KbertError, match="unknown options: epoch"):
        kbert_cli.finetune("ner", "medical", epoch=1)
    with pytest.raises(AttributeError):
        kbert_cli.nothing  # noqa: B018


def test_what_is_no_text_is_said(here):
    if not (here / "runs/doc").exists():
        kbert_cli.finetune("ner", "medical", epochs=0.1, output="runs/doc")
    predictor = kbert_cli.load("runs/doc")
    for wrong, message in (("头痛", "a single string"), ([1], "1 is no text"), ([None], "no text")):
        with pytest.raises(KbertError, match=message):
            predictor(wrong)
    with pytest.raises(KbertError, match="unknown options: max_entitie"):
        kbert_cli.inspect_tree("头痛", max_entitie=1)
