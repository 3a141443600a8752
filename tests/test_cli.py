"""The real command, from a graph and a corpus to predictions."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from kbert_cli.cli.main import run
from kbert_cli.corpus.columns import NER
from kbert_cli.corpus.reader import read_split
from kbert_cli.shards import Shard, parse_shard
from kbert_cli.tasks.bio import spans_of

from .conftest import run_kbert

KG = "头痛\t类别\t症状\n咳嗽\t类别\t症状\n高血压\t类别\t疾病\n糖尿病\t类别\t疾病\n"
SYMPTOMS, DISEASES = ("头痛", "咳嗽"), ("高血压", "糖尿病")


def spaced(text):
    return " ".join(text)


def ner_row(before, name, kind, after):
    tags = ["O"] * len(before) + [f"B-{kind}"] + [f"I-{kind}"] * (len(name) - 1)
    return f"{spaced(before + name + after)}\t{' '.join(tags + ['O'] * len(after))}\n"


def corpora(folder):
    """A small corpus for each task, and the graph."""
    (folder / "kg.spo").write_text(KG, encoding="utf-8")
    ner = [
        ner_row(before, name, kind, "3天。")
        for names, kind in ((SYMPTOMS, "Symptom"), (DISEASES, "Disease"))
        for name in names
        for before in ("患者", "因", "主诉", "查CT示", "反复", "曾有")
    ]
    classification = [
        f"{label}\t{before}{name}怎么办\n"
        for names, label in ((SYMPTOMS, "症状"), (DISEASES, "慢 病"))
        for name in names
        for before in ("请问", "老人", "孩子", "突然", "我有", "")
    ]
    qa = [
        f"{label}\t{before}{asked}是什么\t它是{told}\t{before}{asked}\n"
        for asked in SYMPTOMS + DISEASES
        for before in ("请问", "老人的", "")
        for told in ("症状", "疾病")
        for label in [int((asked in SYMPTOMS) == (told == "症状"))]
    ]
    headers = {
        "ner": "text_a\tlabel\n",
        "classification": "label\ttext_a\n",
        "qa": "label\tquestion\tanswer\tqid\n",
    }
    rows = {"ner": ner, "classification": classification, "qa": qa}
    for task, header in headers.items():
        content = header + "".join(rows[task])
        (folder / f"{task}.tsv").write_text(content, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return corpora(tmp_path_factory.mktemp("work"))


def finetune(folder, task, *more):
    data = f"{task}.tsv"
    return run_kbert(
        *("finetune", "--task", task, "--kg", "kg.spo", "--epochs", "2", "--batch-size", "8"),
        *("--train", data, "--dev", data, "--test", data, "--json", "-q", *more),
        cwd=folder,
    )


@pytest.fixture(scope="module", params=["classification", "ner", "qa"])
def trained(request, work):
    """Task, run folder and printed figures of a run made by the real command."""
    output = f"run-{request.param}"
    done = finetune(work, request.param, "--output", output)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return request.param, work / output, json.loads(done.stdout)


def test_finetune_leaves_a_complete_run(trained):
    task, folder, figures = trained
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "config.json",
        "metrics.json",
        "metrics.jsonl",
        "encoder",
        "head.safetensors",
        "test_units.npy",
    }
    assert json.loads((folder / "metrics.json").read_text()) == {
        key: value for key, value in figures.items() if key != "run"
    }
    assert figures["test"]["examples"] == 24
    assert len(figures["looks"]) == 2
    best = max(epoch[figures["test"]["primary"]] for epoch in figures["looks"])
    assert figures["dev"][figures["test"]["primary"]] == best
    # Dev and test are one file here: the weights kept are those of the best epoch.
    assert figures["test"][figures["test"]["primary"]] == pytest.approx(best)
    config = json.loads((folder / "config.json").read_text())
    assert config["injection"]["predicate"] is (task != "ner")
    assert config["training"]["batch_size"] == 8
    assert len(config["graph_hash"]) == 64


def test_evaluate_gives_the_figures_of_the_test_split(trained, work):
    task, folder, figures = trained
    done = run_kbert("evaluate", f"{task}.tsv", "--run", folder, "--json", "-q", cwd=work)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for key, value in figures["test"].items():
        assert found[key] == pytest.approx(value) if key != "per_label" else True
    assert (found["confusion"] is None) == (task == "ner")


def test_predict_keeps_every_row_and_adds_its_columns(trained, work):
    task, folder, _ = trained
    source = (work / f"{task}.tsv").read_text("utf-8").splitlines()
    done = run_kbert("predict", f"{task}.tsv", "--run", folder, "-q", cwd=work)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    added = ["prediction", "entities" if task == "ner" else "score", "error"]
    assert lines[0].split("\t") == source[0].split("\t") + added
    width = len(source[0].split("\t"))
    assert [line.split("\t")[:width] for line in lines] == [line.split("\t") for line in source]
    if task != "ner":
        return
    for line, example in zip(lines[1:], read_split(work / "ner.tsv", NER).examples, strict=True):
        tags, entities, error = line.split("\t")[width:]
        assert error == ""
        tags = tags.split(" ")
        text = example.texts[0]
        assert len(tags) == len(text)
        found = [(one["type"], one["start"], one["end"]) for one in json.loads(entities)]
        assert found == [tuple(span) for span in spans_of(tags)]
        assert all(text[one["start"] : one["end"]] == one["text"] for one in json.loads(entities))


@pytest.fixture(scope="module")
def classifier(work):
    done = finetune(work, "classification", "--output", "classifier", "--force")
    assert done.returncode == 0, done.stderr
    return work / "classifier"


@pytest.fixture
def here(work, monkeypatch):
    """Run the command in this process, in the work folder."""
    monkeypatch.chdir(work)
    return run


TEXTS = ["头痛怎么办", "高血压怎么办", '"引号', ""]


def predictions(here, capsys, classifier, *arguments):
    assert here(["predict", *arguments, "--run", str(classifier), "-q"]) == 0
    return capsys.readouterr().out.splitlines()


def test_texts_predict_alike_in_every_container(here, work, classifier, capsys):
    containers = {
        "plain.txt": "".join(f"{text}\n" for text in TEXTS),
        "header.tsv": "text_a\n" + "".join(f"{text}\n" for text in TEXTS),
        "labelled.tsv": "label\ttext_a\n" + "".join(f"?\t{text}\n" for text in TEXTS),
        "more.tsv": "id\ttext_a\tx\n" + "".join(f"{text}1\t{text}\tx\n" for text in TEXTS),
        "unlabelled_pair.tsv": "".join(f"?\t{text}\n" for text in TEXTS),
    }
    found = set()
    for name, content in containers.items():
        (work / name).write_text(content, encoding="utf-8")
        lines = predictions(here, capsys, classifier, name)
        found.add(tuple(tuple(line.split("\t")[-3:]) for line in lines[-len(TEXTS) :]))
    assert len(found) == 1


def test_standard_input_and_jsonl(work, classifier):
    done = run_kbert(
        *("predict", "-", "--run", classifier, "--format", "jsonl", "-q"),
        cwd=work,
        stdin="label\ttext_a\n?\t头痛怎么办\n",
    )
    record = json.loads(done.stdout)
    assert record["text_a"] == "头痛怎么办"
    assert set(record) == {"label", "text_a", "prediction", "score"}


def test_rows_of_another_width_are_kept_and_named(here, work, classifier, capsys):
    (work / "odd.tsv").write_text("label\ttext_a\n1\n1\t头痛\t多\n", encoding="utf-8")
    lines = predictions(here, capsys, classifier, "odd.tsv")
    assert lines[0] == "label\ttext_a\tprediction\tscore\terror"
    assert lines[1] == "1\t\t\t\t1 columns, the text is in 2"
    assert lines[2].split("\t")[:2] == ["1", "头痛"]
    assert lines[2].split("\t")[4:] == ["", "多"]


def test_a_header_alone_comes_out_with_its_new_columns(here, work, classifier, capsys):
    (work / "head.tsv").write_text("label\tprediction\ttext_a\n", encoding="utf-8")
    lines = predictions(here, capsys, classifier, "head.tsv")
    assert lines == ["label\tprediction\ttext_a\tkbert_prediction\tscore\terror"]


def test_odd_rows_are_warned_of(here, work, classifier, capsys):
    (work / "odd.tsv").write_text("label\ttext_a\n1\n1\t头痛\t多\n", encoding="utf-8")
    here(["predict", "odd.tsv", "--run", str(classifier), "-q"])
    errors = capsys.readouterr().err
    assert "1 row with no prediction, see the error column, line 2" in errors
    assert "2 rows with another number of columns, lines 2, 3" in errors


@pytest.mark.parametrize("form", ["tsv", "jsonl"])
def test_rows_that_are_not_utf8_keep_their_place(here, work, classifier, capsys, form):
    rows = [b"1\t\xb8\xdf", "1\t头痛".encode(), b"1\t\xff", "0\t今天好".encode()]
    (work / "mixed.tsv").write_bytes(b"label\ttext_a\n" + b"\n".join(rows) + b"\n")
    command = ["predict", "mixed.tsv", "--run", str(classifier), "-q", "--format", form]
    assert here(command) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()[form == "tsv" :]
    assert len(lines) == 4
    for line, bad in zip(lines, ["0xb8", None, "0xff", None], strict=True):
        assert (f"not UTF-8 (byte {bad})" in line) == bool(bad)
    assert "2 rows with no prediction, see the error column, lines 2, 4" in captured.err
    assert here([*command, "--output", "mixed.out", "--shard", "1/2"]) == 0


def test_a_file_in_another_encoding_is_one_error(here, work, classifier, capsys):
    text = "label\ttext_a\n1\t高血压\n1\t高血压病\n"
    (work / "gbk.tsv").write_bytes(text.encode("gbk"))
    assert here(["predict", "gbk.tsv", "--run", str(classifier), "-q"]) == 1
    assert "gbk.tsv:2: not UTF-8 (byte 0xb8)" in capsys.readouterr().err


def test_output_files_appear_whole(here, work, classifier, capsys):
    assert here(
        ["predict", "classification.tsv", "--run", str(classifier), "--output", "out.tsv", "-q"]
    ) in (0,)
    assert len((work / "out.tsv").read_text("utf-8").splitlines()) == 25
    assert not (work / "out.tsv.part").exists()
    assert capsys.readouterr().out == ""


def test_predictions_are_the_same_for_any_batch_size(here, capsys, classifier):
    one = predictions(here, capsys, classifier, "classification.tsv", "--batch-size", "1")
    many = predictions(here, capsys, classifier, "classification.tsv")
    for a, b in zip(one[1:], many[1:], strict=True):
        assert a.split("\t")[:3] == b.split("\t")[:3]
        assert float(a.split("\t")[3]) == pytest.approx(float(b.split("\t")[3]), abs=1e-4)


def test_a_run_without_graph_or_with_another_is_refused(here, work, classifier, capsys):
    (work / "other.spo").write_text(KG + "新\t类别\t物\n", encoding="utf-8")
    arguments = ["predict", "classification.tsv", "--run", str(classifier)]
    assert here([*arguments, "--kg", "other.spo"]) == 1
    assert "is not the one that" in capsys.readouterr().err
    (work / "moved.spo").write_text(KG, encoding="utf-8")
    assert here([*arguments, "--kg", "moved.spo"]) == 0


@pytest.mark.parametrize("damage", ["head.safetensors", "encoder/model.safetensors", "config.json"])
def test_damaged_runs_are_clear_errors(here, work, classifier, capsys, damage, tmp_path):
    copy = shutil.copytree(classifier, tmp_path / "copy")
    whole = (copy / damage).read_bytes()
    (copy / damage).write_bytes(whole[: len(whole) // 2])
    assert here(["predict", "classification.tsv", "--run", str(copy)]) == 1
    errors = capsys.readouterr().err
    assert "Error: " in errors
    assert "unexpected" not in errors
    (copy / damage).unlink()
    assert here(["predict", "classification.tsv", "--run", str(copy)]) == 1
    assert "unexpected" not in capsys.readouterr().err


def test_the_newest_run_is_used_and_named(tmp_path, work):
    for name in ("kg.spo", "classification.tsv"):
        (tmp_path / name).write_bytes((work / name).read_bytes())
    done = run_kbert("predict", "classification.tsv", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("Error: no run in runs/")
    assert finetune(tmp_path, "classification").returncode == 0
    folder = next((tmp_path / "runs").iterdir())
    assert folder.name.endswith("-classification-kg")
    done = run_kbert("predict", "classification.tsv", cwd=tmp_path)
    assert done.stderr.startswith(f"run: runs/{folder.name}\n")


def test_an_output_that_exists_is_not_replaced_unless_forced(here, classifier, capsys):
    arguments = ["finetune", "--task", "ner", "--kg", "none", "--train", "ner.tsv"]
    assert here([*arguments, "--output", str(classifier)]) == 1
    assert "exists already" in capsys.readouterr().err
    assert (classifier / "metrics.json").exists()


ERRORS = {
    "a graph that is not there": (
        ["finetune", "--task", "ner", "--kg", "nowhere.spo", "--train", "ner.tsv"],
        "no graph 'nowhere.spo': neither a graph",
    ),
    "a file that is not there": (
        ["finetune", "--task", "ner", "--kg", "none", "--train", "nowhere.tsv"],
        "cannot read nowhere.tsv: No such file or directory",
    ),
    "none among others": (
        ["finetune", "--task", "ner", "--kg", "none", "--kg", "kg.spo", "--train", "ner.tsv"],
        "--kg none stands alone",
    ),
    "settings out of range, all at once": (
        ["finetune", "--task", "ner", "--kg", "none", "--epochs", "0", "--batch-size", "0"],
        "--epochs is 0.0; it must be above 0\n--batch-size is 0; it must be at least 1",
    ),
    "a length beyond the positions": (
        [
            *("finetune", "--task", "ner", "--kg", "none", "--train", "ner.tsv"),
            *("--max-length", "600"),
        ],
        "--max-length 600 exceeds the encoder's max_position_embeddings=512",
    ),
    "one label": (
        ["finetune", "--task", "classification", "--kg", "none", "--train", "single.tsv"],
        "single.tsv holds a single label, '1'",
    ),
    "one label once dev is held out": (
        ["finetune", "--task", "classification", "--kg", "none", "--train", "two.tsv"],
        "two.tsv, a tenth held out, holds a single label",
    ),
    "labels that training lacks": (
        [
            *("finetune", "--task", "classification", "--kg", "none"),
            *("--train", "classification.tsv", "--dev", "single.tsv"),
        ],
        "single.tsv:2: label '1' does not occur in the training split",
    ),
    "a hub name offline": (
        ["finetune", "--task", "ner", "--kg", "none", "--train", "ner.tsv", "--model", "no/such"],
        "the model 'no/such' is neither a folder here nor in the local cache",
    ),
    "an unknown size": (
        ["finetune", "--task", "ner", "--kg", "none", "--train", "ner.tsv", "--model", "scratch:x"],
        "no size 'x'",
    ),
    "an entity that is not there": (["kg", "show", "kg.spo", "高血糖"], "Did you mean '高血压'?"),
    "a run that is none": (
        ["predict", "ner.tsv", "--run", "."],
        ". is no run folder: it has no config.json",
    ),
    "an unknown key in --config": (
        ["finetune", "--config", "bad.toml"],
        "bad.toml: unknown key 'epoch'",
    ),
    "a damaged --config": (["finetune", "--config", "kg.spo"], "kg.spo is not valid TOML"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_clear(here, work, capsys, case):
    (work / "single.tsv").write_text("label\ttext_a\n1\t甲\n1\t乙\n", encoding="utf-8")
    (work / "two.tsv").write_text("label\ttext_a\n1\t甲\n0\t乙\n", encoding="utf-8")
    (work / "bad.toml").write_text("epoch = 3\n", encoding="utf-8")
    arguments, message = ERRORS[case]
    assert here(arguments) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["finetune"],
        ["finetune", "--task", "sorting", "--kg", "none"],
        ["finetune", "--task", "ner", "--kg", "none", "--dev", "x.tsv"],
        ["finetune", "--task", "ner", "--kg", "none", "--train", "x", "--corpus", "y"],
        ["predict"],
        ["nonsense"],
    ],
)
def test_wrong_usage_is_2(here, arguments, capsys):
    assert here(arguments) == 2
    assert "Usage: kbert" in capsys.readouterr().err


def test_settings_come_from_a_file_and_the_command_line_wins(work):
    (work / "settings.toml").write_text(
        'task = "classification"\nkg = ["kg.spo"]\nepochs = 3\nbatch-size = 8\n'
        'train = "classification.tsv"\nno-such = 1\n',
        encoding="utf-8",
    )
    done = run_kbert("finetune", "--config", "settings.toml", cwd=work)
    assert done.returncode == 1
    text = (work / "settings.toml").read_text().replace("no-such = 1\n", "json = true\n")
    (work / "settings.toml").write_text(text)
    done = run_kbert(
        *("finetune", "--config", "settings.toml", "--epochs", "1", "--output", "configured"),
        cwd=work,
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["looks"]) == 1
    assert "held out" in done.stderr


def test_long_ner_texts_get_a_tag_a_character(here, work, classifier, capsys):
    del classifier
    output = finetune(work, "ner", "--output", "short", "--max-length", "12", "--force")
    assert output.returncode == 0, output.stderr
    text = "患者头痛伴高血压3天，" * 9 + "x" * 40
    (work / "long.txt").write_text(f"{text}\n短\n\n\u200b\ufe0f\n", encoding="utf-8")
    assert here(["predict", "long.txt", "--run", "short", "-q"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows] == [text, "短", "", "\u200b\ufe0f"]
    assert [len(row[1].split()) for row in rows] == [len(text), 1, 0, 2]


def test_a_closed_pipe_is_quiet(work):
    command = f"{sys.executable} -m kbert_cli kg show kg.spo 头痛 --json | head -c 1"
    done = subprocess.run(
        command, shell=True, cwd=work, capture_output=True, encoding="utf-8", check=False
    )
    assert done.stderr == ""


def test_interruption_is_130(here, monkeypatch, capsys):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("kbert_cli.cli.kg.look.bundled_graphs", interrupt)
    assert here(["kg", "list"]) == 130
    assert "Interrupted" in capsys.readouterr().err


def assert_same_rows(one, other):
    """Equal lines, but for rounding in a score: batches differ."""
    for a, b in zip(
        one.read_text("utf-8").split("\n"), other.read_text("utf-8").split("\n"), strict=True
    ):
        # Behind the score stands the empty error cell of a table, or the end of an object.
        split = r"(?<![\d.])(0\.\d+|1\.0)(?=[\t,}]*$)"
        (a, *first), (b, *second) = re.split(split, a), re.split(split, b)
        assert (a, first[1:]) == (b, second[1:])
        assert [float(x) for x in first[:1]] == pytest.approx(
            [float(x) for x in second[:1]], abs=1e-4
        )


@pytest.mark.parametrize("form", ["tsv", "jsonl"])
def test_parts_joined_are_the_whole(here, work, classifier, capsys, form):
    arguments = ["predict", "classification.tsv", "--run", str(classifier), "-q", "--format", form]
    assert here([*arguments, "--output", "whole"]) == 0
    for count in (1, 3, 40):
        for index in reversed(range(count)):
            shard = f"{index}/{count}"
            assert here([*arguments, "--output", "parts", "--shard", shard]) == 0
            if index:
                assert here(["merge", "parts"]) == 1
                assert "are not complete" in capsys.readouterr().err
        assert here(["merge", "parts", "--remove"]) == 0
        assert_same_rows(work / "parts", work / "whole")
        assert not list(work.glob("parts.*"))


def test_parts_of_a_file_without_header_and_last_line_end(here, work, classifier):
    (work / "bare.tsv").write_text("1\t头痛甲\n0\t今天好\n1\t头痛", encoding="utf-8")
    arguments = ["predict", "bare.tsv", "--run", str(classifier), "-q", "--output"]
    assert here([*arguments, "bare.out"]) == 0
    for index in range(2):
        assert here([*arguments, "bare.parts", "--shard", f"{index}/2"]) == 0
    assert here(["merge", "bare.parts", "--remove"]) == 0
    assert_same_rows(work / "bare.parts", work / "bare.out")


def break_off(monkeypatch, here, arguments):
    """Run the command, and interrupt it when it is about to predict."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("kbert_cli.prediction.predict_rows", interrupted)
        assert here([*arguments, "-q"]) == 130


def test_parts_of_something_else_are_refused(here, work, classifier, capsys, monkeypatch):
    common = ["predict", "classification.tsv", "--run", str(classifier), "--output", "other"]
    break_off(monkeypatch, here, common)
    for change in (["--format", "jsonl"], ["--input-format", "csv"]):
        assert here([*common, *change, "--resume"]) == 1
        assert "begun with another input, run or format" in capsys.readouterr().err
    (work / "own.tsv.part").write_bytes((work / "classification.tsv").read_bytes())
    own = ["predict", "own.tsv.part", "--run", str(classifier), "--output", "own.tsv"]
    assert here(own) == 1
    assert "would be written over" in capsys.readouterr().err
    parts = ["predict", "classification.tsv", "--run", str(classifier), "-q", "--output", "m"]
    for shard in ("0/2", "1/2"):
        assert here([*parts, "--shard", shard]) == 0
    first = work / "m.shard-00000-of-00002"
    whole = first.read_bytes()
    first.write_bytes(whole[:50])
    (work / "m.shard-00000-of-00002~").write_text("")
    assert here(["merge", "m"]) == 1
    assert "is not as it was written" in capsys.readouterr().err
    first.write_bytes(whole)
    (work / "longer.tsv").write_bytes((work / "classification.tsv").read_bytes() * 2)
    parts[1] = "longer.tsv"
    assert here([*parts, "--shard", "0/2"]) == 0
    assert here(["merge", "m"]) == 1
    assert "different runs, formats, inputs or options" in capsys.readouterr().err


def test_devices_and_links_stay_what_they_are(here, work, classifier):
    command = ["predict", "classification.tsv", "--run", str(classifier), "-q", "--output"]
    (work / "sink").symlink_to("/dev/null")
    assert here([*command, "sink"]) == 0
    assert (work / "sink").is_symlink()
    assert (work / "sink").is_char_device()
    (work / "target.tsv").write_text("")
    (work / "link.tsv").symlink_to("target.tsv")
    assert here([*command, "link.tsv"]) == 0
    assert (work / "link.tsv").is_symlink()
    assert len((work / "target.tsv").read_text("utf-8").splitlines()) == 25


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--weight-decay", "inf"], "--weight-decay is inf"),
        (["--epochs", "inf"], "--epochs is inf"),
        (["--seed", "99999999999"], "below 2^32"),
    ],
)
def test_numbers_that_are_none_are_refused(here, capsys, options, message):
    command = ["finetune", "--task", "ner", "--kg", "none", *options]
    assert here(command) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("kept", [0.0, 0.02, 0.5, 0.97])
def test_a_broken_output_is_gone_on_with(here, work, classifier, capsys, kept, monkeypatch):
    arguments = ["predict", "classification.tsv", "--run", str(classifier), "--output", "broken"]
    assert here([*arguments, "-q"]) == 0
    whole = (work / "broken").read_bytes()
    (work / "broken").unlink()
    break_off(monkeypatch, here, arguments)
    (work / "broken.part").write_bytes(whole[: int(len(whole) * kept)])
    assert here([*arguments, "--resume"]) == 0
    (work / "whole").write_bytes(whole)
    assert_same_rows(work / "broken", work / "whole")
    errors = capsys.readouterr().err
    assert ("rows are there already" in errors) == (kept >= 0.5)
    assert here([*arguments, "--resume"]) == 1
    assert "broken is complete" in capsys.readouterr().err
    (work / "broken").unlink()
    assert here([*arguments, "--resume", "-q"]) == 0
    assert_same_rows(work / "broken", work / "whole")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--shard", "2/2", "--output", "x"], "K from 0 to N - 1"),
        (["--shard", "a", "--output", "x"], "K from 0 to N - 1"),
        (["--shard", "auto", "--output", "x"], "needs RANK and WORLD_SIZE"),
        (["--shard", "0/2"], "need --output"),
        (["--resume"], "need --output"),
    ],
)
def test_wrong_parts_are_named(here, classifier, capsys, options, message):
    assert here(["predict", "classification.tsv", "--run", str(classifier), *options]) == 1
    assert message in capsys.readouterr().err


def test_the_launchers_environment_names_the_part():
    assert parse_shard("auto", {"RANK": "3", "WORLD_SIZE": "8"}) == Shard(3, 8)
    slurm = {"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_COUNT": "2"}
    assert parse_shard("auto", slurm) == Shard(1, 2)
