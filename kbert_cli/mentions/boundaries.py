"""Word boundaries: where a mention may begin and end."""

from __future__ import annotations

import functools
import logging
from typing import Any

from kbert_cli.files import cache_folder

# Scripts written without spaces between words (CJK and its neighbours) start about here.
_UNSPACED_SCRIPTS = "\u2e80"


@functools.cache
def _segmenter() -> Any:
    import jieba

    # An own tokenizer: what a program adds to jieba's shared dictionary changes nothing here.
    segmenter = jieba.Tokenizer()
    # jieba's default is a predictable file in the shared temporary folder, and it unmarshals it.
    segmenter.tmp_dir = str(cache_folder("jieba"))
    jieba.setLogLevel(logging.WARNING)
    return segmenter


def word_boundaries(key: str) -> list[int]:
    """Offsets between words, 0 and ``len(key)`` included, ascending.

    jieba without HMM: characters that its dictionary does not join stay open on both sides. A
    border inside a run of Latin, Greek, Cyrillic … letters or digits is none.

    >>> word_boundaries("患者头痛")
    [0, 2, 4]
    """
    boundaries = [0]
    position = 0
    for word in _segmenter().cut(key, HMM=False):
        position += len(word)
        if position < len(key) and _inside_spaced_word(key[position - 1], key[position]):
            continue
        boundaries.append(position)
    return boundaries if key else [0]


def _inside_spaced_word(left: str, right: str) -> bool:
    return (
        left < _UNSPACED_SCRIPTS
        and right < _UNSPACED_SCRIPTS
        and left.isalnum()
        and right.isalnum()
    )
