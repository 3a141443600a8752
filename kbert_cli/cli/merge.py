"""``kbert merge``."""

from __future__ import annotations

import click


@click.command()
@click.argument("output")
@click.option("--remove", is_flag=True, help="Delete the parts afterwards.")
def merge(output: str, remove: bool) -> None:
    """Join the parts of OUTPUT that kbert predict --shard wrote, in the order of the rows.

    \b
    kbert predict big.tsv --output out.tsv --shard 0/2
    kbert predict big.tsv --output out.tsv --shard 1/2
    kbert merge out.tsv
    """
    from kbert_cli.shards import merge as join

    click.echo(f"{output}: {join(output, remove=remove):,} rows")
