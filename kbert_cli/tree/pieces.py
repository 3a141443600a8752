"""What a tokenizer makes of a text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple


class Pieces(NamedTuple):
    """The m tokens of a text, as three parallel sequences; none of them may be changed."""

    ids: Sequence[int]
    starts: Sequence[int]
    """First character that each token stands for, ascending."""
    ends: Sequence[int]
    """Behind its last character, ascending."""

    def texts(self, text: str) -> list[str]:
        """The characters of ``text`` that each token stands for."""
        return [text[start:end] for start, end in zip(self.starts, self.ends, strict=True)]


Encode = Callable[[str], Pieces]
"""Tokenizes one text, without special tokens."""
