"""The cases from public bug reports, each through the real command; they skip without the files."""

import collections
import json
import os
import subprocess
import sys

import pytest

from .conftest import SHARED, run_kbert

CASES = SHARED / "cases"
pytestmark = [
    pytest.mark.skipif(not CASES.is_dir(), reason=f"no cases at {CASES}"),
    pytest.mark.slow,
]
TEXTS = [
    ("1", "这家小馆的汤面很香"),
    ("1", "客房干净，前台和气"),
    ("0", "屏幕碎了，客服不理"),
    ("0", "等了两小时还没上菜"),
]


def case(number):
    return next(CASES.glob(f"{number:02d}_*"))


def ok(*arguments, cwd, **options):
    done = run_kbert(*arguments, cwd=cwd, **options)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done


def fails(*arguments, cwd, **options):
    done = run_kbert(*arguments, cwd=cwd, **options)
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stderr
    assert "bug of kbert" not in done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder with a run of classification, of pairs and of ner."""
    folder = tmp_path_factory.mktemp("cases")
    rows = "".join(f"{label}\t{text}{n}\n" for n in range(6) for label, text in TEXTS)
    (folder / "cls.tsv").write_text("label\ttext_a\n" + rows, encoding="utf-8")
    train(folder, "classification", folder / "cls.tsv", "run-cls")
    pairs = (case(3) / "pair_train.tsv").read_text(encoding="utf-8").splitlines()
    (folder / "pairs.tsv").write_text("\n".join(pairs + pairs[1:] * 4) + "\n", encoding="utf-8")
    train(folder, "classification", folder / "pairs.tsv", "run-pairs")
    train(folder, "ner", case(27) / "ner.txt", "run-ner", kg=case(27) / "kg.spo")
    return folder


def train(folder, task, data, output, *more, kg="none"):
    splits = ("--train", data, "--dev", data, "--test", data)
    options = ("--epochs", "1", "--batch-size", "4", "--output", output, "-q", "--json")
    done = ok("finetune", "--task", task, "--kg", kg, *splits, *options, *more, cwd=folder)
    return json.loads(done.stdout)


def check(path, task, *more, cwd):
    done = run_kbert("corpus", "check", path, "--task", task, "--json", *more, cwd=cwd)
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout)


def predict(run, path, *more, cwd):
    done = ok("predict", path, "--run", run, "--format", "jsonl", "-q", *more, cwd=cwd)
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def tree(text, *more, cwd, **options):
    done = ok("inspect-tree", text, "--format", "json", "-q", *more, cwd=cwd, **options)
    return json.loads(done.stdout)


def test_01_bom(work, tmp_path):
    folder = case(1)
    with_mark = check(folder / "train_bom.tsv", "classification", cwd=tmp_path)
    without = check(folder / "train_plain.tsv", "classification", cwd=tmp_path)
    assert with_mark | {"path": ""} == without | {"path": ""}
    assert (with_mark["rows"], set(with_mark["labels"])) == (16, {"0", "1"})
    built = ok("kg", "build", folder / "kg_bom.spo", "--output", "g", "--json", cwd=tmp_path)
    assert json.loads(built.stdout)["triples"] == 8
    found = tree("这家小馆的汤面很香", "--kg", folder / "kg_bom.spo", cwd=tmp_path)
    assert "食物" in [branch["object"] for branch in found["branches"]]
    rows, _ = predict("run-cls", folder / "test_nolabel_bom.tsv", cwd=work)
    assert rows
    assert "\ufeff" not in json.dumps(rows, ensure_ascii=False)
    conll = check(folder / "ner_bom.txt", "ner", cwd=tmp_path)
    assert (conll["faults"], sum(conll["labels"].values())) == ([], 9)


def test_03_empty_field(work):
    rows, errors = predict("run-pairs", case(3) / "pair_test_nolabel.tsv", cwd=work)
    assert len(rows) == 6
    assert [row["text_b"] for row in rows][1] == ""
    assert "rows with no text" in errors or all(row["text_a"] or row["text_b"] for row in rows)


def test_04_quotes(work, tmp_path):
    folder = case(4)
    source = (folder / "test_nolabel.tsv").read_text(encoding="utf-8").splitlines()
    rows, _ = predict("run-cls", folder / "test_nolabel.tsv", cwd=work)
    assert len(rows) == 12
    assert [row["text_a"] for row in rows] == source[1:]
    reviews, _ = predict("run-cls", folder / "reviews.csv", cwd=work)
    assert len(reviews) == 4
    assert any("\n" in row["review"] for row in reviews)
    built = ok("kg", "build", folder / "kg_quotes.spo", "--output", "g", "--json", cwd=tmp_path)
    assert json.loads(built.stdout)["triples"] == 4


def test_06_predict_without_label(work):
    names = ("with_label.tsv", "header_only_text.tsv", "extra_columns.tsv", "no_header.txt")
    answers = [predict("run-cls", case(6) / name, cwd=work)[0] for name in names]
    assert len({tuple(row["prediction"] for row in rows) for rows in answers}) == 1
    assert [len(rows) for rows in answers] == [4] * 4
    names = ("ner_nolabel.tsv", "ner_raw.txt")
    tags = [
        [row["prediction"] for row in predict("run-ner", case(6) / name, cwd=work)[0]]
        for name in names
    ]
    assert tags[0] == tags[1]


def test_07_unseen_labels(tmp_path):
    for task, named, kind in (
        ("classification", ("cls_train.tsv", "cls_dev.tsv"), ("科技", "cls_dev.tsv:4")),
        ("ner", ("ner_train.txt", "ner_dev.txt"), ("B-ORG, I-ORG", "ner_dev.txt:")),
    ):
        train_file, dev = (case(7) / name for name in named)
        errors = fails(
            *("finetune", "--task", task, "--kg", "none", "--train", train_file, "--dev", dev),
            cwd=tmp_path,
        )
        assert all(part in errors for part in kind)


def test_08_single_class(tmp_path):
    for task, data, label in (
        ("classification", "train.tsv", "'1'"),
        ("ner", "ner_all_O.txt", "'O'"),
    ):
        errors = fails(
            *("finetune", "--task", task, "--kg", "none", "--train", case(8) / data), cwd=tmp_path
        )
        assert f"a single label, {label}" in errors


def test_10_over_long(work, tmp_path):
    rows, _ = predict("run-ner", case(10) / "ner_long_raw.txt", cwd=work)
    lengths = [len(row["prediction"].split(" ")) for row in rows]
    assert lengths == [len(row["text"]) for row in rows] == [11, 670, 2500]
    errors = fails(
        *("finetune", "--task", "ner", "--kg", "none", "--train", case(10) / "ner_long.txt"),
        *("--max-length", "600"),
        cwd=tmp_path,
    )
    assert "max_position_embeddings=512" in errors


def test_11_branches_go_first(tmp_path):
    for text in (case(11) / "text.txt").read_text(encoding="utf-8").splitlines():
        found = tree(
            *(text, "--kg", case(11) / "kg_many.spo", "--max-length", "64", "--max-entities", "5"),
            cwd=tmp_path,
        )
        trunk = [t for t, b in zip(found["tokens"], found["branch_ids"], strict=True) if not b]
        kept = "".join(trunk[1:-1])
        assert text.startswith(kept)
        assert found["dropped_branches"]
        if len(text) <= 62:
            assert kept == text
        else:
            assert not found["branches"]


def test_12_order(tmp_path):
    text = (case(12) / "text.txt").read_text(encoding="utf-8").splitlines()[0]
    found = [
        tree(text, "--kg", case(12) / "kg.spo", cwd=tmp_path, PYTHONHASHSEED=str(seed))
        for seed in range(5)
    ]
    assert all(one == found[0] for one in found)
    assert [branch["object"] for branch in found[0]["branches"]][:2] == ["水果", "公司"]


def test_13_bad_columns(tmp_path):
    done = ok("kg", "check", case(13) / "kg_bad.spo", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)[0]
    lines = [one["line"] for one in found["first_rejected"]]
    assert (found["triples"], lines) == (5, [1, 2, 4, 7, 8, 9, 10, 15, 16, 17])
    fails("kg", "check", case(13) / "kg_bad.spo", "--strict", cwd=tmp_path)
    fails("kg", "check", case(13) / "kg_all_bad.spo", cwd=tmp_path)
    for name, count in (("kg_first_line_bad.spo", 1), ("kg_header_cn.csv", 2)):
        built = ok("kg", "build", case(13) / name, "--output", name, "--json", cwd=tmp_path)
        assert json.loads(built.stdout)["triples"] == count


def test_14_duplicates(tmp_path):
    folder = case(14)
    merged = ok(
        *("kg", "build", folder / "kg_a.spo", folder / "kg_b.spo", "--output", "g", "--json"),
        cwd=tmp_path,
    )
    assert json.loads(merged.stdout)["triples"] == 9
    text = (folder / "text.txt").read_text(encoding="utf-8").strip()
    found = tree(text, "--kg", folder / "kg_dup.spo", "--max-entities", "2", cwd=tmp_path)
    apple = [b["object"] for b in found["branches"] if b["subject"] == "苹果"]
    assert apple == ["水果", "红色"]


def test_15_subject_shapes(tmp_path):
    lines = (case(15) / "text.txt").read_text(encoding="utf-8").splitlines()
    for line in filter(None, lines):
        found = tree(line, "--kg", case(15) / "kg.spo", "--min-mention-length", "1", cwd=tmp_path)
        assert found["branches"], line


def test_17_invisible_characters(work, tmp_path):
    raw = (case(17) / "ner_raw.txt").read_text(encoding="utf-8").split("\n")
    rows, _ = predict("run-ner", case(17) / "ner_raw.txt", cwd=work)
    for row, text in zip(rows, raw, strict=False):
        assert len(row["prediction"].split(" ")) == len(text)
        assert all(text[e["start"] : e["end"]] == e["text"] for e in row["entities"])
    assert train(tmp_path, "ner", case(17) / "ner.txt", "run")["test"]["entities"] == 9
    lists = check(case(17) / "ner.jsonl", "ner", cwd=tmp_path)
    assert sum(lists["labels"].values()) == 9
    assert len(predict("run-cls", case(17) / "cls.tsv", cwd=work)[0]) >= 4


def test_19_latin_and_digits(work, tmp_path):
    ok(
        *("corpus", "convert", case(19) / "train.jsonl", "bio.txt", "--task", "ner", "--to"),
        *("conll", "-q"),
        cwd=tmp_path,
    )
    ours = (tmp_path / "bio.txt").read_text(encoding="utf-8").split("\n\n")
    expected = (case(19) / "train_char.txt").read_text(encoding="utf-8").split("\n\n")
    characters = [[line.split("\t")[0] for line in block.splitlines()] for block in ours]
    assert (
        characters[:5]
        == [[line.split("\t")[0] for line in block.splitlines()] for block in expected][:5]
    )
    words = check(case(19) / "train_word.tsv", "ner", cwd=tmp_path)
    assert words["faults"] == []
    rows, _ = predict("run-ner", case(19) / "raw.txt", cwd=work)
    for row in rows:
        assert all(row["text"][e["start"] : e["end"]] == e["text"] for e in row["entities"])


def test_20_blanks_as_tokens(work, tmp_path):
    spaces = check(case(20) / "ner_space.txt", "ner", cwd=tmp_path)
    assert [line for line, _ in spaces["faults"]] == [4, 6, 12, 15, 17]
    tabs = check(case(20) / "ner_tab.txt", "ner", cwd=tmp_path)
    assert (tabs["faults"], tabs["length_largest"]) == ([], 9)
    table = check(case(20) / "ner_kbert.tsv", "ner", cwd=tmp_path)
    assert [line for line, _ in table["faults"]] == [2, 3, 4]
    assert "tokens but" in table["faults"][1][1]
    raw = (case(20) / "ner_raw.txt").read_text(encoding="utf-8").split("\n")
    rows, _ = predict("run-ner", case(20) / "ner_raw.txt", cwd=work)
    for row, text in zip(rows, raw, strict=False):
        assert row["text"] == text


def test_21_blanks_around_labels(tmp_path):
    found = check(case(21) / "train.tsv", "classification", cwd=tmp_path)
    assert set(found["labels"]) == {"体育", "News Sports", "财经"}
    assert any("blanks around labels removed" in note for note in found["notes"])
    numbers = check(case(21) / "train_int.tsv", "classification", cwd=tmp_path)
    assert set(numbers["labels"]) == {"1", "1.0", "01", "0", "-1"}
    assert any("differ in form only" in note for note in numbers["notes"])


def test_23_tag_schemes(tmp_path):
    for name, scheme in (
        ("bio", "BIO"),
        ("bmes", "BMES"),
        ("bioes", "BIOES"),
        ("bio_underscore", "BIO"),
        ("bio_lower", "BIO"),
        ("type_with_dash", "BIO"),
        ("io_no_B", "IO"),
    ):
        found = check(case(23) / f"{name}.txt", "ner", cwd=tmp_path)
        assert (found["scheme"], sum(found["labels"].values())) == (scheme, 9), name
    assert any("neighbours of one type" in note for note in found["notes"])
    broken = check(case(23) / "broken.txt", "ner", cwd=tmp_path)
    assert not broken["clean"]
    assert [line for line, _ in broken["odd_tags"]][:2] == [1, 2]


def test_25_encodings(work, tmp_path):
    folder = case(25)
    expected = check(folder / "train_utf8.tsv", "classification", cwd=tmp_path)
    for name, encoding in (("gbk", "gbk"), ("gb18030", "gb18030"), ("utf16", "utf-16")):
        found = check(
            folder / f"train_{name}.tsv", "classification", "--encoding", encoding, cwd=tmp_path
        )
        assert found["labels"] == expected["labels"]
    errors = fails(
        *("finetune", "--task", "classification", "--kg", "none"),
        *("--train", folder / "train_gbk.tsv"),
        cwd=tmp_path,
    )
    assert "train_gbk.tsv:2: not UTF-8" in errors
    assert "--encoding gb18030" in errors
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
    source = case(1) / "test_nolabel_bom.tsv"
    ok("predict", source, "--run", "run-cls", "--output", "o.tsv", cwd=work, **plain)
    assert "prediction" in (work / "o.tsv").read_text(encoding="utf-8")
    for name in ("kg_gbk.spo", "kg_utf8.spo"):
        encoding = ("--encoding", "gbk") if "gbk" in name else ()
        ok("kg", "build", folder / name, "--output", name, *encoding, cwd=tmp_path)


def test_26_traditional(tmp_path):
    source = case(26) / "kg_simplified.spo"
    assert tree("發熱頭痛三天", "--kg", source, cwd=tmp_path)["branches"] == []
    pytest.importorskip("opencc")
    ok("kg", "build", source, "--simplified", "--output", "g", cwd=tmp_path)
    found = tree("發熱頭痛三天", "--kg", "g", cwd=tmp_path)
    assert len(found["branches"]) == 2
    assert found["text"] == "發熱頭痛三天"
    trunk = [t for t, b in zip(found["tokens"], found["branch_ids"], strict=True) if not b]
    assert "".join(trunk[1:-1]) == "發熱頭痛三天"


def test_27_output_without_branches(work):
    lines = (case(27) / "raw.txt").read_text(encoding="utf-8").splitlines()
    rows, _ = predict("run-ner", case(27) / "raw.txt", cwd=work)
    assert [row["text"] for row in rows] == lines
    for row, line in zip(rows, lines, strict=True):
        assert len(row["prediction"].split(" ")) == len(line)
        assert all(entity["text"] in line for entity in row["entities"])
    assert "ENT" not in json.dumps(rows)


def test_28_no_graph_is_plain_bert(tmp_path):
    data = tmp_path / "two.tsv"
    rows = (case(28) / "train.tsv").read_text(encoding="utf-8")
    data.write_text(rows + "0\t等了两小时\n0\t屏幕碎了\n", encoding="utf-8")
    figures = []
    for name in ("none", "none.spo", "unrelated.spo", "only_comments.spo"):
        kg = name if name == "none" else case(28) / name
        train(tmp_path, "classification", data, f"run-{name}", "--seed", "3", kg=kg)
        rows, _ = predict(f"run-{name}", case(28) / "text.txt", cwd=tmp_path)
        figures.append([(row["prediction"], row["score"]) for row in rows])
    assert all(one == figures[0] for one in figures)


def test_31_broken_checkpoints(work, tmp_path):
    for name in ("truncated.pt", "zero.pt", "text_not_model.pt", "does_not_exist"):
        place = case(31) / name
        errors = fails("predict", work / "cls.tsv", "--run", place, cwd=tmp_path)
        assert "is no run folder" in errors
        assert len(errors.strip().splitlines()) <= 3


def test_34_nested_entities(tmp_path):
    done = ok(
        *("corpus", "convert", case(34) / "nested.jsonl", "n.txt", "--task", "ner", "--to"),
        "conll",
        cwd=tmp_path,
    )
    assert "3 entities kept, 3 left out" in done.stderr
    bad = check(case(34) / "bad_offsets.jsonl", "ner", cwd=tmp_path)
    assert [line for line, _ in bad["faults"]] == [1, 2, 3]
    style = check(case(34) / "cmeee_style.txt", "ner", cwd=tmp_path)
    assert (style["format"], style["rows"], style["nested"]) == ("cmeee", 3, 2)


def test_36_memory(tmp_path):
    script = case(36) / "make_big.py"
    subprocess.run([sys.executable, script, "20000", "200000"], cwd=tmp_path, check=True)
    measured = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    (tmp_path / "dev.tsv").write_bytes(b"".join((tmp_path / "big.tsv").open("rb").readlines()[:60]))
    command = (
        *("-m", "kbert_cli", "finetune", "--task", "classification", "--kg", "big.spo", "--train"),
        *("big.tsv", "--dev", "dev.tsv", "--epochs", "0.01", "--output", "run", "-q"),
    )
    done = subprocess.run(
        [sys.executable, "-c", measured, sys.executable, *command],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.splitlines()[-1]) < 2_500_000


def test_every_case_has_its_test():
    numbers = {path.name[:2] for path in CASES.iterdir() if path.is_dir()}
    tested = collections.Counter(name[5:7] for name in globals() if name.startswith("test_"))
    assert numbers <= set(tested)
