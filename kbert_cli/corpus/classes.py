"""Names of classes for labels that are numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kbert_cli.corpus.lines import LineSource
from kbert_cli.errors import KbertError, at_line
from kbert_cli.files import BLANKS

_NUMBERED = re.compile(r"([0-9]{1,9})[\t,:].")


def read_classes(path: str | None, encoding: str = "utf-8") -> list[str] | None:
    """The classes of a file, a name a line, from 0; None without a file.

    Raises:
        KbertError: a line is blank, numbered, or there twice, which would shift or merge classes.
    """
    if path is None:
        return None
    lines = [line.strip(BLANKS) for _, line in LineSource(path, encoding).good_lines()]
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise KbertError(f"--classes {path} is empty", _HINT)
    for number, name in enumerate(lines, 1):
        if not name:
            raise KbertError(at_line(path, number, "a blank line among the classes"), _HINT)
        if (before := lines.index(name) + 1) < number:
            raise KbertError(
                at_line(path, number, f"class {name!r} is on line {before} already"), _HINT
            )
    found = [_NUMBERED.match(line) for line in lines]
    numbers = [int(one[1]) for one in found if one]
    if numbers in ([*range(len(lines))], [*range(1, len(lines) + 1)]):
        raise KbertError(f"the classes of {path} have numbers before their names", _HINT)
    return lines


_HINT = "It holds the name of a class a line and nothing else; the first line is class 0."


def named_class(label: str, classes: Sequence[str]) -> str:
    """The class of a number.

    Raises:
        ValueError: there is no such number.
    """
    # 01 is no number of a class: some other list may be meant.
    if label not in map(str, range(len(classes))):
        raise ValueError(f"label {label!r} is no number from 0 to {len(classes) - 1}")
    return classes[int(label)]
