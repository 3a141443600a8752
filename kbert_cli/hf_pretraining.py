"""Pre-training's side of the Hugging Face Trainer: batches that are made already, its arguments."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import PrinterCallback, ProgressCallback, TrainingArguments

from kbert_cli.config import PretrainConfig
from kbert_cli.hf_checkpoints import SafeCheckpoints
from kbert_cli.precision import resolve_precision


class BatchTrainer(SafeCheckpoints):
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
