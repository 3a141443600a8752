"""Tokenizers: the encoder's own, with offsets into the original text. No torch."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kbert_cli.encoder_catalog import bundled_encoders, model_path
from kbert_cli.errors import KbertError
from kbert_cli.tree.layout import Piece, SpecialTokens


def load_tokenizer(name: str) -> Any:
    """The encoder's own tokenizer, the fast kind that gives character offsets."""
    from transformers import AutoTokenizer

    with hub_errors(name):
        tokenizer = AutoTokenizer.from_pretrained(
            model_path(name), use_fast=True, trust_remote_code=False
        )
    if not tokenizer.is_fast:
        raise KbertError(
            f"the tokenizer of {name} gives no character offsets",
            "kbert needs a fast tokenizer (tokenizer.json, or a vocab.txt of a BERT).",
        )
    return tokenizer


def open_backend(name: str) -> tuple[Any, SpecialTokens]:
    """The ``tokenizers.Tokenizer`` of an encoder and its special tokens.

    A bundled one is read without transformers, whose import alone takes seconds.
    """
    if name not in bundled_encoders():
        tokenizer = load_tokenizer(name)
        return tokenizer.backend_tokenizer, special_tokens(tokenizer)
    from tokenizers import Tokenizer

    backend = Tokenizer.from_file(str(Path(model_path(name)) / "tokenizer.json"))
    return backend, SpecialTokens(backend.token_to_id("[CLS]"), backend.token_to_id("[SEP]"))


@contextlib.contextmanager
def hub_errors(name: str) -> Iterator[None]:
    """Turn what transformers raises while it looks for ``name`` into a clear error."""
    # It would report every retry; the error below says what came of them.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    try:
        yield
    except KbertError:
        raise
    # Configs, weights and tokenizers raise each their own kinds, bare Exception among them.
    except Exception as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        kind = "folder" if Path(name).is_dir() else "model"
        raise KbertError(
            f"cannot load the {kind} {name!r}: {first}",
            "--model takes a folder with config.json, model.safetensors and a tokenizer, a name on "
            f"the Hugging Face hub, {', '.join(bundled_encoders())}, or scratch:mini / "
            "scratch:base.",
        ) from None


class PieceEncoder:
    """A tokenizer as the tree takes it: text → pieces with offsets, markup in the text is text."""

    def __init__(self, backend: Any) -> None:
        """``backend`` is a ``tokenizers.Tokenizer``."""
        backend.no_truncation()
        backend.no_padding()
        # Otherwise a literal "[SEP]" in a text would end the sentence.
        backend.encode_special_tokens = True
        self._backend = backend
        self._cached = functools.lru_cache(maxsize=100_000)(self._encode)

    def __call__(self, text: str) -> list[Piece]:
        """The pieces of ``text``; short ones (branches come again and again) are remembered."""
        return self._cached(text) if len(text) <= 32 else self._encode(text)

    def _encode(self, text: str) -> list[Piece]:
        encoding = self._backend.encode(text, add_special_tokens=False)
        return [
            Piece(token_id, start, end)
            for token_id, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
        ]


def special_tokens(tokenizer: Any) -> SpecialTokens:
    """The ids that stand around the texts ([CLS] and [SEP], or what the family calls them)."""
    return SpecialTokens(
        tokenizer.cls_token_id if tokenizer.cls_token_id is not None else tokenizer.bos_token_id,
        tokenizer.sep_token_id if tokenizer.sep_token_id is not None else tokenizer.eos_token_id,
    )
