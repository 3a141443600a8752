"""Where pre-training starts: a model with heads and a tokenizer, new or loaded."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch

from kbert_cli.config import PretrainConfig
from kbert_cli.encoder_catalog import model_path
from kbert_cli.encoders import load_config, quiet_transformers
from kbert_cli.errors import KbertError
from kbert_cli.files import read_lines
from kbert_cli.pretrain.text import read_documents
from kbert_cli.reporting import Reporter
from kbert_cli.scratch import build_config, build_tokenizer, is_scratch
from kbert_cli.tokenization import hub_errors, load_tokenizer
from kbert_cli.vocabulary import build_vocabulary, require_special

INITIAL_SD = 0.05
"""Wider than BERT's 0.02: small models leave the plateau of character frequencies sooner."""


def build_start(config: PretrainConfig, work: Path, reporter: Reporter) -> tuple[Any, Any]:
    """The model (``BertForMaskedLM``, with ``nsp`` ``BertForPreTraining``) and its tokenizer.

    The tokenizer is kept in ``work``, so that a resumed run has the same.

    Raises:
        KbertError: model or vocabulary cannot be loaded, or the model has other heads.
    """
    from transformers import BertForMaskedLM, BertForPreTraining

    kind = BertForPreTraining if config.nsp else BertForMaskedLM
    if not is_scratch(config.model):
        return _loaded(kind, config), load_tokenizer(config.model)
    kept = work / "tokenizer"
    if not kept.is_dir():
        with reporter.progress("building the vocabulary"):
            build_tokenizer(_vocabulary(config)).save_pretrained(kept)
    tokenizer = load_tokenizer(str(kept))
    settings = build_config(config.model, tokenizer, initializer_range=INITIAL_SD)
    model = kind._from_config(settings)
    _sinusoids(model.base_model.embeddings.position_embeddings.weight)
    return model, tokenizer


@torch.no_grad()
def start_from_vectors(model: Any, vectors: np.ndarray) -> None:
    """Fill the word embeddings ([v, d]) with counted vectors, scaled to the other weights.

    Pieces that have none keep their random start.
    """
    table = model.base_model.embeddings.word_embeddings.weight
    found = torch.from_numpy(vectors).abs().sum(1) > 0
    scaled = torch.from_numpy(vectors)[found]
    table[found] = scaled / scaled.std() * INITIAL_SD


def set_dropout(model: Any, rate: float) -> None:
    """Set every dropout of a model; its config, and so what is saved, keeps the usual one."""
    for layer in model.modules():
        if isinstance(layer, torch.nn.Dropout):
            layer.p = rate


def _loaded(kind: Any, config: PretrainConfig) -> Any:
    family = load_config(config.model).model_type
    if family != "bert":
        raise KbertError(
            f"pre-training goes on from models of the family 'bert', and {config.model} is of "
            f"{family!r}",
            "RoBERTa-wwm and MacBERT are of it too.",
        )
    with hub_errors(config.model), quiet_transformers():
        return kind.from_pretrained(model_path(config.model), trust_remote_code=False).float()


def _vocabulary(config: PretrainConfig) -> list[str]:
    if config.vocab is None:
        sentences = (line for document in read_documents(config.texts) for line in document)
        return build_vocabulary(sentences, size=config.vocab_size)
    pieces = [piece for _, piece in read_lines(config.vocab) if piece]
    require_special(config.vocab, pieces)
    return pieces


@torch.no_grad()
def _sinusoids(table: torch.Tensor) -> None:
    """Start position vectors as Vaswani et al. (2017) have them, scaled to the other weights."""
    positions, width = table.shape
    steps = torch.arange(positions)[:, None] * torch.exp(
        torch.arange(0, width, 2) * (-math.log(10_000.0) / width)
    )
    table[:, 0::2] = torch.sin(steps) * INITIAL_SD * math.sqrt(2)
    table[:, 1::2] = torch.cos(steps) * INITIAL_SD * math.sqrt(2)
