"""Errors that no other test meets, and the page that holds them all."""

import io
import json
import os
import shutil
import sys
from types import SimpleNamespace

import pytest
import torch
from make_error_docs import documented, heading, sites
from transformers import RobertaConfig, RobertaModel

from kbert_cli import load
from kbert_cli.comparison import compare
from kbert_cli.config import ReadConfig
from kbert_cli.corpus.columns import CLASSIFICATION, NER, READING
from kbert_cli.corpus.convert import convert_file
from kbert_cli.corpus.reader import open_unlabelled
from kbert_cli.errors import KbertError
from kbert_cli.feature_table import FeatureTable
from kbert_cli.files import read_json, read_lines, read_span, require_writable
from kbert_cli.hf_callbacks import ProgressAndLog
from kbert_cli.kg.sources import SourceFormat
from kbert_cli.pretrain.encoded import open_encoded_text
from kbert_cli.reporting import Reporter

from .conftest import ROOT, ROWS
from .test_conversion import CONFIG, PIECES, random_weights
from .tiny import SIZES

NOT_MET = {
    # Root, a race, a broken machine or a GPU would be needed.
    "another process has built another graph in {folder} meanwhile",
    "a worker process was killed, perhaps for want of memory",
    "the GPU's memory is too small at step {state.global_step + 1}: {size}, trees of up to "
    "{int(items.table.lengths.max())} tokens; {kept}",
    "cannot read {error.filename}: {error.strerror}",
    "cannot read {path}: {error.strerror or error}",
    "{self._place[0]} is damaged: a record does not end",
    "the tokenizer of {name} gives no character offsets",
}


def test_the_page_of_errors_has_those_of_the_code():
    assert documented() == [heading(site) for site in sites()], (
        "run the command at the top of tools/make_error_docs.py"
    )


def test_all_errors_but_a_few_are_met_by_tests():
    page = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    entries = page.split("\n* ")[1:]
    unmet = {one.split("\n")[0].strip("` ") for one in entries if "(no test meets it)" in one}
    assert unmet <= NOT_MET


DATA = ("--task", "classification", "--train", "train.tsv")
BERT = ("--config", "uer.json", "--vocab", "vocab.txt", "--output", "hf")
CASES = [
    ("finetune --config nowhere.toml --task ner --kg none", "cannot read nowhere.toml"),
    ("convert-checkpoint nowhere.bin --output x", "cannot read nowhere.bin"),
    ("convert-checkpoint roberta --config uer.json --output x", "belong to FILE.bin"),
    ("convert-checkpoint train.tsv --output x", "--config and --vocab are needed"),
    ("convert-checkpoint roberta --output x", "is of the family 'roberta'"),
    (("convert-checkpoint", "numbers.bin", *BERT), "something else than named tensors"),
    ("kg check train.tsv", "no row is a triple"),
    ("kg search kg.spo 感冒", "begins with '感冒'"),
    ("kg search none x", "'none' is no graph"),
    ("kg check -", "no row is a triple"),
    ("kg build kg.spo --output g --delimiter=", "--delimiter is empty"),
    ("kg coverage kg.spo empty.txt", "holds no text"),
    ("inspect-tree 头痛 --kg -", "--kg cannot read standard input"),
    ("inspect-tree 头痛 --kg empty", "holds no .spo file"),
    ("predict - --run run --shard 0/2 --output o", "standard input cannot be read in parts"),
    ("predict nowhere.tsv --run run --output o", "cannot read nowhere.tsv"),
    (
        "predict data.csv --run run --text-field x --shard 0/2 --output=o",
        "--shard cuts UTF-8 files",
    ),
    ("predict bytes.tsv --run run", "not UTF-8"),
    ("predict train.tsv --run unended", "did not end"),
    ("predict train.tsv --run foreign", "was not written by kbert"),
    ("predict train.tsv --run changed", "labels, texts or graph_hash"),
    ("predict train.tsv --run newer", "does not fit this version"),
    ("evaluate other.tsv --run run", "labels that the run does not know"),
    ("predict nowhere.tsv --run run --shard 0/2 --output o", "cannot read nowhere.tsv"),
    ("inspect-tree 头痛 --kg gone", "cannot read gone/kg.spo"),
    (("convert-checkpoint", "uer.bin", *BERT[:2], "--vocab", "twice.txt", *BERT[4:]), "already"),
    (("convert-checkpoint", "uer.bin", "--config", "list.json", *BERT[2:]), "no JSON object"),
    (("convert-checkpoint", "uer.bin", *BERT), "does not fit"),
    ("merge damaged.tsv", "is damaged"),
    ("merge train.tsv", "has no parts"),
    ("corpus check data.csv --task classification --label-field label", "no column is the text"),
    ("corpus check data.csv --task classification --format conll", "is read for --task ner only"),
    ("corpus check list.jsonl --task classification", "holds no JSON object at its beginning"),
    ("corpus check odd.jsonl --task classification", "no field of odd.jsonl is the text"),
    ("corpus check - --task ner --format brat", "standard input cannot hold them"),
    ("corpus check train.tsv --task ner --format squad", "it must be one of"),
    ("corpus convert train.tsv out.xyz --task classification", "no format to write to out.xyz"),
    ("corpus convert train.tsv o --to conll --task classification", "for --task ner only"),
    ("corpus convert marks.tsv o --to cmeee --task ner", "cannot be written as cmeee"),
    ("corpus convert train.tsv o --to csv --task classification --scheme BMES", "is for tags"),
    ("corpus convert none.json o.tsv --task reading", "1 questions have no answer"),
    ("kg coverage kg.spo broken.csv", "broken.csv:3: no CSV"),
    ("predict empty --run run", "it is a folder"),
    (("finetune", "--kg", "none", *DATA, "--precision", "fp16"), "fp16 needs a GPU"),
    (("finetune", "--kg", "none", *DATA, "--freeze-layers", "9"), "the encoder has 4 layers"),
    (("finetune", "--kg", "none", "--corpus", "empty", "--task", "ner"), "holds no train.tsv"),
    ("finetune --kg none --task reading --train r.json --pack", "--pack is for short texts"),
    (("compare", *DATA, "--kg", "none", "--output", "c"), "needs two arms"),
    (("compare", *DATA, "--kg", "none", "--kg", "medical", "--output", "c"), "needs a test split"),
    (
        (
            *("compare", "--task", "classification", "--output", "c", "--kg", "none"),
            *("--arm", "b:kg=none,train=train.tsv,test=train.tsv"),
        ),
        "has another task or test split",
    ),
    ("pretrain train.tsv --output e --resume", "holds no run to go on with"),
    ("pretrain train.tsv --output begun --resume --seed 7", "different: "),
    ("pretrain text.txt --output e --model roberta", "models of the family 'bert'"),
    ("pretrain text.txt --output e --vocab train.tsv", "lacks [PAD]"),
]


@pytest.fixture(scope="session")
def trouble(tmp_path_factory, finished):
    """A folder with something wrong of every kind."""
    folder = tmp_path_factory.mktemp("trouble")

    def write(name, text):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)

    write("train.tsv", ROWS)
    write("other.tsv", ROWS + "7\t头痛\n")
    write("bytes.tsv", b"label\ttext_a\n" + b"1\t\xff\xfe\xff\n" * 4)
    write("data.csv", "label,x\n1,头痛\n0,发热\n")
    write("kg.spo", "头痛\t类别\t症状\n")
    write("empty.txt", " \n")
    (folder / "empty").mkdir()
    write("list.jsonl", "[1]\n")
    write("broken.csv", 'text\n头痛\n"发热\n')
    unanswered = {"id": 1, "question": "问", "answers": []}
    write("none.json", json.dumps([{"context": "甲乙", "qas": [unanswered]}]))
    write("odd.jsonl", '{"a": 1}\n')
    write("marks.tsv", "text_a\tlabel\n甲 | | | 乙\tO O O O O\n")
    write("text.txt", "头痛三天。\n" * 50)
    passage = {"context": "甲乙", "qas": [{"id": 1, "question": "问", "answers": [{"text": "乙"}]}]}
    write("r.json", json.dumps({"data": [{"paragraphs": [passage]}] * 30}))
    write("damaged.tsv.shard-00000-of-00001", "x\n")
    write("damaged.tsv.shard-00000-of-00001.done", "[]")
    write("uer.json", json.dumps(CONFIG))
    write("vocab.txt", "\n".join(PIECES) + "\n")
    torch.save([1], folder / "numbers.bin")
    weights = random_weights("kbert")
    gain = next(key for key in weights if key.endswith("layer_norm_1.gamma"))
    torch.save({**weights, gain: weights[gain][:1]}, folder / "uer.bin")
    write("twice.txt", "\n".join([*PIECES[:-1], PIECES[0]]) + "\n")
    write("list.json", "[]")
    (folder / "gone").mkdir()
    (folder / "gone/kg.spo").symlink_to(folder / "nowhere")
    RobertaModel(RobertaConfig(vocab_size=40, **SIZES)).save_pretrained(folder / "roberta")
    write("begun/pretraining.json", "{}")
    for name in ("run", "unended", "foreign", "changed", "newer"):
        shutil.copytree(finished / "run", folder / name, copy_function=os.link)
    (folder / "unended/metrics.json").unlink()
    for name, change in (("foreign", {}), ("changed", {"labels": []}), ("newer", None)):
        path = folder / name / "config.json"
        record = json.loads(path.read_text(encoding="utf-8"))
        path.unlink()
        if change is None:
            write(f"{name}/config.json", json.dumps({**record, "config": {"a": 1}, "a": 1}))
        else:
            write(f"{name}/config.json", json.dumps({**record, **change} if change else {}))
    return folder


@pytest.fixture
def place(tmp_path, trouble, monkeypatch):
    """That folder, for one test."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x\n")))
    shutil.copytree(trouble, tmp_path, copy_function=os.link, symlinks=True, dirs_exist_ok=True)


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(("command", "message"), CASES, ids=lambda value: str(value)[:50])
def test_it_is_said(kbert_here, command, message):
    done = kbert_here(*(command.split() if isinstance(command, str) else command))
    assert done.returncode in (1, 2), done.stderr
    assert message in done.stderr, done.stderr
    assert "bug of kbert" not in done.stderr


def test_of_the_python_interface(finished):
    with pytest.raises(KbertError, match="the run takes 1 texts"):
        load(finished / "run")([("甲", "乙")])


def test_of_readers(write):
    with pytest.raises(KbertError, match="is no JSON"):
        open_unlabelled(write("x.json", "[1"), READING)
    with pytest.raises(KbertError, match="the format conll is read for --task ner only"):
        open_unlabelled(write("x.tsv", "a\n"), CLASSIFICATION, reading=ReadConfig(format="conll"))
    with pytest.raises(KbertError, match=r"x\.txt:2: not UTF-8"):
        list(read_lines(write("x.txt", b"a\n\xff\n")))
    with pytest.raises(KbertError, match="cannot read nowhere"):
        list(read_span("nowhere", 0, 9))
    with pytest.raises(KbertError, match="cannot read nowhere"):
        read_json("nowhere")
    with pytest.raises(KbertError, match="--format is 'xyz'"):
        SourceFormat(format="xyz")


def test_of_files_that_would_not_read_back(write, tmp_path, monkeypatch):
    monkeypatch.setattr("kbert_cli.corpus.convert.why_not", lambda *_: "")
    source = write("a.jsonl", '{"text": "甲|||乙", "entities": []}\n')
    with pytest.raises(KbertError, match="would not read back as it should from example 1 on"):
        convert_file(source, tmp_path / "b.txt", NER, ReadConfig(), form="cmeee")
    assert not (tmp_path / "b.txt").exists()


def test_of_damaged_features(write, tmp_path):
    write("table/x.safetensors", "damaged")
    with pytest.raises(KbertError, match="cannot read"):
        FeatureTable(tmp_path / "table")


def test_of_places_without_permission(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(KbertError, match="may not be written to"):
        require_writable(tmp_path / "run")


@pytest.mark.parametrize(
    ("package", "command"),
    [
        ("opencc", "kg build kg.spo --output g --simplified"),
        ("zstandard", "kg check kg.spo.zst"),
        ("tensorboard", "finetune --kg none --task ner --log-to tensorboard"),
    ],
)
def test_of_packages_that_are_not_there(kbert_here, write, monkeypatch, package, command):
    write("kg.spo", "头痛\t类别\t症状\n")
    write("kg.spo.zst", b"\x28\xb5\x2f\xfd")
    monkeypatch.setitem(sys.modules, package, None)
    done = kbert_here(*command.split())
    assert (done.returncode, f"needs the package {package}" in done.stderr) == (1, True), (
        done.stderr
    )
    assert "pip install" in done.stderr


def test_of_weights_that_are_lost(tmp_path):
    state = SimpleNamespace(global_step=7)
    log = ProgressAndLog(lambda *_: None, tmp_path / "log")
    with pytest.raises(KbertError, match="the loss is nan at step 7"):
        log.on_log(None, state, None, {"loss": float("nan")})


def test_of_comparisons_and_encoded_text(tmp_path):
    with pytest.raises(KbertError, match="a comparison needs two arms at least"):
        compare([], [1], tmp_path / "c", Reporter())
    with pytest.raises(KbertError, match="holds no encoded text"):
        open_encoded_text(tmp_path)


def test_of_standard_input_in_another_encoding(kbert_here, finished, monkeypatch):
    bad = "label\ttext_a\n" + "1\t头痛发热\n" * 4
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(bad.encode("gb18030"))))
    done = kbert_here("predict", "-", "--run", finished / "run")
    assert done.returncode == 1
    assert "Convert it to UTF-8 first." in done.stderr
