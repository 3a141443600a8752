"""Fine-tuning: options in, a run folder and its figures out."""

from __future__ import annotations

import logging
import math
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kbert_cli.allocation import keep_freed_memory
from kbert_cli.checkpoint import (
    LOG,
    METRICS,
    UNITS,
    RunRecord,
    check_output,
    make_run_folder,
    save_model,
    save_record,
)
from kbert_cli.config import FinetuneConfig, TrainingConfig
from kbert_cli.corpora import Corpus, read_corpus
from kbert_cli.encoders import quiet_transformers
from kbert_cli.files import named_output_errors, write_json
from kbert_cli.hf_trainer import (
    DEV_METRIC,
    ProgressAndLog,
    build_trainer,
    training_arguments,
)
from kbert_cli.kg.catalog import open_graph, short_name
from kbert_cli.pipeline import Item, Pipeline
from kbert_cli.preparation import (
    build_pipeline,
    encode_splits,
    resolve_defaults,
    tell_graph,
    tree_statistics,
)
from kbert_cli.reporting import Reporter
from kbert_cli.tasks.base import Scores
from kbert_cli.version import __version__


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
    opened = open_graph(config.kg, reporter)
    tell_graph(opened, config.kg, reporter)
    corpus = read_corpus(config, reporter)
    pipeline = build_pipeline(config, corpus, opened)
    items = encode_splits(pipeline, corpus, reporter)
    names = "+".join(short_name(source) for source in config.kg)
    folder = make_run_folder(output, f"{config.task}-{names}")
    trained = _train(pipeline, corpus, items, folder, reporter)
    metrics = {
        **trained,
        "test": _test(pipeline, corpus, folder, reporter),
        "tree": tree_statistics(items["train"]),
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
    epochs: list[Scores] = []

    def dev_figures(items: Sequence[Item], summaries: Sequence[np.ndarray]) -> dict[str, float]:
        pairs = sorted(zip(items, summaries, strict=True), key=_reading_order)
        predictions = pipeline.decode([item for item, _ in pairs], (row for _, row in pairs))
        scores = pipeline.task.score(corpus.dev, predictions, pipeline.labels)
        epochs.append(scores)
        shown = ", ".join(f"{name} {value:.4f}" for name, value in scores.figures.items())
        reporter.note(f"epoch {len(epochs)}: dev {shown}")
        return {DEV_METRIC: scores.figures[scores.primary]}

    checkpoints = folder / "checkpoints"
    arguments = training_arguments(training, checkpoints, steps=steps)
    with (
        reporter.progress("fine-tuning", steps) as advance,
        named_output_errors(folder),
        quiet_transformers(),
    ):
        trainer = build_trainer(
            pipeline,
            arguments,
            items["train"],
            dev,
            dev_figures=dev_figures,
            callback=ProgressAndLog(advance, folder / LOG),
        )
        before = time.monotonic()
        keep_freed_memory()
        trainer.train()
    shutil.rmtree(checkpoints, ignore_errors=True)
    return {
        "dev": _best(epochs),
        "epochs": [scores.figures for scores in epochs],
        "steps": trainer.state.global_step,
        "training_seconds": round(time.monotonic() - before, 1),
    }


def _reading_order(pair: tuple[Item, np.ndarray]) -> tuple[int, int]:
    return pair[0].example, pair[0].start


def _best(epochs: Sequence[Scores]) -> dict[str, Any]:
    """The epoch whose weights were kept: the first of the best, as the Trainer chooses."""
    best = max(epochs, key=lambda scores: scores.figures[scores.primary])
    return {"epoch": epochs.index(best) + 1, "primary": best.primary, **best.figures}


def total_steps(training: TrainingConfig, items: int) -> int:
    """Optimiser steps of a run over ``items`` rows an epoch."""
    assert training.batch_size is not None
    return math.ceil(training.epochs * math.ceil(items / training.batch_size))


def _test(
    pipeline: Pipeline, corpus: Corpus, folder: Path, reporter: Reporter
) -> dict[str, Any] | None:
    if not corpus.test:
        return None
    with reporter.progress("scoring test", len(corpus.test)) as advance:
        predictions = pipeline.predict(corpus.test, on_batch=advance)
    with named_output_errors(folder):
        np.save(folder / UNITS, pipeline.task.units(corpus.test, predictions))
    return pipeline.task.score(corpus.test, predictions, pipeline.labels).as_dict()
