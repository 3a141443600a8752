"""How extracted answers are scored: exact match and F1 as CMRC 2018's own script defines them.

Cui et al., "A Span-Extraction Dataset for Chinese Machine Reading Comprehension", EMNLP 2019. Text
is cut into single Chinese characters and whole other words; F1 counts the longest common run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# The signs that CMRC's script drops, Chinese and ASCII ones.
_DROPPED = set("-:_*^/\\~`+=，。：？！“”；’《》……·、「」（）－～『』") | set(
    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
)
_CHINESE = re.compile("[\u4e00-\u9fa5]")


def pieces(text: str, *, keep_signs: bool = False) -> list[str]:
    """Characters and words of an answer, lower case, without punctuation.

    >>> pieces("约翰·Smith 3世")
    ['约', '翰', 'smith', '3', '世']
    """
    found: list[str] = []
    word = ""
    for char in text.lower().strip():
        if char in _DROPPED and not keep_signs:
            continue
        if _CHINESE.match(char):
            found += [*word.split(), char]
            word = ""
        else:
            word += char
    return [*found, *word.split()]


def exact_match(prediction: str, answers: Sequence[str]) -> bool:
    """Whether the prediction is one of the answers, but for punctuation and case."""
    return any(_bare(prediction) == _bare(answer) for answer in answers)


def _bare(text: str) -> str:
    return "".join(char for char in text.lower().strip() if char not in _DROPPED)


def best_f1(prediction: str, answers: Sequence[str]) -> float:
    """The largest F1 over the answers."""
    return max((_f1(pieces(prediction), pieces(answer)) for answer in answers), default=0.0)


def _f1(prediction: Sequence[str], answer: Sequence[str]) -> float:
    common = longest_common_run(prediction, answer)
    if not common:
        return 0.0
    precision, recall = common / len(prediction), common / len(answer)
    return 2 * precision * recall / (precision + recall)


def longest_common_run(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest run of pieces that both hold.

    >>> longest_common_run("abcde", "xbcdy")
    3
    """
    best = 0
    before = [0] * (len(other) + 1)
    for piece in one:
        row = [0]
        for index, candidate in enumerate(other):
            row.append(before[index] + 1 if piece == candidate else 0)
        best = max(best, max(row))
        before = row
    return best
