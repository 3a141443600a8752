"""Pre-training: text in, a Hugging Face folder out (Devlin et al. 2019; no graph takes part)."""

from __future__ import annotations

import dataclasses
import json
import logging
import math
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import set_seed

from kbert_cli.allocation import keep_freed_memory
from kbert_cli.config import PretrainConfig
from kbert_cli.encoders import quiet_transformers
from kbert_cli.errors import KbertError
from kbert_cli.files import (
    LOCK,
    exclusive,
    named_output_errors,
    read_json,
    require_free,
    require_writable,
    write_json,
)
from kbert_cli.hf_callbacks import EverySave, ProgressAndLog, StopAfter
from kbert_cli.hf_checkpoints import newest_checkpoint
from kbert_cli.hf_pretraining import BatchTrainer, pretraining_arguments
from kbert_cli.pipeline import default_device
from kbert_cli.precision import slow_precision
from kbert_cli.pretrain.batches import (
    MaskingConfig,
    PretrainingBatches,
    Stage,
)
from kbert_cli.pretrain.encoded import (
    EncodedText,
    build_encoded_text,
    is_complete,
    open_encoded_text,
)
from kbert_cli.pretrain.held_out import held_out_batches, piece_counts
from kbert_cli.pretrain.objective import held_out_figures, run_objective, unigram_figures
from kbert_cli.pretrain.optimizer import MatrixOptimizer
from kbert_cli.pretrain.start import build_start, set_dropout, start_from_vectors
from kbert_cli.pretrain.text import read_documents
from kbert_cli.pretrain.vectors import count_vectors
from kbert_cli.reporting import Reporter
from kbert_cli.scratch import is_scratch
from kbert_cli.tokenization import PieceEncoder

WORK = "work"
"""Below the output: encoded text and checkpoints, needed to go on and for nothing else."""
SETTINGS, METRICS, LOG = "pretraining.json", "metrics.json", "metrics.jsonl"


@dataclass(frozen=True)
class PretrainResult:
    """A run that has ended or been stopped by ``max_hours``."""

    folder: Path
    metrics: dict[str, Any]


def pretrain(
    config: PretrainConfig,
    output: Path,
    reporter: Reporter,
    *,
    resume: bool = False,
    max_hours: float | None = None,
    half: bool = False,
) -> PretrainResult:
    """Train on masked words (and next sentences), and write an encoder that ``--model`` takes.

    Args:
        resume: go on from the last checkpoint in ``output``, or with the text that was encoded
            before there was one; the settings must be those of then.
        max_hours: stop after so long, with a checkpoint to go on from.
        half: store the encoder in half precision; the figures are those of the rounded weights.

    Raises:
        KbertError: the input or an option is wrong, or there is nothing to go on from.
    """
    logging.getLogger("transformers").setLevel(logging.ERROR)
    require_writable(output)
    with exclusive(output / LOCK, str(output)):
        return _pretrain(config, output, reporter, resume, max_hours, half)


def _pretrain(
    config: PretrainConfig,
    output: Path,
    reporter: Reporter,
    resume: bool,
    max_hours: float | None,
    half: bool,
) -> PretrainResult:
    checkpoint = _prepare(config, output, resume, reporter)
    if slow := slow_precision(config.precision):
        reporter.warn(slow)
    set_seed(config.seed)
    try:
        model, tokenizer = build_start(config, output / WORK, reporter)
        text = _encoded(config, output / WORK / "text", tokenizer, reporter)
        train, held = text.split(pairs=config.nsp)
    except KbertError:
        if not resume:
            # Nothing was computed: the corrected command finds its place free.
            shutil.rmtree(output, ignore_errors=True)
        raise
    reporter.note(f"text: {len(text):,} sentences, {len(text.tokens):,} tokens")
    masking = _masking(config, tokenizer)
    batches = PretrainingBatches(
        text, train, stages(config), masking, nsp=config.nsp, seed=config.seed
    )
    looks = held_out_batches(text, held, config, masking)
    single = None
    if config.whole_word:
        pieces = dataclasses.replace(text, word_starts=np.ones(len(text.tokens), bool))
        single = held_out_batches(pieces, held, config, masking)
    if not checkpoint and is_scratch(config.model) and config.count_vectors:
        with reporter.progress("counting word vectors"):
            width = model.config.hidden_size
            start_from_vectors(
                model, count_vectors(text, train, len(tokenizer), width, config.seed)
            )
    set_dropout(model, config.dropout)
    model.to(default_device())
    if model.device.type == "cpu":
        # On short rows the fused kernels' backward pass is the slower one there.
        model.set_attn_implementation("eager")
    trained = _train(model, batches, looks, config, output, checkpoint, max_hours, reporter)
    if half:
        model.half().float()
    metrics = {
        **trained,
        "end": held_out_figures(model, looks),
        **({"end_single_pieces": held_out_figures(model, single)} if single else {}),
        "unigram": unigram_figures(piece_counts(text, train, len(tokenizer)), looks),
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "vocabulary": len(tokenizer),
        "sentences": len(text),
        "tokens_in_text": len(text.tokens),
    }
    if half:
        model.half()
    with named_output_errors(output), quiet_transformers():
        model.save_pretrained(output)
        tokenizer.save_pretrained(output)
    write_json(output / METRICS, metrics)
    return PretrainResult(output, metrics)


def _prepare(config: PretrainConfig, output: Path, resume: bool, reporter: Reporter) -> Path | None:
    """Make the output folder, or find the checkpoint to go on from."""
    settings = output / SETTINGS
    wanted = {name: value for name, value in vars(config).items() if name != "save_steps"}
    wanted["texts"] = list(config.texts)
    if not resume:
        require_free(output, "Name another folder, or go on with --resume.")
        with named_output_errors(output):
            (output / WORK).mkdir(parents=True, exist_ok=True)
        write_json(settings, wanted)
        return None
    if not settings.is_file():
        raise KbertError(f"{output} holds no run to go on with", "Start without --resume.")
    before = read_json(settings)
    changed = [name for name, value in wanted.items() if before.get(name) != value]
    if changed:
        raise KbertError(
            f"--resume needs the settings of the first start; different: {', '.join(changed)}",
            f"They are in {settings}.",
        )
    return newest_checkpoint(output / WORK / "checkpoints", reporter.warn)


def _masking(config: PretrainConfig, tokenizer: Any) -> MaskingConfig:
    return MaskingConfig(
        cls_id=tokenizer.cls_token_id,
        sep_id=tokenizer.sep_token_id,
        pad_id=tokenizer.pad_token_id,
        mask_id=tokenizer.mask_token_id,
        first_piece=max(tokenizer.all_special_ids) + 1,
        vocabulary=len(tokenizer),
        rate=config.mask_rate,
    )


def stages(config: PretrainConfig) -> list[Stage]:
    """Short rows first: characters and words are learned sooner from many small sentences."""
    short = round(config.max_steps * config.short_share)
    plan = [(short, config.short_length), (config.max_steps - short, config.max_length)]
    return [
        Stage(steps, length, config.tokens_per_batch // length) for steps, length in plan if steps
    ]


def _encoded(
    config: PretrainConfig, folder: Path, tokenizer: Any, reporter: Reporter
) -> EncodedText:
    if is_complete(folder):
        return open_encoded_text(folder)
    encode = PieceEncoder(tokenizer.backend_tokenizer)
    with reporter.progress("encoding sentences") as advance:
        return build_encoded_text(
            folder,
            read_documents(config.texts),
            encode,
            whole_word=config.whole_word,
            on_sentence=advance,
        )


def _train(
    model: Any,
    batches: PretrainingBatches,
    looks: list[dict[str, torch.Tensor]],
    config: PretrainConfig,
    output: Path,
    checkpoint: Path | None,
    max_hours: float | None,
    reporter: Reporter,
) -> dict[str, Any]:
    log = output / LOG
    look = _looker(model, looks, config, reporter)
    if not checkpoint:
        log.write_text(json.dumps({"step": 0, **look(0)}) + "\n", encoding="utf-8")
    arguments = pretraining_arguments(config, output / WORK / "checkpoints")
    with reporter.progress("pre-training", config.max_steps) as advance:
        callbacks = [ProgressAndLog(advance, log), EverySave(look, log)]
        if max_hours is not None:
            callbacks.append(StopAfter(max_hours * 3600))
        trainer = BatchTrainer(
            model=model,
            args=arguments,
            train_dataset=batches,
            callbacks=callbacks,
            loss=lambda model, batch: run_objective(model, batch).loss,
            optimizer=_optimizer(model, config),
        )
        keep_freed_memory()
        before = time.monotonic()
        with named_output_errors(output), quiet_transformers():
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    seconds = time.monotonic() - before
    steps = trainer.state.global_step
    return {
        "steps": steps,
        "tokens_seen": batches.tokens_seen(steps),
        "seconds_of_this_start": round(seconds, 1),
        # From the log: a resumed run did not see its start.
        "start": _first_look(log),
    }


def _optimizer(model: Any, config: PretrainConfig) -> torch.optim.Optimizer | None:
    """Muon and AdamW as one, or None for the Trainer's AdamW."""
    if config.optimizer == "adamw":
        return None
    return MatrixOptimizer(
        model,
        matrix_rate=config.matrix_rate,
        rate=config.learning_rate,
        weight_decay=config.weight_decay,
    )


def _looker(
    model: Any, looks: list[dict[str, torch.Tensor]], config: PretrainConfig, reporter: Reporter
) -> Callable[[int], dict[str, float]]:
    began = time.monotonic()

    def look(step: int) -> dict[str, float]:
        figures = held_out_figures(model, looks)
        tokens = step * config.tokens_per_batch
        reporter.note(
            f"step {step:,}: {tokens:,} tokens, held-out loss {figures['loss']:.3f}, "
            f"top-1 {figures['top1']:.3f}, {math.ceil(time.monotonic() - began)} s"
        )
        return {f"held_out_{name}": value for name, value in figures.items()}

    return look


def _first_look(log: Path) -> dict[str, float]:
    """The figures that the log holds of step 0."""
    with open(log, encoding="utf-8") as stream:
        first = json.loads(stream.readline())
    prefix = "held_out_"
    return {
        name.removeprefix(prefix): value for name, value in first.items() if name.startswith(prefix)
    }
