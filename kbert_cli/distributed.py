"""Several processes on one job: who this one is, who goes first, what all must agree on.

torchrun tells each process its place by environment variables; without them there is one process.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, TypeVar

from kbert_cli.errors import KbertError

Value = TypeVar("Value")


def process_count() -> int:
    """Processes that share the job."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_main() -> bool:
    """Whether this is the process that writes and reports."""
    return int(os.environ.get("RANK", "0")) == 0


def start() -> None:
    """Join the others; each process takes the GPU of its local rank."""
    if process_count() > 1:
        _state()


def _state() -> Any:
    import torch
    from accelerate import PartialState

    # The Trainer finds this very state again, so it must be made as the Trainer would.
    return PartialState(cpu=not torch.cuda.is_available())


@contextlib.contextmanager
def main_first() -> Iterator[None]:
    """Let one process a machine run the block before its others do: it fills the caches."""
    if process_count() == 1:
        yield
        return
    with _state().local_main_process_first():
        yield


def from_main(value: Value) -> Value:
    """The main process's value, in all processes; it must pickle."""
    if process_count() == 1:
        return value
    from accelerate.utils import broadcast_object_list

    _state()
    shared = [value]
    broadcast_object_list(shared, from_process=0)
    return shared[0]


def wait() -> None:
    """Go on when all are here."""
    if process_count() > 1:
        _state().wait_for_everyone()


def run_on_gpus(count: int, arguments: Sequence[str]) -> NoReturn:
    """Become ``torchrun`` with ``count`` processes of this very command.

    Raises:
        KbertError: the machine has fewer GPUs.
    """
    import torch

    found = torch.cuda.device_count()
    if count > found:
        raise KbertError(
            f"--gpus is {count}, and this machine has {found}",
            "On several machines start with torchrun: docs/scale.md shows how.",
        )
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"]
    command = [sys.executable, *launcher, "-m", "kbert_cli", *arguments]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, command)  # noqa: S606
