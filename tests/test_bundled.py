"""The bundled graphs and corpora are what their cards say."""

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForMaskedLM, AutoTokenizer

from kbert_cli.config import DEFAULT_ENCODER
from kbert_cli.corpus.catalog import bundled_corpora, corpus_files, corpus_for
from kbert_cli.corpus.reader import read_split
from kbert_cli.encoder_catalog import bundled_encoders
from kbert_cli.encoders import load_encoder
from kbert_cli.errors import KbertError
from kbert_cli.files import bundled_folder, read_lines
from kbert_cli.kg.catalog import bundled_graphs, open_graph
from kbert_cli.mentions.finder import MentionFinder
from kbert_cli.tasks import load_task
from kbert_cli.tasks.bio import spans_of
from kbert_cli.tokenization import PieceEncoder, open_backend

GRAPHS, CORPORA = bundled_graphs(), bundled_corpora()
SPLITS = ("train", "dev", "test")


def test_all_are_there():
    assert list(GRAPHS) == ["cndbpedia", "hownet", "medical"]
    assert list(CORPORA) == ["medical_departments", "medical_ner", "medical_qa", "reviews"]


@pytest.mark.parametrize("name", GRAPHS)
def test_graph(name):
    card = GRAPHS[name].facts
    opened = open_graph([name])
    report = opened.reports[0]
    triples = list(opened.graph)
    assert not report.rejected
    assert (report.duplicates, report.self_loops) == (0, 0)
    assert len(triples) == card["triples"]
    assert len({triple.subject for triple in triples}) == card["subjects"]
    assert len({triple.predicate for triple in triples}) == card["predicates"]
    assert card["source"]
    assert card["licence"]
    assert card["how_made"]


def test_medical_terms_say_first_what_they_are():
    graph = open_graph(["medical"]).graph
    kinds = {"高血压": "疾病", "头痛": "症状", "阿司匹林": "药物", "心电图": "检查", "腹部": "部位"}
    for name, kind in kinds.items():
        assert next(graph.triples_of(name))[1:] == ("类别", kind)


def splits(name):
    task = load_task(CORPORA[name].facts["task"])
    files = corpus_files(name)
    return {split: read_split(getattr(files, split), task.columns) for split in SPLITS}


@pytest.mark.parametrize("name", CORPORA)
def test_corpus(name):
    card = CORPORA[name].facts
    read = splits(name)
    assert {split: len(read[split].examples) for split in SPLITS} == card["splits"]
    texts = [example.texts for split in read.values() for example in split.examples]
    assert len(set(texts)) == len(texts)
    assert not any(split.notes for split in read.values())
    task = load_task(card["task"])
    labels = task.label_list(read["train"].examples)
    for split in read.values():
        assert not [one for one in split.examples if task.label_problem(one, labels)]
    if card["task"] != "ner":
        assert sorted(labels) == sorted(card["labels"])


def test_ner_entities_of_test_are_new_and_mostly_in_the_graph():
    def entities(split):
        return {
            (example.texts[0][start:end], kind)
            for example in split.examples
            for kind, start, end in spans_of(example.label)
        }

    read = splits("medical_ner")
    test = entities(read["test"])
    assert not test & entities(read["train"])
    assert {kind for _, kind in test} == set(CORPORA["medical_ner"].facts["labels"])
    graph = open_graph(["medical"]).graph
    known = [name for name, _ in test if graph.triples_of(name)]
    assert len(known) >= 0.8 * len(test)


def test_every_question_has_one_right_answer():
    for split in splits("medical_qa").values():
        right = [example.group for example in split.examples if example.label == "1"]
        assert sorted(right) == sorted({example.group for example in split.examples})


def test_the_graphs_are_found_in_the_corpora_of_their_domain():
    pairs = {"medical_ner": "medical", "reviews": "hownet", "medical_qa": "medical"}
    for corpus, graph in pairs.items():
        finder = MentionFinder(open_graph([graph]).graph)
        examples = splits(corpus)["test"].examples
        with_mention = [one for one in examples if any(map(finder.find, one.texts))]
        assert len(with_mention) >= 0.6 * len(examples)


def test_the_corpus_follows_task_and_domain():
    assert corpus_for("ner", "medical").name == "medical_ner"
    assert corpus_for("classification", "medical").name == "medical_departments"
    assert corpus_for("classification", "general").name == "reviews"
    assert corpus_for("qa", "general").name == "medical_qa"
    with pytest.raises(KbertError, match="no bundled corpus"):
        corpus_for("sorting", None)
    with pytest.raises(KbertError, match="no corpus 'review'") as error:
        corpus_files("review")
    assert error.value.hint == "Did you mean 'reviews'?"


def test_the_bundled_encoder_is_what_its_card_says():
    card = bundled_encoders()[DEFAULT_ENCODER]
    weights = card.path / "model.safetensors"
    assert weights.stat().st_size < 20_000_000
    assert {value.dtype for value in load_file(weights).values()} == {torch.float16}
    assert "make_mini_zh.sh" in (card.path / "README.md").read_text(encoding="utf-8")
    encoder = load_encoder(DEFAULT_ENCODER)
    assert len(encoder.tokenizer) == card.facts["vocabulary"]
    model = AutoModelForMaskedLM.from_pretrained(card.path)
    assert sum(weight.numel() for weight in model.parameters()) == card.facts["parameters"]


def test_the_bundled_encoder_knows_punctuation_and_the_bundled_texts():
    backend, _ = open_backend(DEFAULT_ENCODER)
    encode = PieceEncoder(backend)
    unknown = backend.token_to_id("[UNK]")
    signs = "，。、；：？！“”‘’（）《》【】「」—…·～％￥℃,.;:?!\"'()[]<>-_/\\@#$%^&*+=|~`{}"
    assert unknown not in encode(" ".join(signs) + "Hello World 0123456789").ids
    pieces = [
        piece
        for name in bundled_corpora()
        for _, line in read_lines(bundled_folder("corpora") / name / "train.tsv")
        for piece in encode(line).ids
    ]
    assert pieces.count(unknown) < len(pieces) / 1_000


@pytest.mark.parametrize(
    ("text", "expected"), [("我很喜[MASK]这家酒店。", "欢"), ("皇帝下[MASK]大赦天下。", "诏")]
)
def test_the_bundled_encoder_fills_plain_gaps(text, expected):
    folder = bundled_encoders()[DEFAULT_ENCODER].path
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForMaskedLM.from_pretrained(folder).float().eval()
    batch = tokenizer(text, return_tensors="pt")
    with torch.inference_mode():
        logits = model(**batch).logits[batch.input_ids == tokenizer.mask_token_id]
    assert tokenizer.convert_ids_to_tokens(logits.argmax(-1).tolist()) == [expected]
