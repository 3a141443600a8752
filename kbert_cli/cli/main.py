"""The ``kbert`` command: its groups, and how errors leave it."""

from __future__ import annotations

import os
import sys

import click

from kbert_cli.cli.compare import compare
from kbert_cli.cli.convert_checkpoint import convert_checkpoint
from kbert_cli.cli.corpus import corpus
from kbert_cli.cli.evaluate import evaluate
from kbert_cli.cli.finetune import finetune
from kbert_cli.cli.inspect_tree import inspect_tree
from kbert_cli.cli.kg import kg
from kbert_cli.cli.merge import merge
from kbert_cli.cli.predict import predict
from kbert_cli.cli.pretrain import pretrain
from kbert_cli.errors import KbertError
from kbert_cli.version import __version__

INTERRUPTED = 130


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="kbert")
def cli() -> None:
    """Fine-tune Chinese BERT together with a knowledge graph (K-BERT).

    \b
    kbert finetune --kg medical --task ner      train on bundled material
    kbert predict file.tsv                      label a file with the newest run
    kbert inspect-tree "患者头痛伴高血压3天"      see what is injected where
    """


for command in (
    finetune,
    compare,
    predict,
    merge,
    evaluate,
    inspect_tree,
    kg,
    corpus,
    pretrain,
    convert_checkpoint,
):
    cli.add_command(command)


def main() -> None:
    """Run the command and exit: 0 done, 1 a clear error, 2 wrong usage, 130 Ctrl-C."""
    sys.exit(run(sys.argv[1:]))


def _decoded(argument: str) -> str:
    """An argument as UTF-8, whatever the locale made of it."""
    if argument.isascii() or not any("\ud800" <= char <= "\udfff" for char in argument):
        return argument
    try:
        return os.fsencode(argument).decode()
    except UnicodeDecodeError:
        raise KbertError(f"an argument is not UTF-8: {os.fsencode(argument)!r}") from None


def run(arguments: list[str]) -> int:
    """Run the command line and give its exit status; no traceback reaches the user."""
    # UTF-8 whatever the locale says: texts are Chinese.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        arguments = [_decoded(argument) for argument in arguments]
        status = cli.main(arguments, prog_name="kbert", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough; keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KbertError as error:
        click.echo(f"Error: {error}", err=True)
        return 1
    except OSError as error:
        if os.environ.get("KBERT_DEBUG"):
            raise
        where = f" {error.filename}" if error.filename else " (standard output?)"
        click.echo(f"Error: cannot read or write{where}: {error.strerror}", err=True)
        return 1
    except Exception as error:
        if os.environ.get("KBERT_DEBUG"):
            raise
        click.echo(
            f"Error: unexpected {type(error).__name__}: {error}\n"
            "This is a bug of kbert. KBERT_DEBUG=1 shows where it happens.",
            err=True,
        )
        return 1
