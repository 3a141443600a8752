"""Rows that differ from their neighbours: read right, or named; none is lost or guessed at."""

from __future__ import annotations

import csv
import io
import json

import pytest

from kbert_cli.config import ReadConfig
from kbert_cli.corpus.columns import CLASSIFICATION, NER, QA, READING
from kbert_cli.corpus.convert import convert_file
from kbert_cli.corpus.reader import read_questions, read_rows, read_split
from kbert_cli.corpus.tagged import read_tagged_file
from kbert_cli.errors import KbertError


def lines_of(*records):
    return "".join(
        (one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)) + "\n"
        for one in records
    )


def faults_of(path, names, **options):
    return dict(read_rows(path, names, None, ReadConfig(**options))[2])


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"text": "甲"}, "no list of entities: none of entities, entity"),
        ({"text": "甲", "label": {"X": {"甲": [[0, 0]]}}}, "no list of entities"),
        ({"text": "甲", "entities": None}, '"entities" is null, not a list'),
        ({"text": "甲", "entities": {"X": 1}}, '"entities" is an object, not a list'),
        ({"text": "甲", "entities": "X"}, '"entities" is a text, not a list'),
        ({"text": "甲", "entities": [{"start": 0.5, "end": 1, "type": "X"}]}, "0.5 is no whole"),
        ({"text": "甲", "entities": [{"start": True, "end": 1, "type": "X"}]}, "True is no whole"),
        ({"text": "甲", "entities": [{"start": 0, "end": 1, "type": None}]}, "the type is null"),
        ({"text": "甲", "entities": [{"start": 0, "end": 1}]}, "no 'type'"),
        ({"sentences": "甲", "entities": []}, "no text"),
        ('{"text": "\\ud800", "entities": []}', "half a character"),
    ],
)
def test_an_entities_row_that_lacks_something_is_named(write, record, reason):
    good = {"text": "甲乙", "entities": [{"start": 0, "end": 1.0, "type": "X"}]}
    found = read_tagged_file(write("a.jsonl", lines_of(good, record, good)), ReadConfig())
    assert (found.format, len(found.examples)) == ("entities", 2)
    ((line, fault),) = found.faults
    assert (line, reason in fault) == (2, True), fault
    assert found.examples[0].label == ("B-X", "O")


@pytest.mark.parametrize("record", [{"text": "甲"}, {"text": "甲", "label": None}])
def test_a_cluener_row_without_label_is_named(write, record):
    good = {"text": "甲乙", "label": {"X": {"甲": [[0, 0]]}}}
    found = read_tagged_file(write("a.json", lines_of(record, good)), ReadConfig())
    assert (found.format, len(found.examples)) == ("cluener", 1)
    assert found.faults == [(1, '"label" is not type → entity → [[start, end], …]')]


def test_rows_of_json_lines_need_the_fields_of_the_first(write):
    path = write(
        "a.jsonl",
        lines_of(
            {"label": "1", "text": "甲", "id": 1},
            {"label": "1", "sentence": "乙"},
            {"label": "1", "text": None},
            {"label": "1", "text": ["丙"]},
            {"label": ["1"], "text": "丁"},
            {"text": "戊"},
            "",
            "[1]",
            {"label": 0, "text": 7},
        ),
    )
    form, split, faults = read_rows(path, CLASSIFICATION, None, ReadConfig())
    assert form == "jsonl"
    assert [(one.label, one.texts) for one in split.examples] == [("1", ("甲",)), ("0", ("7",))]
    assert faults == [
        (2, "no field 'text'; there are: label, sentence"),
        (3, "field 'text' is null, not a text"),
        (4, "field 'text' is a list, not a text"),
        (5, "the label is a list, not a text or number"),
        (6, "empty label"),
        (8, "no JSON object: a list"),
    ]
    assert split.unused == ["id"] or set(split.unused) == {"id", "sentence"}


def test_a_role_that_appears_behind_the_first_lines_is_named(write):
    many = [{"label": "1", "text": "长" * 500} for _ in range(100)]
    content = lines_of(*many, {"label": "1", "text": "甲", "text_b": "乙"})
    faults = faults_of(write("a.jsonl", content), CLASSIFICATION)
    assert faults == {101: "field 'text_b', which the first rows lack, would not be read"}


def test_a_quotation_mark_that_is_never_closed_costs_its_row_alone(write):
    content = 'label,text\n1,甲\n0,"乙\n1,丙\n0,丁\n1,"戊"己\n0,庚\n1,"两\n行"\n'
    form, split, faults = read_rows(write("a.csv", content), CLASSIFICATION, None, ReadConfig())
    assert form == "csv"
    assert [(one.line, one.texts[0]) for one in split.examples] == [
        (2, "甲"),
        (4, "丙"),
        (5, "丁"),
        (7, "庚"),
        (8, "两\n行"),
    ]
    assert [line for line, _ in faults] == [3, 6]
    assert "opened here reaches to line 6" in faults[0][1]
    with pytest.raises(KbertError, match=r"h\.csv:1: no CSV"):
        read_rows(write("h.csv", 'label,"text\n1,甲\n'), CLASSIFICATION, None, ReadConfig())


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_text_without_a_byte_order_mark(kbert_here, write, encoding):
    named = encoding[:6]
    write("a.tsv", "label\ttext_a\n1\t头痛三天\n".encode(encoding))
    write("a.spo", "头痛\t类别\t症状\n".encode(encoding))
    check = ("corpus", "check", "a.tsv", "--task", "classification", "--json")
    done = kbert_here(*check, "--encoding", named)
    assert (done.returncode, json.loads(done.stdout)["labels"]) == (0, {"1": 1}), done.stderr
    graph = kbert_here("kg", "check", "a.spo", "--encoding", named, "--json")
    assert json.loads(graph.stdout)[0]["triples"] == 1
    plain = kbert_here(*check)
    assert plain.returncode == 1
    assert "bug of kbert" not in plain.stderr


@pytest.mark.parametrize("name", ["idna", "punycode", "unicode_escape", "cp037", "zlib", "hex"])
def test_what_is_no_encoding_of_lines_is_refused(write, name):
    with pytest.raises(KbertError, match="is not known to Python, or does not keep lines apart"):
        read_split(write("a.tsv", "1\t甲\n"), CLASSIFICATION, reading=ReadConfig(encoding=name))


def test_a_graph_with_lone_returns(kbert_here, write):
    write("a.spo", "头痛\t类别\t症状\r高血压\t类别\t疾病\r".encode())
    done = kbert_here("kg", "check", "a.spo", "--json")
    assert json.loads(done.stdout)[0]["triples"] == 2


NER_REFUSED = [
    ("cmeee", "甲\n乙", "X", "a line end in the text"),
    ("cmeee", "甲|", "X", "||| in the text, or | at its end"),
    ("cmeee", "甲", "X Y", "a blank in the type 'X Y'"),
    ("inline", "甲\n乙", "X", "a line end in the text"),
    ("inline", "甲[1]", "X", "[ in the text"),
    ("inline", "甲", "X)", ") in the type 'X)'"),
    ("inline", "", "", "an empty text"),
    ("conll", "甲\n", "X", "a line end in the text"),
    ("conll", "甲\t", "X", "a tab in the text"),
    ("conll", "", "", "an empty text"),
    ("tsv", "甲 乙", "X", "a blank in the text"),
    ("tsv", "甲", "X Y", "a blank in the type 'X Y'"),
    ("tsv", "甲", "X\u3000Y", "a blank in the type"),
    ("csv", "", "", "an empty text"),
    ("jsonl", "", "", "an empty text"),
    ("inline", "\ufeff甲", "X", "a byte order mark"),
]


@pytest.mark.parametrize(("form", "text", "kind", "reason"), NER_REFUSED)
def test_what_a_format_cannot_hold_is_refused_by_line(write, tmp_path, form, text, kind, reason):
    entities = [{"start": 0, "end": 1, "type": kind}] if kind else []
    rows = lines_of({"text": "好", "entities": []}, {"text": text, "entities": entities})
    source, target = write("in.jsonl", rows), tmp_path / "out.x"
    with pytest.raises(KbertError) as error:
        convert_file(source, target, NER, ReadConfig(), form=form)
    assert f"{reason}" in error.value.what
    assert error.value.what.endswith(": lines 2")
    assert not target.exists()
    for holds in ("entities", "cluener"):
        done = convert_file(source, target, NER, ReadConfig(), form=holds)
        assert (done.rows, done.losses) == (2, [])


def test_convert_says_which_columns_it_leaves_out(write, tmp_path):
    source = write("a.tsv", "id\tlabel\ttext_a\tdate\n7\t1\t甲\t今\n")
    done = convert_file(source, tmp_path / "a.csv", CLASSIFICATION, ReadConfig())
    assert done.losses == ["other columns and fields: id, date"]
    source = write("a.conll", "甲\tNN\tB-X\n乙\tNN\tO\n")
    done = convert_file(source, tmp_path / "a.tsv", NER, ReadConfig())
    assert done.losses == ["other columns and fields: column 2"]
    source = write("e.jsonl", lines_of({"id": 1, "text": "甲", "entities": []}))
    done = convert_file(source, tmp_path / "b.tsv", NER, ReadConfig())
    assert done.losses == ["other columns and fields: id"]


def test_convert_keeps_nested_entities_without_saying_otherwise(write, tmp_path):
    entities = [{"start": 0, "end": 2, "type": "X"}, {"start": 0, "end": 1, "type": "Y"}]
    source = write("a.jsonl", lines_of({"text": "甲乙", "entities": entities}))
    done = convert_file(source, tmp_path / "a.txt", NER, ReadConfig(), form="cmeee")
    assert not any("left out" in note for note in done.notes)
    assert done.losses == []


def test_convert_names_a_format_that_content_does_not_tell(write, tmp_path):
    source = write("a.jsonl", lines_of({"text": "甲乙", "entities": []}))
    done = convert_file(source, tmp_path / "a.txt", NER, ReadConfig(), form="inline")
    assert "looks like tsv: read it with --format inline" in done.notes[-1]


def test_a_header_that_names_a_column_twice_is_refused(write):
    with pytest.raises(KbertError, match="has 'label' twice"):
        read_split(write("a.tsv", "label\tlabel\ttext_a\n1\t0\t甲\n"), CLASSIFICATION)


def test_skip_bad_leaves_out_what_cannot_be_decoded(write, tmp_path):
    content = "label\ttext_a\n1\t甲\n".encode() + b"0\t\xff\n" + "0\t乙\n1\t丙\n".encode()
    source = write("a.tsv", content)
    with pytest.raises(KbertError, match=r"a\.tsv:3: not UTF-8 \(byte 0xff\)"):
        convert_file(source, tmp_path / "b.tsv", CLASSIFICATION, ReadConfig())
    done = convert_file(source, tmp_path / "b.tsv", CLASSIFICATION, ReadConfig(), skip_bad=True)
    assert (done.rows, [line for line, _ in done.faults]) == (3, [3])
    tagged = "甲\tB-X\n".encode() + b"\xff\tO\n" + "\n乙\tO\n".encode()
    found = read_tagged_file(write("a.txt", tagged), ReadConfig())
    assert [one.texts for one in found.examples] == [("乙",)]
    assert [line for line, _ in found.faults] == [2]


def test_a_sentence_with_a_bad_line_is_no_example(write):
    found = read_tagged_file(write("a.txt", "甲 B-X\n乙\n丙 I-X\n\n丁 O \n"), ReadConfig())
    assert [one.texts[0] for one in found.examples] == ["丁"]
    assert [line for line, _ in found.faults] == [2]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("好\n\n坏\n", r":2: a blank line"),
        ("好\n坏\n好\n", r":3: class '好' is on line 1 already"),
        ("0\t好\n1\t坏\n", "have numbers before their names"),
        ("\n", "is empty"),
    ],
)
def test_classes_that_would_shift_or_merge_are_refused(write, content, reason):
    classes = write("classes.txt", content)
    with pytest.raises(KbertError, match=reason):
        faults_of(write("a.tsv", "0\t甲\n1\t乙\n"), CLASSIFICATION, classes=str(classes))
    fine = write("fine.txt", "好\n坏\n\n")
    found = read_split(
        write("a.tsv", "0\t甲\n1\t乙\n"), CLASSIFICATION, reading=ReadConfig(classes=str(fine))
    )
    assert [one.label for one in found.examples] == ["好", "坏"]


def test_labels_of_qa_are_checked_by_check_too(write):
    rows = "label\tquestion\tanswer\tqid\n1\t问\t答\tq\n2\t问\t答\tq\n1\t问\t答\t\n"
    assert faults_of(write("a.tsv", rows), QA) == {
        3: "label '2'; it must be one of 0, 1",
        4: "empty qid",
    }


@pytest.mark.parametrize(
    ("line", "stray"),
    [
        ("[头[痛](X)](Y)", "["),
        ("<X>头痛</Y>", "<X>"),
        ("<X>头痛", "<X>"),
        ("<X><Y>头</Y>痛</X>", "<X>"),
        ("头痛](X)", "]("),
        ("患[腹痛](X三", "]("),
        ("患[腹痛(X)三", "["),
        ("患[腹痛](临床 症状)三", "]("),
        ("患<疾病>感冒", "<疾病>"),
        ("患<Sy mptom>头痛</Sy mptom>", "<Sy mptom>"),
        ("患<X></X>三", "<X>"),
        ("见[说明](http://a.b/c)", "]("),
    ],
)
def test_half_a_mark_is_a_fault_and_no_text(write, line, stray):
    content = f"<X>好</X>天\n{line}\n血压<90且脉搏>60\n"
    found = read_tagged_file(write("a.txt", content), ReadConfig(format="inline"))
    ((at, fault),) = found.faults
    assert at == 2
    assert fault.startswith(f"{stray!r} belongs")
    assert [one.texts[0] for one in found.examples] == ["好天", "血压<90且脉搏>60"]


@pytest.mark.parametrize("rows", [3, 19, 20, 40])
def test_a_label_that_stands_last_is_found_in_small_tables_too(write, rows):
    content = "".join(f"病人第{index}天头痛\t{index % 2}\n" for index in range(rows))
    found = read_split(write("a.tsv", content), CLASSIFICATION)
    assert {one.label for one in found.examples} == {"0", "1"}
    turned = "".join(f"{index % 2}\t病人第{index}天头痛\n" for index in range(rows))
    found = read_split(write("b.tsv", turned), CLASSIFICATION)
    assert {one.label for one in found.examples} == {"0", "1"}


def test_a_table_whose_rows_all_have_labels_of_their_own_is_told(write):
    split = read_split(write("a.tsv", "头痛\t甲\n发热\t乙\n咳嗽\t丙\n"), CLASSIFICATION)
    assert any("--label-column last" in note for note in split.notes)


PASSAGE = "甲乙甲丙"
READ_ALIKE = [
    {"question": "问", "context": PASSAGE, "answer": "甲", "answer_start": 2},
    {"question": "问", "context": PASSAGE, "answers": {"text": ["甲"], "answer_start": [2]}},
    {"question": "问", "context": PASSAGE, "answers": [{"text": "甲", "answer_start": 2}]},
]


@pytest.mark.parametrize("record", READ_ALIKE)
def test_answers_keep_their_place(write, tmp_path, record):
    path = write("a.jsonl", lines_of({"id": "q", **record}))
    found = read_split(path, READING).examples
    assert [(one.label, one.answer_starts, one.group) for one in found] == [(("甲",), (2,), "q")]
    asked = {key: value for key, value in record.items() if key != "context"}
    squad = write("s.json", json.dumps([{"context": PASSAGE, "qas": [{"id": "q", **asked}]}]))
    again = read_split(squad, READING).examples
    for form in ("tsv", "csv", "jsonl", "squad"):
        target = tmp_path / f"out.{form}"
        done = convert_file(path, target, READING, ReadConfig(), form=form)
        assert done.losses == []
        again += read_split(target, READING, reading=ReadConfig(format=form)).examples
    for one in again:
        assert (one.texts, one.label, one.answer_starts, one.group) == (
            ("问", PASSAGE),
            ("甲",),
            (2,),
            "q",
        )


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, "no answers: null"),
        ({"answers": None}, "no answers: null"),
        ({"answers": {"甲": 1}}, "no answers: an object"),
        ({"answers": [7]}, "an answer is a number"),
        ({"answers": [{"text": "甲", "answer_start": 1.5}]}, "1.5 is no whole number"),
        ({"answers": {"text": ["甲"], "answer_start": [0, 2]}}, "1 answers begin at 2 places"),
        ({"answers": ["甲", ""]}, "the answer is empty"),
    ],
)
def test_questions_whose_answers_cannot_be_told_are_named(write, given, reason):
    good = {"id": "a", "question": "问", "answers": ["乙"]}
    bad = {"id": "b", "question": "问", **given}
    squad = write("s.json", json.dumps([{"context": PASSAGE, "qas": [good, bad]}]))
    flat = lines_of({**good, "context": PASSAGE}, {**bad, "context": PASSAGE})
    # The question's number is in the reason: one JSON value has no lines.
    for path, at in ((squad, 0), (write("a.jsonl", flat), 2)):
        _, split, ((line, fault),) = read_questions(path, ReadConfig())
        assert (len(split.examples), line, reason in fault) == (1, at, True), fault


def test_questions_that_the_passage_does_not_answer_say_so(write):
    asked = [
        {"id": "a", "question": "问", "answers": []},
        {"id": "b", "question": "问", "is_impossible": True},
    ]
    squad = write("s.json", json.dumps([{"context": PASSAGE, "qas": asked}]))
    _, split, faults = read_questions(squad, ReadConfig())
    assert ([one.label for one in split.examples], faults) == ([None, None], [])


def test_a_json_array_of_rows_is_refused_with_the_way_out(write):
    path = write("a.json", json.dumps([{"label": "1", "text": "甲"}]))
    with pytest.raises(KbertError, match="JSON array"):
        read_split(path, CLASSIFICATION)


@pytest.mark.parametrize("command", [("inspect-tree", "头痛", "--kg", "none", "--format", "html")])
def test_no_folder_is_made_for_a_mistyped_output(kbert_here, tmp_path, command):
    done = kbert_here(*command, "--output", str(tmp_path / "no" / "x.html"))
    assert (done.returncode, "there is no folder" in done.stderr) == (1, True)
    assert not (tmp_path / "no").exists()


JSON_ROWS = lines_of(
    {"id": 7, "text": "头痛", "nested": {"a": [1, None]}},
    "",
    {"id": 8, "sentence": "发热"},
    {"id": 9, "text": None},
    '{"id": 10, "text": "咳',
    {"text": "咳嗽", "later": True, "prediction": "mine"},
)


def test_predict_gives_every_row_of_json_lines_back_untouched(kbert_here, write, finished):
    write("a.jsonl", JSON_ROWS)
    done = kbert_here("predict", "a.jsonl", "--run", str(finished / "run"), "-q")
    assert done.returncode == 0, done.stderr
    out = [json.loads(line) for line in done.stdout.splitlines()]
    lines = JSON_ROWS.splitlines()
    assert len(out) == len(lines)
    for line, record in zip(lines, out, strict=True):
        try:
            given = json.loads(line)
        except ValueError:
            assert record.get("unread", "") == line
            assert record["error"]
            continue
        assert {key: record[key] for key in given} == given
        added = record.keys() - given.keys()
        fine = isinstance(given.get("text"), str)
        free = "kbert_prediction"
        assert added == ({free, "score"} if fine else {"error"}), record
    table = kbert_here(
        "predict", "a.jsonl", "--run", str(finished / "run"), "-q", "--format", "tsv"
    )
    rows = list(csv.reader(io.StringIO(table.stdout), delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(rows) == 1 + len(lines)


def test_predict_keeps_the_text_of_broken_csv(kbert_here, write, finished):
    write("a.csv", 'id,text\n1,头痛\n2,"发热\n3,咳嗽\n')
    done = kbert_here("predict", "a.csv", "--run", str(finished / "run"), "-q")
    rows = list(csv.reader(io.StringIO(done.stdout)))
    assert [row[0] for row in rows] == ["id", "1", '2,"发热', "3"]
    assert [bool(row[-1]) for row in rows[1:]] == [False, True, False]
