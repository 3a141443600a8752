"""Options that several commands share. Each decorator hands over one object."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from kbert_cli.cards import read_toml
from kbert_cli.config import (
    LABEL_COLUMNS,
    SELECTIONS,
    InjectionConfig,
    ReadConfig,
)
from kbert_cli.corpus.formats import FORMATS
from kbert_cli.encoder_catalog import OFFLINE_VARIABLE
from kbert_cli.errors import KbertError, did_you_mean

Command = TypeVar("Command", bound=Callable[..., Any])

batch_size_option = click.option(
    "--batch-size",
    type=click.IntRange(1),
    default=64,
    show_default=True,
    help="Sentences at a time.",
)

quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print results and warnings only.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON value.")
run_option = click.option(
    "--run", metavar="DIR", help="Run folder to use.  [default: the newest under runs/]"
)


def _stay_offline(_context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    # The libraries read it when they are imported, which is later.
    if value:
        os.environ[OFFLINE_VARIABLE] = "1"


offline_option = click.option(
    "--offline",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_stay_offline,
    help="Never ask the network: a hub name must be in the local cache.",
)
moved_kg_option = click.option(
    "--kg",
    multiple=True,
    metavar="NAME|FILE",
    help="Where the run's graph is now, if it has moved (repeatable, in the order of training).",
)


def gathered(target: type, name: str, fields: tuple[str, ...]) -> Callable[[Command], Any]:
    """Replace the keyword arguments ``fields`` by one object of type ``target``."""

    def decorate(command: Command) -> Any:
        @functools.wraps(command)
        def wrapper(**arguments: Any) -> Any:
            values = {field: arguments.pop(field) for field in fields}
            return command(**arguments, **{name: target(**values)})

        return wrapper

    return decorate


def with_options(options: list[Any], gather: Callable[[Command], Any]) -> Callable[[Command], Any]:
    """A decorator that adds options and hands them over as ``gather`` says."""

    def decorate(command: Command) -> Any:
        decorated = gather(command)
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


_INJECTION = InjectionConfig()

gather_injection = gathered(
    InjectionConfig,
    "injection",
    (
        "max_entities",
        "predicate",
        "select",
        "min_mention_length",
        "max_length",
        "soft_position",
        "visible_matrix",
    ),
)

injection_options = with_options(
    [
        click.option(
            "--max-entities",
            type=int,
            default=_INJECTION.max_entities,
            show_default=True,
            help="Triples injected for each mention.",
        ),
        click.option(
            "--predicate/--no-predicate",
            default=None,
            help="Inject the predicate's text before the object's.  "
            "[default: yes, but not for ner]",
        ),
        click.option(
            "--select",
            type=click.Choice(SELECTIONS),
            default=_INJECTION.select,
            show_default=True,
            help="Which triples: the first of the file, those rare in the graph, or those most "
            "similar to the sentence.",
        ),
        click.option(
            "--min-mention-length",
            type=int,
            default=_INJECTION.min_mention_length,
            show_default=True,
            help="Shortest name that is looked for, in characters.",
        ),
        click.option(
            "--max-length",
            type=int,
            default=_INJECTION.max_length,
            show_default=True,
            help="Tokens a tree may have, branches included; branches go first.",
        ),
        click.option(
            "--soft-position/--no-soft-position",
            default=True,
            help="Number tokens along the tree, or as they stand (ablation).",
        ),
        click.option(
            "--visible-matrix/--no-visible-matrix",
            default=True,
            help="Hide branches from unrelated tokens, or not (ablation).",
        ),
    ],
    gather_injection,
)

gather_reading = gathered(
    ReadConfig,
    "reading",
    (
        "format",
        "encoding",
        "text_field",
        "text_b_field",
        "label_field",
        "label_column",
        "classes",
    ),
)


def reading_options(flag: str = "--format") -> Callable[[Command], Any]:
    """How data files are read; ``flag`` names the format."""
    return with_options(
        [
            click.option(
                flag,
                "format",
                type=click.Choice(FORMATS),
                help="Of the data.  [default: told by the file]",
            ),
            click.option(
                "--encoding", default="utf-8", show_default=True, help="Of the data files."
            ),
            click.option("--text-field", metavar="NAME", help="Column or JSON field of the text."),
            click.option("--text-b-field", metavar="NAME", help="That of the second text."),
            click.option("--label-field", metavar="NAME", help="That of the label."),
            click.option(
                "--label-column",
                type=click.Choice(LABEL_COLUMNS),
                help="Where the label is in a table without header.  [default: told by the rows]",
            ),
            click.option(
                "--classes",
                metavar="FILE",
                help="Class names, a line each, for labels that are numbers from 0.",
            ),
        ],
        gather_reading,
    )


def _load_config(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    if value is None:
        return
    allowed = {
        name: option
        for option in context.command.params
        for name in [option.name]
        if name and option is not parameter
    }
    settings = {}
    for key, setting in read_toml(value).items():
        name = "as_json" if key == "json" else key.replace("-", "_")
        if name not in allowed:
            spelled = [known.replace("_", "-") for known in allowed]
            raise KbertError(
                f"{value}: unknown key {key!r}; allowed: {', '.join(sorted(spelled))}",
                did_you_mean(key, spelled),
            )
        settings[name] = setting
    context.default_map = {**(context.default_map or {}), **settings}


config_option = click.option(
    "--config",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_load_config,
    help="TOML file whose keys are option names; options on the command line win.",
)
