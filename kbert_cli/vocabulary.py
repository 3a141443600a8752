"""A vocabulary made from the user's own text. No torch."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any

from kbert_cli.errors import KbertError
from kbert_cli.tree.layout import SpecialTokens

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")

MAX_PIECES = 21_128
"""The size of bert-base-chinese's vocabulary."""
MIN_WORD_COUNT = 5
"""How often a Latin word or number must occur to become a piece of its own."""

_PUNCTUATION = "、。〈〉《》「」『』【】〔〕〖〗·—–‘’“”…￥％℃°±×÷～" + "".join(
    chr(code) for code in (*range(0xFF01, 0xFF10), *range(0xFF1A, 0xFF21), *range(0xFF3B, 0xFF41))
)
_ASCII = "".join(chr(code) for code in range(0x21, 0x7F)).lower()
_SIGNS = tuple(dict.fromkeys(_PUNCTUATION + _ASCII))
# Letters, digits, and what BERT does not take for punctuation (￥, ℃, ～) may stand inside a word.
_INSIDE = [sign for sign in _SIGNS if sign.isalnum() or unicodedata.category(sign)[0] == "S"]
ALWAYS = (*_SIGNS, *(f"##{sign}" for sign in _INSIDE))
"""Pieces that no text need show: punctuation (curly and full-width too), letters, digits."""


def build_vocabulary(texts: Iterable[str], *, size: int = MAX_PIECES) -> list[str]:
    """WordPieces for Chinese text: characters, frequent Latin words and numbers, and their letters.

    Counting and sorting only: unlike trained merges, the same text always gives the same pieces.
    Words that are not frequent fall into letters, so that no Latin word or number is [UNK]; no
    sign of ``ALWAYS`` is either.
    """
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    normalizer, splitter = BertNormalizer(lowercase=True), BertPreTokenizer()
    words: Counter[str] = Counter()
    for text in texts:
        normal = normalizer.normalize_str(text)
        words.update(word for word, _ in splitter.pre_tokenize_str(normal))
    pieces: Counter[str] = Counter()
    for word, count in words.items():
        for piece in (word[0], *(f"##{letter}" for letter in word[1:])):
            pieces[piece] += count
        if len(word) > 1 and count >= MIN_WORD_COUNT:
            pieces[word] += count
    ordered = sorted(pieces, key=lambda piece: (-pieces[piece], piece))
    first = {*SPECIAL, *ALWAYS}
    room = max(size - len(first), 0)
    frequent = [piece for piece in ordered if piece not in first][:room]
    rest = sorted({*frequent, *ALWAYS}, key=lambda piece: (-pieces[piece], piece))
    return [*SPECIAL, *rest]


def require_special(path: str, pieces: Collection[str]) -> None:
    """Raise KbertError unless a vocabulary file's pieces have the special ones among them."""
    missing = [piece for piece in SPECIAL if piece not in pieces]
    if missing:
        raise KbertError(f"{path} lacks {', '.join(missing)}", "One piece a line.")


def build_backend(vocabulary: list[str]) -> Any:
    """A ``tokenizers.Tokenizer`` over a vocabulary: BERT's, lower case."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    index = {piece: number for number, piece in enumerate(vocabulary)}
    backend = Tokenizer(WordPiece(index, unk_token=SPECIAL[1]))
    backend.normalizer = BertNormalizer(lowercase=True)
    backend.pre_tokenizer = BertPreTokenizer()
    return backend


BERT_SPECIAL = SpecialTokens(cls=SPECIAL.index("[CLS]"), sep=SPECIAL.index("[SEP]"))
"""The special tokens of a vocabulary that ``build_vocabulary`` made."""
