"""The one place that speaks to the Hugging Face Trainer: arguments, sampler, callbacks.

The library changes its arguments every few weeks; nothing else in kbert names them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset, Sampler
from transformers import (
    EvalPrediction,
    PrinterCallback,
    ProgressCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.trainer_pt_utils import LengthGroupedSampler

from kbert_cli.config import PretrainConfig, TrainingConfig
from kbert_cli.errors import KbertError
from kbert_cli.pipeline import Item, Pipeline

DEV_METRIC = "primary"


class ItemDataset(Dataset[Item]):
    """Encoded items as torch takes them."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> Item:
        return self.items[index]


class TreeTrainer(Trainer):
    """A Trainer whose batches hold trees of alike length."""

    def _get_train_sampler(self, train_dataset: Any = None) -> Sampler[int]:
        items = (train_dataset or self.train_dataset).items
        lengths = [len(item.features) for item in items]
        sampler: Sampler[int] = LengthGroupedSampler(self.args.train_batch_size, lengths=lengths)
        return sampler


class ProgressAndLog(TrainerCallback):
    """Advances the caller's bar, and appends what the Trainer logs to a file."""

    def __init__(self, advance: Callable[..., None], log: Path) -> None:
        self._advance = advance
        self._log = log
        self._text = ""

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """One optimiser step done."""
        self._advance(1, self._text)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **others: Any) -> None:
        """Append the figures, and show the newest loss and dev figure."""
        figures = {"step": state.global_step, **(logs or {})}
        if "loss" in figures:
            self._text = f"loss {float(figures['loss']):.3f}"
        if f"eval_{DEV_METRIC}" in figures:
            self._text = f"dev {float(figures[f'eval_{DEV_METRIC}']):.4f}"
        if state.is_world_process_zero:
            with open(self._log, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(figures) + "\n")


def training_arguments(config: TrainingConfig, folder: Path, *, steps: int) -> TrainingArguments:
    """Kbert's settings in the library's words.

    Args:
        steps: optimiser steps in all, for the spacing of log lines.
    """
    precision = resolve_precision(config.precision)
    assert config.learning_rate is not None
    assert config.batch_size is not None
    return TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=config.epochs,
        per_device_train_batch_size=config.batch_size,
        per_device_eval_batch_size=64,
        learning_rate=config.learning_rate,
        lr_scheduler_type="linear",
        # A number below 1 is a share of all steps in transformers 5.
        warmup_steps=config.warmup if config.warmup < 1 else steps,
        weight_decay=config.weight_decay,
        seed=config.seed,
        bf16=precision == "bf16",
        fp16=precision == "fp16",
        use_cpu=not torch.cuda.is_available(),
        eval_strategy="epoch",
        save_strategy="epoch",
        save_only_model=True,
        save_total_limit=1,
        load_best_model_at_end=True,
        metric_for_best_model=f"eval_{DEV_METRIC}",
        greater_is_better=True,
        logging_steps=max(1, steps // 50),
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        label_names=["labels"],
        dataloader_pin_memory=torch.cuda.is_available(),
    )


class BatchTrainer(Trainer):
    """A Trainer over batches that are made already, in their own order."""

    def __init__(
        self,
        *,
        loss: Callable[[Any, dict[str, torch.Tensor]], torch.Tensor],
        optimizer: torch.optim.Optimizer | None = None,
        **options: Any,
    ) -> None:
        super().__init__(
            data_collator=lambda items: items[0], optimizers=(optimizer, None), **options
        )
        self._batch_loss = loss
        self.remove_callback(PrinterCallback)
        self.remove_callback(ProgressCallback)

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The loss of one ready batch."""
        # accelerate wraps forward(), which a loss that calls the model's parts goes around.
        with self.accelerator.autocast():
            return self._batch_loss(model, inputs)


class StopAfter(TrainerCallback):
    """Ends a run after some seconds, with a checkpoint to go on from."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """One optimiser step done."""
        if time.monotonic() > self._end:
            control.should_save = control.should_training_stop = True


class EverySave(TrainerCallback):
    """Calls back with the step whenever a checkpoint is due, and puts the figures into the log."""

    def __init__(self, look: Callable[[int], dict[str, float]], log: Path) -> None:
        self._look = look
        self._log = log

    def on_save(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """A checkpoint was written."""
        figures = {"step": state.global_step, **self._look(state.global_step)}
        with open(self._log, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(figures) + "\n")


def pretraining_arguments(config: PretrainConfig, folder: Path) -> TrainingArguments:
    """Kbert's pre-training settings in the library's words."""
    precision = resolve_precision(config.precision, cpu_bf16=True)
    return TrainingArguments(
        output_dir=str(folder),
        max_steps=config.max_steps,
        # A batch comes whole from the data set.
        per_device_train_batch_size=1,
        train_sampling_strategy="sequential",
        learning_rate=config.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=config.warmup if config.warmup < 1 else config.max_steps,
        weight_decay=config.weight_decay,
        adam_beta2=0.98,
        seed=config.seed,
        bf16=precision == "bf16",
        fp16=precision == "fp16",
        use_cpu=not torch.cuda.is_available(),
        save_strategy="steps",
        save_steps=config.save_steps,
        save_total_limit=2,
        logging_steps=max(1, config.save_steps // 10),
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
    )


def resolve_precision(precision: str, *, cpu_bf16: bool = False) -> str:
    """``auto`` as what this machine has.

    Args:
        cpu_bf16: whether a processor with bf16 instructions counts.

    Raises:
        KbertError: fp16 without a GPU.
    """
    cuda = torch.cuda.is_available()
    if precision == "auto":
        has_bf16 = torch.cuda.is_bf16_supported() if cuda else cpu_bf16 and _cpu_has_bf16()
        return "bf16" if has_bf16 else "fp32"
    if precision == "fp16" and not cuda:
        raise KbertError(
            "--precision fp16 needs a GPU, and there is none",
            "Use --precision fp32, or bf16 where the processor has it.",
        )
    return precision


def _cpu_has_bf16() -> bool:
    capabilities = torch.backends.cpu.get_cpu_capability()
    return capabilities.startswith("AVX512") and torch.cpu._is_avx512_bf16_supported()


def build_trainer(
    pipeline: Pipeline,
    arguments: TrainingArguments,
    train: Sequence[Item],
    dev: Sequence[Item],
    *,
    dev_figures: Callable[[Sequence[Item], Sequence[np.ndarray]], dict[str, float]],
    callback: TrainerCallback,
) -> Trainer:
    """A Trainer over encoded items; ``dev_figures`` turns dev items and summaries into figures."""

    def compute_metrics(evaluated: EvalPrediction) -> dict[str, float]:
        return dev_figures(dev, list(evaluated.predictions))

    trainer = TreeTrainer(
        model=pipeline.model,
        args=arguments,
        data_collator=pipeline.collate,
        train_dataset=ItemDataset(train),
        eval_dataset=ItemDataset(dev),
        compute_metrics=compute_metrics,
        preprocess_logits_for_metrics=pipeline.summarize,
        callbacks=[callback],
    )
    # Both print to stdout, where only results belong.
    trainer.remove_callback(PrinterCallback)
    trainer.remove_callback(ProgressCallback)
    return trainer
