"""``kbert finetune``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from kbert_cli import distributed
from kbert_cli.cli.console import ConsoleReporter, print_json, print_scores
from kbert_cli.cli.options import (
    config_option,
    injection_options,
    json_option,
    offline_option,
    quiet_option,
    reading_options,
)
from kbert_cli.cli.training_options import engine_options, training_options
from kbert_cli.config import ATTENTIONS, DEFAULT_ENCODER, NO_GRAPH, EngineConfig, FinetuneConfig
from kbert_cli.corpus.catalog import SplitFiles, corpus_files, corpus_for
from kbert_cli.encoder_catalog import bundled_encoders
from kbert_cli.kg.catalog import domain_of
from kbert_cli.registry import METHODS, SCRATCH, TASKS
from kbert_cli.reporting import Reporter

_TITLES = {"dev": "dev, best epoch", "test": "test, scored once"}


@click.command()
@config_option
@click.option("--task", type=click.Choice(list(TASKS)), required=True, help="What to learn.")
@click.option(
    "--kg",
    multiple=True,
    required=True,
    metavar="NAME|FILE|none",
    help="Graph to inject: a bundled name, a .spo file, a folder of them, or none. Repeatable: "
    "merged in the order given.",
)
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default="kbert",
    show_default=True,
    help="How knowledge gets in; none is the plain encoder.",
)
@click.option(
    "--model",
    default=DEFAULT_ENCODER,
    show_default=True,
    metavar="NAME|DIR",
    help="Encoder: the bundled mini-zh, a folder, a hub name such as bert-base-chinese, or "
    "scratch:mini / scratch:base to train one from nothing.",
)
@click.option(
    "--attention",
    type=click.Choice(ATTENTIONS),
    default="sdpa",
    show_default=True,
    help="Attention implementation; flex is for GPUs.",
)
@click.option(
    "--corpus",
    metavar="NAME|DIR",
    help="Bundled corpus, or a folder with train, dev and test .tsv.  "
    "[default: the bundled one of that task and the graph's domain]",
)
@click.option("--train", metavar="FILE", help="Training split.")
@click.option("--dev", metavar="FILE", help="Dev split.  [default: a tenth of the training split]")
@click.option("--test", metavar="FILE", help="Test split, scored once at the end.")
@click.option(
    "--output",
    metavar="DIR",
    help="Run folder.  [default: runs/<time>-<task>-<kg>]",
)
@click.option("--force", is_flag=True, help="Allow an --output that exists; its run is replaced.")
@click.option(
    "--resume",
    is_flag=True,
    help="Go on with the unfinished run in --output, or the newest one with these settings.",
)
@click.option(
    "--gpus",
    type=click.IntRange(1),
    metavar="N",
    help="Train on N GPUs of this machine, a process each (torchrun).  [default: one, if any]",
)
@offline_option
@reading_options()
@injection_options
@training_options
@engine_options
@json_option
@quiet_option
def finetune(
    output: str | None,
    force: bool,
    resume: bool,
    gpus: int | None,
    engine: EngineConfig,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Fine-tune an encoder on a task, with a graph injected.

    The weights of the best epoch on the dev split are kept; the test split is scored once, with
    them.

    \b
    kbert finetune --kg medical --task ner
    kbert finetune --kg my.spo --task classification --train train.tsv --test test.tsv
    kbert finetune --kg none --task ner          the baseline without a graph
    """
    if gpus and gpus > 1 and distributed.process_count() == 1:
        distributed.run_on_gpus(gpus, sys.argv[1:])
    reporter = ConsoleReporter(quiet=quiet) if distributed.is_main() else Reporter()
    config = finetune_config(options, reporter)
    from kbert_cli.training import finetune as run_finetune

    result = run_finetune(
        config,
        reporter,
        output=Path(output) if output else None,
        force=force,
        resume=resume,
        engine=engine,
    )
    if not distributed.is_main():
        return
    if as_json:
        print_json({"run": str(result.folder), **result.metrics})
        return
    for split in _TITLES:
        if result.metrics[split]:
            print_scores(_TITLES[split], result.metrics[split])
    click.echo(f"run: {result.folder}")


def finetune_config(options: dict[str, Any], reporter: Reporter) -> FinetuneConfig:
    """The configuration that parsed options of this command stand for.

    The encoder, and a bundled corpus that is chosen, are noted.
    """
    reporter.note(_about(options["model"]))
    given = SplitFiles(options["train"] or "", options["dev"], options["test"])
    files = _split_files(options["task"], options["kg"], options["corpus"], given, reporter)
    return FinetuneConfig(
        task=options["task"],
        kg=options["kg"],
        method=options["method"],
        model=options["model"],
        train=files.train,
        dev=files.dev,
        test=files.test,
        attention=options["attention"],
        injection=options["injection"],
        training=options["training"],
        reading=options["reading"],
    )


def _about(model: str) -> str:
    """Which encoder this run uses, and how to use another."""
    bundled = bundled_encoders()
    if model in bundled:
        return (
            f"encoder: {model}, bundled ({bundled[model].title}); --model bert-base-chinese or "
            "--model FOLDER takes a larger one"
        )
    if model.startswith(SCRATCH):
        return (
            f"encoder: {model}, trained from nothing (random weights, no pre-training); "
            f"--model {DEFAULT_ENCODER}, bert-base-chinese or a FOLDER takes a pre-trained one"
        )
    return f"encoder: {model}"


def _split_files(
    task: str,
    kg: tuple[str, ...],
    corpus: str | None,
    given: SplitFiles,
    reporter: Reporter,
) -> SplitFiles:
    """The split files: those given, those of a corpus, or those of the fitting bundled corpus."""
    if given.train:
        if corpus:
            raise click.UsageError("--corpus and --train exclude each other.")
        return given
    if given.dev or given.test:
        raise click.UsageError("--dev and --test need --train.")
    if corpus:
        return corpus_files(corpus)
    domain = domain_of(kg[0])
    card = corpus_for(task, domain)
    reporter.note(f"corpus: bundled {card.name} ({card.title}); --train FILE takes your own")
    if domain is None and kg[0] != NO_GRAPH:
        reporter.warn(f"no --train was given: {kg[0]} meets a bundled corpus of another domain")
    return corpus_files(card.name)
