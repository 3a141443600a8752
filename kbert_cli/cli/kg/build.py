"""``kbert kg build``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from kbert_cli.cli.console import ConsoleReporter, print_json, print_table
from kbert_cli.cli.options import json_option, quiet_option
from kbert_cli.cli.sources import source_options
from kbert_cli.errors import KbertError
from kbert_cli.files import BLANKS, read_lines
from kbert_cli.kg.catalog import bundled_graphs
from kbert_cli.kg.home import named_folder
from kbert_cli.kg.sources import SourceFormat
from kbert_cli.kg.triples import source_files


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--name", help="What --kg calls it from then on.")
@click.option("--output", metavar="DIR", help="A folder for it, instead of a name.")
@click.option("--aliases", metavar="FILE", help="Mention table: mention, tab, entity.")
@source_options
@click.option("--include-predicate", multiple=True, help="Keep only these (repeatable).")
@click.option("--exclude-predicate", multiple=True, help="Leave these out (repeatable).")
@click.option(
    "--description-predicate",
    multiple=True,
    help="Its objects are descriptions, and are not injected (repeatable).",
)
@click.option("--min-subject-length", type=click.IntRange(1), default=1, help="In characters.")
@click.option("--max-subject-length", type=click.IntRange(1), help="In characters.")
@click.option("--max-object-length", type=click.IntRange(1), help="In characters.")
@click.option("--stop-list", metavar="FILE", help="Subjects to leave out, one a line.")
@click.option("--simplified", is_flag=True, help="Find traditional spellings as simplified ones.")
@click.option("--licence", help="Kept in the graph's manifest.")
@click.option("--force", is_flag=True, help="Replace a graph of that name.")
@json_option
@quiet_option
def build(
    sources: tuple[str, ...],
    name: str | None,
    output: str | None,
    aliases: str | None,
    source: SourceFormat,
    stop_list: str | None,
    force: bool,
    as_json: bool,
    quiet: bool,
    include_predicate: tuple[str, ...],
    exclude_predicate: tuple[str, ...],
    description_predicate: tuple[str, ...],
    **limits: Any,
) -> None:
    """Compile SOURCE files or folders (- is standard input) into a graph that opens in no time.

    Formats by name: .spo and .tsv (subject, predicate, object, separated by tabs), .csv, .nt
    (N-Triples), .jsonl; each also .gz, .bz2 or .zst.

    \b
    kbert kg build my.spo --name mine
    kbert kg build ownthink.csv.gz --name ownthink
    kbert kg build triples.txt --delimiter " ||| " --columns s,o,p --name mine
    kbert finetune --task ner --kg mine
    """
    from kbert_cli.kg.build import build_graph
    from kbert_cli.kg.settings import BuildSettings

    if (name is None) == (output is None):
        raise click.UsageError("Give either --name or --output.")
    if name in bundled_graphs():
        raise KbertError(f"{name!r} is the name of a bundled graph", "Choose another one.")
    folder = named_folder(name) if name is not None else Path(str(output))
    settings = BuildSettings(
        source=source,
        include_predicates=include_predicate,
        exclude_predicates=exclude_predicate,
        description_predicates=description_predicate,
        stop_names=tuple(_stop_names(stop_list)),
        **limits,
    )
    files = [file for one in sources for file in source_files(one)]
    reporter = ConsoleReporter(quiet=quiet)
    manifest = build_graph(files, folder, settings, reporter, aliases=aliases, replace=force)
    for report in manifest.sources:
        if report.rejected_count:
            first = report.rejected[0]
            reporter.warn(
                f"{report.path}: {report.rejected_count:,} lines hold no triple, the first is line "
                f"{first.line}: {first.reason}"
            )
    if not manifest.counts["triples"]:
        reporter.warn("the graph is empty: no row is a triple that the filters keep")
    if as_json:
        print_json({"folder": str(folder), **manifest.counts, "hash": manifest.content_hash})
        return
    print_table(f"built {name or folder}", ("figure", "value"), list(manifest.counts.items()))


def _stop_names(path: str | None) -> Iterator[str]:
    if path is not None:
        yield from (line.strip(BLANKS) for _, line in read_lines(path) if line.strip(BLANKS))
