"""Mention finding."""

import itertools

import jieba
import pytest
import rjieba
from hypothesis import given
from hypothesis import strategies as st

from kbert_cli.files import bundled_folder, read_lines
from kbert_cli.kg.graph import MemoryGraph
from kbert_cli.kg.keys import matching_key
from kbert_cli.kg.triples import Triple
from kbert_cli.mentions.boundaries import jieba_words, word_boundaries
from kbert_cli.mentions.finder import MentionFinder


def finder(*names, min_length=2):
    return MentionFinder(
        MemoryGraph(Triple(name, "类别", "物") for name in names), min_length=min_length
    )


def found(text, *names, **options):
    return [mention.name for mention in finder(*names, **options).find(text)]


def test_both_names_of_a_clinical_phrase():
    mentions = finder("头痛", "高血压").find("患者头痛伴高血压3天")
    assert [(m.name, m.start, m.end) for m in mentions] == [("头痛", 2, 4), ("高血压", 5, 8)]


SHAPES = {
    "这台手机装的是Color OS系统": "Color OS",
    "学校通过了Edu Trust认证": "Edu Trust认证",
    "血清糖类抗原19-9升高": "糖类抗原19-9",
    "今天*ST样例停牌": "*ST样例",
    "他回了一个[/白眼]": "[/白眼]",
    "他会写C++和C": "C++",
    "约翰·样例到访": "约翰·样例",
    "5G基站": "5G",
    "H2O就是水": "H2O",
    "我读过《样例集》": "《样例集》",
}


@pytest.mark.parametrize(("text", "name"), SHAPES.items())
def test_names_of_any_shape(text, name):
    assert found(text, name) == [name]


def test_width_and_case_fold_in_keys_but_the_text_stays():
    assert found("ＡＢＣ与abc", "Abc") == ["ＡＢＣ", "abc"]


def test_the_longest_name_wins():
    assert found("南京市长江大桥", "南京市长", "长江", "南京市长江大桥") == ["南京市长江大桥"]


def test_names_inside_words_are_none():
    assert found("他在手术室里", "手术", "术室") == []
    assert found("Color OSX很好", "OS", "Color") == ["Color"]
    assert found("naïveté", "na", "veté") == []


def test_one_character_names_are_off_unless_asked_for():
    assert found("3个人和水", "水", "3") == []
    assert found("3个人和水", "水", "3", min_length=1) == ["3", "水"]


def test_a_user_dictionary_changes_nothing():
    before = found("患者头痛伴高血压3天", "头痛")
    jieba.add_word("患者头痛", freq=10**8)
    try:
        assert jieba.lcut("患者头痛", HMM=False) == ["患者头痛"]
        assert found("患者头痛伴高血压3天", "头痛") == before
    finally:
        jieba.del_word("患者头痛")


@given(st.text())
def test_keys_keep_every_offset(text):
    assert len(matching_key(text)) == len(text)


@given(st.text())
def test_boundaries_cover_the_text(text):
    boundaries = word_boundaries(text)
    assert boundaries == sorted(set(boundaries))
    assert (boundaries[0], boundaries[-1]) == (0, len(text))


TEXTS = st.text(alphabet="高血压头痛患者伴3天abAＢ -。的水糖尿病", max_size=30)


@given(TEXTS, st.sets(st.text(alphabet="高血压头痛abＢ 糖尿病水", min_size=1, max_size=4)))
def test_against_a_naive_finder(text, names):
    """Try every boundary from the left, and every end from the right."""
    names = {name for name in names if name.strip()}
    keys = {matching_key(name) for name in names}
    key = matching_key(text)
    boundaries = word_boundaries(key)
    expected, start = [], 0
    while start < len(text):
        ends = [end for end in boundaries if end > start] if start in boundaries else []
        hits = [end for end in ends if key[start:end] in keys and end - start >= 2]
        if hits:
            expected.append((start, max(hits)))
        start = max(hits, default=start + 1)
    assert [(m.start, m.end) for m in finder(*sorted(names)).find(text)] == expected


def fast_words(text):
    return rjieba.cut(text, hmm=False)


def test_rjieba_cuts_as_jieba_does_on_the_bundled_texts():
    texts = [
        cell
        for name in ("reviews", "medical_ner", "medical_qa", "medical_departments")
        for _, line in read_lines(bundled_folder("corpora") / name / "train.tsv")
        for cell in line.split("\t")
    ]
    assert len(texts) > 5_000
    assert [text for text in texts if fast_words(text) != jieba_words(text)] == []


def test_rjieba_cuts_as_jieba_does_on_real_text(shared):
    texts = []
    for name in ("modern_003.txt", "CLUECorpusSmall_sampled.txt", "cmdd_000.txt"):
        lines = read_lines(shared / "data/pretrain" / name)
        texts += [line for _, line in itertools.islice(lines, 3_000)]
    assert [text for text in texts if fast_words(text) != jieba_words(text)] == []
