"""``kbert convert-checkpoint``."""

from __future__ import annotations

from pathlib import Path

import click

from kbert_cli.cli.console import print_json
from kbert_cli.cli.options import json_option
from kbert_cli.errors import KbertError


@click.command("convert-checkpoint")
@click.argument("source", metavar="FILE.bin|DIR")
@click.option("--output", required=True, metavar="DIR", help="Folder to write.")
@click.option("--config", metavar="FILE", help="config.json of UER or Hugging Face (FILE.bin).")
@click.option("--vocab", metavar="FILE", help="vocab.txt of the checkpoint (FILE.bin).")
@click.option(
    "--drop",
    multiple=True,
    metavar="PREFIX",
    help="Leave out keys that begin so, such as a fine-tuned head's (FILE.bin, repeatable).",
)
@click.option(
    "--layout",
    type=click.Choice(("kbert", "uer")),
    default="kbert",
    show_default=True,
    help="Names of the weights that are written (DIR).",
)
@click.option(
    "--keep-norms",
    is_flag=True,
    help="Copy the gains of layer norms: for weights that UER took from Google's BERT.",
)
@json_option
def convert_checkpoint(
    source: str,
    output: str,
    config: str | None,
    vocab: str | None,
    drop: tuple[str, ...],
    layout: str,
    keep_norms: bool,
    as_json: bool,
) -> None:
    """Turn a checkpoint of UER or K-BERT into a Hugging Face folder, or a folder into one.

    UER's layer norm divides by another standard deviation than BERT's. Gains are scaled so that the
    outputs stay the same; --keep-norms leaves them.

    \b
    kbert convert-checkpoint kbert.bin --config config.json --vocab vocab.txt --output encoder
    kbert finetune --task ner --kg medical --model encoder
    kbert convert-checkpoint encoder --output for-uer --layout uer
    """
    folder = Path(source).is_dir()
    if not Path(source).exists():
        raise KbertError(f"cannot read {source}: No such file or directory")
    if folder and (config or vocab or drop):
        raise KbertError("--config, --vocab and --drop belong to FILE.bin; a folder has its own")
    if not folder and not (config and vocab):
        raise KbertError(
            f"{source}: --config and --vocab are needed too",
            "A .bin holds weights only; both files lie beside it where it came from.",
        )

    from kbert_cli.conversion import to_hugging_face, to_uer

    if folder:
        done = to_uer(Path(source), Path(output), layout=layout, keep_norms=keep_norms)
    else:
        assert config
        assert vocab
        done = to_hugging_face(
            Path(source),
            Path(output),
            config=config,
            vocab=vocab,
            drop=drop,
            keep_norms=keep_norms,
        )
    if as_json:
        print_json(done)
        return
    click.echo(
        f"{done['output']}: {done['tensors']} tensors, {done['parameters']:,} numbers, "
        f"layout {done['layout']}"
    )
