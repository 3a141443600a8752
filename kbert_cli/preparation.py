"""Before training: defaults, the graph's report, an untrained pipeline, encoded splits."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import nn
from transformers import set_seed

from kbert_cli.config import NO_GRAPH, EngineConfig, FinetuneConfig
from kbert_cli.corpora import Corpus
from kbert_cli.corpus.example import Example
from kbert_cli.encoders import (
    Encoder,
    check_family,
    hidden_size,
    load_config,
    load_encoder,
    positions,
)
from kbert_cli.errors import KbertError, Problems
from kbert_cli.feature_table import FeatureTable
from kbert_cli.features import CONTEXT
from kbert_cli.items import StoredItems
from kbert_cli.kg.catalog import OpenedGraph, absolute_source
from kbert_cli.pipeline import Pipeline, default_device
from kbert_cli.precision import resolve_precision
from kbert_cli.reporting import Reporter
from kbert_cli.scratch import build_encoder, is_scratch, scratch_config
from kbert_cli.selfcheck import check_encoder
from kbert_cli.tasks import load_task


def resolve_defaults(config: FinetuneConfig) -> FinetuneConfig:
    """Settings that depend on task and model, filled in where the user left them open."""
    task, training, injection = load_task(config.task), config.training, config.injection
    scratch = is_scratch(config.model)
    # Whoever named both needs no look at the encoder's config.
    undecided = training.learning_rate is None or training.pooling is None
    small = undecided and not scratch and hidden_size(config.model) < SMALL_WIDTH
    if training.learning_rate is None:
        rate = task.scratch_rate if scratch else task.small_rate if small else PRETRAINED_RATE
        training = replace(training, learning_rate=rate)
    if training.pooling is None:
        training = replace(training, pooling="mean" if scratch or small else "cls")
    if training.batch_size is None:
        training = replace(training, batch_size=task.batch_size)
    if injection.predicate is None:
        injection = replace(injection, predicate=task.injects_predicate)
    sources = tuple(absolute_source(source) for source in config.kg)
    return replace(config, training=training, injection=injection, kg=sources)


PRETRAINED_RATE = 2e-5
"""The reference's rate, for encoders of BERT's width."""
SMALL_WIDTH = 512
"""Encoders narrower than this need the larger rate of the task."""


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
            "filtered triples": report.filtered,
            "rejected lines": report.rejected_count,
        }
        parts = [f"{count:,} {what}" for what, count in left_out.items() if count]
        if report.header:
            parts.append("1 header line")
        if parts:
            reporter.note(f"{report.path}: left out {', '.join(parts)}")
        for bad in report.rejected[:10]:
            reporter.warn(f"{report.path}:{bad.line}: {bad.reason}")
        if report.rejected_count > 10:
            more = report.rejected_count - 10
            reporter.warn(f"{report.path}: … and {more:,} more rejected lines")
    if not len(graph):
        reporter.warn("the graph is empty: this run is plain BERT")


def check_options(config: FinetuneConfig, engine: EngineConfig, problems: Problems) -> None:
    """Find what ends a run later: options that do not go together, or not with the encoder."""
    problems.check(lambda: _check_pairs(config))
    problems.check(lambda: resolve_precision(config.training.precision))
    problems.check(lambda: _check_model(config))
    if engine.log_to:
        problems.check(_require_tensorboard)


def _require_tensorboard() -> None:
    if importlib.util.find_spec("tensorboard") is None:
        raise KbertError(
            "--log-to tensorboard needs the package tensorboard",
            "pip install 'kbert[tensorboard]'",
        )


def _check_pairs(config: FinetuneConfig) -> None:
    if config.attention == "flex" and not torch.cuda.is_available():
        raise KbertError("--attention flex needs a GPU, and there is none", "Use --attention sdpa.")
    if config.training.pack and load_task(config.task).windowing == CONTEXT:
        raise KbertError(
            f"--pack is for short texts; --task {config.task} reads long ones in windows"
        )


def _check_model(config: FinetuneConfig) -> None:
    """What the encoder's config alone tells."""
    scratch = is_scratch(config.model)
    encoder = scratch_config(config.model) if scratch else load_config(config.model)
    check_family(encoder.model_type, config.attention)
    limit, layers = positions(encoder), encoder.num_hidden_layers
    if config.injection.max_length > limit:
        raise KbertError(
            f"--max-length {config.injection.max_length} exceeds the encoder's "
            f"max_position_embeddings={limit}"
        )
    frozen = config.training.freeze_layers
    if frozen > layers:
        raise KbertError(f"--freeze-layers is {frozen}, and the encoder has {layers} layers")


def build_pipeline(config: FinetuneConfig, corpus: Corpus, opened: OpenedGraph) -> Pipeline:
    """An untrained pipeline on its device, its encoder checked for leaks.

    Raises:
        KbertError: the encoder cannot be loaded, or leaks.
    """
    set_seed(config.training.seed)
    encoder = _encoder(config, corpus, opened)
    pipeline = Pipeline(config, corpus.labels, opened.graph, encoder)
    tree = config.injection.visible_matrix and config.method != "none"
    check_encoder(pipeline.model.encoder, len(encoder.tokenizer), tree=tree)
    freeze_layers(pipeline.model.encoder, config.training.freeze_layers)
    pipeline.model.to(default_device())
    return pipeline


def _encoder(config: FinetuneConfig, corpus: Corpus, opened: OpenedGraph) -> Encoder:
    if not is_scratch(config.model):
        return load_encoder(config.model, attention=config.attention)
    texts = _vocabulary_texts(corpus.train, opened)
    return build_encoder(config.model, texts, attention=config.attention)


def _vocabulary_texts(examples: Sequence[Example], opened: OpenedGraph) -> Iterator[str]:
    for example in examples:
        yield from example.texts
    for triple in opened.graph:
        yield from triple


def encode_splits(
    pipeline: Pipeline, corpus: Corpus, reporter: Reporter, *, workers: int | None = None
) -> dict[str, StoredItems]:
    """The splits as items; says what the trees are like, and warns where the graph is idle."""
    splits = {"train": corpus.train, "dev": corpus.dev}
    if corpus.test:
        splits["test"] = corpus.test
    total = sum(map(len, splits.values()))
    with reporter.progress("growing trees", total) as advance:
        items = {
            name: pipeline.stored(split, workers=workers, on_examples=advance)
            for name, split in splits.items()
        }
    found = {name: tree_statistics(stored.table) for name, stored in items.items()}
    statistics = found["train"]
    if statistics["branches"] == 0 and pipeline.graph.subject_count:
        reporter.warn("no training sentence mentions an entity of the graph: it does nothing here")
    reporter.note(
        f"training split: {len(corpus.train):,} examples, "
        f"{statistics['tokens_mean']:.0f} tokens and {statistics['branches_mean']:.2f} branches "
        "each on average"
    )
    for name, cut in found.items():
        if cut["truncated_characters"]:
            reporter.warn(
                f"{cut['truncated_examples']:,} of {len(splits[name]):,} {name} texts exceed "
                f"--max-length {pipeline.config.injection.max_length}: "
                f"{cut['truncated_characters']:,} characters cut"
            )
    return items


def tree_statistics(table: FeatureTable) -> dict[str, float]:
    """Tokens, branches and losses of trees."""
    cut = table.counts("truncated_characters")
    return {
        "tokens_mean": float(table.lengths.mean()),
        "tokens_max": int(table.lengths.max()),
        "branches": int(table.counts("branches").sum()),
        "branches_mean": float(table.counts("branches").mean()),
        "dropped_branches": int(table.counts("dropped_branches").sum()),
        "truncated_examples": int((cut > 0).sum()),
        "truncated_characters": int(cut.sum()),
    }


def freeze_layers(encoder: nn.Module, count: int) -> None:
    """Keep the embeddings and the ``count`` lowest layers as they are."""
    if not count:
        return
    layers = max(
        (module for module in encoder.modules() if isinstance(module, nn.ModuleList)),
        key=len,
        default=nn.ModuleList(),
    )
    lower = [module for name, module in encoder.named_modules() if name.endswith("embeddings")]
    for module in [*lower, *layers[:count]]:
        module.requires_grad_(False)
