"""BIO tags: spans against seqeval, decoding against all paths, characters against offsets."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kbert_cli.batch import IGNORED
from kbert_cli.corpus.example import Example
from kbert_cli.tasks import ner
from kbert_cli.tasks.base import Prediction
from kbert_cli.tasks.bio import (
    Span,
    best_tags,
    character_tags,
    count_entities,
    spans_of,
    tag_list,
    token_targets,
)

from . import naive

LABELS = tag_list(["X", "Y"])
TAGS = st.lists(st.sampled_from(LABELS), max_size=12)


@given(st.lists(st.tuples(TAGS, TAGS), min_size=1, max_size=5))
@pytest.mark.filterwarnings("ignore")
def test_strict_counts_equal_seqeval(pairs):
    from seqeval.metrics import classification_report
    from seqeval.scheme import IOB2

    pairs = [(a[: len(b)], b[: len(a)]) for a, b in pairs]
    gold, predicted = [list(a) for a, _ in pairs], [list(b) for _, b in pairs]
    counts = count_entities(gold, predicted)
    if not any(count.gold for count in counts.values()):
        return
    report = classification_report(
        gold, predicted, mode="strict", scheme=IOB2, output_dict=True, zero_division=0
    )
    for kind, count in counts.items():
        # seqeval leaves out types that occur in predictions only.
        if kind in report:
            assert count.figures()["f1"] == pytest.approx(report[kind]["f1-score"])
            assert count.gold == report[kind]["support"]
    scores = ner.score(
        [Example(("",), tuple(tags)) for tags in gold],
        [Prediction(tuple(tags)) for tags in predicted],
        LABELS,
    )
    assert scores.figures["f1"] == pytest.approx(report["micro avg"]["f1-score"])
    assert scores.figures["precision"] == pytest.approx(report["micro avg"]["precision"])


def test_a_swapped_type_and_a_moved_border_are_wrong():
    gold = [["B-X", "I-X", "O"]]
    assert count_entities(gold, [["B-Y", "I-Y", "O"]])["X"].right == 0
    assert count_entities(gold, [["B-X", "O", "O"]])["X"].right == 0
    assert count_entities(gold, gold)["X"] == (1, 1, 1)


def test_figures_without_denominators_are_zero():
    scores = ner.score([Example(("甲",), ("O",))], [Prediction(("O",))], LABELS)
    assert scores.figures == {"precision": 0.0, "recall": 0.0, "f1": 0.0}


@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_decoding_finds_the_best_valid_path(seed, length):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(1, length, len(LABELS), generator=generator) * 3
    carrying = torch.ones(1, length, dtype=torch.bool)
    path = best_tags(logits, carrying, LABELS)[0].tolist()
    assert tuple(path) == naive.best_valid_path(logits[0].log_softmax(-1), LABELS)


@given(st.integers(0, 2**32 - 1), st.lists(st.booleans(), min_size=1, max_size=9))
def test_decoding_steps_over_tokens_without_tags(seed, mask):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(1, len(mask), len(LABELS), generator=generator) * 3
    carrying = torch.tensor([mask])
    kept = logits[:, mask]
    if not any(mask):
        return
    whole = best_tags(logits, carrying, LABELS)[0][carrying[0]]
    alone = best_tags(kept, torch.ones(kept.shape[:2], dtype=torch.bool), LABELS)[0]
    assert whole.tolist() == alone.tolist()


def spans(*pairs):
    return np.array(pairs, np.int32).reshape(-1, 2)


NOTHING = (-1, -1)


def test_targets_sit_on_first_characters_and_skip_branches():
    # [CLS] 查 CT(2 characters) branch branch 示 [SEP]
    layout = spans(NOTHING, (0, 1), (1, 3), NOTHING, NOTHING, (3, 4), NOTHING)
    targets = token_targets(["O", "B-X", "I-X", "O"], layout, LABELS)
    assert targets.tolist() == [IGNORED, 0, 1, IGNORED, IGNORED, 0, IGNORED]


def test_of_byte_pieces_of_one_character_the_first_carries_the_tag():
    targets = token_targets(["B-X", "O"], spans((0, 1), (0, 1), (1, 2)), LABELS)
    assert targets.tolist() == [1, IGNORED, 0]


def test_characters_inside_tokens_and_between_them():
    # "CT 检 查": one token of two characters, then blanks that have none.
    layout = spans(NOTHING, (0, 2), (3, 4), (5, 6), NOTHING)
    begin, inside = LABELS.index("B-X"), LABELS.index("I-X")
    tags = character_tags(np.array([0, begin, inside, 0, 0]), layout, 7, LABELS)
    assert tags == ("B-X", "I-X", "I-X", "I-X", "O", "O", "O")


@given(TAGS.map(tuple))
def test_a_tag_a_character_survives_the_round_trip(tags):
    text_spans = [(index, index + 1) for index in range(len(tags))]
    layout = spans(NOTHING, *text_spans, NOTHING)
    targets = token_targets(tags, layout, LABELS)
    assert character_tags(np.maximum(targets, 0), layout, len(tags), LABELS) == tags


@given(TAGS)
def test_spans_are_ordered_and_disjoint(tags):
    found = spans_of(tags)
    assert all(span.start < span.end for span in found)
    assert all(one.end <= other.start for one, other in itertools.pairwise(found))


def test_an_orphan_begins_nothing():
    assert spans_of(["I-X", "B-X", "I-Y", "I-X"]) == [Span("X", 1, 2)]
