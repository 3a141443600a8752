"""Data in every form that users bring: one content, the same examples; faults named by line."""

import codecs
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbert_cli.config import ReadConfig
from kbert_cli.corpus.columns import CLASSIFICATION, COLUMNS, NER, READING
from kbert_cli.corpus.convert import TARGETS, convert_file
from kbert_cli.corpus.entities import Entity, entities_of, tags_of, without_overlaps
from kbert_cli.corpus.formats import PASSAGES
from kbert_cli.corpus.reader import open_unlabelled, read_split, unlabelled_examples
from kbert_cli.corpus.schemes import detect_scheme, from_bio, read_mark, to_bio
from kbert_cli.corpus.tagged import read_tagged_file
from kbert_cli.errors import KbertError

NER_CONTENT = [
    ("甲先生去了白河市。", [Entity(0, 3, "PER"), Entity(5, 8, "LOC")]),
    ("乙女士在松林医院", [Entity(0, 3, "PER"), Entity(4, 8, "ORG")]),
    ("今天没有", []),
    ("白河市松林医院", [Entity(0, 3, "LOC"), Entity(3, 7, "ORG")]),
]


def conll(separator="\t", scheme="BIO", mark="-", token=lambda char, _: char):
    lines = []
    for text, entities in NER_CONTENT:
        tags = from_bio(tags_of(len(text), entities), scheme)
        tags = [tag.replace("-", mark, 1) for tag in tags]
        for index, (char, tag) in enumerate(zip(text, tags, strict=True)):
            lines.append(f"{token(char, index)}{separator}{tag}\n")
        lines.append("\n")
    return "".join(lines)


def brat_text():
    return "".join(f"{text}\n" for text, _ in NER_CONTENT)


def brat_marks():
    lines, at = [], 0
    for text, entities in NER_CONTENT:
        for start, end, kind in entities:
            span = f"{kind} {at + start} {at + end}"
            lines.append(f"T{len(lines) + 1}\t{span}\t{text[start:end]}\n")
        at += len(text) + 1
    return "".join(lines) + "R1\tPart-of Arg1:T1 Arg2:T2\n"


def objects(form):
    lines = []
    for text, entities in NER_CONTENT:
        if form == "cluener":
            label = {}
            for start, end, kind in entities:
                label.setdefault(kind, {}).setdefault(text[start:end], []).append([start, end - 1])
            lines.append({"text": text, "label": label})
        elif form == "cmeee":
            found = [{"start_idx": s, "end_idx": e - 1, "type": k} for s, e, k in entities]
            lines.append({"text": text, "entities": found})
        else:
            found = [
                {"begin": s, "end": e, "label": k, "entity": text[s:e]} for s, e, k in entities
            ]
            lines.append({"text": text, "entities": found})
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def lines_of(form):
    lines = []
    for text, entities in NER_CONTENT:
        if form == "cmeee":
            lines.append(
                "|||".join([text, *(f"{s}    {e - 1}    {k}" for s, e, k in entities), ""])
            )
            continue
        line, at = "", 0
        for start, end, kind in entities:
            shown = text[start:end]
            line += text[at:start]
            line += f"[{shown}]({kind})" if form == "brackets" else f"<{kind}>{shown}</{kind}>"
            at = end
        lines.append(line + text[at:])
    return "".join(line + "\n" for line in lines)


NER_FILES = {
    "tabs.txt": (conll(), "conll", "BIO"),
    "blanks.txt": (conll(" "), "conll", "BIO"),
    "underscore.txt": (conll(" ", mark="_"), "conll", "BIO"),
    "bioes.txt": (conll(scheme="BIOES"), "conll", "BIOES"),
    "bmes.txt": (conll(" ", scheme="BMES"), "conll", "BMES"),
    "weibo.txt": (conll(token=lambda char, index: f"{char}{index % 3}"), "conll", "BIO"),
    "cluener.json": (objects("cluener"), "cluener", None),
    "list.jsonl": (objects("list"), "entities", None),
    "idx.jsonl": (objects("cmeee"), "entities", None),
    "cmeee.txt": (lines_of("cmeee"), "cmeee", None),
    "inline.txt": (lines_of("brackets"), "inline", None),
    "xml.txt": (lines_of("xml"), "inline", None),
    "brat.txt": (brat_text(), "brat", None),
}


@pytest.mark.parametrize("name", NER_FILES)
def test_ner_formats_are_recognised_and_read_alike(write, name):
    content, form, scheme = NER_FILES[name]
    path = write(name, content)
    if form == "brat":
        write("brat.ann", brat_marks())
    found = read_tagged_file(path, ReadConfig())
    assert (found.format, found.scheme, found.faults, found.odd_tags) == (form, scheme, [], [])
    read = [(one.texts[0], entities_of(one.label)) for one in found.examples]
    assert read == NER_CONTENT
    named = read_tagged_file(path, ReadConfig(format=form))
    assert [one.label for one in named.examples] == [one.label for one in found.examples]
    table = open_unlabelled(path, NER)
    texts = [example.texts[0] for _, example in unlabelled_examples(table, NER)]
    assert texts == [text for text, _ in NER_CONTENT]


@pytest.mark.parametrize("target", [name for name in TARGETS if name != PASSAGES])
@pytest.mark.parametrize("name", ["tabs.txt", "list.jsonl", "brat.txt"])
def test_ner_conversion_loses_nothing(write, tmp_path, name, target):
    path = write(name, NER_FILES[name][0])
    if name == "brat.txt":
        write("brat.ann", brat_marks())
    suffix = {"tsv": "tsv", "csv": "csv", "jsonl": "jsonl"}.get(target, "txt")
    done = convert_file(path, tmp_path / f"out.{suffix}", NER, ReadConfig(), form=target)
    lost = ["other columns and fields: relations, events and notes"] if "brat" in name else []
    assert (done.rows, done.losses, done.faults) == (4, lost, [])
    found = read_tagged_file(tmp_path / f"out.{suffix}", ReadConfig())
    assert [(one.texts[0], entities_of(one.label)) for one in found.examples] == NER_CONTENT


BIO = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from(["X", "Y", ""])), min_size=1, max_size=12
)


@given(BIO, st.sampled_from(["BIO", "BIOES", "BMES"]))
def test_schemes_come_back_as_they_went(runs, scheme):
    tags = [
        tag
        for length, kind in runs
        for tag in ([f"B-{kind}"] + [f"I-{kind}"] * (length - 1) if kind else ["O"] * length)
    ]
    marks = [read_mark(tag) for tag in from_bio(tags, scheme)]
    assert to_bio(marks, scheme) == (tags, [])
    if scheme == "BIO":
        assert detect_scheme([marks]) == "BIO"


def test_old_schemes_without_beginnings():
    def read(*tags):
        marks = [read_mark(tag) for tag in tags]
        scheme = detect_scheme([marks])
        return scheme, to_bio(marks, scheme)[0]

    assert read("I-X", "I-X", "O", "I-Y") == ("IO", ["B-X", "I-X", "O", "B-Y"])
    assert read("I-X", "B-X", "I-X", "O", "I-Y") == ("IOB1", ["B-X", "B-X", "I-X", "O", "B-Y"])
    assert read("B-X", "L-X", "U-Y", "O") == ("BILOU", ["B-X", "I-X", "B-Y", "O"])


def test_broken_tags_are_named_and_left_to_the_scorer(write):
    path = write("a.txt", "甲 B-X\n乙 I-X\n丙 O\n丁 I-X\n\n戊 B-X\n己 I-Y\n\n")
    found = read_tagged_file(path, ReadConfig())
    assert found.odd_tags == [
        (4, "I-X continues nothing of its type"),
        (7, "I-Y continues nothing of its type"),
    ]
    assert found.examples[0].label == ("B-X", "I-X", "O", "I-X")
    assert any("2 tags break BIO" in note for note in found.notes)


def test_nested_entities_the_longest_is_kept_and_all_convert(write, tmp_path):
    text = "右肺上叶肿物切除"
    spans = [(0, 4, "bod"), (0, 6, "sym"), (4, 6, "sym"), (6, 8, "ope")]
    assert without_overlaps([Entity(*one) for one in spans]) == [
        Entity(0, 6, "sym"),
        Entity(6, 8, "ope"),
    ]
    entities = [{"start": s, "end": e, "type": k} for s, e, k in spans]
    path = write("n.jsonl", json.dumps({"text": text, "entities": entities}) + "\n")
    found = read_tagged_file(path, ReadConfig())
    assert found.nested == 2
    assert any("2 entities kept, 2 left out" in note for note in found.notes)
    for target, losses in (("cmeee", []), ("conll", ["2 entities that a longer one covers"])):
        done = convert_file(path, tmp_path / f"out-{target}.txt", NER, ReadConfig(), form=target)
        assert done.losses == losses
    again = read_tagged_file(tmp_path / "out-cmeee.txt", ReadConfig())
    assert len(again.entities[0]) == 4


@pytest.mark.parametrize(
    ("content", "faults"),
    [
        (
            '{"text": "白河", "entities": [{"start": 0, "end": 9, "type": "L"}]}\n',
            {1: "do not fit"},
        ),
        (
            '{"text": "白河", "entities": [{"start": 1, "end": 1, "type": "L"}]}\n',
            {1: "do not fit"},
        ),
        (
            '{"text": "白河", "entities": [{"start": 0, "end": 1, "type": "L", "entity": "河"}]}\n',
            {1: "not '河'"},
        ),
        (
            '{"text": "白", "entities": []}\n{"text": 3, "entities": []}\n{"x"\n[]\n',
            {2: "no text", 3: "no JSON", 4: "no JSON object"},
        ),
        ("白河|||0    1    L|||0 x L|||\n", {1: "is not start, end and type"}),
        ("甲 O\n乙\n丙 O x\n  O\n\n甲 B-X\n", {2: "1 cells", 3: "3 cells", 4: "3 cells"}),
        ("甲\tO\n \tO\n\tO\n乙\t\n\n甲\tO\n", {3: "the token is blank", 4: "no tag"}),
    ],
)
def test_what_cannot_be_read_is_named_by_line(write, content, faults):
    found = read_tagged_file(write("a.txt", content), ReadConfig())
    assert {line: True for line, _ in found.faults} == dict.fromkeys(faults, True)
    for line, reason in found.faults:
        assert faults[line] in reason
    with pytest.raises(KbertError, match=rf"a\.txt:{min(faults)}: "):
        read_split(write("a.txt", content), NER)


ROWS = [("1", "很好"), ("0", '他说"不,行"'), ("1", "第一行\n第二行"), ("NA", " null ")]


def test_csv_and_jsonl_hold_what_tsv_cannot(write, tmp_path):
    content = 'label,review\n1,很好\n0,"他说""不,行"""\n1,"第一行\n第二行"\nNA, null \n'
    found = read_split(write("a.csv", content), CLASSIFICATION).examples
    assert [(one.label, one.texts[0]) for one in found] == ROWS
    assert [one.line for one in found] == [2, 3, 4, 6]
    done = convert_file(tmp_path / "a.csv", tmp_path / "b.jsonl", CLASSIFICATION, ReadConfig())
    assert done.losses == []
    found = read_split(tmp_path / "b.jsonl", CLASSIFICATION).examples
    assert [(one.label, one.texts[0]) for one in found] == ROWS
    done = convert_file(tmp_path / "b.jsonl", tmp_path / "c.tsv", CLASSIFICATION, ReadConfig())
    assert done.losses == ["1 rows with tabs or line ends, which became blanks"]
    assert len(read_split(tmp_path / "c.tsv", CLASSIFICATION).examples) == 4


def test_broken_csv_and_json_are_named(write):
    with pytest.raises(KbertError, match=r"a\.csv:3: no CSV"):
        read_split(write("a.csv", 'label,text\n1,甲\n0,"乙\n1,丙\n'), CLASSIFICATION)
    rows = '{"label": 1, "text": "甲"}\n{"label": 1\n{"label": null, "text": "乙"}\n'
    with pytest.raises(KbertError) as error:
        read_split(write("a.jsonl", rows), CLASSIFICATION)
    assert "a.jsonl:2: no JSON: Expecting ',' delimiter" in str(error.value)
    assert "a.jsonl:3: empty label" in str(error.value)


def test_fields_are_named_by_option(write):
    path = write("a.jsonl", '{"title": "甲", "body": "乙", "kind": 3}\n')
    reading = ReadConfig(text_field="title", text_b_field="body", label_field="kind")
    found = read_split(path, CLASSIFICATION, reading=reading).examples
    assert [(one.label, one.texts) for one in found] == [("3", ("甲", "乙"))]
    with pytest.raises(KbertError, match=r"--text-field is 'x', and there is no such column"):
        read_split(path, CLASSIFICATION, reading=ReadConfig(text_field="x"))


def test_the_label_may_stand_last_and_be_a_number(write):
    rows = "".join(f"第{number}条新闻的标题\t{number % 3}\n" for number in range(30))
    path, classes = write("a.txt", rows), write("class.txt", "体育\n财经\n科技\n")
    split = read_split(path, CLASSIFICATION, reading=ReadConfig(classes=str(classes)))
    assert [one.label for one in split.examples[:3]] == ["体育", "财经", "科技"]
    assert split.examples[0].texts == ("第0条新闻的标题",)
    assert split.notes == [f"{path} has no header; columns: text, label"]
    first = read_split(path, CLASSIFICATION, reading=ReadConfig(label_column="first"))
    assert first.examples[0].texts == ("0",)
    short = ReadConfig(classes=str(write("short.txt", "体育\n财经\n")))
    with pytest.raises(KbertError, match="label '2' is no number from 0 to 1"):
        read_split(path, CLASSIFICATION, reading=short)


TABLE = "label\ttext_a\n1\t患者高血压多年，头痛\n0\t今天的天气不错\n"
EXPECTED = [("1", "患者高血压多年，头痛"), ("0", "今天的天气不错")]


@pytest.mark.parametrize(
    ("raw", "encoding"),
    [
        (TABLE.encode(), "utf-8"),
        (codecs.BOM_UTF8 + TABLE.encode(), "utf-8"),
        (TABLE.encode("gbk"), "gbk"),
        (TABLE.encode("gb18030"), "gb18030"),
        (TABLE.encode("utf-16"), "utf-8"),
        (TABLE.encode("utf-16-be"), "utf-16-be"),
        (TABLE.replace("\n", "\r\n").encode(), "utf-8"),
        (TABLE.replace("\n", "\r").encode(), "utf-8"),
        (TABLE.replace("\n", "\r\n").encode("utf-16"), "utf-8"),
    ],
)
def test_encodings_and_line_ends(write, raw, encoding):
    path = write("a.tsv", raw)
    found = read_split(path, CLASSIFICATION, reading=ReadConfig(encoding=encoding)).examples
    assert [(one.label, one.texts[0]) for one in found] == EXPECTED


def test_another_encoding_is_named_with_the_one_that_fits(write):
    with pytest.raises(KbertError) as error:
        read_split(write("a.tsv", TABLE.encode("gbk")), CLASSIFICATION)
    assert "a.tsv:2: not UTF-8 (byte 0xbb)" in str(error.value)
    assert "try --encoding gb18030" in str(error.value)
    with pytest.raises(KbertError, match="--encoding 'utf-9' is not known"):
        read_split(write("a.tsv", TABLE), CLASSIFICATION, reading=ReadConfig(encoding="utf-9"))


def test_check_says_what_a_file_holds(kbert, write):
    write("train.tsv", "label\ttext_a\n1\t头痛\n0\t头痛\n1\t甲\u200b\n1\t乙\n")
    write("test.tsv", "label\ttext_a\n1\t头痛\n0\t丙\n0\t\n")
    done = kbert(
        *("corpus", "check", "train.tsv", "--task", "classification", "--json"),
        *("--against", "test.tsv"),
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["labels"] == {"0": 1, "1": 3}
    assert (found["duplicates"], found["contradictions"]) == (1, [3])
    assert found["shared"] == {"test.tsv": 2}
    assert found["odd_characters"] == {"zero-width or format": 1}
    shown = kbert("corpus", "check", "train.tsv", "--task", "classification")
    assert "another label than before in lines 3" in shown.stdout
    write("bad.txt", "甲 B-X\n乙 I-Y\n丙\n\n丁 O\n")
    bad = kbert("corpus", "check", "bad.txt", "--task", "ner")
    assert bad.returncode == 1
    assert "bad.txt:3: 1 cells between blanks" in bad.stdout
    assert "bad.txt:2: I-Y continues nothing of its type" in bad.stdout


def test_convert_refuses_and_says_why(kbert, write, tmp_path):
    write("a.txt", "甲 B-X\n乙\n丙 O\n\n丁 O\n")
    done = kbert("corpus", "convert", "a.txt", "b.jsonl", "--task", "ner", "--to", "entities")
    assert done.returncode == 1
    assert "a.txt:2: 1 cells between blanks" in done.stderr
    assert not (tmp_path / "b.jsonl").exists()
    done = kbert(
        *("corpus", "convert", "a.txt", "b.jsonl", "--task", "ner", "--to", "entities"),
        "--skip-bad",
    )
    assert done.stdout == "b.jsonl: 1 examples as entities\n"
    write("blank.jsonl", '{"text": "甲 乙", "entities": []}\n')
    done = kbert("corpus", "convert", "blank.jsonl", "c.tsv", "--task", "ner")
    assert (done.returncode, "a blank in the text: lines 1" in done.stderr) == (1, True)


@pytest.mark.parametrize("task", COLUMNS)
def test_every_task_has_its_columns(task):
    from kbert_cli.tasks import load_task

    assert load_task(task).columns is COLUMNS[task]


def test_reading_converts_both_ways_and_says_what_tables_cannot_hold(kbert_here, write, tmp_path):
    passages = [
        {
            "context_text": "甲乙\t丙丁乙",
            "qas": [
                {"query_id": "a", "query_text": "问一", "answers": ["乙", "丁"]},
                {"query_id": "b", "query_text": "问二", "answers": ["丙"]},
            ],
        },
        {"context_text": "戊己", "qas": [{"query_id": "c", "query_text": "问", "answers": ["己"]}]},
    ]
    write("in.json", json.dumps(passages))
    convert = ("corpus", "convert", "--task", "reading")
    assert kbert_here(*convert, "in.json", "squad.json").returncode == 0
    data = json.loads((tmp_path / "squad.json").read_text(encoding="utf-8"))["data"]
    assert [len(one["paragraphs"][0]["qas"]) for one in data] == [2, 1]
    first = data[0]["paragraphs"][0]["qas"][0]
    assert first["answers"] == [
        {"text": "乙", "answer_start": 1},
        {"text": "丁", "answer_start": 4},
    ]
    assert kbert_here(*convert, "squad.json", "lines.jsonl").returncode == 0
    names = ("in.json", "squad.json", "lines.jsonl")
    before, squad, lines = (read_split(tmp_path / name, READING).examples for name in names)
    assert [(one.texts, one.label, one.group) for one in before] == [
        (one.texts, one.label, one.group) for one in squad
    ]
    assert [replace(one, line=0) for one in squad] == [replace(one, line=0) for one in lines]
    assert squad[0].answer_starts == (1, 4)
    done = kbert_here(*convert, "in.json", "out.tsv")
    assert "lost: all answers but the first of 1 questions" in done.stderr
    assert "lost: 2 rows with tabs" in done.stderr
    lines = (tmp_path / "out.tsv").read_text(encoding="utf-8").splitlines()
    assert lines == [
        "answer\tquestion\tcontext\tid\tanswer_start",
        "乙\t问一\t甲乙 丙丁乙\ta\t1",
        "丙\t问二\t甲乙 丙丁乙\tb\t3",
        "己\t问\t戊己\tc\t1",
    ]
    refused = kbert_here(*convert, "in.json", "out.txt", "--to", "conll")
    assert (refused.returncode, "written for --task ner only" in refused.stderr) == (1, True)


def test_a_replacement_character_in_the_text_is_no_fault(write):
    text = "label\ttext_a\n1\t坏\ufffd字\n"
    for name, encoding in (("wide.tsv", "utf-16"), ("cr.tsv", "utf-8")):
        content = text.replace("\n", "\r") if encoding == "utf-8" else text
        split = read_split(
            write(name, content.encode(encoding)),
            CLASSIFICATION,
            reading=ReadConfig(encoding=encoding),
        )
        assert split.examples[0].texts == ("坏\ufffd字",)
    bad = text.encode("utf-16-le").replace("字".encode("utf-16-le"), b"\x00\xd8")
    with pytest.raises(KbertError, match=r"bad\.tsv:2: not UTF-16"):
        read_split(write("bad.tsv", b"\xff\xfe" + bad), CLASSIFICATION)


def test_tags_that_continue_nothing_are_no_entities_in_other_schemes(write, tmp_path):
    source = write("in.tsv", "text_a\tlabel\n甲 乙 丙\tI-X O B-X\n")
    done = convert_file(source, tmp_path / "o.txt", NER, ReadConfig(), form="conll", scheme="BIOES")
    assert done.losses == ["tags that continue nothing in 1 rows, which became O"]
    assert (tmp_path / "o.txt").read_text(encoding="utf-8").split() == [
        "甲",
        "O",
        "乙",
        "O",
        "丙",
        "S-X",
    ]


def test_first_lines_longer_than_the_look_ahead_tell_the_columns(write):
    long = "长" * 70_000
    content = json.dumps({"label": "1", "text": long}) + "\n" + '{"label": "0", "text": "短"}\n'
    split = read_split(write("long.jsonl", content), CLASSIFICATION)
    assert [len(one.texts[0]) for one in split.examples] == [70_000, 1]


def test_json_nested_too_deeply_is_a_fault(write):
    deep = '{"a":' * 5000 + "1" + "}" * 5000 + "\n"
    good = '{"label": "1", "text": "好"}\n'
    with pytest.raises(KbertError, match=r"deep\.jsonl:2: no JSON: it is nested"):
        read_split(write("deep.jsonl", good + deep), CLASSIFICATION)
    with pytest.raises(KbertError, match="is no JSON: it is nested too deeply"):
        read_split(write("deep.json", "[" * 5000 + deep), READING)
