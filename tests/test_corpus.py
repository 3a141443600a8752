"""Reading labelled and unlabelled tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbert_cli.corpora import hold_out
from kbert_cli.corpus.columns import CLASSIFICATION, NER, QA
from kbert_cli.corpus.example import Example
from kbert_cli.corpus.reader import read_split, unlabelled_examples
from kbert_cli.corpus.table import open_table
from kbert_cli.corpus.tags import plain_text
from kbert_cli.errors import KbertError


def read(path, names=CLASSIFICATION, **options):
    return [
        (example.texts, example.label, example.group)
        for example in read_split(path, names, **options).examples
    ]


def test_header_names_decide_whatever_their_order(write):
    expected = [(("甲", "乙"), "1", None)]
    assert read(write("a.tsv", "label\ttext_a\ttext_b\n1\t甲\t乙\n")) == expected
    assert read(write("b.tsv", "text_b\tid\ttext_a\tlabel\n乙\t7\t甲\t1\n")) == expected


def test_tables_without_header_are_read_by_their_width_and_say_so(write):
    path = write("a.tsv", "1\t甲\n0\t乙\n")
    assert read(path) == [(("甲",), "1", None), (("乙",), "0", None)]
    assert read_split(path, CLASSIFICATION).notes == [f"{path} has no header; columns: label, text"]
    pair = write("b.tsv", "1\t问\t答\n")
    assert read(pair) == read(pair, QA) == [(("问", "答"), "1", None)]
    assert read(write("c.tsv", "1\t问\t答\tq1\n"), QA) == [(("问", "答"), "1", "q1")]


def test_quotes_blanks_and_na_are_what_they_are(write):
    path = write("a.tsv", 'label\ttext_a\n1\t"未闭合\n0\tNA\n1\t 前后空格 \n0\tnull\n')
    assert [texts[0] for texts, _, _ in read(path)] == ['"未闭合', "NA", " 前后空格 ", "null"]


def test_bom_crlf_and_blank_lines(write):
    path = write("a.tsv", b"\xef\xbb\xbf" + "label\ttext_a\r\n1\t甲\r\n\r\n0\t乙\r\n\r\n".encode())
    assert read(path) == [(("甲",), "1", None), (("乙",), "0", None)]
    assert [one.line for one in read_split(path, CLASSIFICATION).examples] == [2, 4]


def test_blanks_around_labels_go_with_a_note(write):
    path = write("a.tsv", "label\ttext_a\n体育\t甲\n体育 \t乙\n体育\u3000\t丙\nNews Sports\t丁\n")
    assert [label for _, label, _ in read(path)] == ["体育"] * 3 + ["News Sports"]
    assert "blanks around labels removed, lines 3, 4" in read_split(path, CLASSIFICATION).notes[0]


def test_empty_texts_are_kept_with_a_note(write):
    path = write("a.tsv", "text_a\ttext_b\tlabel\n甲\t乙\t1\n甲\t\t0\n\t乙\t0\n  \t\u3000\t0\n")
    assert len(read(path)) == 4
    assert read_split(path, CLASSIFICATION).notes == [f"{path}: empty texts in lines 3, 4, 5"]


def test_bad_rows_are_all_named(write):
    path = write("a.tsv", "label\ttext_a\n1\t甲\n只有一列\n1\t甲\t多\n\t无标签\n")
    with pytest.raises(KbertError) as error:
        read(path)
    assert f"3 rows of {path} cannot be read" in str(error.value)
    assert f"{path}:3: 1 columns, expected 2" in str(error.value)
    assert f"{path}:4: 3 columns, expected 2" in str(error.value)
    assert f"{path}:5: empty label" in str(error.value)


def test_a_missing_label_column_and_empty_files_are_clear(write):
    with pytest.raises(KbertError, match="has no label column"):
        read(write("a.tsv", "text_a\n甲\n"))
    with pytest.raises(KbertError, match=r"b\.tsv is empty"):
        read(write("b.tsv", ""))
    with pytest.raises(KbertError, match="holds no example"):
        read(write("c.tsv", "label\ttext_a\n"))
    with pytest.raises(KbertError, match=r"d\.tsv:1: the header has no column 'answer'"):
        read(write("d.tsv", "label\tquestion\n1\t问\n"), QA)
    with pytest.raises(KbertError, match=r"cannot read .*missing\.tsv: No such file"):
        read("missing.tsv")


def test_ner_rows(write):
    path = write("a.tsv", "text_a\tlabel\n查 C T\tO B-E I-E\n头 痛\tB-S I-S\n")
    assert read(path, NER)[0] == (("查CT",), ("O", "B-E", "I-E"), None)


@pytest.mark.parametrize(
    ("text", "tags", "reason"),
    [
        ("甲 乙", "O", "2 tokens but 1 tags"),
        ("甲  乙", "O O O", "an empty token in the text"),
        ("甲 乙", "O O ", "an empty token in the tags"),
        ("甲", "PER", "tag 'PER'; expected O, B-TYPE, I-TYPE or the like"),
        ("甲", "B-", "tag 'B-'"),
    ],
)
def test_bad_ner_rows(write, text, tags, reason):
    with pytest.raises(KbertError) as error:
        read(write("a.tsv", f"text_a\tlabel\n{text}\t{tags}\n"), NER)
    assert f"a.tsv:2: {reason}" in str(error.value)


def test_tags_of_words_spread_over_their_characters(write):
    path = write("a.tsv", "text_a\tlabel\n用 MRI 查\tO B-E O\n")
    assert read(path, NER)[0] == (("用MRI查",), ("O", "B-E", "I-E", "I-E", "O"), None)


def test_type_names_stay_whole(write):
    path = write("a.tsv", "text_a\tlabel\n甲 乙\tB-A-1.x I-A-1.x\n")
    assert read(path, NER)[0][1] == ("B-A-1.x", "I-A-1.x")


def test_spaced_and_plain_texts_read_alike():
    assert plain_text("甲 先 生 。") == plain_text("甲先生。") == "甲先生。"
    assert plain_text("Color OS 很好") == "Color OS 很好"


@given(st.lists(st.characters(exclude_characters=" \t\n", exclude_categories=["Cs"]), min_size=2))
def test_any_characters_survive_spacing(characters):
    assert plain_text(" ".join(characters)) == "".join(characters)


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ("这家很香\n客房干净\n", 1),
        ("text_a\n这家很香\n客房干净\n", 1),
        ("id\ttext_a\tsource\nr0\t这家很香\tweb\nr1\t客房干净\tweb\n", 1),
        ("label\ttext_a\n1\t这家很香\n1\t客房干净\n", 1),
        ("1\t这家很香\n1\t客房干净\n", 1),
    ],
)
def test_prediction_reads_the_same_texts_from_any_container(write, content, texts):
    table = open_table(write("a.tsv", content), CLASSIFICATION, texts=texts)
    found = [example.texts[0] for _, example in unlabelled_examples(table, CLASSIFICATION)]
    assert found == ["这家很香", "客房干净"]


def test_prediction_of_pairs_without_labels(write):
    table = open_table(write("a.tsv", "问\t答\n"), QA, texts=2)
    assert [one.texts for _, one in unlabelled_examples(table, QA)] == [("问", "答")]


def test_short_rows_become_empty_texts_in_prediction(write):
    table = open_table(write("a.tsv", "label\ttext_a\n1\n\n0\t乙\n"), CLASSIFICATION)
    assert [one.texts for _, one in unlabelled_examples(table, CLASSIFICATION)] == [
        ("",),
        ("",),
        ("乙",),
    ]


def test_holding_out_keeps_questions_together():
    examples = [Example(("问", "答"), "1", f"q{index // 4}") for index in range(80)]
    kept, dev = hold_out(examples, seed=1)
    assert len(dev) == 8
    assert not {one.group for one in kept} & {one.group for one in dev}
    assert hold_out(examples, seed=1) == (kept, dev)
    assert hold_out(examples, seed=2) != (kept, dev)
    with pytest.raises(KbertError, match="too few to hold some out"):
        hold_out(examples[:3], seed=1)


COUNTS = {
    ("ner/medical_ner", NER): (6919, 939, 755),
    ("classification/chnsenticorp", CLASSIFICATION): (9600, 1200, 1200),
    ("classification/smp2020_ewect", CLASSIFICATION): (8606, 2000, 3000),
}


@pytest.mark.parametrize(("corpus", "counts"), COUNTS.items(), ids=lambda value: str(value)[:40])
def test_real_corpora_lose_no_row(shared, corpus, counts):
    folder, names = corpus
    files = (shared / "data" / folder / f"{split}.tsv" for split in ("train", "dev", "test"))
    assert tuple(len(read(file, names)) for file in files) == counts


def test_chinese_headers_are_understood(write):
    expected = [(("甲",), "1", None)]
    assert read(write("a.tsv", "标签\t文本\n1\t甲\n")) == expected
    assert read(write("b.tsv", "sentence\tlabel\n甲\t1\n")) == expected
    assert read(write("c.tsv", "问题\t答案\t标签\n甲\t乙\t1\n"), QA) == [(("甲", "乙"), "1", None)]


def test_a_header_without_a_text_is_no_data(write):
    path = write("a.tsv", "label\tcomment\n1\t甲\n")
    with pytest.raises(KbertError, match=r"a.tsv:1: this looks like a header .*'label'.* no text"):
        read(path)
