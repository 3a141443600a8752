"""Run folders: what a fine-tuned model needs to predict exactly as it was trained.

``config.json``      settings, labels, graph hash
``encoder/``         a Hugging Face folder: weights (safetensors), config, tokenizer
``head.safetensors`` the task's head
``checkpoints/``     while training only: what ``--resume`` needs, and ``origin.json``, whose it is
``metrics.jsonl``    what was logged while training
``test_units.npy``   what each test example adds to the primary figure, for comparisons
``metrics.json``     written last: a folder that has it is complete
"""

from __future__ import annotations

import hashlib
import itertools
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kbert_cli.config import FinetuneConfig
from kbert_cli.errors import KbertError
from kbert_cli.files import (
    named_output_errors,
    read_json,
    require_free,
    require_writable,
    write_json,
)
from kbert_cli.version import __version__

CONFIG, METRICS, LOG = "config.json", "metrics.json", "metrics.jsonl"
ENCODER, HEAD = "encoder", "head.safetensors"
UNITS = "test_units.npy"
CHECKPOINTS, ORIGIN = "checkpoints", "origin.json"
RUNS = Path("runs")


@dataclass(frozen=True)
class RunRecord:
    """What ``config.json`` holds."""

    config: FinetuneConfig
    labels: tuple[str, ...]
    texts: int
    """How many texts an example has."""
    graph_hash: str
    version: str = __version__

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "kbert": self.version,
            "labels": list(self.labels),
            "texts": self.texts,
            "graph_hash": self.graph_hash,
            **self.config.as_dict(),
        }


def read_record(folder: str | Path) -> RunRecord:
    """The record of a run folder.

    Raises:
        KbertError: the folder is no run, or is damaged.
    """
    path = Path(folder) / CONFIG
    if not path.is_file():
        raise KbertError(
            f"{folder} is no run folder: it has no {CONFIG}",
            "`kbert finetune` makes run folders; name one with --run DIR.",
        )
    value = read_json(path)
    try:
        version, texts = value.pop("kbert"), value.pop("texts")
        labels, graph_hash = tuple(value.pop("labels")), value.pop("graph_hash")
    except (KeyError, AttributeError, TypeError):
        raise KbertError(f"{path} was not written by kbert, or is damaged") from None
    if not (
        isinstance(texts, int)
        and labels
        and all(isinstance(label, str) for label in labels)
        and isinstance(graph_hash, str)
    ):
        raise KbertError(f"{path} is damaged: labels, texts or graph_hash are not what they were")
    return RunRecord(FinetuneConfig.from_dict(value), labels, texts, graph_hash, version)


def require_complete(folder: str | Path) -> None:
    """Raise KbertError when a run has not ended, or lacks a file that it was written with.

    What is there could be a mixture of two runs, or predict with another tokenizer.
    """
    folder = Path(folder)
    if not (folder / METRICS).is_file():
        raise KbertError(
            f"the run in {folder} did not end: it has no {METRICS}",
            "Go on with it: kbert finetune … --resume.",
        )
    needed = [folder / HEAD, *(folder / ENCODER / name for name in _ENCODER_FILES)]
    missing = [str(path) for path in needed if not path.is_file()]
    if missing:
        raise KbertError(f"the run folder lacks {', '.join(missing)}", "Train anew.")


_ENCODER_FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")


def newest_run(runs: Path = RUNS) -> Path:
    """The complete run under ``runs`` that ended last.

    Raises:
        KbertError: there is none.
    """
    done = sorted(runs.glob(f"*/{METRICS}"), key=lambda path: (path.stat().st_mtime_ns, path))
    if not done:
        raise KbertError(
            f"no run in {runs}/",
            "Make one with `kbert finetune --kg medical --task ner`, or name one with --run DIR.",
        )
    return done[-1].parent


def check_output(output: Path | None, force: bool) -> None:
    """Raise KbertError when a run folder must not, or could not, be used."""
    require_writable(output or RUNS)
    if output is not None and not force:
        begun = (output / CHECKPOINTS / ORIGIN).is_file()
        require_free(
            output,
            "That run did not end: go on with it with --resume, or replace it with --force."
            if begun
            else "Name another folder, or replace that run with --force.",
        )


def make_run_folder(output: Path | None, name: str) -> Path:
    """Make the folder ``output``, or a new one under ``runs/`` named by the time and ``name``.

    An earlier run in ``output`` counts as incomplete from here on.
    """
    with named_output_errors(output or RUNS):
        if output is not None:
            output.mkdir(parents=True, exist_ok=True)
            (output / METRICS).unlink(missing_ok=True)
            (output / LOG).unlink(missing_ok=True)
            (output / UNITS).unlink(missing_ok=True)
            shutil.rmtree(output / CHECKPOINTS, ignore_errors=True)
            return output
        RUNS.mkdir(exist_ok=True)
        stamp = time.strftime("%Y%m%d-%H%M%S")
        folder = RUNS / f"{stamp}-{name}"
        # Two runs may start in one second; mkdir decides who was first.
        for number in itertools.count(2):
            try:
                folder.mkdir()
                break
            except FileExistsError:
                folder = RUNS / f"{stamp}-{name}-{number}"
        return folder


def begin_run(folder: Path, origin: dict[str, Any]) -> None:
    """Note what a run is made from, so that it can be gone on with."""
    write_json(folder / CHECKPOINTS / ORIGIN, origin)


def is_unfinished(output: Path, origin: dict[str, Any]) -> bool:
    """Whether the run in ``output`` was made from ``origin`` and has not ended."""
    path = output / CHECKPOINTS / ORIGIN
    return path.is_file() and read_json(path) == origin


def find_unfinished(output: Path | None, origin: dict[str, Any], runs: Path = RUNS) -> Path:
    """The run folder to go on with: ``output``, or the newest unfinished one made from ``origin``.

    Raises:
        KbertError: there is none, it is complete, or it was made from something else.
    """
    if output is None:
        begun = sorted(runs.glob(f"*/{CHECKPOINTS}/{ORIGIN}"), reverse=True)
        for path in begun:
            if read_json(path) == origin:
                return path.parents[1]
        raise KbertError(
            f"no unfinished run with these settings in {runs}/",
            "Start without --resume, or name its folder with --output DIR.",
        )
    path = output / CHECKPOINTS / ORIGIN
    if not path.is_file():
        if (output / METRICS).is_file():
            raise KbertError(f"the run in {output} is complete", "There is nothing to resume.")
        raise KbertError(f"{output} holds no run to go on with", "Start without --resume.")
    different = _differences(read_json(path), origin)
    if different:
        raise KbertError(
            f"the run in {output} was started with other settings or data: {', '.join(different)}",
            "--resume goes on with the very same; start anew without it.",
        )
    return output


def _differences(one: Any, other: Any, name: str = "") -> list[str]:
    """Names of the settings in which two nested dicts differ."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return [] if one == other else [name]
    names = dict.fromkeys([*one, *other])
    return [
        found for key in names for found in _differences(one.get(key), other.get(key), str(key))
    ]


def save_model(folder: Path, model: Any, tokenizer: Any) -> None:
    """Write encoder, tokenizer and head of a ``TaskModel``."""
    from safetensors.torch import save_file

    from kbert_cli.encoders import quiet_transformers

    with named_output_errors(folder), quiet_transformers():
        model.encoder.encoder.save_pretrained(folder / ENCODER)
        tokenizer.save_pretrained(folder / ENCODER)
        save_file(model.head.state_dict(), folder / HEAD)


def save_record(folder: Path, record: RunRecord) -> None:
    """Write ``config.json``."""
    write_json(folder / CONFIG, record.as_dict())


def load_head(folder: Path, head: Any) -> None:
    """Fill a head with the weights of a run folder; missing or foreign ones are an error."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = folder / HEAD
    try:
        head.load_state_dict(load_file(path))
    except (OSError, SafetensorError, RuntimeError) as error:
        first = str(error).splitlines()[0]
        raise KbertError(f"cannot load {path}: {first}", "The run folder is incomplete.") from None


def fingerprint(folder: str | Path) -> str:
    """What tells one complete run from another in the same place: a hash of its head."""
    return hashlib.sha256((Path(folder) / HEAD).read_bytes()).hexdigest()[:16]
