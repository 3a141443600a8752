"""Fine-tuning's side of the Hugging Face Trainer: arguments, batches, loss.

The library changes its arguments every few weeks; only the files named hf_… know them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, SequentialSampler
from transformers import (
    EarlyStoppingCallback,
    EvalPrediction,
    PrinterCallback,
    ProgressCallback,
    TrainerCallback,
    TrainingArguments,
)

from kbert_cli.batch import IGNORED
from kbert_cli.batch_plan import BatchPlan
from kbert_cli.config import EngineConfig, TrainingConfig
from kbert_cli.hf_callbacks import DEV_METRIC, LookAtSteps
from kbert_cli.hf_checkpoints import MovedBest, SafeCheckpoints
from kbert_cli.items import Item
from kbert_cli.pipeline import Pipeline
from kbert_cli.precision import resolve_precision

Batch = dict[str, torch.Tensor]


class PlannedBatches(Dataset[Batch]):
    """The micro-batches of a whole run as tensors, in the order of the plan."""

    def __init__(self, pipeline: Pipeline, items: Sequence[Item], plan: BatchPlan) -> None:
        self._pipeline = pipeline
        self._items = items
        self._plan = plan

    def __len__(self) -> int:
        return len(self._plan)

    def __getitem__(self, index: int) -> Batch:
        chosen = self._plan[index]
        items = [self._items[int(one)] for one in chosen]
        if not items:
            # Every process must take part in every step: this one has nothing to learn from it.
            first = self._items[0]
            items = [replace(first, targets=np.full_like(first.targets, IGNORED))]
        training = self._pipeline.config.training
        if training.pack:
            length = self._pipeline.config.injection.max_length
            return self._pipeline.collate_packed(items, length)
        return self._pipeline.collate(items)


class DevItems(Dataset[Item]):
    """Encoded items as torch takes them."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Item:
        return self.items[index]


class TreeTrainer(SafeCheckpoints):
    """A Trainer that takes its batches as they are planned."""

    def _get_train_sampler(self, train_dataset: Any = None) -> SequentialSampler:
        return SequentialSampler(train_dataset or self.train_dataset)


def training_arguments(
    training: TrainingConfig,
    engine: EngineConfig,
    folder: Path,
    *,
    steps: int,
    resumed: bool,
) -> TrainingArguments:
    """Kbert's settings in the library's words.

    Args:
        steps: optimiser steps in all.
        resumed: whether the run goes on from a checkpoint.
    """
    precision = resolve_precision(training.precision)
    cuda = torch.cuda.is_available()
    assert training.learning_rate is not None
    return TrainingArguments(
        output_dir=str(folder),
        max_steps=steps,
        # A batch comes whole from the data set.
        per_device_train_batch_size=1,
        gradient_accumulation_steps=engine.gradient_accumulation,
        per_device_eval_batch_size=64,
        learning_rate=training.learning_rate,
        lr_scheduler_type="linear",
        # A number below 1 is a share of all steps in transformers 5.
        warmup_steps=training.warmup if training.warmup < 1 else steps,
        weight_decay=training.weight_decay,
        seed=training.seed,
        bf16=precision == "bf16",
        fp16=precision == "fp16",
        use_cpu=not cuda,
        torch_compile=engine.compile,
        # LookAtSteps says when; a period beyond the end keeps the library from looking besides.
        eval_strategy="steps",
        eval_steps=steps + 1,
        save_strategy="steps",
        save_steps=steps + 1,
        save_total_limit=engine.save_total,
        load_best_model_at_end=True,
        metric_for_best_model=f"eval_{DEV_METRIC}",
        greater_is_better=True,
        restore_callback_states_from_checkpoint=resumed,
        logging_steps=max(1, steps // 50),
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        label_names=["labels"],
        dataloader_num_workers=min(4, engine.workers or 2) if cuda else 0,
        dataloader_pin_memory=cuda,
    )


@dataclass(frozen=True)
class DevSplit:
    """What the Trainer looks at between steps."""

    items: Sequence[Item]
    figures: Callable[[Sequence[np.ndarray]], dict[str, float]]
    """Summaries of the items → figures; that named ``DEV_METRIC`` decides."""


def build_trainer(
    pipeline: Pipeline,
    arguments: TrainingArguments,
    train: PlannedBatches,
    dev: DevSplit,
    *,
    looks: LookAtSteps,
    callbacks: Sequence[TrainerCallback],
) -> TreeTrainer:
    """A Trainer over planned batches that looks at dev when ``looks`` says."""

    def compute_metrics(evaluated: EvalPrediction) -> dict[str, float]:
        return dev.figures(list(evaluated.predictions))

    def collate(given: list[Any]) -> Batch:
        return given[0] if isinstance(given[0], dict) else pipeline.collate(given)

    patience = pipeline.config.training.early_stopping
    stopping = [EarlyStoppingCallback(patience)] if patience else []
    trainer = TreeTrainer(
        model=pipeline.model,
        args=arguments,
        data_collator=collate,
        train_dataset=train,
        eval_dataset=DevItems(dev.items),
        compute_metrics=compute_metrics,
        compute_loss_func=functools.partial(_mean_loss, pipeline.task.loss),
        preprocess_logits_for_metrics=pipeline.summarize,
        callbacks=[looks, MovedBest(), *stopping, *callbacks],
    )
    # Both print to stdout, where only results belong.
    trainer.remove_callback(PrinterCallback)
    trainer.remove_callback(ProgressCallback)
    return trainer


def _mean_loss(
    summed: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    outputs: Batch,
    labels: torch.Tensor,
    num_items_in_batch: torch.Tensor | int | None = None,
) -> torch.Tensor:
    """The mean over all labels of the optimiser step, whatever number of parts it is taken in."""
    if num_items_in_batch is None:
        num_items_in_batch = (labels != IGNORED).sum()
    return summed(outputs["logits"], labels) / num_items_in_batch


def tensorboard_callback(folder: Path) -> TrainerCallback:
    """Writes what is logged below ``folder``."""
    from torch.utils.tensorboard import SummaryWriter
    from transformers.integrations import TensorBoardCallback

    return TensorBoardCallback(SummaryWriter(log_dir=str(folder)))
