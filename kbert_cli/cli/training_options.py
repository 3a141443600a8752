"""Options of training: what is learned, and how the machine does it."""

from __future__ import annotations

import click

from kbert_cli.cli.options import gathered, with_options
from kbert_cli.config import LOGGERS, POOLINGS, PRECISIONS, EngineConfig, TrainingConfig

_TRAINING = TrainingConfig()

gather_training = gathered(
    TrainingConfig,
    "training",
    (
        "epochs",
        "batch_size",
        "tokens_per_batch",
        "pack",
        "learning_rate",
        "warmup",
        "weight_decay",
        "dropout",
        "pooling",
        "seed",
        "precision",
        "eval_steps",
        "early_stopping",
        "freeze_layers",
    ),
)

training_options = with_options(
    [
        click.option(
            "--epochs", type=float, default=_TRAINING.epochs, show_default=True, help="Passes."
        ),
        click.option(
            "--batch-size",
            type=int,
            help="Sentences an optimiser step, whatever number of processes and parts it is taken "
            "in.  [default: 16 for ner, else 32]",
        ),
        click.option(
            "--tokens-per-batch",
            type=int,
            help="Tokens an optimiser step, padding included, instead of --batch-size.",
        ),
        click.option(
            "--pack/--no-pack",
            default=_TRAINING.pack,
            show_default=True,
            help="Put short sentences several to a row while training; they do not see each other.",
        ),
        click.option(
            "--learning-rate",
            type=float,
            help="Peak rate.  [default: 2e-5; for small encoders and scratch:SIZE 5e-4 (ner) "
            "or 2e-4]",
        ),
        click.option(
            "--warmup",
            type=float,
            default=_TRAINING.warmup,
            show_default=True,
            help="Share of steps until the peak.",
        ),
        click.option(
            "--weight-decay",
            type=float,
            default=_TRAINING.weight_decay,
            show_default=True,
            help="AdamW's decay.",
        ),
        click.option(
            "--dropout",
            type=float,
            default=_TRAINING.dropout,
            show_default=True,
            help="Before the head's output layer.",
        ),
        click.option(
            "--pooling",
            type=click.Choice(POOLINGS),
            help="State that classification and qa read: [CLS] or the text's mean.  "
            "[default: cls, mean for small encoders and scratch:SIZE]",
        ),
        click.option(
            "--seed",
            type=int,
            default=_TRAINING.seed,
            show_default=True,
            help="Equal seeds give equal runs.",
        ),
        click.option(
            "--precision",
            type=click.Choice(PRECISIONS),
            default=_TRAINING.precision,
            show_default=True,
            help="Of the arithmetic; auto is bf16 on a GPU that has it, else fp32.",
        ),
        click.option(
            "--eval-steps",
            type=int,
            metavar="N",
            help="Look at dev, and save, every N optimiser steps too.  [default: after each epoch]",
        ),
        click.option(
            "--early-stopping",
            type=int,
            metavar="N",
            help="End after N looks at dev in a row without a better figure.",
        ),
        click.option(
            "--freeze-layers",
            type=int,
            metavar="N",
            default=_TRAINING.freeze_layers,
            show_default=True,
            help="Leave the embeddings and the N lowest layers as they are.",
        ),
    ],
    gather_training,
)


_ENGINE = EngineConfig()

gather_engine = gathered(
    EngineConfig,
    "engine",
    ("gradient_accumulation", "workers", "compile", "log_to", "save_total"),
)

engine_options = with_options(
    [
        click.option(
            "--gradient-accumulation",
            type=int,
            metavar="N",
            default=_ENGINE.gradient_accumulation,
            show_default=True,
            help="Take each optimiser step in N parts, for less memory; the result is the same.",
        ),
        click.option(
            "--workers",
            type=int,
            metavar="N",
            help="Processes that grow trees.  [default: as many as cores, where it pays]",
        ),
        click.option("--compile", is_flag=True, help="Let torch compile the model first."),
        click.option(
            "--log-to",
            type=click.Choice(LOGGERS),
            help="Log there too, beside metrics.jsonl.",
        ),
        click.option(
            "--save-total",
            type=int,
            metavar="N",
            default=_ENGINE.save_total,
            show_default=True,
            help="Checkpoints kept while training, beside the best one.",
        ),
    ],
    gather_engine,
)
