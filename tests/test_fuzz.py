"""Anything may come in: drawn texts, graphs and entities, and files with drawn damage."""

import json
import shutil

import numpy as np
import pytest
from fuzz import fuzz, inputs
from hypothesis import given, settings
from hypothesis import strategies as st

from kbert_cli.config import InjectionConfig, ReadConfig
from kbert_cli.corpus.columns import NER
from kbert_cli.corpus.convert import TARGETS, convert_file
from kbert_cli.corpus.entities import Entity, entities_of
from kbert_cli.corpus.formats import PASSAGES
from kbert_cli.corpus.tagged import read_tagged_file
from kbert_cli.errors import KbertError
from kbert_cli.inspection import Inspector
from kbert_cli.kg.catalog import open_graph
from kbert_cli.render.html import render_html
from kbert_cli.render.svg import render_svg
from kbert_cli.render.view import tree_as_dict

from .conftest import run_kbert

ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
CELL = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\u2028\u2029"), min_size=1
).filter(lambda cell: cell.strip() != "")


def test_damaged_files_give_a_result_or_a_clear_error(tmp_path):
    counts = fuzz(seed=11, count=330)
    assert counts.failures == []
    assert counts.refused > 50
    assert counts.rows > 100
    assert set(counts.inputs) == {"classification", "qa", "ner", "reading", "kg"}


def test_equal_seeds_give_equal_damage():
    assert list(inputs(3, 40)) == list(inputs(3, 40))
    assert list(inputs(3, 40)) != list(inputs(4, 40))


@pytest.mark.slow
def test_damaged_files_and_runs_through_prediction(tmp_path):
    (tmp_path / "train.tsv").write_text(
        "label\ttext_a\n1\t头痛\n0\t发热\n1\t咳嗽\n0\t头晕\n", encoding="utf-8"
    )
    command = ("finetune", "--task", "classification", "--kg", "medical", "--train", "train.tsv")
    done = run_kbert(
        *command, "--dev", "train.tsv", "--epochs", "1", "--output", "run", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    counts = fuzz(seed=12, count=2000, trained=str(tmp_path / "run"))
    assert counts.failures == []
    assert {"predict", "run"} <= set(counts.inputs)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@given(ANY, st.lists(st.tuples(st.integers(0, 39), st.integers(1, 6), CELL, CELL), max_size=6))
@settings(max_examples=60)
def test_any_text_and_graph_make_a_sound_tree(folder, text, drawn):
    triples = [(text[at : at + size], predicate, value) for at, size, predicate, value in drawn]
    lines = ["\t".join(triple) + "\n" for triple in triples if triple[0].strip()]
    graph = folder / "g.spo"
    graph.write_text("".join(lines), encoding="utf-8", newline="\n")
    injection = InjectionConfig(max_entities=2, min_mention_length=1, max_length=32)
    seen = Inspector(open_graph([str(graph)]), injection, "mini-zh").inspect([text])
    tree, layout = seen.tree, seen.layout
    end = 0
    for knot in tree.knots:
        assert text[knot.mention.start : knot.mention.end] == knot.mention.name
        assert end <= knot.mention.start < knot.mention.end
        assert len(knot.branches) <= 2
        end = knot.mention.end
    assert 2 <= len(layout) <= 32
    for start, stop in layout.spans:
        assert (start, stop) == (-1, -1) or 0 <= start < stop <= len(text)
    shown = tree_as_dict(tree, layout)
    matrix = np.array([[cell == "1" for cell in row] for row in shown["visible"]])
    assert (matrix == matrix.T).all()
    assert matrix.diagonal().all()
    for page in (render_html([(tree, layout)]), render_svg([layout])):
        assert page.isprintable() or not set(page) & {*map(chr, range(9)), "\x0b", "\x7f"}
        assert "\u202e" not in page


@st.composite
def sentences(draw):
    """A text and disjoint entities in it."""
    text = draw(ANY.filter(lambda text: text.strip() != ""))
    entities, at = [], 0
    while at < len(text) and draw(st.booleans()):
        start = draw(st.integers(at, len(text) - 1))
        at = draw(st.integers(start + 1, len(text)))
        entities.append(Entity(start, at, draw(st.sampled_from(["疾病", "X", "LOC"]))))
    return text, entities


@given(
    st.lists(sentences(), min_size=1, max_size=3),
    st.sampled_from([name for name in TARGETS if name != PASSAGES]),
)
@settings(max_examples=150)
def test_what_a_format_holds_comes_back_and_the_rest_is_refused(folder, content, target):
    shutil.rmtree(folder / "c", ignore_errors=True)
    (folder / "c").mkdir()
    source = folder / "c/source.jsonl"
    source.write_text(
        "".join(
            json.dumps(
                {
                    "text": text,
                    "entities": [{"start": a, "end": b, "type": kind} for a, b, kind in entities],
                }
            )
            + "\n"
            for text, entities in content
        ),
        encoding="utf-8",
    )
    out = folder / f"c/out.{target if target in ('tsv', 'csv', 'jsonl') else 'txt'}"
    try:
        done = convert_file(source, out, NER, ReadConfig(format="entities"), form=target)
    except KbertError:
        assert not out.exists()
        return
    found = read_tagged_file(out, ReadConfig(format=target))
    assert (found.faults, found.odd_tags) == ([], [])
    read = [(one.texts[0], entities_of(one.label or ())) for one in found.examples]
    assert done.losses or read == content
