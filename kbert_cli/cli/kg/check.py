"""``kbert kg check``."""

from __future__ import annotations

from typing import Any

import click

from kbert_cli.cli.console import ConsoleReporter, print_json, print_table
from kbert_cli.cli.options import json_option, quiet_option
from kbert_cli.cli.sources import source_options
from kbert_cli.errors import KbertError
from kbert_cli.kg.sources import SourceFormat
from kbert_cli.kg.triples import source_files


@click.command()
@click.argument("source_path", metavar="SOURCE")
@source_options
@click.option("--strict", is_flag=True, help="Fail unless every row is a new triple.")
@json_option
@quiet_option
def check(source_path: str, source: SourceFormat, strict: bool, as_json: bool, quiet: bool) -> None:
    """Read SOURCE and say what is wrong with it: line by line, and counted."""
    from kbert_cli.kg.check import check_source

    reporter = ConsoleReporter(quiet=quiet)
    findings = []
    for file in source_files(source_path):
        total = file.stat().st_size if file.is_file() else None
        with reporter.progress("checking", total) as advance:
            findings.append(check_source(file, source, advance))
    if as_json:
        print_json([found.as_dict() for found in findings])
    else:
        for found in findings:
            _print_findings(found)
    hopeless = [found.path for found in findings if found.rows and found.rejected == found.rows]
    if hopeless:
        raise KbertError(f"{', '.join(hopeless)}: no row is a triple")
    dirty = [found.path for found in findings if not found.clean]
    if strict and dirty:
        raise KbertError(f"--strict: {', '.join(dirty)}: not every row is a new triple")


def _print_findings(found: Any) -> None:
    shown = (
        "rows",
        "triples",
        "rejected",
        "duplicates",
        "self_loops",
        "one_character_subjects",
        "overlong_subjects",
        "overlong_objects",
    )
    rows = [(name.replace("_", " "), getattr(found, name)) for name in shown]
    print_table(found.path, ("figure", "value"), rows)
    for bad in found.first_rejected:
        click.echo(f"{found.path}:{bad.line}: {bad.reason}")
    if found.rejected > len(found.first_rejected):
        click.echo(f"… and {found.rejected - len(found.first_rejected):,} more")
    for kind, examples in found.examples.items():
        click.echo(f"{kind.replace('_', ' ')}: {', '.join(examples)}")
