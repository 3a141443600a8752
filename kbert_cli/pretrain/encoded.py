"""Encoded text on disk: tokenized and cut into words once, mapped ever after."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kbert_cli.errors import KbertError
from kbert_cli.files import named_output_errors, parse_json, write_json
from kbert_cli.kg.keys import matching_key
from kbert_cli.mentions.boundaries import word_boundaries
from kbert_cli.tree.pieces import Encode

HELD_OUT_EVERY = 200
"""One sentence in so many is never trained on."""
LONGEST = 4_096
"""Tokens of a sentence that are kept."""

_DONE = "encoded.json"
"""Written last."""
_FIELDS = {
    "tokens": np.uint16,
    "word_starts": np.bool_,
    "lengths": np.uint16,
    "last": np.bool_,
    "digests": np.uint64,
}


@dataclass(frozen=True)
class EncodedText:
    """Sentences as flat arrays, s sentences of t tokens in all."""

    tokens: np.ndarray
    """[t] uint16"""
    word_starts: np.ndarray
    """[t] bool, true where a word begins"""
    starts: np.ndarray
    """[s] int64, first token of each sentence"""
    lengths: np.ndarray
    """[s] uint16"""
    last: np.ndarray
    """[s] bool, true for the last sentence of a document"""
    digests: np.ndarray
    """[s] uint64, equal for equal sentences"""

    def __len__(self) -> int:
        return len(self.lengths)

    def split(self, *, pairs: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Indices of the sentences to train on, and of those held out.

        A sentence that occurs again elsewhere is held out once and trained on nowhere.

        Args:
            pairs: hold out two neighbours at a time, so that both texts of a pair are unseen.
        """
        indices = np.arange(len(self))
        held = indices % HELD_OUT_EVERY >= HELD_OUT_EVERY - (2 if pairs else 1)
        seen = np.isin(self.digests, self.digests[held])
        _, once = np.unique(self.digests[held], return_index=True)
        return indices[~seen], indices[held] if pairs else indices[held][np.sort(once)]


def build_encoded_text(
    folder: Path,
    documents: Iterable[list[str]],
    encode: Encode,
    *,
    whole_word: bool,
    on_sentence: Callable[[], None] = lambda: None,
) -> EncodedText:
    """Encode documents into ``folder``, a sentence at a time, and map the result.

    Args:
        whole_word: whether words are jieba's; otherwise each token is one.

    Raises:
        KbertError: the text holds no token.
    """
    with named_output_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            streams = {
                name: stack.enter_context(open(folder / f"{name}.bin", "wb")) for name in _FIELDS
            }
            for arrays in _encode_sentences(documents, encode, whole_word):
                for name, array in arrays.items():
                    array.astype(_FIELDS[name]).tofile(streams[name])
                on_sentence()
        write_json(folder / _DONE, {"whole_word": whole_word})
    return open_encoded_text(folder)


def _encode_sentences(
    documents: Iterable[list[str]], encode: Encode, whole_word: bool
) -> Iterator[dict[str, np.ndarray]]:
    for document in documents:
        for number, sentence in enumerate(document, 1):
            pieces = encode(sentence)
            borders = set(word_boundaries(matching_key(sentence))) if whole_word else set()
            starts = [not whole_word or start in borders for start in pieces.starts[:LONGEST]]
            if starts:
                starts[0] = True
            yield {
                "tokens": np.array(pieces.ids[:LONGEST]),
                "word_starts": np.array(starts, bool),
                "lengths": np.array([len(starts)]),
                "last": np.array([number == len(document)]),
                "digests": np.array([_digest(sentence)], np.uint64),
            }


def _digest(sentence: str) -> int:
    return int.from_bytes(hashlib.blake2b(sentence.encode(), digest_size=8).digest(), "little")


def is_complete(folder: Path) -> bool:
    """Whether ``build_encoded_text`` came to its end there."""
    return (folder / _DONE).is_file()


def open_encoded_text(folder: Path) -> EncodedText:
    """Map what ``build_encoded_text`` wrote.

    Raises:
        KbertError: it is incomplete, or holds no token.
    """
    try:
        parse_json((folder / _DONE).read_text(encoding="utf-8"))
        arrays = {
            name: np.memmap(folder / f"{name}.bin", dtype, "r") for name, dtype in _FIELDS.items()
        }
    except (OSError, ValueError):
        raise KbertError(f"{folder} holds no encoded text, or an empty one") from None
    lengths = arrays["lengths"].astype(np.int64)
    starts = np.cumsum(lengths) - lengths
    return EncodedText(starts=starts, **arrays)
