"""``kbert pretrain``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from kbert_cli.cli.console import ConsoleReporter, print_json, print_table
from kbert_cli.cli.options import Command, config_option, json_option, offline_option, quiet_option
from kbert_cli.config import OPTIMIZERS, PRECISIONS, PretrainConfig

_DEFAULTS = PretrainConfig(texts=("",))


def _setting(flag: str, kind: Any, text: str) -> Callable[[Command], Command]:
    """An option whose default is the configuration's."""
    default = getattr(_DEFAULTS, flag.strip("-").replace("-", "_"))
    return click.option(flag, type=kind, default=default, show_default=True, help=text)


@click.command()
@config_option
@click.argument("texts", nargs=-1, required=True, metavar="TEXT...")
@click.option("--output", required=True, metavar="DIR", help="Folder of the encoder.")
@_setting("--model", str, "scratch:SIZE, or a BERT to go on from (folder or hub name).")
@click.option("--vocab", metavar="FILE", help="vocab.txt.  [default: built from the texts]")
@_setting("--vocab-size", int, "Pieces of a vocabulary that is built.")
@click.option(
    "--whole-word/--no-whole-word", default=True, help="Mask jieba's words, or single pieces."
)
@click.option("--nsp", is_flag=True, help="Train the next-sentence objective too.")
@_setting("--max-steps", int, "Optimiser steps; the schedule spans them.")
@click.option("--max-hours", type=float, help="Stop after so long, with a checkpoint for --resume.")
@click.option("--resume", is_flag=True, help="Go on from the last checkpoint in --output.")
@_setting("--tokens-per-batch", int, "Tokens a step.")
@_setting("--max-length", int, "Tokens a row in the last stage.")
@_setting("--short-length", int, "Tokens a row in the first stage.")
@_setting("--short-share", float, "Share of the steps in the first stage.")
@_setting("--optimizer", click.Choice(OPTIMIZERS), "muon: Muon on matrices, AdamW on the rest.")
@_setting("--learning-rate", float, "AdamW's peak rate.")
@_setting("--matrix-rate", float, "Muon's peak rate.")
@_setting("--dropout", float, "While pre-training; the encoder's config keeps 0.1.")
@click.option(
    "--count-vectors/--no-count-vectors",
    default=True,
    help="Start scratch:SIZE with word vectors counted in the texts, or with random ones.",
)
@_setting("--warmup", float, "Share of steps until the peak.")
@_setting("--weight-decay", float, "AdamW's decay.")
@_setting("--mask-rate", float, "Share of tokens that are asked for.")
@_setting("--seed", int, "Equal seeds give equal runs.")
@_setting("--precision", click.Choice(PRECISIONS), "Of the arithmetic; auto: bf16 where there is.")
@_setting("--save-steps", int, "Steps between checkpoints and looks at held-out text.")
@click.option("--half", is_flag=True, help="Store the encoder in half precision (fp16).")
@offline_option
@json_option
@quiet_option
def pretrain(
    texts: tuple[str, ...],
    output: str,
    max_hours: float | None,
    resume: bool,
    half: bool,
    as_json: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Pre-train an encoder on TEXT files: a sentence a line, blank lines between documents.

    No graph takes part: K-BERT injects triples in fine-tuning and prediction only. One sentence in
    200 is held out and never trained on. The folder is one that --model and transformers take.

    \b
    kbert pretrain notes.txt --output encoder --max-steps 50000
    kbert pretrain notes.txt --output encoder --max-steps 50000 --resume
    kbert finetune --task ner --kg medical --model encoder
    """
    config = PretrainConfig(texts=texts, **settings)

    from kbert_cli.pretraining import pretrain as run_pretraining

    result = run_pretraining(
        config,
        Path(output),
        ConsoleReporter(quiet=quiet),
        resume=resume,
        max_hours=max_hours,
        half=half,
    )
    if as_json:
        print_json({"output": str(result.folder), **result.metrics})
        return
    rows = [
        (name, figures["loss"], figures["perplexity"], figures["top1"])
        for name, figures in (
            ("unigram guess", result.metrics["unigram"]),
            ("start", result.metrics["start"]),
            ("now", result.metrics["end"]),
        )
    ]
    if single := result.metrics.get("end_single_pieces"):
        rows.append(("now, single pieces", single["loss"], single["perplexity"], single["top1"]))
    print_table("held-out text, masked tokens", ("", "loss", "perplexity", "top-1"), rows)
    click.echo(f"encoder: {result.folder}")
