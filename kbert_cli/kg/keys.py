"""Matching keys: how a name of the graph and a span of text are compared."""

from __future__ import annotations

import unicodedata


class _Folding(dict[int, str]):
    """A translation table that fills itself, one code point at a time."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        folded = unicodedata.normalize("NFKC", char)
        # ℃, ㎎ or ß would become several characters and shift every offset behind them.
        if len(folded) != 1:
            folded = char
        lowered = folded.casefold()
        self[code] = lowered if len(lowered) == 1 else folded
        return self[code]


_FOLDING = _Folding()


def matching_key(text: str) -> str:
    """Fold width, compatibility forms and case, one character to one: lengths and offsets stay.

    >>> matching_key("ＡＢＣ与IPhone")
    'abc与iphone'
    """
    return text.translate(_FOLDING)
