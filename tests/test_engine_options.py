"""Options of the engine that no other test uses: frozen layers, TensorBoard, torch's compiler."""

import json
import shutil

import pytest
from safetensors.torch import load_file

from .conftest import run_kbert
from .test_cli import corpora

COMMAND = (
    *("finetune", "--task", "ner", "--kg", "kg.spo", "--train", "ner.tsv", "--dev", "ner.tsv"),
    *("--test", "ner.tsv", "--epochs", "1", "--json", "-q"),
)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return corpora(tmp_path_factory.mktemp("work"))


def finetune(work, output, *more):
    done = run_kbert(*COMMAND, "--output", output, *more, cwd=work)
    assert done.returncode == 0, done.stderr
    return load_file(work / output / "encoder/model.safetensors"), json.loads(done.stdout)


@pytest.mark.slow
def test_frozen_layers_stay_as_they_are_and_the_others_learn(work):
    from kbert_cli.encoder_catalog import model_path

    stored = load_file(f"{model_path('mini-zh')}/model.safetensors")
    before = {name.removeprefix("bert."): weights for name, weights in stored.items()}
    after, _ = finetune(work, "frozen", "--freeze-layers", "2")
    for name, weights in after.items():
        old = before[name].float()
        frozen = name.startswith(("embeddings.", "encoder.layer.0.", "encoder.layer.1."))
        assert bool((weights.float() - old).abs().max() < 1e-6) == frozen, name
    done = run_kbert(*COMMAND, "--freeze-layers", "9", cwd=work)
    assert (done.returncode, "the encoder has 4 layers" in done.stderr) == (1, True)


@pytest.mark.slow
def test_tensorboard_gets_what_is_logged(work):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    _, figures = finetune(work, "logged", "--log-to", "tensorboard")
    events = EventAccumulator(str(work / "logged/tensorboard"))
    events.Reload()
    names = events.Tags()["scalars"]
    assert {"train/loss", "eval/f1"} <= set(names)
    assert events.Scalars("eval/f1")[-1].value == pytest.approx(figures["dev"]["f1"], abs=1e-6)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="torch's compiler needs one")
def test_compiled_it_learns_the_same(work):
    _, plain = finetune(work, "plain", "--dropout", "0")
    _, compiled = finetune(work, "compiled", "--dropout", "0", "--compile")
    assert compiled["steps"] == plain["steps"]
    assert compiled["test"]["examples"] == plain["test"]["examples"]
    done = run_kbert("predict", "ner.tsv", "--run", "compiled", "-q", cwd=work)
    assert done.returncode == 0, done.stderr
