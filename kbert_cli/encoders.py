"""Encoders: Hugging Face BERT-type models and their tokenizers, loaded strictly."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kbert_cli.encoder_catalog import model_path
from kbert_cli.errors import KbertError, name_some
from kbert_cli.tokenization import hub_errors, load_tokenizer

SDPA_AND_EAGER = ("sdpa", "eager")
ALL = (*SDPA_AND_EAGER, "flex")

FAMILIES: dict[str, tuple[str, ...]] = {
    "bert": ALL,
    "roberta": ALL,
    "xlm-roberta": ALL,
    "electra": ALL,
    "ernie": ALL,
    "albert": SDPA_AND_EAGER,
    "distilbert": SDPA_AND_EAGER,
    "nomic_bert": SDPA_AND_EAGER,
    "eurobert": SDPA_AND_EAGER,
    "megatron-bert": ("eager",),
    "rembert": ("eager",),
}
"""Families that respect a 4-D mask and position ids, and the attention in which they do."""

REFUSED = {
    "roformer": "it takes no position ids, so soft positions would be ignored",
    "deberta-v2": "its relative positions come from the token order, not from position ids",
    "convbert": "its convolutions let neighbours see each other whatever the mask says",
    "mpnet": "its relative positions come from the token order, not from position ids",
    "nezha": "its relative positions come from the token order, not from position ids",
    "modernbert": "it needs another mask for each kind of its attention",
}

# RoBERTa numbers positions from behind the padding id.
_OFFSET_FAMILIES = ("roberta", "xlm-roberta")

# Weights of pre-training heads and poolers, which a checkpoint may hold and kbert does not use.
_HEAD_PREFIXES = (
    "cls.",
    "lm_head.",
    "pooler.",
    "predictions.",
    "discriminator_predictions.",
    "generator_predictions.",
    "generator_lm_head.",
    "vocab_",
    "qa_outputs.",
    "classifier.",
    "sop_classifier.",
)


@dataclass(frozen=True)
class Encoder:
    """An encoder and what kbert must know of it."""

    model: Any
    """A Hugging Face ``PreTrainedModel``."""
    tokenizer: Any
    """A fast Hugging Face tokenizer."""

    @property
    def width(self) -> int:
        """d, the size of a hidden state."""
        return int(self.model.config.hidden_size)

    @property
    def position_offset(self) -> int:
        """What is added to a position that counts from 0."""
        return _position_offset(self.model.config)

    @property
    def max_length(self) -> int:
        """Positions that the encoder has room for."""
        return positions(self.model.config)


def _position_offset(config: Any) -> int:
    return int(config.pad_token_id) + 1 if config.model_type in _OFFSET_FAMILIES else 0


def positions(config: Any) -> int:
    """Positions that an encoder of this Hugging Face config has room for."""
    return int(config.max_position_embeddings) - _position_offset(config)


def load_encoder(name: str, *, attention: str = "sdpa") -> Encoder:
    """An encoder with its pre-trained weights, from a folder or a hub name.

    Raises:
        KbertError: it is not there, its family is not supported, its tokenizer gives no offsets, or
            a weight is missing or has another shape (all are listed).
    """
    config = load_config(name)
    check_family(config.model_type, attention)
    return Encoder(_load_model(name, config, attention), load_tokenizer(name))


_FLEX = "flex_attention"


def attention_options(attention: str) -> dict[str, Any]:
    """What makes a Hugging Face model attend in the way of that name."""
    if attention == "flex":
        # The flex kernels drop no attention weights.
        return {"attn_implementation": _FLEX, "attention_probs_dropout_prob": 0.0}
    return {"attn_implementation": attention}


def is_flex(model: Any) -> bool:
    """Whether a model takes block masks."""
    return bool(model.config._attn_implementation == _FLEX)


def hidden_size(name: str) -> int:
    """The width of an encoder, from its config alone."""
    config = load_config(name)
    with hub_errors(name):
        return int(config.hidden_size)


def load_config(name: str) -> Any:
    """The Hugging Face config of an encoder: a bundled name, a folder or a hub name.

    Raises:
        KbertError: there is none.
    """
    from transformers import AutoConfig

    with hub_errors(name):
        return AutoConfig.from_pretrained(model_path(name), trust_remote_code=False)


def check_family(model_type: str, attention: str) -> None:
    """Raise KbertError unless the family respects mask and positions under ``attention``."""
    if model_type in REFUSED:
        raise KbertError(
            f"encoders of the family {model_type!r} cannot carry a sentence tree: "
            f"{REFUSED[model_type]}",
            f"Families that can: {', '.join(FAMILIES)}.",
        )
    if model_type not in FAMILIES:
        raise KbertError(
            f"encoders of the family {model_type!r} are not known to respect mask and positions",
            f"Families that do: {', '.join(FAMILIES)}.",
        )
    if attention not in FAMILIES[model_type]:
        raise KbertError(
            f"the family {model_type!r} does not respect the mask with --attention {attention}",
            f"Use --attention {FAMILIES[model_type][0]}.",
        )


def _load_model(name: str, config: Any, attention: str) -> Any:
    from transformers import MODEL_MAPPING, AutoModel

    accepted = inspect.signature(MODEL_MAPPING[type(config)].__init__).parameters
    options = {"add_pooling_layer": False} if "add_pooling_layer" in accepted else {}
    with hub_errors(name), quiet_transformers():
        model, loaded = AutoModel.from_pretrained(
            model_path(name),
            **attention_options(attention),
            trust_remote_code=False,
            output_loading_info=True,
            # They are in the report below; by itself the library stops at the first.
            ignore_mismatched_sizes=True,
            **options,
        )
    unused = [
        key
        for key in loaded["unexpected_keys"]
        if not key.removeprefix(f"{model.base_model_prefix}.").startswith(_HEAD_PREFIXES)
    ]
    problems = {
        "missing": sorted(loaded["missing_keys"]),
        "of another shape": sorted(str(key) for key in loaded["mismatched_keys"]),
        "unmatched": sorted(unused),
    }
    found = [f"{len(keys)} {what}: {name_some(keys)}" for what, keys in problems.items() if keys]
    if found:
        raise KbertError(
            f"the weights of {name} do not fit its config:\n" + "\n".join(found),
            "They would stay random. Check that the folder is a complete checkpoint of this model.",
        )
    return model.float()


@contextlib.contextmanager
def quiet_transformers() -> Iterator[None]:
    """Silence the library's own bars and its report on weights: kbert's replace them."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        logging.enable_progress_bar()
