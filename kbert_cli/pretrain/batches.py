"""Batches by number: batch k is the same whenever it is asked for, so that a run can go on."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.utils.data import Dataset

from kbert_cli.pretrain.encoded import EncodedText
from kbert_cli.pretrain.masking import mask_words
from kbert_cli.pretrain.packing import Units, pack, pair_units, sentence_units
from kbert_cli.tree.visibility import PADDING


@dataclass(frozen=True)
class Stage:
    """A stretch of training with rows of one length."""

    steps: int
    length: int
    rows: int
    """Rows a batch."""


@dataclass(frozen=True)
class MaskingConfig:
    """What masking and row building need to know of the tokenizer."""

    cls_id: int
    sep_id: int
    pad_id: int
    mask_id: int
    first_piece: int
    vocabulary: int
    rate: float = 0.15


class PretrainingBatches(Dataset[dict[str, torch.Tensor]]):
    """Item k is batch k of the whole run: b rows of n tokens, packed, masked, ready."""

    def __init__(
        self,
        text: EncodedText,
        chosen: np.ndarray,
        stages: Sequence[Stage],
        masking: MaskingConfig,
        *,
        nsp: bool,
        seed: int,
    ) -> None:
        self._text = text
        self._chosen = chosen
        self._stages = stages
        self._masking = masking
        self._nsp = nsp
        self._seed = seed
        # One epoch's order is all that is kept: batches are asked for in order.
        self._epoch = functools.lru_cache(maxsize=1)(self._build_epoch)
        self._batches_of = functools.lru_cache(maxsize=None)(
            lambda stage, epoch: (len(self._epoch(stage, epoch)[1]) - 1) // stages[stage].rows
        )

    def __len__(self) -> int:
        return sum(stage.steps for stage in self._stages)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        stage, offset = self._locate(index)
        epoch = 0
        while offset >= max(self._batches_of(stage, epoch), 1):
            offset -= max(self._batches_of(stage, epoch), 1)
            epoch += 1
        units, borders = self._epoch(stage, epoch)
        rows = self._stages[stage].rows
        first = offset * rows
        own = borders[first : first + rows + 1]
        chance = np.random.default_rng([self._seed, index])
        return build_batch(
            self._text, units, own, self._stages[stage].length, self._masking, chance
        )

    def tokens_seen(self, steps: int) -> int:
        """Tokens of the first ``steps`` batches, special ones included, padding not."""
        total = 0
        for stage, plan in enumerate(self._stages):
            left, epoch = min(steps, plan.steps), 0
            steps -= left
            while left > 0:
                units, borders = self._epoch(stage, epoch)
                batches = max(self._batches_of(stage, epoch), 1)
                end = borders[min(min(left, batches) * plan.rows, len(borders) - 1)]
                total += int(units.sizes[:end].sum())
                left, epoch = left - batches, epoch + 1
        return total

    def _locate(self, index: int) -> tuple[int, int]:
        for number, stage in enumerate(self._stages):
            if index < stage.steps:
                return number, index
            index -= stage.steps
        raise IndexError(index)

    def _build_epoch(self, stage: int, epoch: int) -> tuple[Units, np.ndarray]:
        chance = np.random.default_rng([self._seed, stage, epoch, 1])
        order = chance.permutation(self._chosen)
        return plan_rows(self._text, order, self._stages[stage].length, self._nsp, chance)


def plan_rows(
    text: EncodedText, order: np.ndarray, length: int, nsp: bool, chance: np.random.Generator
) -> tuple[Units, np.ndarray]:
    """Units of the sentences in ``order``, row by row, and the borders of the rows."""
    units = pair_units(text, order, length, chance) if nsp else sentence_units(text, order, length)
    rows = pack(units.sizes, length)
    # Rows come out by size; batches should not.
    rows = [rows[index] for index in chance.permutation(len(rows))]
    borders = np.cumsum([0, *map(len, rows)])
    return units.take(np.array(list(itertools.chain.from_iterable(rows)), np.int64)), borders


def build_batch(
    text: EncodedText,
    units: Units,
    borders: np.ndarray,
    length: int,
    masking: MaskingConfig,
    chance: np.random.Generator,
) -> dict[str, torch.Tensor]:
    """Rows between ``borders`` as tensors.

    Returns:
        ``input_ids``, ``segment_ids``, ``position_ids``, ``sentence_ids`` (-1 on padding; units of
        a row do not see each other) and ``labels``, all [b, n] int64; ``unit_rows`` and
        ``unit_columns`` [u], where each unit's [CLS] stands, and ``follows`` [u].
    """
    shape = (len(borders) - 1, length)
    tokens = np.full(shape, masking.pad_id, np.int64)
    sentences = np.full(shape, PADDING, np.int64)
    segments, positions = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    words = np.full(shape, -1, np.int64)
    rows, columns = [], []
    word = 0
    for row, (first, end) in enumerate(itertools.pairwise(borders)):
        at = 0
        for number, unit in enumerate(range(first, end)):
            begin = at
            rows.append(row)
            columns.append(at)
            tokens[row, at] = masking.cls_id
            at += 1
            for side in (0, 1):
                size = int(units.lengths[unit, side])
                if not size:
                    continue
                start = int(units.starts[unit, side])
                here = slice(at, at + size)
                tokens[row, here] = text.tokens[start : start + size]
                begins = np.array(text.word_starts[start : start + size])
                begins[0] = True
                words[row, here] = word + np.cumsum(begins) - 1
                word = int(words[row, at + size - 1]) + 1
                at += size
                tokens[row, at] = masking.sep_id
                segments[row, here.start : at + 1] = side
                at += 1
            sentences[row, begin:at] = number
            positions[row, begin:at] = np.arange(at - begin)
    masked, targets = mask_words(
        tokens,
        words,
        chance,
        rate=masking.rate,
        mask_id=masking.mask_id,
        first_piece=masking.first_piece,
        vocabulary=masking.vocabulary,
    )
    arrays = {
        "input_ids": masked,
        "segment_ids": segments,
        "position_ids": positions,
        "sentence_ids": sentences,
        "labels": targets,
        "unit_rows": np.array(rows, np.int64),
        "unit_columns": np.array(columns, np.int64),
        "follows": units.follows[borders[0] : borders[-1]].astype(np.int64),
    }
    return {name: torch.from_numpy(array) for name, array in arrays.items()}
