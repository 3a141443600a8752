"""What happens between the steps of the Hugging Face Trainer."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Container
from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from kbert_cli.errors import KbertError

DEV_METRIC = "primary"


class ProgressAndLog(TrainerCallback):
    """Advances the caller's bar, and appends what the Trainer logs to a file."""

    def __init__(
        self,
        advance: Callable[..., None],
        log: Path,
        epoch_at: Callable[[int], float] | None = None,
    ) -> None:
        """``epoch_at`` gives the epoch of a step where the Trainer does not know it."""
        self._advance = advance
        self._log = log
        self._epoch_at = epoch_at
        self._text = ""

    def on_train_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """A resumed run begins where it was; what was logged beyond that will be logged anew."""
        if state.global_step:
            self._advance(state.global_step)
        if state.is_world_process_zero and self._log.exists():
            lines = self._log.read_text(encoding="utf-8").splitlines(keepends=True)
            kept = [line for line in lines if _step_of(line) <= state.global_step]
            self._log.write_text("".join(kept), encoding="utf-8")

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """One optimiser step done."""
        self._advance(1, self._text)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **others: Any) -> None:
        """Append the figures, and show the newest loss and dev figure."""
        figures = {"step": state.global_step, **(logs or {})}
        if self._epoch_at is not None:
            figures["epoch"] = round(self._epoch_at(state.global_step), 4)
        if not math.isfinite(float(figures.get("loss", 0.0))):
            raise KbertError(
                f"the loss is {figures['loss']} at step {state.global_step}: the weights are lost",
                "A smaller --learning-rate, a longer --warmup or --precision fp32 helps.",
            )
        if "loss" in figures:
            self._text = f"loss {float(figures['loss']):.3f}"
        if f"eval_{DEV_METRIC}" in figures:
            self._text = f"dev {float(figures[f'eval_{DEV_METRIC}']):.4f}"
        if state.is_world_process_zero:
            with open(self._log, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(figures) + "\n")


def _step_of(line: str) -> float:
    """The step of a log line; infinite where a kill left half a line."""
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return float("inf")


class LookAtSteps(TrainerCallback):
    """Evaluates and saves after given steps."""

    def __init__(self, steps: Container[int], every: int | None = None) -> None:
        """After each of ``steps``, and after every ``every`` steps."""
        self._steps = steps
        self._every = every

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """One optimiser step done."""
        step = state.global_step
        due = self._every is not None and step % self._every == 0
        control.should_evaluate = control.should_save = due or step in self._steps


class StopAfter(TrainerCallback):
    """Ends a run after some seconds, with a checkpoint to go on from."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """One optimiser step done."""
        if time.monotonic() > self._end:
            control.should_save = control.should_training_stop = True


class EverySave(TrainerCallback):
    """Calls back with the step whenever a checkpoint is due, and puts the figures into the log."""

    def __init__(self, look: Callable[[int], dict[str, float]], log: Path) -> None:
        self._look = look
        self._log = log

    def on_save(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        """A checkpoint was written."""
        figures = {"step": state.global_step, **self._look(state.global_step)}
        with open(self._log, "a", encoding="utf-8") as stream:
            stream.write(json.dumps(figures) + "\n")
