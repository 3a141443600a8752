"""Extractive reading: answers on the passage's characters, CMRC's measures, the command."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kbert_cli.config import FinetuneConfig, InjectionConfig, ReadConfig
from kbert_cli.corpus.columns import READING
from kbert_cli.corpus.example import Example
from kbert_cli.corpus.reader import read_questions, read_split
from kbert_cli.errors import KbertError
from kbert_cli.kg.graph import MemoryGraph
from kbert_cli.kg.triples import Triple
from kbert_cli.pipeline import Pipeline
from kbert_cli.tasks import reading
from kbert_cli.tasks.answers import best_f1, exact_match, longest_common_run, pieces

from .tiny import tiny_bert

PASSAGE = "患者高血压多年。服用阿司匹林后头痛好转，3天后出院。" * 3
KG = MemoryGraph([Triple("高血压", "类别", "疾病"), Triple("头痛", "类别", "症状")])


def pipeline(max_length=40):
    torch.manual_seed(0)
    config = FinetuneConfig(task="reading", injection=InjectionConfig(max_length=max_length))
    return Pipeline(config, reading.label_list([]), KG, tiny_bert())


@pytest.mark.parametrize("answer", ["阿司匹林", "高血压", "出院。", "患者"])
@pytest.mark.parametrize("start", [None, "last"])
def test_targets_are_the_answers_tokens_in_the_windows_that_hold_it(answer, start):
    at = PASSAGE.rfind(answer) if start else PASSAGE.find(answer)
    example = Example(("服用药物？", PASSAGE), (answer,), answer_starts=(at if start else None,))
    items = pipeline().encode([example])
    assert len(items) > 2
    covered = max(item.part.start + item.part.length for item in items)
    assert covered == len(PASSAGE)
    holding = 0
    for item in items:
        first, last = item.targets
        whole = item.part.start <= at and at + len(answer) <= item.part.start + item.part.length
        if not whole or not first:
            assert (first, last) == (0, 0)
            continue
        holding += 1
        spans = item.features.spans
        begin, end = item.part.start + spans[first, 0], item.part.start + spans[last, 1]
        assert PASSAGE[begin:end] == answer
        assert (item.features.branch_ids[[first, last]] == 0).all()
        assert (item.features.segment_ids[[first, last]] == 1).all()
    assert holding >= 1


def test_answers_never_touch_branches_or_the_question():
    made = pipeline()
    examples = [Example(("高血压患者头痛？", PASSAGE)), Example(("头痛？", "头痛"))]
    for example, found in zip(examples, made.predict(examples), strict=True):
        start, end = found.span
        assert found.label == example.texts[1][start:end] != ""
        assert 0 < found.score <= 1
    item = made.encode(examples)[0]
    batch = made.collate([item])
    batch.pop("labels")
    logits = made.model(**batch)["logits"][0]
    hidden = (item.features.branch_ids != 0) | (item.features.segment_ids != 1)
    hidden[0] = False
    assert item.features.branches > 0
    assert (logits[torch.from_numpy(hidden)] < -1e8).all()


def test_the_most_probable_pair_of_ends_is_the_answer():
    item = pipeline().encode([Example(("头痛？", "患者头痛伴高血压"))])[0]
    tokens = reading._passage(item.part)
    scores = np.full((len(item.features), 2), -9.0)
    scores[tokens[2], 0], scores[tokens[3], 1] = -0.1, -0.2
    # The best end lies before the best beginning: no answer can have it.
    scores[tokens[0], 1] = -0.05
    found = reading.decode(scores, item.part, [])
    assert found.span == (2, 4)
    assert found.score == pytest.approx(np.exp(-0.3))


@given(st.text("ab", max_size=8), st.text("ab", max_size=8))
def test_longest_common_run_by_trying_all(one, other):
    runs = [
        end - start
        for start in range(len(one))
        for end in range(start + 1, len(one) + 1)
        if one[start:end] in other
    ]
    assert longest_common_run(one, other) == max(runs, default=0)


def test_cmrcs_measures():
    assert pieces("约翰·Smith 3世，") == ["约", "翰", "smith", "3", "世"]
    assert exact_match("《红楼梦》", ["红楼梦", "x"])
    assert not exact_match("红楼", ["红楼梦"])
    assert best_f1("红楼", ["红楼梦", "水浒"]) == pytest.approx(2 * 1 * (2 / 3) / (1 + 2 / 3))
    assert best_f1("", ["红楼梦"]) == 0.0


SQUAD = {
    "data": [
        {
            "paragraphs": [
                {
                    "context": "甲乙甲丙",
                    "qas": [
                        {
                            "id": "a",
                            "question": "问",
                            "answers": [{"text": "甲", "answer_start": 2}],
                        },
                        {
                            "id": "b",
                            "question": "问",
                            "answers": [{"text": "甲", "answer_start": 1}],
                        },
                        {"id": "c", "question": "问", "answers": [{"text": "丁"}]},
                    ],
                }
            ]
        }
    ]
}
CMRC = [
    {
        "context_text": "甲乙甲丙",
        "qas": [{"query_id": "q", "query_text": "问", "answers": ["乙", "丙"]}],
    }
]


def test_both_forms_and_tables_are_read(write):
    form, split, faults = read_questions(write("s.json", json.dumps(SQUAD)), ReadConfig())
    assert (form, len(split.examples), split.examples[0].answer_start) == ("squad", 1, 2)
    assert [reason[:11] for _, reason in faults] == ["question 2:", "question 3:"]
    assert "at 1 the passage has '乙', not '甲'" in faults[0][1]
    assert "does not hold the answer '丁'" in faults[1][1]
    with pytest.raises(KbertError, match=r"s\.json: question 2: at 1"):
        read_split(write("s.json", json.dumps(SQUAD)), READING)
    found = read_split(write("c.json", json.dumps(CMRC, indent=1)), READING).examples
    assert [(one.texts, one.label, one.group) for one in found] == [
        (("问", "甲乙甲丙"), ("乙", "丙"), "q")
    ]
    table = write("t.tsv", "question\tcontext\tanswer\n问\t甲乙\t乙\n")
    assert read_split(table, READING).examples[0].label == ("乙",)
    with pytest.raises(KbertError, match="neither SQuAD's nor CMRC's form"):
        read_split(write("x.json", '[{"a": 1}]'), READING)
    with pytest.raises(KbertError, match="is no JSON"):
        read_split(write("y.json", '[{"a": 1'), READING)


@pytest.mark.slow
def test_the_command_trains_and_answers(kbert, write, tmp_path):
    names = ["阿司匹林", "青霉素", "胰岛素", "维生素", "布洛芬", "头孢"]
    passages = [
        {
            "context_text": f"患者第{number}天服用{name}后好转，第二天出院。"
            + "今天天气很好。" * 9,
            "qas": [{"query_id": f"q{number}", "query_text": "服用什么药？", "answers": [name]}],
        }
        for number, name in enumerate(names * 4)
    ]
    write("data.json", json.dumps(passages, ensure_ascii=False))
    data = ("--train", "data.json", "--dev", "data.json", "--test", "data.json")
    options = ("--max-length", "48", "--epochs", "10", "--batch-size", "8")
    done = kbert(
        *("finetune", "--task", "reading", "--kg", "medical", *data, *options, "--output", "run"),
        *("--json", "-q"),
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)["test"]
    assert figures["f1"] > 0.8
    predicted = kbert("predict", "data.json", "--run", "run", "-q")
    rows = [json.loads(line) for line in predicted.stdout.splitlines()]
    assert len(rows) == 24
    for row, passage in zip(rows, passages, strict=True):
        assert passage["context_text"][row["start"] : row["end"]] == row["prediction"]
    right = [
        row["prediction"] == p["qas"][0]["answers"][0]
        for row, p in zip(rows, passages, strict=True)
    ]
    assert np.mean(right) == pytest.approx(figures["exact_match"])
    scored = kbert("evaluate", "data.json", "--run", "run", "--json", "-q")
    assert json.loads(scored.stdout)["f1"] == pytest.approx(figures["f1"])
    packed = kbert("finetune", "--task", "reading", "--kg", "none", *data, "--pack")
    assert (packed.returncode, "--pack is for short texts" in packed.stderr) == (1, True)
