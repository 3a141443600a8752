"""Batches: every example once an epoch, budgets kept, packed rows equal to single ones."""

import shutil

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kbert_cli.batch_plan import BatchPlan, BatchSettings, pack
from kbert_cli.config import FinetuneConfig, InjectionConfig, TrainingConfig
from kbert_cli.corpus.example import Example
from kbert_cli.kg.graph import MemoryGraph
from kbert_cli.kg.triples import Triple
from kbert_cli.pipeline import Pipeline
from kbert_cli.tasks.loss import summed_loss

from .tiny import tiny_bert

LENGTHS = st.lists(st.integers(1, 80), min_size=1, max_size=60).map(np.array)
SETTINGS = st.builds(
    BatchSettings,
    sentences=st.integers(1, 9),
    tokens=st.none() | st.integers(1, 200),
    packed=st.booleans(),
    row_length=st.integers(1, 100),
)


@given(LENGTHS, SETTINGS, st.integers(1, 4), st.integers(0, 3))
def test_an_epoch_has_every_example_once_in_any_number_of_parts(lengths, settings, parts, seed):
    plan = BatchPlan(lengths, settings, epochs=2, parts=parts, seed=seed)
    whole = BatchPlan(lengths, settings, epochs=2, seed=seed)
    assert (plan.steps, plan.epoch_ends) == (whole.steps, whole.epoch_ends)
    for step in range(plan.steps):
        taken = [plan[step * parts + part] for part in range(parts)]
        assert np.concatenate(taken).tolist() == whole[step].tolist()
        sizes = [len(one) for one in taken]
        assert max(sizes) - min(sizes) <= 1
    first = np.concatenate([whole[step] for step in range(whole.epoch_ends[0])])
    assert sorted(first.tolist()) == list(range(len(lengths)))
    assert 0 <= plan.padding_share() < 1


@given(LENGTHS, SETTINGS)
def test_budgets_are_kept(lengths, settings):
    plan = BatchPlan(lengths, settings, epochs=1)
    for batch in (plan[step] for step in range(plan.steps)):
        found = lengths[batch]
        if settings.tokens is None:
            assert len(batch) <= settings.sentences
        elif len(batch) > 1:
            cost = found.sum() if settings.packed else found.max() * len(batch)
            assert cost <= settings.tokens


def test_part_of_an_epoch_and_the_epoch_of_a_step():
    plan = BatchPlan(np.full(40, 9), BatchSettings(4), epochs=1.5)
    assert plan.epoch_ends == [10, 15]
    assert [plan.epoch_at(step) for step in (0, 5, 10, 15)] == [0, 0.5, 1, 2]


def test_epochs_and_seeds_have_orders_of_their_own():
    def order(seed):
        plan = BatchPlan(np.full(40, 9), BatchSettings(40), epochs=2, seed=seed)
        return plan[0].tolist(), plan[1].tolist()

    assert order(1) == order(1)
    assert len({tuple(one) for one in (*order(1), *order(2))}) == 4


def test_alike_lengths_leave_little_padding():
    lengths = np.random.default_rng(0).integers(5, 200, 2_000)
    apart = BatchPlan(lengths, BatchSettings(16), epochs=1).padding_share()
    packed = BatchPlan(lengths, BatchSettings(16, packed=True), epochs=1).padding_share()
    random = 1 - np.mean(
        [lengths[at : at + 16].mean() / lengths[at : at + 16].max() for at in range(0, 2_000, 16)]
    )
    assert apart < 0.05
    assert packed < 0.1
    assert random > 0.4


@given(LENGTHS, st.integers(1, 100))
def test_packing_places_each_example_once_and_evenly(lengths, row_length):
    rows = pack(lengths, row_length)
    assert sorted(index for row in rows for index in row) == list(range(len(lengths)))
    limit = max(row_length, lengths.max())
    assert len(rows) <= -(-lengths.sum() // limit)
    # Graham's bound for the longest-first rule.
    assert max(lengths[row].sum() for row in rows) <= limit + lengths.max()


KG = MemoryGraph([Triple("高血压", "类别", "疾病"), Triple("头痛", "类别", "症状")])
TEXTS = ["患者头痛伴高血压3天", "服用阿司匹林后好转", "头痛", "伴头痛，服用药物3天", "高血压头痛"]


def pipeline_and_items(task, method="kbert", pooling="cls"):
    torch.manual_seed(0)
    config = FinetuneConfig(
        task=task,
        method=method,
        injection=InjectionConfig(max_length=64),
        training=TrainingConfig(pooling=pooling),
    )
    labels = ["O", "B-X", "I-X"]
    pipeline = Pipeline(config, labels, KG, tiny_bert())
    pipeline.model.eval()
    examples = [
        Example((text,), ("B-X", *["I-X"] * (len(text) - 1)) if task == "ner" else "B-X")
        for text in TEXTS
    ]
    return pipeline, pipeline.encode(examples)


@pytest.mark.parametrize("row_length", [8, 24, 200])
@pytest.mark.parametrize(
    ("task", "method", "pooling"),
    [
        ("classification", "kbert", "cls"),
        ("classification", "kbert", "mean"),
        ("classification", "none", "mean"),
        ("ner", "kbert", "cls"),
        ("ner", "none", "cls"),
    ],
)
@torch.no_grad()
def test_packed_rows_give_the_results_of_single_ones(task, method, pooling, row_length):
    pipeline, items = pipeline_and_items(task, method, pooling)
    single, packed = pipeline.collate(items), pipeline.collate_packed(items, row_length)
    assert packed["input_ids"].shape[0] <= single["input_ids"].shape[0]
    targets = single.pop("labels"), packed.pop("labels")
    apart = pipeline.model(**single)["logits"]
    together = pipeline.model(**packed)["logits"]
    if task == "ner":
        width = packed["input_ids"].shape[1]
        for index, item in enumerate(items):
            first = int(packed["first_tokens"][index])
            row, at = divmod(first, width)
            size = len(item.features)
            torch.testing.assert_close(
                together[row, at : at + size], apart[index, :size], atol=1e-5, rtol=1e-5
            )
    else:
        torch.testing.assert_close(together, apart, atol=1e-5, rtol=1e-5)
    losses = [summed_loss(one, two) for one, two in zip((apart, together), targets, strict=True)]
    torch.testing.assert_close(*losses, atol=1e-4, rtol=1e-5)


def test_packed_rows_give_the_gradients_of_single_ones():
    pipeline, items = pipeline_and_items("ner")

    def gradient(batch):
        labels = batch.pop("labels")
        pipeline.model.zero_grad()
        summed_loss(pipeline.model(**batch)["logits"], labels).backward()
        return [p.grad.clone() for p in pipeline.model.parameters() if p.grad is not None]

    apart = gradient(pipeline.collate(items))
    for one, other in zip(apart, gradient(pipeline.collate_packed(items, 200)), strict=True):
        torch.testing.assert_close(other, one, atol=1e-3, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("g++") is None, reason="flex kernels need a compiler")
@torch.no_grad()
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_flex_attention_computes_the_same():
    pipeline, items = pipeline_and_items("ner")
    batch = pipeline.collate_packed(items, 200)
    batch.pop("labels")
    expected = pipeline.model(**batch)["logits"]
    pipeline.model.encoder.encoder.config._attn_implementation = "flex_attention"
    found = pipeline.model(**batch)["logits"]
    real = batch["example_ids"] >= 0
    torch.testing.assert_close(found[real], expected[real], atol=1e-5, rtol=1e-5)
