"""How UER and K-BERT name BERT's weights, and where their arithmetic differs.

Both layouts hold the same tensors as Hugging Face's BERT, with two differences. Segment embeddings
have a third row, the first, for padding. Layer norm divides by the *sample* standard deviation
(n - 1), where BERT divides by that of the population (n): a gain of g there is
g * sqrt((n - 1) / n) here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from kbert_cli.errors import KbertError, did_you_mean
from kbert_cli.files import read_json

Weights = dict[str, torch.Tensor]

SEGMENTS = "bert.embeddings.token_type_embeddings.weight"
DECODER = "cls.predictions.decoder.weight"
WORDS = "bert.embeddings.word_embeddings.weight"

_EMBEDDINGS = {
    "kbert": {
        WORDS: "embedding.word_embedding.weight",
        "bert.embeddings.position_embeddings.weight": "embedding.position_embedding.weight",
        SEGMENTS: "embedding.segment_embedding.weight",
    },
    "uer": {
        WORDS: "embedding.word.embedding.weight",
        "bert.embeddings.position_embeddings.weight": "embedding.pos.embedding.weight",
        SEGMENTS: "embedding.seg.embedding.weight",
    },
}
LAYOUTS = tuple(_EMBEDDINGS)
"""``kbert``: K-BERT and early UER; ``uer``: later UER and TencentPretrain."""

_EMBEDDING_NORM = {"bert.embeddings.LayerNorm": "embedding.layer_norm"}
_LAYER = {
    "attention.self.query": "self_attn.linear_layers.0",
    "attention.self.key": "self_attn.linear_layers.1",
    "attention.self.value": "self_attn.linear_layers.2",
    "attention.output.dense": "self_attn.final_linear",
    "intermediate.dense": "feed_forward.linear_1",
    "output.dense": "feed_forward.linear_2",
}
_LAYER_NORMS = {
    "attention.output.LayerNorm": "layer_norm_1",
    "output.LayerNorm": "layer_norm_2",
}
_MLM = {
    "kbert": ("target.mlm_linear_1", "target.layer_norm", "target.mlm_linear_2"),
    "uer": ("target.mlm.linear_1", "target.mlm.layer_norm", "target.mlm.linear_2"),
}
_NSP = {
    "kbert": ("target.nsp_linear_1", "target.nsp_linear_2"),
    "uer": ("target.sp.linear_1", "target.sp.linear_2"),
}
_SETTINGS = {
    "num_hidden_layers": "layers_num",
    "num_attention_heads": "heads_num",
    "hidden_size": "hidden_size",
    "intermediate_size": "feedforward_size",
    "hidden_act": "hidden_act",
    "hidden_dropout_prob": "dropout",
}
"""Hugging Face's name of a setting → UER's."""


def key_map(layout: str, layers: int, *, mlm: bool, nsp: bool) -> dict[str, str]:
    """Hugging Face's key → the layout's, for ``BertForPreTraining`` or the part of it there is."""
    keys = dict(_EMBEDDINGS[layout])
    dense: dict[str, str] = {}
    norms = dict(_EMBEDDING_NORM)
    for layer in range(layers):
        ours, theirs = f"bert.encoder.layer.{layer}.", f"encoder.transformer.{layer}."
        dense |= {ours + one: theirs + other for one, other in _LAYER.items()}
        norms |= {ours + one: theirs + other for one, other in _LAYER_NORMS.items()}
    if mlm:
        first, norm, second = _MLM[layout]
        dense["cls.predictions.transform.dense"] = first
        norms["cls.predictions.transform.LayerNorm"] = norm
        keys |= {DECODER: f"{second}.weight", "cls.predictions.bias": f"{second}.bias"}
    if nsp:
        dense |= dict(zip(("bert.pooler.dense", "cls.seq_relationship"), _NSP[layout], strict=True))
    for one, other in dense.items():
        keys |= {f"{one}.{part}": f"{other}.{part}" for part in ("weight", "bias")}
    for one, other in norms.items():
        keys |= {f"{one}.weight": f"{other}.gamma", f"{one}.bias": f"{other}.beta"}
    return keys


def find_layout(weights: Mapping[str, object]) -> tuple[str, dict[str, str]]:
    """The layout that ``weights`` are in, and its key map.

    Raises:
        KbertError: it is neither.
    """
    for layout in LAYOUTS:
        if _EMBEDDINGS[layout][WORDS] in weights:
            prefix = "encoder.transformer."
            numbers = {
                int(key.removeprefix(prefix).split(".")[0])
                for key in weights
                if key.startswith(prefix) and key.removeprefix(prefix).split(".")[0].isdigit()
            }
            mlm = any(key.startswith(f"{_MLM[layout][0]}.") for key in weights)
            nsp = any(key.startswith(f"{_NSP[layout][0]}.") for key in weights)
            return layout, key_map(layout, len(numbers), mlm=mlm, nsp=nsp)
    expected = " or ".join(names[WORDS] for names in _EMBEDDINGS.values())
    raise KbertError(
        f"this is no checkpoint of UER or K-BERT: it holds neither {expected}",
        "A Hugging Face folder needs no conversion: give it to --model.",
    )


def norm_factor(key: str, width: int, *, keep_norms: bool) -> float:
    """What a gain of UER's norm is multiplied with to have the same effect in BERT's.

    Args:
        key: Hugging Face's name of the weight; 1 for all but gains.
        width: n, the size of what is normed.
        keep_norms: leave gains as they are.
    """
    is_gain = key.endswith("LayerNorm.weight")
    return math.sqrt((width - 1) / width) if is_gain and not keep_norms else 1.0


def read_settings(path: str | Path) -> dict[str, Any]:
    """Settings from a config.json of UER or Hugging Face, under Hugging Face's names.

    Raises:
        KbertError: it cannot be read, or says nothing of the heads.
    """
    value = read_json(path)
    if not isinstance(value, dict):
        raise KbertError(f"{path} holds no JSON object")
    found = {ours: value[theirs] for ours, theirs in _SETTINGS.items() if theirs in value}
    found |= {ours: value[ours] for ours in _SETTINGS if ours in value}
    if "num_attention_heads" not in found:
        raise KbertError(
            f"{path} lacks heads_num (Hugging Face: num_attention_heads), which weights do not "
            "show",
            did_you_mean("heads_num", value),
        )
    return found


def write_settings(config: Any) -> dict[str, Any]:
    """A Hugging Face config as UER's config.json."""
    settings = {theirs: getattr(config, ours) for ours, theirs in _SETTINGS.items()}
    return {
        "emb_size": config.hidden_size,
        **settings,
        "max_seq_length": config.max_position_embeddings,
        "embedding": ["word", "pos", "seg"],
        "encoder": "transformer",
        "mask": "fully_visible",
        "target": ["mlm", "sp"],
        "tie_weights": bool(config.tie_word_embeddings),
    }
