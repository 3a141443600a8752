"""Files as they come from spreadsheets, pipes, joined exports and other people's tools."""

from __future__ import annotations

import csv
import io
import json
import os
import threading

import pytest

from kbert_cli.config import ReadConfig
from kbert_cli.corpus.columns import CLASSIFICATION, NER, QA, READING
from kbert_cli.corpus.convert import convert_file
from kbert_cli.corpus.reader import (
    open_unlabelled,
    read_questions,
    read_rows,
    read_split,
    unlabelled_examples,
)
from kbert_cli.corpus.tagged import read_tagged_file
from kbert_cli.errors import KbertError
from kbert_cli.shards import merge

from .conftest import run_kbert


def lines_of(*records):
    return "".join(
        (one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)) + "\n"
        for one in records
    )


def rows_of(path, names=CLASSIFICATION, **options):
    """Labels and texts, and line → fault."""
    _, split, faults = read_rows(path, names, None, ReadConfig(**options))
    return [(one.label, one.texts) for one in split.examples], dict(faults)


def texts_of(path, names=NER, **options):
    table = open_unlabelled(path, names, reading=ReadConfig(**options))
    return [(row, example.texts[0]) for row, example in unlabelled_examples(table, names)]


def test_a_named_pipe_is_read_once_and_whole(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = "label\ttext_a\n" + "".join(f"{n % 2}\t病人第{n}天头痛\n" for n in range(6000))
    feeder = threading.Thread(target=lambda: pipe.write_text(content, encoding="utf-8"))
    feeder.start()
    found, faults = rows_of(pipe)
    feeder.join()
    assert (len(found), faults) == (6000, {})
    assert found[-1] == ("1", ("病人第5999天头痛",))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_return_inside_a_cell_is_no_line_end(write, encoding):
    path = write("a.tsv", "text\r\n甲\r乙患者\r\n丙\r\n".encode(encoding))
    read = texts_of(path, CLASSIFICATION, encoding=encoding)
    assert [text for _, text in read] == ["甲\r乙患者", "丙"]


def test_files_of_lone_returns_are_not_cut_in_shards(write):
    path = write("a.tsv", "text\r甲\r乙\r")
    with pytest.raises(KbertError, match="lines that end with CR"):
        open_unlabelled(path, CLASSIFICATION, span=(0, 5))


CELLS = [("1", "a\r\nb"), ("0", "c\rd"), ("1", 'e"\n,f'), ("0", "长" * 140_000)]


def test_line_ends_inside_csv_cells_stay(write, tmp_path):
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([("label", "text_a"), *CELLS])
    path = write("a.csv", out.getvalue())
    assert rows_of(path)[0] == [(label, (text,)) for label, text in CELLS]
    for name in ("b.csv", "b.jsonl"):
        done = convert_file(path, tmp_path / name, CLASSIFICATION, ReadConfig())
        assert done.losses == []
    with open(tmp_path / "b.csv", encoding="utf-8", newline="") as stream:
        csv.field_size_limit(2**31 - 1)
        assert [tuple(row) for row in csv.reader(stream)] == [("label", "text_a"), *CELLS]


def test_predicted_csv_has_its_cells_as_they_were(kbert_here, write, finished):
    given = 'label,text_a\r\n1,"a\r\nb"\r\n0,"c\rd"\r\n'
    write("a.csv", given)
    done = kbert_here("predict", "a.csv", "--run", finished / "run", "-q", "--output", "o.csv")
    assert done.returncode == 0, done.stderr
    with open(write("keep", "").parent / "o.csv", encoding="utf-8", newline="") as stream:
        back = list(csv.reader(stream))
    assert [row[:2] for row in back] == [["label", "text_a"], ["1", "a\r\nb"], ["0", "c\rd"]]


def test_a_torn_row_of_csv_is_written_again(finished, tmp_path):
    text = "text\n" + "".join(f'"病人{n}\n头痛"\n' for n in range(40))
    (tmp_path / "in.csv").write_text(text, encoding="utf-8")
    command = ("predict", "in.csv", "--run", finished / "run", "-q", "--output", "out.csv")
    assert run_kbert(*command, cwd=tmp_path).returncode == 0
    whole = (tmp_path / "out.csv").read_bytes()
    facts = tmp_path / "out.csv.part.json"
    (tmp_path / "out.csv").unlink()
    # What a full disk leaves: a cell that ends within its quotation marks.
    broken = run_kbert(*command[:-1], "/dev/full", cwd=tmp_path)
    assert broken.returncode == 1
    (tmp_path / "out.csv.part").write_bytes(whole[: whole.index("人20\n".encode()) + 5])
    from kbert_cli.checkpoint import fingerprint
    from kbert_cli.shards import identity

    facts.write_text(
        json.dumps(
            {
                "input": identity(tmp_path / "in.csv"),
                "run": str((finished / "run").resolve()),
                "weights": fingerprint(finished / "run"),
                "reading": {"encoding": "utf-8"},
                "format": "csv",
                "header": True,
            }
        ),
        encoding="utf-8",
    )
    done = run_kbert(*command, "--resume", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.csv").read_bytes() == whole


def test_parts_made_with_other_options_are_not_joined(kbert_here, write, finished, tmp_path):
    write("t.tsv", "text\ttext_a\n" + "甲\t乙\n" * 6)
    common = ("predict", "t.tsv", "--run", finished / "run", "-q", "--output", "o.tsv")
    for number, field in enumerate(("text", "text_a")):
        done = kbert_here(*common, "--shard", f"{number}/2", "--text-field", field)
        assert done.returncode == 0, done.stderr
    with pytest.raises(KbertError, match="different runs, formats, inputs or options"):
        merge(str(tmp_path / "o.tsv"))


def test_standard_input_is_not_gone_on_with(kbert_here, finished):
    done = kbert_here("predict", "-", "--run", finished / "run", "--output", "o", "--resume")
    assert (done.returncode, "nobody can tell" in done.stderr) == (1, True)


def test_a_missing_file_is_told_before_the_model_is_loaded(kbert_here, tmp_path):
    for command in ("predict", "evaluate"):
        done = kbert_here(command, "nowhere.tsv", "--run", tmp_path / "no run at all")
        assert "cannot read nowhere.tsv" in done.stderr


MARKED_UP = "患者头痛三天\n\n<p>高血压病史十年</p>\n参见[指南](第3章)\n今天天气很好\n咳嗽\n"


def test_texts_to_predict_keep_their_brackets_and_blank_lines(write):
    read = texts_of(write("p.txt", MARKED_UP))
    assert [text for _, text in read] == MARKED_UP.split("\n")[:-1]
    marked = write("m.txt", "[头痛](X)三天\n\n[发热](X)\n")
    assert [text for _, text in texts_of(marked)] == ["头痛三天", "", "发热"]


def test_json_lines_are_told_by_their_name_too(write):
    path = write("p.jsonl", '# exported\n{"text": "患者头痛三天"}\n{"text": "高血压"}\n')
    assert [text for row, text in texts_of(path) if not row.fault] == ["患者头痛三天", "高血压"]


@pytest.mark.parametrize("begin", ["[{", "[ {", "[\n{", "  [\n\n {"])
def test_json_arrays_are_no_texts(write, begin):
    path = write("p.json", begin + '"text": "患者头痛三天"}]\n')
    with pytest.raises(KbertError, match="JSON array"):
        texts_of(path, CLASSIFICATION)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": "甲", "text": "乙", "label": "1"}', "the field 'text' is there twice"),
        ('{"text": "甲", "label": NaN}', "NaN is no value of JSON"),
        ('{"text": "甲", "label": -Infinity}', "-Infinity is no value of JSON"),
        ('{"text": "甲", "label": ' + "9" * 5000 + "}", "no JSON"),
    ],
)
def test_objects_that_json_does_not_allow_are_named(write, line, reason):
    good = '{"text": "好", "label": "1"}'
    found, faults = rows_of(write("a.jsonl", lines_of(good, line, good)))
    assert (len(found), list(faults)) == (2, [2])
    assert reason in faults[2]


def test_codes_keep_their_digits_and_weibos_places_go(write, tmp_path):
    codes = write("codes.txt", "T3\tB-L\nT4\tB-L\nB2\tB-L\nK1\tO\n\n")
    assert read_tagged_file(codes, ReadConfig()).examples[0].texts == ("T3T4B2K1",)
    word = "".join(f"{char}{at}\tO\n" for at, char in enumerate("一二三四五六七八九十百千"))
    weibo = write("weibo.txt", word + "\n好0\tO\n")
    assert read_tagged_file(weibo, ReadConfig()).examples[0].texts == ("一二三四五六七八九十百千",)
    done = convert_file(weibo, tmp_path / "o.jsonl", NER, ReadConfig(), form="entities")
    assert done.losses == ["other columns and fields: the numbers of characters"]


@pytest.mark.parametrize(
    ("tags", "odd"),
    [
        ("B-X B-X E-X", "B-X behind an entity X that has no end"),
        ("B-X S-Y O", "S-Y behind an entity X that has no end"),
        ("B-X M-X I-X", "I-X in tags that are BMES"),
        ("B-X L-X S-X", "S-X in tags that are BILOU"),
    ],
)
def test_tags_that_break_their_scheme_are_named(write, tags, odd):
    lines = "".join(f"字\t{tag}\n" for tag in tags.split())
    found = read_tagged_file(write("a.txt", lines), ReadConfig())
    assert odd in [reason for _, reason in found.odd_tags]


def test_brat_marks_that_are_none_are_named_and_their_rows_left_out(write):
    write("a.txt", "患者头痛\n高血压好\n")
    marks = "T1\tX 2 3;3 4\t头痛\nT2\tX 0 2\t患者\n T3\tX 5 8\t高血压\nt4\tX 5 8\nR1\tr T1 T2\n"
    write("a.ann", marks)
    found = read_tagged_file(write("a.txt", "患者头痛\n高血压好\n"), ReadConfig())
    assert [one.texts for one in found.examples] == [("高血压好",)]
    reasons = [reason for _, reason in found.faults]
    assert [reason.split(": ")[0] for reason in reasons] == ["a.ann:1", "a.ann:3", "a.ann:4"]
    write("m.ann", marks)
    table = write("m.tsv", "text_a\tlabel\n甲 乙\tB-X O\n")
    assert read_tagged_file(table, ReadConfig()).format == "tsv"


def test_fields_are_not_named_where_there_are_none(write):
    path = write("a.jsonl", lines_of({"text": "甲", "content": "乙", "entities": []}))
    options = ReadConfig(text_field="content")
    for read in (read_tagged_file, lambda *given: open_unlabelled(given[0], NER, reading=given[1])):
        with pytest.raises(KbertError, match="which has no such fields"):
            read(path, options)
    with pytest.raises(KbertError, match=r"--classes c\.txt is for classes"):
        read_tagged_file(path, ReadConfig(classes="c.txt"))


@pytest.mark.parametrize(
    ("header", "options", "reason"),
    [
        ("text\ttext\tlabel", {"text_field": "text"}, "which the header has twice"),
        ("text\tlabel\tlabel", {"label_field": "label"}, "which the header has twice"),
        ("text\tlabel\tx", {"text_field": "label", "label_field": "label"}, "two roles"),
        ("text\tlabel\tx", {"text_field": "text", "text_b_field": "text"}, "two roles"),
    ],
)
def test_a_column_has_one_name_and_one_role(write, header, options, reason):
    with pytest.raises(KbertError, match=reason):
        rows_of(write("a.tsv", header + "\n甲\t乙\t1\n"), **options)


def test_headers_inside_a_file_and_before_it(write):
    joined = write("a.tsv", "label\ttext_a\n1\t甲\nlabel\ttext_a\n0\t乙\n")
    assert rows_of(joined) == ([("1", ("甲",)), ("0", ("乙",))], {3: "the header once more"})
    with pytest.raises(KbertError, match=r"b\.csv:1: a spreadsheet's line"):
        rows_of(write("b.csv", "sep=,\nlabel,text_a\n1,甲\n"))
    blank = write("c.tsv", "\n\nlabel\ttext_a\n1\t甲\n")
    assert rows_of(blank) == ([("1", ("甲",))], {})
    read = texts_of(blank, CLASSIFICATION)
    assert [text for _, text in read] == ["", "", "甲"]


@pytest.mark.parametrize(
    ("name", "content", "sign"),
    [
        ("a.csv", "text\tid\n甲,乙\t1\n", "tab"),
        ("a.csv", "text;id\n甲;1\n", "semicolon"),
        ("a.tsv", "id,text\n1,甲\n", "comma"),
    ],
)
def test_a_header_with_other_separators_is_no_text(write, name, content, sign):
    with pytest.raises(KbertError, match=f"a header whose columns a {sign} parts"):
        texts_of(write(name, content), CLASSIFICATION)


def test_byte_order_marks_inside_a_file_are_named(write):
    cmeee = "患者头痛|||2    3    X|||\n\ufeff患者头痛|||2    3    X|||\n"
    conll = "患\tO\n\n\ufeff者\tB-X\n"
    for content, line in ((cmeee, 2), (conll, 3)):
        found = read_tagged_file(write("a.txt", content), ReadConfig())
        assert len(found.examples) == 1
        assert [at for at, reason in found.faults if "byte order mark" in reason] == [line]


def test_convert_names_inner_fields_that_it_leaves_out(write, tmp_path):
    question = {"id": None, "question": "问", "answers": [{"text": "乙", "by": "me"}], "more": 1}
    passage = {"context_id": 1, "context": "甲乙", "qas": [question]}
    data = {"version": "2.0", "data": [{"title": "t", "paragraphs": [passage]}]}
    path = write("s.json", json.dumps(data))
    done = convert_file(path, tmp_path / "o.json", READING, ReadConfig())
    (lost,) = done.losses
    for name in ("version", "title", "context_id", "by of answers", "more"):
        assert name in lost
    assert read_split(path, READING).examples[0].group == "1"
    entity = {"start": 0, "end": 1, "type": "X", "norm": "R51"}
    ner = write("e.jsonl", lines_of({"text": "甲", "entities": [entity]}))
    done = convert_file(ner, tmp_path / "o.jsonl", NER, ReadConfig(), form="entities")
    assert done.losses == ["other columns and fields: norm of entities"]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"answers": ["乙", "丁"]}, "does not hold the answer '丁'"),
        ({"answers": ["乙"], "answer": "甲"}, "'answer' and 'answers' are there both"),
        ({"answers": ["乙"], "is_impossible": True}, "is_impossible is true"),
        ({"answers": {"text": ["乙"], "answer_start": 1}}, "answer_start is a number, not a list"),
    ],
)
def test_answers_that_contradict_themselves_are_named(write, given, reason):
    good = {"id": "a", "question": "问", "answers": ["乙"]}
    asked = [{"context": "无问题"}, {"context": "甲乙", "qas": [good, {**good, **given}]}]
    _, split, faults = read_questions(write("s.json", json.dumps(asked)), ReadConfig())
    ((_, fault),) = faults
    assert (len(split.examples), reason in fault) == (1, True), fault


def test_a_broken_first_line_costs_itself_alone(write):
    good = {"question": "问", "context": "甲乙", "answers": ["乙"]}
    path = write("a.jsonl", '{"question": "问", "context": "甲\n' + lines_of(good))
    _, split, faults = read_questions(path, ReadConfig())
    assert (len(split.examples), [line for line, _ in faults]) == (1, [1])
    headless = write("a.tsv", "乙\t[1]问\t甲乙\n乙\t问\t甲乙\n")
    assert len(read_questions(headless, ReadConfig())[1].examples) == 2


def test_tables_take_offsets_as_json_does(write):
    rows = "answer\tquestion\tcontext\tanswer_start\n乙\t问\t甲乙\t-1\n乙\t问\t甲乙\t1.0\n"
    found = read_split(write("a.tsv", rows), READING).examples
    assert [one.answer_starts for one in found] == [(None,), (1,)]


def test_a_label_that_appears_late_does_not_keep_a_row_from_prediction(write):
    many = [{"text": "长" * 500} for _ in range(100)]
    path = write("a.jsonl", lines_of(*many, {"text": "后", "label": "1", "text_b": "乙"}))
    assert [row.fault for row, _ in texts_of(path, CLASSIFICATION)] == [""] * 101


def test_classes_may_have_digits_and_an_encoding(write):
    table = write("a.tsv", "0\t甲\n1\t乙\n01\t丙\n".encode("gbk"))
    classes = write("c.txt", "1 级\n2 级\n".encode("gbk"))
    found, faults = rows_of(table, classes=str(classes), encoding="gbk")
    assert [label for label, _ in found] == ["1 级", "2 级"]
    assert faults == {3: "label '01' is no number from 0 to 1"}


def test_conll_to_predict_keeps_order_and_content(write):
    path = write("a.txt", "患\tO\n者\tO\n头 B-X\n痛\tI-X\n\n三\tO\n天\tO\n")
    read = texts_of(path)
    assert [text for _, text in read] == ["患者头 B-X痛", "三天"]
    assert [bool(row.fault) for row, _ in read] == [True, False]


def test_tables_of_ner_read_alike_in_training_and_prediction(write):
    path = write("a.tsv", "text_a\tlabel\n患 者 CT 检 查\tO O B-X I-X I-X\n")
    trained = read_tagged_file(path, ReadConfig()).examples[0].texts
    assert [(text,) for _, text in texts_of(path)] == [trained] == [("患者CT检查",)]


def test_question_ids_are_trimmed_and_checked(write):
    rows = "label\tquestion\tanswer\tqid\n1\t问\t答\t1\n0\t问\t答\t1 \n"
    _, split, _ = read_rows(write("a.tsv", rows), QA, None, ReadConfig())
    assert [one.group for one in split.examples] == ["1", "1"]
    record = {"label": 1, "question": "问", "answer": "答", "qid": [1]}
    _, faults = rows_of(write("a.jsonl", lines_of(record)), QA)
    assert faults == {1: "the qid is a list, not a text or number"}


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"text": "甲乙", "label": ["O", "O"]}, "the label is a list, not tags"),
        ({"text": "甲乙", "labels": ["O", "O"]}, "an entity is a text"),
        ({"text": "甲乙", "entities": [None]}, "an entity is null"),
        ({"text": "甲乙", "entities": [[0, 1]]}, "an entity has 2 parts"),
    ],
)
def test_other_shapes_of_entities_are_named_in_plain_words(write, record, reason):
    found = read_tagged_file(write("a.jsonl", lines_of(record)), ReadConfig())
    ((line, fault),) = found.faults
    assert (line, reason in fault) == (1, True), fault


def test_one_row_with_another_spelling_costs_itself_alone(write):
    rows = [{"text": "甲", "label": "1"}, {"Text": "乙", "label": "0"}]
    found, faults = rows_of(write("a.jsonl", lines_of(*rows)))
    assert (found, list(faults)) == ([("1", ("甲",))], [2])


@pytest.mark.parametrize("content", ["label\ttext_a\n", ""])
def test_check_fails_where_there_is_nothing(kbert_here, write, content):
    write("a.tsv", content)
    done = kbert_here("corpus", "check", "a.tsv", "--task", "classification")
    assert done.returncode == 1


def test_convert_of_no_example_ends_well(kbert_here, write, tmp_path):
    write("a.tsv", "label\ttext_a\n")
    done = kbert_here("corpus", "convert", "a.tsv", "b.jsonl", "--task", "classification")
    assert (done.returncode, done.stdout) == (0, "b.jsonl: 0 examples as jsonl\n")
    refused = kbert_here(
        *("corpus", "convert", "a.tsv", "-", "--to", "csv"), "--task", "classification"
    )
    assert (refused.returncode, "OUT must be a file" in refused.stderr) == (1, True)
    assert not (tmp_path / "-").exists()


def test_coverage_reads_files_of_ner(kbert_here, write):
    write("a.conll", "患\tO\n头\tB-X\n痛\tI-X\n\n好\tO\n")
    write("g.spo", "头痛\t类别\t症状\n")
    for options in ((), ("--task", "ner"), ("--format", "conll")):
        done = kbert_here("kg", "coverage", "g.spo", "a.conll", "--json", *options)
        found = json.loads(done.stdout)
        assert (found["texts"], found["with_mention"]) == (2, 1)


def test_a_prediction_without_text_says_so(kbert_here, write, finished):
    write("a.csv", "id,text\n1,头痛\n2,\n")
    done = kbert_here("predict", "a.csv", "--run", finished / "run", "-q")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["error"] for row in rows] == ["", "no text: the prediction rests on nothing"]
    assert all(row["prediction"] for row in rows)
