"""Word boundaries: where a mention may begin and end."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable
from itertools import accumulate

from kbert_cli.files import cache_folder

# Scripts written without spaces between words (CJK and its neighbours) start about here.
_UNSPACED_SCRIPTS = "\u2e80"
_SPACED_RUN = re.compile(f"[^\\W_{_UNSPACED_SCRIPTS}-\U0010ffff]{{2}}")


@functools.cache
def segmenter() -> Callable[[str], list[str]]:
    """Jieba's words without HMM: from rjieba (Rust, the same dictionary) where it is installed."""
    try:
        import rjieba
    except ImportError:
        return jieba_words
    return functools.partial(rjieba.cut, hmm=False)


def jieba_words(text: str) -> list[str]:
    """The words of a text as jieba itself cuts them."""
    return list(_jieba().lcut(text, HMM=False))


@functools.cache
def _jieba():  # type: ignore[no-untyped-def]
    import jieba

    # An own tokenizer: what a program adds to jieba's shared dictionary changes nothing here.
    tokenizer = jieba.Tokenizer()
    # jieba's default is a predictable file in the shared temporary folder, and it unmarshals it.
    tokenizer.tmp_dir = str(cache_folder("jieba"))
    jieba.setLogLevel(logging.WARNING)
    return tokenizer


def word_boundaries(key: str) -> list[int]:
    """Offsets between words, 0 and ``len(key)`` included, ascending.

    jieba without HMM: characters that its dictionary does not join stay open on both sides. A
    border inside a run of Latin, Greek, Cyrillic … letters or digits is none.

    >>> word_boundaries("患者头痛")
    [0, 2, 4]
    """
    boundaries = [0, *accumulate(map(len, segmenter()(key)))]
    if _SPACED_RUN.search(key) is None:
        return boundaries
    last = len(key)
    return [
        at for at in boundaries if at in (0, last) or not _inside_spaced_word(key[at - 1], key[at])
    ]


def _inside_spaced_word(left: str, right: str) -> bool:
    return (
        left < _UNSPACED_SCRIPTS
        and right < _UNSPACED_SCRIPTS
        and left.isalnum()
        and right.isalnum()
    )
