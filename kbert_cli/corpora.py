"""The splits of a run, read and checked together before anything is trained."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kbert_cli.config import FinetuneConfig
from kbert_cli.corpus.columns import READING
from kbert_cli.corpus.example import Example
from kbert_cli.corpus.reader import Split, read_split
from kbert_cli.errors import KbertError, Problems, at_line
from kbert_cli.reporting import Reporter
from kbert_cli.tasks import load_task
from kbert_cli.tasks.base import Task

HELD_OUT = 0.1
"""Share of the training file that serves as dev when there is no dev file."""


@dataclass(frozen=True)
class Corpus:
    """Examples of the three splits and the labels of the first."""

    train: Sequence[Example]
    dev: Sequence[Example]
    test: Sequence[Example]
    labels: Sequence[str]

    def digest(self) -> str:
        """Equal for equal texts and labels of training and dev, in their order."""
        found = hashlib.sha256()
        for split in (self.train, self.dev):
            for example in split:
                found.update(repr((example.texts, example.label, example.group)).encode())
            found.update(b"\n")
        return found.hexdigest()


def read_corpus(config: FinetuneConfig, reporter: Reporter) -> Corpus:
    """Read the files that ``config`` names.

    Raises:
        KbertError: files cannot be read, training holds fewer than two labels, or dev or test hold
            labels that training lacks (each named with its line); all of it together.
    """
    task = load_task(config.task)
    problems = Problems()
    train = problems.check(lambda: _read(config.train, config, reporter))
    # Without training rows nothing tells how many texts a row of the others has.
    texts = len(train.examples[0].texts) if train else None
    others = [
        problems.check(functools.partial(_read, path, config, reporter, texts=texts))
        if path
        else None
        for path in (config.dev, config.test)
    ]
    labels = task.label_list(train.examples) if train else []
    if train:
        problems.check(lambda: _require_two(train.path, train.examples, task))
        problems.check(lambda: _check_labels(task, [train, *others], labels))
    problems.raise_all()
    assert train is not None
    dev, test = (split.examples if split else [] for split in others)
    kept: Sequence[Example] = train.examples
    if not dev:
        kept, dev = hold_out(train.examples, config.training.seed)
        _require_two(f"{train.path}, a tenth held out,", kept, task)
        reporter.note(f"no dev split: {len(dev):,} of the training examples are held out as one")
    return Corpus(kept, dev, test, labels)


def _read(
    path: str, config: FinetuneConfig, reporter: Reporter, *, texts: int | None = None
) -> Split:
    columns = load_task(config.task).columns
    split = read_split(path, columns, texts=texts, reading=config.reading)
    for note in split.notes:
        reporter.note(note)
    return split


def _check_labels(task: Task, splits: Sequence[Split | None], labels: Sequence[str]) -> None:
    problems = [
        at_line(split.path, example.line, problem)
        for split in splits
        if split
        for example in split.examples
        if (problem := task.label_problem(example, labels))
    ]
    if problems:
        shown = "\n".join(problems[:20])
        more = f"\n… and {len(problems) - 20} more" if len(problems) > 20 else ""
        raise KbertError(f"{len(problems)} examples have labels out of reach:\n{shown}{more}")


def _require_two(what: str, examples: Sequence[Example], task: Task) -> None:
    if task.columns is READING:
        return
    found = {tag for example in examples for tag in _as_tuple(example.label)}
    if len(found) < 2:
        raise KbertError(
            f"{what} holds a single label, {', '.join(sorted(found))!r}: there is nothing to learn",
            "A training split needs at least two different labels.",
        )


def _as_tuple(label: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return label if isinstance(label, tuple) else (str(label),)


def hold_out(examples: Sequence[Example], seed: int) -> tuple[list[Example], list[Example]]:
    """Part off a tenth at random; the answers to one question stay on one side.

    Raises:
        KbertError: there are too few examples to part.
    """
    groups = sorted({_group(index, example) for index, example in enumerate(examples)})
    if len(groups) < 2:
        raise KbertError(
            f"{len(examples)} training examples are too few to hold some out for dev",
            "Give a dev split with --dev FILE.",
        )
    count = max(1, round(len(groups) * HELD_OUT))
    chosen = np.random.default_rng(seed).choice(len(groups), count, replace=False)
    held = {groups[index] for index in chosen}
    kept: list[Example] = []
    dev: list[Example] = []
    for index, example in enumerate(examples):
        (dev if _group(index, example) in held else kept).append(example)
    return kept, dev


def _group(index: int, example: Example) -> tuple[int, str]:
    return (0, example.group) if example.group is not None else (index + 1, "")
