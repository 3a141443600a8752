"""The fitting itself: planned batches through the Trainer, looks at dev, going on after a break."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kbert_cli import distributed
from kbert_cli.allocation import keep_freed_memory
from kbert_cli.batch_plan import BatchPlan, BatchSettings
from kbert_cli.checkpoint import CHECKPOINTS, LOG
from kbert_cli.config import EngineConfig, FinetuneConfig
from kbert_cli.corpora import Corpus
from kbert_cli.encoders import quiet_transformers
from kbert_cli.errors import KbertError
from kbert_cli.files import named_output_errors
from kbert_cli.hf_callbacks import DEV_METRIC, LookAtSteps, ProgressAndLog
from kbert_cli.hf_checkpoints import newest_checkpoint, steps_of
from kbert_cli.hf_trainer import (
    DevSplit,
    PlannedBatches,
    build_trainer,
    tensorboard_callback,
    training_arguments,
)
from kbert_cli.items import Item, StoredItems
from kbert_cli.pipeline import Pipeline
from kbert_cli.reporting import Reporter
from kbert_cli.tasks.base import Prediction

_EVAL = "eval_"


def run_training(
    pipeline: Pipeline,
    corpus: Corpus,
    items: dict[str, StoredItems],
    folder: Path,
    engine: EngineConfig,
    reporter: Reporter,
) -> dict[str, Any]:
    """Fit the pipeline's model and leave it with the best weights; the run's figures."""
    training = pipeline.config.training
    plan = plan_batches(pipeline.config, items["train"].table.lengths, engine)
    checkpoint = newest_checkpoint(folder / CHECKPOINTS, reporter.warn)
    if checkpoint is not None:
        reporter.note(f"going on from step {steps_of(checkpoint):,} of {plan.steps:,}")
    for advice in _too_small(plan.steps, len(corpus.dev)):
        reporter.note(advice)
    arguments = training_arguments(
        training,
        engine,
        folder / CHECKPOINTS,
        steps=plan.steps,
        resumed=checkpoint is not None,
    )
    loggers = [tensorboard_callback(folder / "tensorboard")] if engine.log_to else []
    with (
        reporter.progress("fine-tuning", plan.steps) as advance,
        named_output_errors(folder),
        quiet_transformers(),
    ):
        trainer = build_trainer(
            pipeline,
            arguments,
            PlannedBatches(pipeline, items["train"], plan),
            _dev_split(pipeline, corpus, items["dev"], reporter),
            looks=LookAtSteps(plan.epoch_ends, training.eval_steps),
            callbacks=[ProgressAndLog(advance, folder / LOG, plan.epoch_at), *loggers],
        )
        before = time.monotonic()
        keep_freed_memory()
        try:
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        except torch.OutOfMemoryError:
            raise _out_of_memory(pipeline.config, items["train"], trainer.state) from None
    looks = _looks(trainer.state.log_history, plan)
    best = max(looks, key=lambda look: look[DEV_METRIC])
    primary = _primary(pipeline, corpus)
    return {
        "dev": {"primary": primary, **{k: v for k, v in best.items() if k != DEV_METRIC}},
        "looks": looks,
        "steps": trainer.state.global_step,
        "padding_share": round(plan.padding_share(), 4),
        "training_seconds": round(time.monotonic() - before, 1),
    }


def _too_small(steps: int, dev: int) -> Iterator[str]:
    """What makes a run's figures a matter of luck."""
    if steps < FEW_STEPS:
        yield (
            f"only {steps} optimiser steps in all; a small corpus wants more --epochs or a smaller "
            "--batch-size"
        )
    if dev < FEW_DEV:
        yield f"only {dev} dev examples choose the best weights: name more with --dev"


FEW_STEPS, FEW_DEV = 50, 20


def plan_batches(config: FinetuneConfig, lengths: np.ndarray, engine: EngineConfig) -> BatchPlan:
    """All batches of a run over examples of ``lengths`` tokens."""
    training = config.training
    assert training.batch_size is not None
    settings = BatchSettings(
        training.batch_size,
        training.tokens_per_batch,
        packed=training.pack,
        row_length=config.injection.max_length,
    )
    return BatchPlan(
        lengths,
        settings,
        epochs=training.epochs,
        parts=distributed.process_count() * engine.gradient_accumulation,
        seed=training.seed,
    )


def _dev_split(
    pipeline: Pipeline, corpus: Corpus, stored: StoredItems, reporter: Reporter
) -> DevSplit:
    # Alike lengths together: an evaluation batch then holds little padding.
    order = np.argsort(-stored.table.lengths, kind="stable")
    reading = np.argsort(order)

    def figures(summaries: Sequence[np.ndarray]) -> dict[str, float]:
        predictions = pipeline.decode(stored, (summaries[index] for index in reading))
        scores = pipeline.task.score(corpus.dev, predictions, pipeline.labels)
        shown = ", ".join(f"{name} {value:.4f}" for name, value in scores.figures.items())
        reporter.note(f"dev: {shown}")
        return {DEV_METRIC: scores.figures[scores.primary], **scores.figures}

    return DevSplit(_Reordered(stored, order), figures)


class _Reordered(Sequence[Item]):
    """Items in another order; each is made when it is asked for."""

    def __init__(self, items: Sequence[Item], order: np.ndarray) -> None:
        self._items = items
        self._order = order

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, index: Any) -> Any:
        return self._items[int(self._order[index])]


def _looks(history: Sequence[dict[str, Any]], plan: BatchPlan) -> list[dict[str, float]]:
    """Every look at dev, those before a break too: step, epoch and figures."""
    measured = ("runtime", "samples_per_second", "steps_per_second", "loss")
    return [
        {
            "step": entry["step"],
            "epoch": round(plan.epoch_at(entry["step"]), 4),
            **{
                name.removeprefix(_EVAL): value
                for name, value in entry.items()
                if name.startswith(_EVAL) and name.removeprefix(_EVAL) not in measured
            },
        }
        for entry in history
        if _EVAL + DEV_METRIC in entry
    ]


def _primary(pipeline: Pipeline, corpus: Corpus) -> str:
    """The name of the figure that decides; it can hang on whether the data has question ids."""
    right = [Prediction(example.label or "", 1.0) for example in corpus.dev]
    return pipeline.task.score(corpus.dev, right, pipeline.labels).primary


def _out_of_memory(config: FinetuneConfig, items: StoredItems, state: Any) -> KbertError:
    training = config.training
    size = (
        f"--tokens-per-batch {training.tokens_per_batch}"
        if training.tokens_per_batch
        else f"--batch-size {training.batch_size}"
    )
    kept = "the last checkpoint is kept" if state.log_history else "nothing was saved yet"
    return KbertError(
        f"the GPU's memory is too small at step {state.global_step + 1}: {size}, trees of up to "
        f"{int(items.table.lengths.max())} tokens; {kept}",
        "--gradient-accumulation 2 (or more) takes a step in parts, with the same result; a "
        "smaller batch, --max-length or --precision bf16 helps too. Then go on with --resume.",
    )
