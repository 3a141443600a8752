"""Encoders from nothing: BERT in named sizes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kbert_cli.encoders import Encoder, attention_options
from kbert_cli.errors import KbertError, did_you_mean
from kbert_cli.registry import SCRATCH
from kbert_cli.vocabulary import build_vocabulary

SIZES: dict[str, dict[str, int]] = {
    "mini": {
        "num_hidden_layers": 4,
        "hidden_size": 256,
        "num_attention_heads": 4,
        "intermediate_size": 1024,
    },
    "base": {
        "num_hidden_layers": 12,
        "hidden_size": 768,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
    },
}


def is_scratch(model: str) -> bool:
    """Whether ``--model`` asks for an untrained encoder."""
    return model.startswith(SCRATCH)


def build_tokenizer(vocabulary: list[str]) -> Any:
    """A BERT tokenizer (lower case) over a vocabulary."""
    from transformers import BertTokenizer

    return BertTokenizer(vocab={piece: index for index, piece in enumerate(vocabulary)})


def build_config(model: str, tokenizer: Any, **options: Any) -> Any:
    """A ``BertConfig`` of a named size for the pieces of a tokenizer; see ``scratch_config``."""
    return scratch_config(
        model, vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, **options
    )


def scratch_config(model: str, *, max_positions: int = 512, **options: Any) -> Any:
    """A ``BertConfig`` of a named size.

    Raises:
        KbertError: there is no such size.
    """
    size = model.removeprefix(SCRATCH)
    if size not in SIZES:
        raise KbertError(
            f"no size {size!r} for --model {SCRATCH}SIZE; there are: {', '.join(SIZES)}",
            did_you_mean(size, SIZES),
        )
    from transformers import BertConfig

    return BertConfig(max_position_embeddings=max_positions, **SIZES[size], **options)


def build_encoder(model: str, texts: Iterable[str], *, attention: str = "sdpa") -> Encoder:
    """An untrained BERT of a named size; its weights depend on torch's seed alone.

    Raises:
        KbertError: there is no such size.
    """
    from transformers import BertModel

    tokenizer = build_tokenizer(build_vocabulary(texts))
    config = build_config(model, tokenizer, **attention_options(attention))
    return Encoder(BertModel(config, add_pooling_layer=False), tokenizer)
