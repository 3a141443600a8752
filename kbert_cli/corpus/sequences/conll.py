"""CoNLL files: a token and its tag a line, tab or blank between, blank lines between sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kbert_cli.corpus.entities import OUTSIDE
from kbert_cli.corpus.lines import Line
from kbert_cli.corpus.sequences.base import Sentence, mark_inside

_NUMBERED = re.compile(r"(.)([0-9]{1,2})")
_COMMENT = "-DOCSTART-"


def read(lines: Iterable[Line], head: Sequence[str]) -> Iterator[Sentence]:
    """Sentences; with tabs a token may be a blank, with blanks it may not.

    The first cell of a line is the token, the last one the tag. Weibo's tokens, a character and
    its place in the word (``字0``), lose the number. A sentence with a bad line is partial.
    """
    filled = [line for line in head if line.strip()]
    tabs = sum("\t" in line for line in filled) * 2 > len(filled)
    cut = _by_tabs if tabs else _by_blanks
    width = Counter(len(cut(line)) for line in filled).most_common(1)[0][0] if filled else 2
    width = max(width, 2)
    numbered = _are_numbered([cut(line)[0] for line in filled])
    unused = tuple(f"column {number}" for number in range(2, width))
    unused += ("the numbers of characters",) if numbered else ()
    sentence = Sentence(0, unused=unused)
    for number, line, broken in lines:
        if not broken and (
            not line or line.startswith(_COMMENT) or (not tabs and not line.strip(" "))
        ):
            if sentence.tokens:
                yield sentence
            sentence = Sentence(0, unused=unused)
            continue
        cells = cut(line)
        token = cells[0][:1] if numbered and _NUMBERED.fullmatch(cells[0]) else cells[0]
        fault = broken or _fault(number, cells, token, width, tabs=tabs)
        if fault:
            sentence.partial = sentence.partial or f"line {number}: {fault}"
            # For whoever wants the text all the same.
            sentence.add(number, line, OUTSIDE)
            yield Sentence(number, fault=fault)
            continue
        sentence.add(number, token, cells[-1].strip(" "))
    if sentence.tokens:
        yield sentence


def _are_numbered(tokens: Sequence[str]) -> bool:
    """Whether tokens are characters with their places in their words, from 0."""
    found = [_NUMBERED.fullmatch(token) for token in tokens]
    places = [int(one[2]) if one else None for one in found]
    steps = zip([None, *places], places, strict=False)
    sound = sum(
        place == 0 or (place is not None and before == place - 1) for before, place in steps
    )
    return 0 in places and sound * 10 > 9 * len(tokens)


def _by_tabs(line: str) -> list[str]:
    return line.split("\t")


def _by_blanks(line: str) -> list[str]:
    return line.rstrip(" ").split(" ")


def _fault(number: int, cells: Sequence[str], token: str, width: int, *, tabs: bool) -> str:
    between = "tabs" if tabs else "blanks"
    if len(cells) != width:
        return f"{len(cells)} cells between {between}, expected {width} (token and tag)"
    if not token or (not tabs and not token.strip()):
        return f"the token is blank, which a file with {between} between cells cannot hold"
    if number > 1 and len(token) > 1 and token.startswith("\ufeff"):
        # Alone it is a character like others.
        return mark_inside(number, token)
    tag = cells[-1].strip(" ")
    return "" if tag and tag.strip() == tag else f"no tag in {cells[-1]!r}"


def write(sentences: Iterable[tuple[str, Sequence[str]]]) -> Iterator[str]:
    """Characters and tags, a tab between them."""
    for text, tags in sentences:
        yield from (f"{char}\t{tag}\n" for char, tag in zip(text, tags, strict=True))
        yield "\n"
