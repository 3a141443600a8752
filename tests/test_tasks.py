"""Figures of classification and QA."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbert_cli.corpus.example import Example
from kbert_cli.registry import METHODS, TASKS
from kbert_cli.tasks import classification, load_task, qa
from kbert_cli.tasks.base import Prediction
from kbert_cli.tasks.ranking import rank_answers


def test_every_task_and_method_loads():
    from kbert_cli.methods import load_method

    assert [load_task(name).name for name in TASKS] == list(TASKS)
    assert [load_method(name).needs_entity_ids for name in METHODS] == [False, False]


def test_labels_are_strings_in_order():
    examples = [Example(("",), label) for label in ("1", "01", "1.0", "-1", "1")]
    assert classification.label_list(examples) == ["-1", "01", "1", "1.0"]


def test_a_class_that_is_never_predicted_scores_zero():
    examples = [Example(("",), label) for label in "ab"]
    scores = classification.score(examples, [Prediction("a"), Prediction("a")], ["a", "b"])
    assert scores.figures == {"accuracy": 0.5, "macro_f1": pytest.approx(1 / 3)}
    assert scores.per_label["b"] == {"precision": 0, "recall": 0, "f1": 0, "support": 1}


GROUPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 6), st.booleans()), min_size=1, max_size=20
)


@given(GROUPS)
def test_ranking_equals_ir_measures(answers):
    """Without ties, because trec_eval breaks them by document name."""
    import ir_measures
    from ir_measures import AP, RR

    scores = [score + index / 100 for index, (_, score, _) in enumerate(answers)]
    groups = [group for group, _, _ in answers]
    positive = [right for _, _, right in answers]
    ranking = rank_answers(groups, scores, positive)
    with_answer = {group for group, _, right in answers if right}
    assert ranking.questions == len(with_answer)
    assert ranking.without_positive == len(set(groups) - with_answer)
    if not with_answer:
        assert (ranking.mrr, ranking.map) == (0, 0)
        return
    judged = [
        ir_measures.Qrel(group, str(index), int(right))
        for index, (group, _, right) in enumerate(answers)
        if group in with_answer
    ]
    run = [
        ir_measures.ScoredDoc(group, str(index), score)
        for index, (group, score) in enumerate(zip(groups, scores, strict=True))
        if group in with_answer
    ]
    expected = ir_measures.calc_aggregate([RR, AP], judged, run)
    assert ranking.mrr == pytest.approx(expected[RR])
    assert ranking.map == pytest.approx(expected[AP])


def test_tied_answers_keep_their_order():
    assert rank_answers(["q", "q"], [0.5, 0.5], [True, False]).mrr == 1
    assert rank_answers(["q", "q"], [0.5, 0.5], [False, True]).mrr == 0.5


def test_qa_figures():
    examples = [
        Example(("问", "答"), label, group) for label, group in [("1", "a"), ("0", "a"), ("0", "b")]
    ]
    predictions = [Prediction("0", 0.4), Prediction("1", 0.6), Prediction("0", 0.1)]
    scores = qa.score(examples, predictions, qa.LABELS)
    assert scores.primary == "mrr"
    assert scores.figures["mrr"] == 0.5
    assert scores.figures["accuracy"] == pytest.approx(1 / 3)
    assert scores.counts == {"examples": 3, "questions": 1, "questions_without_positive": 1}
    ungrouped = [Example(("问", "答"), "1"), Example(("问", "答"), "0")]
    assert qa.score(ungrouped, predictions[:2], qa.LABELS).primary == "f1"


def test_qa_takes_0_and_1_only():
    assert "takes 1 (right answer)" in str(qa.label_problem(Example(("", ""), "yes"), qa.LABELS))
