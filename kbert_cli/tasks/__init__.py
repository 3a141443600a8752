"""Tasks. One file each; what a task answers is in ``base``."""

from __future__ import annotations

import importlib
from typing import cast

from kbert_cli.registry import TASKS
from kbert_cli.tasks.base import Task


def load_task(name: str) -> Task:
    """The task of that name."""
    return cast(Task, importlib.import_module(TASKS[name]))
