"""Checkpoints of the Trainer that survive whatever happens while they are written.

Each is written into a folder aside and renamed; older ones go only afterwards. A list of its files
and their sizes tells a whole one from a damaged one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from transformers import Trainer
from transformers.trainer_callback import TrainerCallback
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR, rotate_checkpoints

from kbert_cli import distributed
from kbert_cli.errors import KbertError
from kbert_cli.files import parse_json, read_json, write_json

_ASIDE = "saving"
_FILES = "files.json"
_STATE = "trainer_state.json"


class SafeCheckpoints(Trainer):
    """A Trainer that never leaves half a checkpoint."""

    _run_folder: str | None = None

    def _get_output_dir(self, trial: Any) -> str:
        return self._run_folder or str(super()._get_output_dir(trial))

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        place = Path(self.args.output_dir)
        aside = place / _ASIDE
        if self.args.should_save:
            shutil.rmtree(aside, ignore_errors=True)
        distributed.wait()
        self._run_folder = str(aside)
        try:
            super()._save_checkpoint(model, trial)
        # A full disk: the file formats' writers have each their own way to say so.
        except (OSError, RuntimeError, SafetensorError) as error:
            raise KbertError(
                f"cannot write a checkpoint to {place}: {error}",
                "The checkpoints before it are whole; --resume goes on from the last.",
            ) from None
        finally:
            self._run_folder = None
        distributed.wait()
        name = f"{PREFIX_CHECKPOINT_DIR}-{self.state.global_step}"
        best = self.state.best_model_checkpoint
        if best is not None:
            self.state.best_model_checkpoint = str(place / Path(best).name)
        if self.args.should_save:
            # The Trainer wrote where it saved, which is no place to stay.
            self.state.save_to_json(str(aside / name / _STATE))
            _publish(aside / name, place / name)
            aside.rmdir()
            rotate_checkpoints(
                output_dir=str(place),
                save_total_limit=self.args.save_total_limit,
                best_model_checkpoint=self.state.best_model_checkpoint,
                use_mtime=False,
            )
        distributed.wait()


def _publish(written: Path, final: Path) -> None:
    sizes = {path.name: path.stat().st_size for path in written.iterdir() if path.is_file()}
    write_json(written / _FILES, sizes)
    for path in written.iterdir():
        # Names before contents could survive a power cut.
        with open(path, "rb") as stream:
            os.fsync(stream.fileno())
    shutil.rmtree(final, ignore_errors=True)
    written.replace(final)


def newest_checkpoint(folder: Path, warn: Callable[[str], None]) -> Path | None:
    """The last whole checkpoint in ``folder``; None when there is none at all.

    Raises:
        KbertError: there are some, and all are damaged (the newest one's fault is named).
    """
    found = sorted(
        folder.glob(f"{PREFIX_CHECKPOINT_DIR}-*"),
        key=lambda path: int(path.name.rpartition("-")[2]),
        reverse=True,
    )
    faults: list[str] = []
    for path in found:
        fault = _fault(path)
        if fault is None:
            for damaged in faults:
                warn(f"{damaged}; going on from {path.name}")
            return path
        faults.append(fault)
    if faults:
        raise KbertError(
            f"no checkpoint can be gone on from: {faults[0]}", "Start again without --resume."
        )
    return None


def _fault(checkpoint: Path) -> str | None:
    """What is wrong with a checkpoint, or None."""
    try:
        sizes = parse_json((checkpoint / _FILES).read_text(encoding="utf-8"))
        parse_json((checkpoint / _STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return f"{checkpoint} is incomplete: {_FILES} or {_STATE} cannot be read"
    for name, size in sizes.items():
        path = checkpoint / name
        if not path.is_file():
            return f"{path} is missing"
        if path.stat().st_size != size:
            return f"{path} is damaged: {path.stat().st_size} bytes, not {size}"
    return None


def steps_of(checkpoint: Path) -> int:
    """Optimiser steps that it holds."""
    return int(read_json(checkpoint / _STATE)["global_step"])


class MovedBest(TrainerCallback):
    """Finds the best checkpoint again when the run folder was moved since it was written."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """The state was loaded."""
        if state.best_model_checkpoint is not None:
            here = Path(args.output_dir) / Path(state.best_model_checkpoint).name
            state.best_model_checkpoint = str(here)
