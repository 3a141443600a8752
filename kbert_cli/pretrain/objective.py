"""Masked words and next sentences: losses of a batch, and figures on held-out text."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from kbert_cli.batch import IGNORED, additive_mask


@dataclass(frozen=True)
class Objective:
    """What one batch gives: m masked tokens, u units."""

    logits: torch.Tensor
    """[m, v], of the masked tokens only: the output layer is the widest of all"""
    targets: torch.Tensor
    """[m]"""
    next_logits: torch.Tensor | None
    """[u, 2], index 1 for a second text that follows the first; None without the objective"""
    follows: torch.Tensor
    """[u]"""

    @property
    def loss(self) -> torch.Tensor:
        """Sum of both objectives' means (Devlin et al. 2019)."""
        # A tiny batch may have no masked token at all.
        total = F.cross_entropy(self.logits.float(), self.targets, reduction="sum")
        total = total / max(len(self.targets), 1)
        if self.next_logits is not None:
            total = total + F.cross_entropy(self.next_logits.float(), self.follows)
        return total


def run_objective(model: Any, batch: dict[str, torch.Tensor]) -> Objective:
    """Run a ``BertForMaskedLM`` or ``BertForPreTraining`` over one of ``build_batch``."""
    sentences = batch["sentence_ids"]
    device = sentences.device.type
    dtype = next(model.parameters()).dtype
    if torch.is_autocast_enabled(device):
        dtype = torch.get_autocast_dtype(device)
    states = model.base_model(
        input_ids=batch["input_ids"],
        token_type_ids=batch["segment_ids"],
        position_ids=batch["position_ids"],
        # A unit is like a branch without anchor: it sees itself and nothing else.
        attention_mask=additive_mask(sentences, torch.zeros_like(sentences), dtype),
    ).last_hidden_state
    asked = batch["labels"] != IGNORED
    next_logits = None
    if hasattr(model.cls, "seq_relationship"):
        first = states[batch["unit_rows"], batch["unit_columns"]]
        next_logits = model.cls.seq_relationship(model.base_model.pooler(first[:, None]))
    return Objective(
        model.cls.predictions(states[asked]), batch["labels"][asked], next_logits, batch["follows"]
    )


@torch.inference_mode()
def held_out_figures(model: Any, batches: Iterable[dict[str, torch.Tensor]]) -> dict[str, float]:
    """Mean loss (nats), perplexity, top-1 accuracy of masked tokens; next-sentence accuracy."""
    training = model.training
    model.eval()
    device = next(model.parameters()).device
    loss = right = tokens = next_right = units = 0.0
    for batch in batches:
        result = run_objective(model, {name: value.to(device) for name, value in batch.items()})
        loss += float(F.cross_entropy(result.logits.float(), result.targets, reduction="sum"))
        right += int((result.logits.argmax(-1) == result.targets).sum())
        tokens += len(result.targets)
        if result.next_logits is not None:
            next_right += int((result.next_logits.argmax(-1) == result.follows).sum())
            units += len(result.follows)
    model.train(training)
    figures = {"loss": loss / tokens, "perplexity": math.exp(loss / tokens), "top1": right / tokens}
    return figures | ({"next_sentence": next_right / units} if units else {})


def unigram_figures(
    counts: np.ndarray, batches: Iterable[dict[str, torch.Tensor]]
) -> dict[str, float]:
    """The same figures for a guess by frequency alone, with add-one smoothing.

    Args:
        counts: [v] how often each piece occurs in the text trained on.
    """
    shares = np.log((counts + 1) / (counts.sum() + len(counts)))
    targets = np.concatenate(
        [batch["labels"][batch["labels"] != IGNORED].numpy() for batch in batches]
    )
    loss = float(-shares[targets].mean())
    top1 = float((targets == counts.argmax()).mean())
    return {"loss": loss, "perplexity": math.exp(loss), "top1": top1}
