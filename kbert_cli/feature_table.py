"""Features on disk: computed once, in several processes, mapped ever after.

A table is a folder of safetensors files, one for each few thousand examples. Each integer takes the
narrowest type that holds its file's values: about ten bytes a token, and nothing O(n²).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kbert_cli.errors import KbertError
from kbert_cli.features import Features, Featurizer, FeaturizerRecipe, Part
from kbert_cli.files import cache_folder, named_output_errors
from kbert_cli.tokenization import PieceEncoder
from kbert_cli.version import __version__

_FORMAT = 1
_CHUNK = 2_048
"""Examples a file, and a worker's share at a time."""
_FEW = 4_000
"""Examples that one process encodes before others have started."""
_MOST_WORKERS = 16
_UNUSED_DAYS = 30

_TOKENS = ("token_ids", "segment_ids", "positions", "branch_ids", "mention_ids")
_COUNTS = ("truncated_characters", "dropped_branches", "branches")


class TableRow(NamedTuple):
    """A part, and the index of its example."""

    example: int
    part: Part


class FeatureTable:
    """m parts of examples, read from disk when they are asked for."""

    def __init__(self, folder: Path) -> None:
        """Map the files of ``folder``.

        Raises:
            KbertError: one is missing or damaged.
        """
        from safetensors import SafetensorError, safe_open

        self.folder = folder
        self._files: list[Any] = []
        try:
            for path in sorted(folder.glob("*.safetensors")):
                # The handle stays open as long as the table.
                self._files.append(safe_open(path, framework="np"))
        except (OSError, SafetensorError) as error:
            raise KbertError(f"cannot read {folder}: {error}") from None
        wholes = [
            {name: file.get_tensor(name) for name in ("sizes", "examples", "starts", *_COUNTS)}
            | {"lengths": file.get_tensor("window_lengths")}
            for file in self._files
        ]
        self._columns = {
            name: np.concatenate([whole[name] for whole in wholes]) for name in wholes[0]
        }
        sizes = [whole["sizes"].astype(np.int64) for whole in wholes]
        self._begins = np.concatenate([np.cumsum(one) - one for one in sizes])
        self._file_of = np.repeat(np.arange(len(sizes)), [len(one) for one in sizes])
        self.lengths: np.ndarray = np.concatenate(sizes)
        """[m] int64, tokens of each part"""
        self.examples: np.ndarray = self._columns["examples"]
        """[m] int32, index of the example that each is part of; ascending"""

    def __len__(self) -> int:
        return len(self.lengths)

    def counts(self, name: str) -> np.ndarray:
        """[m] int32: ``truncated_characters``, ``dropped_branches`` or ``branches`` of each."""
        return self._columns[name]

    def __getitem__(self, index: int) -> TableRow:
        file = self._files[self._file_of[index]]
        begin = int(self._begins[index])
        end = begin + int(self.lengths[index])
        names = (*_TOKENS, "span_starts", "span_lengths")
        values: dict[str, Any] = {name: file.get_slice(name)[begin:end] for name in names}
        starts = values.pop("span_starts").astype(np.int32) - 1
        spans = np.stack([starts, starts + values.pop("span_lengths")], 1)
        values |= {name: int(self._columns[name][index]) for name in _COUNTS}
        start, length = (int(self._columns[name][index]) for name in ("starts", "lengths"))
        features = Features(**values, spans=spans)
        return TableRow(int(self.examples[index]), Part(start, length, features))


def featurized(
    recipe: FeaturizerRecipe,
    texts: Sequence[Sequence[str]],
    *,
    windowing: str,
    workers: int | None = None,
    on_examples: Callable[[int], None] = lambda _: None,
) -> FeatureTable:
    """The features of examples: found again by content, or computed now.

    Args:
        texts: each example's one or two texts.
        windowing: how long texts are read, see ``Featurizer.parts``.
        workers: processes; 0 for none beside this one, None for as many as there are cores where
            there are enough examples.
        on_examples: called with the examples just done.

    Raises:
        KbertError: a worker process was killed, or the disk is full.
    """
    folder = cache_folder("features") / _key(recipe, texts, windowing)
    if folder.is_dir():
        os.utime(folder)
        on_examples(len(texts))
        return FeatureTable(folder)
    _remove_unused(folder.parent)
    with named_output_errors(folder):
        scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".making-"))
        try:
            _compute(scratch, recipe, texts, windowing, workers, on_examples)
            try:
                scratch.replace(folder)
            except OSError:
                # Another process was first, with the same content.
                if not folder.is_dir():
                    raise
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return FeatureTable(folder)


def _key(recipe: FeaturizerRecipe, texts: Sequence[Sequence[str]], windowing: str) -> str:
    digest = hashlib.sha256()
    settings = [
        _FORMAT,
        __version__,
        windowing,
        recipe.graph.content_hash,
        recipe.tokenizer,
        recipe.special.cls,
        recipe.special.sep,
        asdict(recipe.injection),
    ]
    digest.update(json.dumps(settings, sort_keys=True).encode())
    for example in texts:
        for text in example:
            raw = text.encode("utf-8", "surrogatepass")
            digest.update(len(raw).to_bytes(8, "little"))
            digest.update(raw)
        digest.update(b"\n")
    return digest.hexdigest()[:32]


def _remove_unused(folder: Path) -> None:
    oldest = time.time() - _UNUSED_DAYS * 86_400
    for path in folder.iterdir():
        if path.stat().st_mtime < oldest:
            shutil.rmtree(path, ignore_errors=True)


def _compute(
    folder: Path,
    recipe: FeaturizerRecipe,
    texts: Sequence[Sequence[str]],
    windowing: str,
    workers: int | None,
    on_examples: Callable[[int], None],
) -> None:
    from safetensors.numpy import save_file

    chunks = [texts[start : start + _CHUNK] for start in range(0, len(texts), _CHUNK)]
    done = 0
    for number, arrays in enumerate(_computed(recipe, chunks, windowing, workers, len(texts))):
        arrays["examples"] = (arrays["examples"] + done).astype(np.int32)
        save_file(arrays, folder / f"{number:06d}.safetensors")
        done += len(chunks[number])
        on_examples(len(chunks[number]))


def _computed(
    recipe: FeaturizerRecipe,
    chunks: Sequence[Sequence[Sequence[str]]],
    windowing: str,
    workers: int | None,
    examples: int,
) -> Iterator[dict[str, np.ndarray]]:
    """The arrays of each chunk, in order."""
    if workers is None:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        workers = min(cores or 1, _MOST_WORKERS, len(chunks)) if examples > _FEW else 0
    if workers < 2:
        featurizer = _featurizer(recipe)
        yield from (_arrays(featurizer, chunk, windowing) for chunk in chunks)
        return
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    run = Parallel(n_jobs=workers, return_as="generator", pre_dispatch="2*n_jobs")
    made_for = uuid.uuid4().hex
    jobs = (delayed(_arrays_in_worker)(made_for, recipe, chunk, windowing) for chunk in chunks)
    try:
        yield from run(jobs)
    except TerminatedWorkerError:
        raise KbertError(
            "a worker process was killed, perhaps for want of memory",
            f"--workers {workers // 2} starts fewer of them.",
        ) from None


_at_hand: dict[str, Featurizer] = {}
"""A worker's featurizer, by the job that it was made for."""


def _arrays_in_worker(
    made_for: str, recipe: FeaturizerRecipe, chunk: Sequence[Sequence[str]], windowing: str
) -> dict[str, np.ndarray]:
    if made_for not in _at_hand:
        _at_hand.clear()
        _at_hand[made_for] = _featurizer(recipe)
    return _arrays(_at_hand[made_for], chunk, windowing)


def _featurizer(recipe: FeaturizerRecipe) -> Featurizer:
    from tokenizers import Tokenizer

    encode = PieceEncoder(Tokenizer.from_str(recipe.tokenizer))
    return Featurizer(recipe.graph, encode, recipe.special, recipe.injection)


def _arrays(
    featurizer: Featurizer, texts: Iterable[Sequence[str]], windowing: str
) -> dict[str, np.ndarray]:
    """A file's content; ``examples`` count from its first."""
    found = [
        (number, part)
        for number, example in enumerate(texts)
        for part in featurizer.parts(example, windowing)
    ]
    features = [part.features for _, part in found]
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(one, name) for one in features]) for name in _TOKENS
    }
    spans = np.concatenate([one.spans for one in features])
    arrays["span_starts"] = spans[:, 0] + 1
    arrays["span_lengths"] = spans[:, 1] - spans[:, 0]
    arrays = {
        name: values.astype(np.min_scalar_type(values.max(initial=0)))
        for name, values in arrays.items()
    }
    whole = {
        "sizes": [len(one) for one in features],
        "examples": [number for number, _ in found],
        "starts": [part.start for _, part in found],
        "window_lengths": [part.length for _, part in found],
        **{name: [getattr(one, name) for one in features] for name in _COUNTS},
    }
    return arrays | {name: np.array(values, np.int32) for name, values in whole.items()}
