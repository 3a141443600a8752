"""Fine-tuning: options in, a run folder and its figures out."""

from __future__ import annotations

import contextlib
import json
import logging
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kbert_cli import distributed
from kbert_cli.checkpoint import (
    CHECKPOINTS,
    METRICS,
    UNITS,
    RunRecord,
    begin_run,
    check_output,
    find_unfinished,
    is_unfinished,
    make_run_folder,
    save_model,
    save_record,
)
from kbert_cli.config import EngineConfig, FinetuneConfig
from kbert_cli.corpora import Corpus, read_corpus
from kbert_cli.errors import Problems
from kbert_cli.files import LOCK, exclusive, named_output_errors, write_json
from kbert_cli.fitting import run_training
from kbert_cli.items import StoredItems
from kbert_cli.kg.catalog import open_graph, short_name
from kbert_cli.pipeline import Pipeline
from kbert_cli.precision import slow_precision
from kbert_cli.preparation import (
    build_pipeline,
    check_options,
    encode_splits,
    resolve_defaults,
    tell_graph,
    tree_statistics,
)
from kbert_cli.reporting import Reporter
from kbert_cli.version import __version__


@dataclass(frozen=True)
class FinetuneResult:
    """A finished run."""

    folder: Path
    config: FinetuneConfig
    metrics: dict[str, Any]
    """What ``metrics.json`` holds."""


def finetune(
    config: FinetuneConfig,
    reporter: Reporter,
    *,
    output: Path | None = None,
    force: bool = False,
    resume: bool = False,
    resume_if_possible: bool = False,
    engine: EngineConfig | None = None,
) -> FinetuneResult:
    """Fine-tune a model, keep the weights of the best look at dev, score test once with them.

    Under ``torchrun`` the processes share every optimiser step; only the first writes.

    Args:
        output: the run folder; by default a new one under ``runs/``.
        force: replace the run in an ``output`` that exists.
        resume: go on with the unfinished run in ``output``, or with the newest one under ``runs/``
            that has these settings and data.
        resume_if_possible: go on with the unfinished run in ``output`` if it has these settings
            and data, else begin it anew.
        engine: how the machine does it.

    Raises:
        KbertError: the input or an option is wrong (all that can be told before training is told
            together), the disk is full, or the GPU's memory is too small.
    """
    started = time.monotonic()
    engine = engine or EngineConfig()
    distributed.start()
    logging.getLogger("transformers").setLevel(logging.ERROR)
    with distributed.main_first():
        problems = Problems()
        if not resume:
            problems.check(lambda: check_output(output, force))
        resolved = problems.check(lambda: resolve_defaults(config))
        check_options(config, engine, problems)
        opened = problems.check(lambda: open_graph(config.kg, reporter))
        corpus = problems.check(lambda: read_corpus(config, reporter))
        problems.raise_all()
        assert resolved is not None
        assert opened is not None
        assert corpus is not None
        config = resolved
        if slow := slow_precision(config.training.precision):
            reporter.warn(slow)
        tell_graph(opened, config.kg, reporter)
        pipeline = build_pipeline(config, corpus, opened)
        items = encode_splits(pipeline, corpus, reporter, workers=engine.workers)
    record = RunRecord(
        config, tuple(pipeline.labels), len(corpus.train[0].texts), opened.graph.content_hash
    )
    origin = json.loads(json.dumps({**record.as_dict(), "data": corpus.digest()}))
    if resume_if_possible and output is not None:
        resume = is_unfinished(output, origin)
    with contextlib.ExitStack() as held:
        folder = _folder(config, origin, output, resume, held)
        trained = run_training(pipeline, corpus, items, folder, engine, reporter)
        if not distributed.is_main():
            return FinetuneResult(folder, config, {})
        metrics = {
            **trained,
            "test": _test(pipeline, corpus, items, folder, reporter),
            "tree": tree_statistics(items["train"].table),
            "seconds": round(time.monotonic() - started, 1),
            "versions": {"kbert": __version__, "torch": torch.__version__},
        }
        save_model(folder, pipeline.model, pipeline.tokenizer)
        save_record(folder, record)
        write_json(folder / METRICS, metrics)
        # Only now: until all is written, --resume may need them.
        shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)
    return FinetuneResult(folder, config, metrics)


def _folder(
    config: FinetuneConfig,
    origin: dict[str, Any],
    output: Path | None,
    resume: bool,
    held: contextlib.ExitStack,
) -> Path:
    """The run folder, the same in all processes; ``held`` keeps other runs out of it."""
    folder = None
    if distributed.is_main():
        folder = find_unfinished(output, origin) if resume else None
        if place := folder or output:
            held.enter_context(exclusive(place / LOCK, str(place)))
        if folder is None:
            names = "+".join(short_name(source) for source in config.kg)
            folder = make_run_folder(output, f"{config.task}-{names}")
            begin_run(folder, origin)
    shared = distributed.from_main(folder)
    assert shared is not None
    return shared


def _test(
    pipeline: Pipeline,
    corpus: Corpus,
    items: Mapping[str, StoredItems],
    folder: Path,
    reporter: Reporter,
) -> dict[str, Any] | None:
    if not corpus.test:
        return None
    with reporter.progress("scoring test", len(items["test"])) as advance:
        predictions = pipeline.predict_items(items["test"], corpus.test, on_batch=advance)
    with named_output_errors(folder):
        np.save(folder / UNITS, pipeline.task.units(corpus.test, predictions))
    return pipeline.task.score(corpus.test, predictions, pipeline.labels).as_dict()
