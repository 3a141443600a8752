"""Matching keys: how a name of the graph and a span of text are compared."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from kbert_cli.errors import KbertError


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


def folded_key(text: str, folding: dict[int, str]) -> str:
    """``matching_key``, and then a graph's own folding of characters (``str.maketrans``)."""
    key = matching_key(text)
    return key.translate(folding) if folding else key


def simplified_table() -> dict[str, str]:
    """Traditional character → simplified one, where one character becomes one."""
    try:
        import opencc
    except ImportError:
        raise KbertError(
            "--simplified needs the package opencc",
            "Install it with: pip install 'kbert[traditional]'",
        ) from None
    convert = opencc.OpenCC("t2s").convert
    pairs = ((char, convert(char)) for char in _han())
    return {char: found for char, found in pairs if found != char and len(found) == 1}


def _han() -> Iterator[str]:
    for first, last in ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF)):
        yield from map(chr, range(first, last + 1))
