"""``kbert compare``."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from kbert_cli.cli.console import ConsoleReporter, print_json, print_table
from kbert_cli.cli.finetune import finetune, finetune_config
from kbert_cli.cli.options import gather_injection, gather_reading, json_option, quiet_option
from kbert_cli.cli.training_options import gather_engine, gather_training
from kbert_cli.errors import KbertError
from kbert_cli.kg.catalog import short_name

_HEADER = ("arm", "seeds", "mean", "sd", "difference", "95 %", "p", "p over seeds")


@click.command(context_settings={"ignore_unknown_options": True})
@click.option(
    "--kg",
    multiple=True,
    metavar="NAME|FILE|none",
    help="An arm each; the first is the one that others are compared with.",
)
@click.option(
    "--arm",
    "arms",
    multiple=True,
    metavar="NAME:OPTION=VALUE,…",
    help="An arm with its own options of kbert finetune, for example "
    "flat:kg=medical,no-visible-matrix.",
)
@click.option("--seeds", default="3", show_default=True, help="How many (1, 2, …), or a list 1,7.")
@click.option("--output", required=True, metavar="DIR", help="Folder of the runs and the result.")
@click.option("--force", is_flag=True, help="Replace finished runs that had other options.")
@click.option("--markdown", is_flag=True, help="Print the table as Markdown.")
@json_option
@quiet_option
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[FINETUNE OPTIONS]...")
def compare(
    kg: tuple[str, ...],
    arms: tuple[str, ...],
    seeds: str,
    output: str,
    force: bool,
    markdown: bool,
    as_json: bool,
    quiet: bool,
    options: tuple[str, ...],
) -> None:
    """Run arms on equal seeds and data, and say whether they differ by more than chance.

    OPTIONS are those of kbert finetune and go for all arms. Runs that are complete are kept: the
    same command goes on where it was stopped.

    \b
    kbert compare --task ner --kg none --kg medical --seeds 5 --output cmp
    kbert compare --task ner --arm tree:kg=medical --arm flat:kg=medical,no-visible-matrix
        --output cmp
    """
    reporter = ConsoleReporter(quiet=quiet)
    if len(kg) + len(arms) < 2:
        raise KbertError("a comparison needs two arms at least", "Give --kg or --arm twice.")
    given = [(short_name(one), ["--kg", one]) for one in kg] + [_parse(arm) for arm in arms]
    from kbert_cli.comparison import COMPARISON, Arm, comparison_as_dict
    from kbert_cli.comparison import compare as run_comparison

    parsed = [(name, _parsed(name, [*options, *own])) for name, own in given]
    made = [Arm(name, finetune_config(own, reporter), own["engine"]) for name, own in parsed]
    results = run_comparison(made, _seeds(seeds), Path(output), reporter, force=force)
    if as_json:
        print_json(comparison_as_dict(results))
        return
    rows = [_row(one) for one in results]
    if markdown:
        for row in ([*_HEADER], ["---"] * len(_HEADER), *rows):
            click.echo(f"| {' | '.join(map(str, row))} |")
    else:
        print_table(f"test, {results[0].primary}", _HEADER, rows)
    for one in results[1:]:
        assert one.difference
        click.echo(one.difference.verdict)
    if not markdown:
        click.echo(
            "95 % and p: paired bootstrap over test examples; p over seeds: paired t-test, from "
            f"three seeds on. All figures: {Path(output) / COMPARISON}"
        )


def _parse(arm: str) -> tuple[str, list[str]]:
    """``name:key=value,flag`` as a name and options."""
    name, found, rest = arm.partition(":")
    if not (name and found) or "/" in name:
        raise KbertError(
            f"--arm {arm!r} does not read as NAME:OPTION=VALUE,…",
            "For example --arm flat:kg=medical,no-visible-matrix.",
        )
    return name, list(_flags(rest))


def _flags(text: str) -> Iterator[str]:
    for part in filter(None, text.split(",")):
        key, found, value = part.partition("=")
        yield f"--{key.strip()}"
        if found:
            yield value.strip()


def _parsed(arm: str, arguments: Sequence[str]) -> dict[str, Any]:
    """An arm's arguments as ``kbert finetune`` reads them."""
    try:
        context = finetune.make_context("kbert compare", list(arguments))
    except click.UsageError as error:
        raise click.UsageError(f"arm {arm}: {error.format_message()}") from None
    gather = functools.reduce(
        lambda inner, outer: outer(inner),
        (gather_training, gather_injection, gather_engine, gather_reading),
        dict,
    )
    found: dict[str, Any] = gather(**context.params)
    return found


def _seeds(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.strip().isdigit() for part in parts):
        raise KbertError(f"--seeds is {text!r}; it is a number, or a list such as 1,2,7")
    numbers = [int(part) for part in parts]
    if len(numbers) == 1:
        if numbers[0] < 1:
            raise KbertError("--seeds is 0; it must be at least 1")
        return list(range(1, numbers[0] + 1))
    return list(dict.fromkeys(numbers))


def _row(result: Any) -> list[str]:
    row = [
        result.name,
        str(len(result.by_seed)),
        f"{result.mean:.4f}",
        "" if math.isnan(result.sd) else f"{result.sd:.4f}",
    ]
    found = result.difference
    if found is None:
        return [*row, "", "", "", ""]
    seeds = "" if found.p_seeds is None else f"{found.p_seeds:.3f}"
    interval = f"{found.low:+.4f} to {found.high:+.4f}"
    return [*row, f"{found.mean:+.4f}", interval, f"{found.p:.4f}", seeds]
