"""Trees: the reference's own, and METHODS-style properties against linked nodes."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbert_cli.kg.graph import MemoryGraph
from kbert_cli.kg.triples import Triple
from kbert_cli.mentions.finder import Mention, MentionFinder
from kbert_cli.tree.layout import SpecialTokens, anchor_tokens, lay_out
from kbert_cli.tree.pieces import Pieces
from kbert_cli.tree.sentence_tree import Branch, BranchSource, Knot, SentenceTree, grow_tree
from kbert_cli.tree.visibility import PADDING, visible_matrix

from . import naive

BARE = SpecialTokens(None, None)
BERT = SpecialTokens(101, 102)


def characters(text):
    return Pieces([*map(ord, text)], range(len(text)), range(1, len(text) + 1))


def rows(layout):
    matrix = visible_matrix(np.array(layout.branch_ids), np.array(layout.mention_ids))
    return ["".join(str(int(cell)) for cell in row) for row in matrix]


def knot(start, end, *branches, text_index=0):
    hung = tuple(Branch(Triple("名", "属性", text), False) for text in branches)
    return Knot(text_index, Mention(start, end, "名" * (end - start)), hung)


def test_the_reference_trees(shared):
    lines = (shared / "conformance/reference_trees.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 100
    for line in lines:
        case = json.loads(line)
        knots, position = [], 0
        for token in case["tokens"]:
            end = position + len(token)
            if token in case["branches"]:
                knots.append(knot(position, end, *case["branches"][token]))
            position = end
        tree = SentenceTree((case["text"],), tuple(knots))
        layout = lay_out(tree, characters, BARE, max_length=10**6)
        assert layout.token_texts == case["pieces"]
        assert layout.soft_positions == case["soft_positions"]
        assert [int(branch > 0) for branch in layout.branch_ids] == case["is_branch"]
        assert rows(layout) == case["visible"]


@st.composite
def trees(draw):
    """A text and knots on parts of it that do not overlap."""
    text = draw(st.text(alphabet="天地玄黄宇宙洪荒", max_size=12))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)))
    spans = list(zip(cuts[::2], cuts[1::2], strict=False))
    hung = [draw(st.lists(st.text("甲乙丙丁", min_size=1, max_size=4), max_size=3)) for _ in spans]
    knots = tuple(knot(*span, *texts) for span, texts in zip(spans, hung, strict=True))
    return SentenceTree((text,), knots)


def as_nodes(tree):
    branches = {
        (one.mention.start, one.mention.end - 1): [
            list(branch.triple.object) for branch in one.branches
        ]
        for one in tree.knots
    }
    return naive.grow_nodes(list(tree.texts[0]), branches)


@given(trees())
def test_layout_equals_linked_nodes(tree):
    layout = lay_out(tree, characters, BARE, max_length=10**6)
    nodes = as_nodes(tree)
    assert layout.token_texts == [node.text for node in nodes]
    assert layout.soft_positions == [naive.depth(node) for node in nodes]
    assert layout.branch_ids == [node.branch for node in nodes]
    assert rows(layout) == naive.matrix(nodes)


@given(trees())
def test_what_must_hold(tree):
    layout = lay_out(tree, characters, BERT, max_length=10**6)
    visible = visible_matrix(np.array(layout.branch_ids), np.array(layout.mention_ids))
    assert (visible == visible.T).all()
    assert visible.diagonal().all()
    trunk = [i for i, branch in enumerate(layout.branch_ids) if branch == 0]
    assert visible[np.ix_(trunk, trunk)].all()
    # [CLS] and [SEP] see no branch.
    for special in (trunk[0], trunk[-1]):
        assert {j for j in range(len(layout)) if visible[special, j]} == set(trunk)
    # Trunk positions are those of the uninjected text.
    assert [layout.soft_positions[i] for i in trunk] == list(range(len(tree.texts[0]) + 2))
    # A branch sees itself and its anchor, no sibling and nothing else.
    for branch in layout.branches:
        own = set(range(branch.start, branch.end))
        anchor = set(anchor_tokens(layout, branch))
        assert anchor
        for i in own:
            assert {j for j in range(len(layout)) if visible[i, j]} == own | anchor
        assert layout.soft_positions[branch.start] == layout.soft_positions[max(anchor)] + 1


@given(trees(), st.integers(2, 40))
def test_truncation_drops_last_branches_first_and_the_trunk_last(tree, limit):
    layout = lay_out(tree, characters, BERT, max_length=limit)
    whole = lay_out(tree, characters, BERT, max_length=10**6)
    assert len(layout) <= limit
    assert layout.token_texts[0] == "[CLS]"
    assert layout.token_texts[-1] == "[SEP]"
    kept = [branch.triple for branch in layout.branches]
    every = [branch.triple for branch in whole.branches]
    assert kept == every[: len(kept)]
    assert layout.dropped_branches == every[len(kept) :]
    trunk = "".join(
        text for text, span in zip(layout.token_texts, layout.spans, strict=True) if span[0] >= 0
    )
    text = tree.texts[0]
    assert trunk == text[: len(trunk)]
    assert layout.truncated_characters == len(text) - len(trunk)
    if layout.truncated_characters:
        assert not kept
    if layout.dropped_branches:
        # The next branch would not have fitted.
        first = whole.branches[len(kept)]
        assert len(layout) + first.end - first.start > limit or layout.truncated_characters


def test_too_small_a_limit_is_refused():
    with pytest.raises(ValueError, match="does not hold the special tokens"):
        lay_out(SentenceTree(("甲",)), characters, BERT, max_length=1)


def test_the_longer_text_of_a_pair_is_cut():
    tree = SentenceTree(("甲" * 10, "乙" * 3))
    layout = lay_out(tree, characters, BERT, max_length=12)
    assert "".join(layout.token_texts) == "[CLS]" + "甲" * 6 + "[SEP]" + "乙" * 3 + "[SEP]"
    assert layout.segment_ids == [0] * 8 + [1] * 4
    assert layout.truncated_characters == 4


def test_branches_take_the_segment_of_their_text():
    tree = SentenceTree(("甲乙", "丙丁"), (knot(0, 2, "一"), knot(0, 2, "二", text_index=1)))
    layout = lay_out(tree, characters, BERT, max_length=100)
    assert layout.token_texts == ["[CLS]", "甲", "乙", "一", "[SEP]", "丙", "丁", "二", "[SEP]"]
    assert layout.segment_ids == [0, 0, 0, 0, 0, 1, 1, 1, 1]


def test_a_token_that_two_mentions_share_belongs_to_the_first():
    def one_piece(text):
        return Pieces([1], [0], [len(text)]) if text == "ab" else characters(text)

    tree = SentenceTree(("ab",), (knot(0, 1, "一"), knot(1, 2, "二")))
    layout = lay_out(tree, one_piece, BARE, max_length=100)
    assert layout.token_texts == ["ab", "一"]
    assert [triple.object for triple in layout.dropped_branches] == ["二"]


def test_branches_without_tokens_are_left_out():
    def blind(text):
        kept = [index for index, char in enumerate(text) if char != "空"]
        return Pieces([ord(text[i]) for i in kept], kept, [i + 1 for i in kept])

    tree = SentenceTree(("甲空",), (knot(0, 1, "空", "一"), knot(1, 2, "二")))
    layout = lay_out(tree, blind, BARE, max_length=100)
    assert layout.token_texts == ["甲", "一"]
    assert [triple.object for triple in layout.dropped_branches] == ["空", "二"]


def test_padding_sees_only_padding():
    matrix = visible_matrix(np.array([0, 1, PADDING, PADDING]), np.array([1, 1, 0, 0]))
    assert matrix.astype(int).tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]


GRAPH = MemoryGraph(
    Triple("苹果", predicate, value)
    for predicate, value in [("类别", "水果"), ("属于", "水果"), ("颜色", "红色"), ("产地", "山东")]
)


def injected(limit, predicate):
    tree = grow_tree(
        ["我吃苹果"],
        [MentionFinder(GRAPH).find("我吃苹果")],
        BranchSource(GRAPH, max_entities=limit, predicate=predicate),
    )
    return ["".join(branch.parts) for branch in tree.branches()]


def test_the_first_triples_in_file_order():
    assert injected(2, True) == ["类别水果", "属于水果"]
    assert injected(0, True) == []
    assert injected(9, True) == ["类别水果", "属于水果", "颜色红色", "产地山东"]


def test_equal_branch_texts_are_injected_once():
    assert injected(2, False) == ["水果", "红色"]


def test_inspection_names_what_the_encoder_does_not_know(kbert):
    shown = kbert("inspect-tree", "龘头痛𠮷", "-q")
    assert "unknown to the encoder, which gets [UNK]: 龘 𠮷" in shown.stdout
    found = json.loads(kbert("inspect-tree", "龘头痛𠮷", "-q", "--format", "json").stdout)
    assert [found["tokens"][index] for index in found["unknown"]] == ["龘", "𠮷"]
    assert (
        json.loads(kbert("inspect-tree", "头痛", "-q", "--format", "json").stdout)["unknown"] == []
    )
