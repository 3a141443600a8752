"""Tokenizers: the encoder's own, with offsets into the original text. No torch."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kbert_cli.encoder_catalog import OFFLINE_VARIABLE, bundled_encoders, model_path
from kbert_cli.errors import KbertError
from kbert_cli.tree.layout import SpecialTokens
from kbert_cli.tree.pieces import Pieces


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
        first = first.rstrip(".")
        kind = "folder" if Path(name).is_dir() else "model"
        nowhere = "" if Path(name).exists() else ", and there is no folder of that name here"
        if nowhere and os.environ.get(OFFLINE_VARIABLE):
            raise KbertError(
                f"the model {name!r} is neither a folder here nor in the local cache of the hub, "
                f"and the network is forbidden (--offline or {OFFLINE_VARIABLE})",
                "Name a folder, fetch the model once without --offline, or take "
                f"{', '.join(bundled_encoders())}.",
            ) from None
        raise KbertError(
            f"cannot load the {kind} {name!r}: {first}{nowhere}",
            "--model takes a folder with config.json, model.safetensors and a tokenizer, a name on "
            f"the Hugging Face hub, {', '.join(bundled_encoders())}, or scratch:mini / "
            "scratch:base. --offline does not wait for the network.",
        ) from None


# Signs that BERT's pre-tokenizer always leaves alone and its normaliser never changes; together
# with the common Chinese characters they are most of what Chinese text consists of.
_ALONE = "\u4e00-\u9fff、。〈-】“”‘’…—（），．：；？！!-/:-@\\[-`{-~"
_RUN = re.compile(f"[^{_ALONE}]+")
_SHORT = 32
"""Texts up to this length are remembered: branches come again and again."""


class PieceEncoder:
    """A tokenizer as the tree takes it: text → pieces with offsets, markup in the text is text."""

    def __init__(self, backend: Any) -> None:
        """``backend`` is a ``tokenizers.Tokenizer``."""
        backend.no_truncation()
        backend.no_padding()
        # Otherwise a literal "[SEP]" in a text would end the sentence.
        backend.encode_special_tokens = True
        self._backend = backend
        self._alone = _Alone(backend) if _is_bert(backend) else None
        self._cached = functools.lru_cache(maxsize=100_000)(self._encode)
        self._run = functools.lru_cache(maxsize=100_000)(self._encode_whole)

    def __call__(self, text: str) -> Pieces:
        """The pieces of ``text``."""
        return self._cached(text) if len(text) <= _SHORT else self._encode(text)

    def _encode(self, text: str) -> Pieces:
        """Characters that stand alone are looked up, and only the runs between them tokenized."""
        if self._alone is None:
            return self._encode_whole(text)
        found = [self._alone[char] for char in text]
        if None not in found:
            return Pieces(found, range(len(text)), range(1, len(text) + 1))
        ids: list[int] = []
        starts: list[int] = []
        ends: list[int] = []
        at = 0
        for match in _RUN.finditer(text):
            first, last = match.span()
            ids += found[at:first]
            starts += range(at, first)
            ends += range(at + 1, first + 1)
            run = self._run(match.group())
            ids += run.ids
            starts += [first + start for start in run.starts]
            ends += [first + end for end in run.ends]
            at = last
        ids += found[at:]
        starts += range(at, len(text))
        ends += range(at + 1, len(text) + 1)
        return Pieces(ids, starts, ends)

    def _encode_whole(self, text: str) -> Pieces:
        encoding = self._backend.encode(text, add_special_tokens=False)
        starts, ends = zip(*encoding.offsets, strict=True) if encoding.ids else ((), ())
        return Pieces(encoding.ids, starts, ends)


class _Alone(dict[str, Any]):
    """Character → id of the piece that it always is, or None; fills itself."""

    def __init__(self, backend: Any) -> None:
        super().__init__()
        self._backend = backend
        self._unknown = backend.token_to_id(backend.model.unk_token)

    def __missing__(self, char: str) -> int | None:
        found = None
        if _RUN.match(char) is None:
            known = self._backend.token_to_id(char)
            found = self._unknown if known is None else known
        self[char] = found
        return found


def _is_bert(backend: Any) -> bool:
    """Whether a tokenizer is BERT's own, part by part, so that some characters stand alone."""
    from tokenizers import models, normalizers, pre_tokenizers

    return (
        isinstance(backend.model, models.WordPiece)
        and isinstance(backend.normalizer, normalizers.BertNormalizer)
        and backend.normalizer.handle_chinese_chars
        and isinstance(backend.pre_tokenizer, pre_tokenizers.BertPreTokenizer)
        and backend.token_to_id(backend.model.unk_token) is not None
        and all(token.special for token in backend.get_added_tokens_decoder().values())
    )


def special_tokens(tokenizer: Any) -> SpecialTokens:
    """The ids that stand around the texts ([CLS] and [SEP], or what the family calls them)."""
    return SpecialTokens(
        tokenizer.cls_token_id if tokenizer.cls_token_id is not None else tokenizer.bos_token_id,
        tokenizer.sep_token_id if tokenizer.sep_token_id is not None else tokenizer.eos_token_id,
    )
