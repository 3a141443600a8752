"""Fine-tuning: options in, a run folder and its figures out."""

from __future__ import annotations

import logging
import math
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import set_seed

from kbert_cli import __version__
from kbert_cli.checkpoint import (
    LOG,
    METRICS,
    RunRecord,
    check_output,
    make_run_folder,
    save_model,
    save_record,
)
from kbert_cli.config import NO_GRAPH, FinetuneConfig, TrainingConfig
from kbert_cli.corpora import Corpus, read_corpus
from kbert_cli.corpus.example import Example
from kbert_cli.encoders import Encoder, load_encoder
from kbert_cli.errors import KbertError
from kbert_cli.files import named_output_errors, write_json
from kbert_cli.hf_trainer import (
    DEV_METRIC,
    ProgressAndLog,
    build_trainer,
    training_arguments,
)
from kbert_cli.kg.catalog import OpenedGraph, absolute_source, open_graph, short_name
from kbert_cli.pipeline import Item, Pipeline, default_device
from kbert_cli.reporting import Reporter
from kbert_cli.scratch import build_encoder, is_scratch
from kbert_cli.selfcheck import check_encoder
from kbert_cli.tasks import load_task
from kbert_cli.tasks.base import Scores


@dataclass(frozen=True)
class FinetuneResult:
    """A finished run."""

    folder: Path
    config: FinetuneConfig
    metrics: dict[str, Any]
    """What ``metrics.json`` holds."""


def finetune(
    config: FinetuneConfig, reporter: Reporter, *, output: Path | None = None, force: bool = False
) -> FinetuneResult:
    """Fine-tune a model, keep the weights of the best epoch on dev, score test once with them.

    Args:
        output: the run folder; by default a new one under ``runs/``.
        force: replace the run in an ``output`` that exists.

    Raises:
        KbertError: the input or an option is wrong; nothing was trained then.
    """
    started = time.monotonic()
    check_output(output, force)
    logging.getLogger("transformers").setLevel(logging.ERROR)
    config = resolve_defaults(config)
    opened = open_graph(config.kg)
    tell_graph(opened, config.kg, reporter)
    corpus = read_corpus(config, reporter)
    pipeline = _build(config, corpus, opened, reporter)
    items = _encode(pipeline, corpus, reporter)
    names = "+".join(short_name(source) for source in config.kg)
    folder = make_run_folder(output, f"{config.task}-{names}")
    trained = _train(pipeline, corpus, items, folder, reporter)
    metrics = {
        **trained,
        "test": _test(pipeline, corpus, reporter),
        "tree": _tree_statistics(items["train"]),
        "seconds": round(time.monotonic() - started, 1),
        "versions": {"kbert": __version__, "torch": torch.__version__},
    }
    record = RunRecord(
        config, tuple(pipeline.labels), len(corpus.train[0].texts), opened.graph.content_hash
    )
    save_model(folder, pipeline.model, pipeline.tokenizer)
    save_record(folder, record)
    write_json(folder / METRICS, metrics)
    return FinetuneResult(folder, config, metrics)


def resolve_defaults(config: FinetuneConfig) -> FinetuneConfig:
    """Settings that depend on task and model, filled in where the user left them open."""
    task, training, injection = load_task(config.task), config.training, config.injection
    if training.learning_rate is None:
        rate = SCRATCH_RATE if is_scratch(config.model) else PRETRAINED_RATE
        training = replace(training, learning_rate=rate)
    if training.batch_size is None:
        training = replace(training, batch_size=task.batch_size)
    if injection.predicate is None:
        injection = replace(injection, predicate=task.injects_predicate)
    sources = tuple(absolute_source(source) for source in config.kg)
    return replace(config, training=training, injection=injection, kg=sources)


PRETRAINED_RATE = 2e-5
"""The reference's rate."""
SCRATCH_RATE = 5e-4
"""Weights that start as noise have far to go."""


def tell_graph(opened: OpenedGraph, sources: Sequence[str], reporter: Reporter) -> None:
    """Note how the graph read: counts, and every kind of line that did not become a triple."""
    if list(sources) == [NO_GRAPH]:
        return
    graph = opened.graph
    reporter.note(f"graph: {len(graph):,} triples, {graph.subject_count:,} subjects")
    for report in opened.reports:
        left_out = {
            "duplicates": report.duplicates,
            "self-loops": report.self_loops,
            "rejected lines": len(report.rejected),
        }
        parts = [f"{count:,} {what}" for what, count in left_out.items() if count]
        if report.header:
            parts.append("1 header line")
        if parts:
            reporter.note(f"{report.path}: left out {', '.join(parts)}")
        for bad in report.rejected[:10]:
            reporter.warn(f"{report.path}:{bad.line}: {bad.reason}")
        if len(report.rejected) > 10:
            reporter.warn(f"{report.path}: … and {len(report.rejected) - 10} more rejected lines")
    if not len(graph):
        reporter.warn("the graph is empty: this run is plain BERT")


def _build(
    config: FinetuneConfig, corpus: Corpus, opened: OpenedGraph, reporter: Reporter
) -> Pipeline:
    set_seed(config.training.seed)
    encoder = _encoder(config, corpus, opened, reporter)
    if config.injection.max_length > encoder.max_length:
        raise KbertError(
            f"--max-length {config.injection.max_length} exceeds the encoder's "
            f"max_position_embeddings={encoder.max_length}"
        )
    pipeline = Pipeline(config, corpus.labels, opened.graph, encoder)
    tree = config.injection.visible_matrix and config.method != "none"
    check_encoder(pipeline.model.encoder, len(encoder.tokenizer), tree=tree)
    pipeline.model.to(default_device())
    return pipeline


def _encoder(
    config: FinetuneConfig, corpus: Corpus, opened: OpenedGraph, reporter: Reporter
) -> Encoder:
    if not is_scratch(config.model):
        reporter.note(f"encoder: {config.model}")
        return load_encoder(config.model, attention=config.attention)
    reporter.note(
        f"encoder: {config.model}, trained from nothing (random weights, no pre-training); "
        "--model NAME|FOLDER takes a pre-trained one, for example bert-base-chinese"
    )
    texts = _vocabulary_texts(corpus.train, opened)
    return build_encoder(config.model, texts, attention=config.attention)


def _vocabulary_texts(examples: Sequence[Example], opened: OpenedGraph) -> Iterator[str]:
    for example in examples:
        yield from example.texts
    for triple in opened.graph:
        yield from triple


def _encode(pipeline: Pipeline, corpus: Corpus, reporter: Reporter) -> dict[str, list[Item]]:
    splits = {"train": corpus.train, "dev": corpus.dev}
    total = sum(map(len, splits.values()))
    with reporter.progress("growing trees", total) as advance:
        items = {name: pipeline.encode(split, advance) for name, split in splits.items()}
    statistics = _tree_statistics(items["train"])
    if statistics["branches"] == 0 and pipeline.graph.subject_count:
        reporter.warn("no training sentence mentions an entity of the graph: it does nothing here")
    reporter.note(
        f"training split: {len(corpus.train):,} examples, "
        f"{statistics['tokens_mean']:.0f} tokens and {statistics['branches_mean']:.2f} branches "
        "each on average"
    )
    if statistics["truncated_characters"]:
        reporter.warn(
            f"{statistics['truncated_examples']:,} training texts exceed --max-length "
            f"{pipeline.config.injection.max_length}: "
            f"{statistics['truncated_characters']:,} characters cut"
        )
    return items


def _tree_statistics(items: Iterable[Item]) -> dict[str, float]:
    features = [item.features for item in items]
    count = len(features)
    cut = [one.truncated_characters for one in features if one.truncated_characters]
    return {
        "tokens_mean": sum(map(len, features)) / count,
        "tokens_max": max(map(len, features)),
        "branches": sum(one.branches for one in features),
        "branches_mean": sum(one.branches for one in features) / count,
        "dropped_branches": sum(one.dropped_branches for one in features),
        "truncated_examples": len(cut),
        "truncated_characters": sum(cut),
    }


def _train(
    pipeline: Pipeline,
    corpus: Corpus,
    items: dict[str, list[Item]],
    folder: Path,
    reporter: Reporter,
) -> dict[str, Any]:
    training = pipeline.config.training
    steps = total_steps(training, len(items["train"]))
    # Alike lengths together: an evaluation batch then holds little padding.
    dev = sorted(items["dev"], key=lambda item: -len(item.features))
    epochs: list[dict[str, Any]] = []
    primary: list[str] = []

    def dev_figures(items: Sequence[Item], summaries: Sequence[np.ndarray]) -> dict[str, float]:
        pairs = sorted(zip(items, summaries, strict=True), key=_reading_order)
        predictions = pipeline.decode([item for item, _ in pairs], (row for _, row in pairs))
        scores = pipeline.task.score(corpus.dev, predictions, pipeline.labels)
        epochs.append(scores.figures)
        primary.append(scores.primary)
        shown = ", ".join(f"{name} {value:.4f}" for name, value in scores.figures.items())
        reporter.note(f"epoch {len(epochs)}: dev {shown}")
        return {DEV_METRIC: scores.figures[scores.primary]}

    checkpoints = folder / "checkpoints"
    arguments = training_arguments(training, checkpoints, steps=steps, evaluate=bool(dev))
    with reporter.progress("fine-tuning", steps) as advance, named_output_errors(folder):
        trainer = build_trainer(
            pipeline,
            arguments,
            items["train"],
            dev,
            dev_figures=dev_figures,
            callback=ProgressAndLog(advance, folder / LOG),
        )
        before = time.monotonic()
        trainer.train()
    shutil.rmtree(checkpoints, ignore_errors=True)
    return {
        "dev": _best(epochs, primary[0]),
        "epochs": epochs,
        "steps": trainer.state.global_step,
        "training_seconds": round(time.monotonic() - before, 1),
    }


def _reading_order(pair: tuple[Item, np.ndarray]) -> tuple[int, int]:
    return pair[0].example, pair[0].start


def _best(epochs: list[dict[str, Any]], primary: str) -> dict[str, Any]:
    """The epoch whose weights were kept: the first of the best, as the Trainer chooses."""
    number = max(range(len(epochs)), key=lambda index: epochs[index][primary])
    return {"epoch": number + 1, "primary": primary, **epochs[number]}


def total_steps(training: TrainingConfig, items: int) -> int:
    """Optimiser steps of a run over ``items`` rows an epoch."""
    assert training.batch_size is not None
    return math.ceil(training.epochs * math.ceil(items / training.batch_size))


def _test(pipeline: Pipeline, corpus: Corpus, reporter: Reporter) -> dict[str, Any] | None:
    if not corpus.test:
        return None
    with reporter.progress("scoring test", len(corpus.test)) as advance:
        predictions = pipeline.predict(corpus.test, on_batch=advance)
    return scores_as_dict(pipeline.task.score(corpus.test, predictions, pipeline.labels))


def scores_as_dict(scores: Scores) -> dict[str, Any]:
    """Figures of a split as plain data, the primary one named."""
    return {"primary": scores.primary, **scores.as_dict()}
