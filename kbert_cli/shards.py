"""Parts of a large prediction: which bytes are whose, markers of finished parts, joining them.

A part is a run of whole lines: shard k of n has the lines that begin in the k-th of n equal spans
of the file, so that no shard reads another's lines.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kbert_cli.errors import KbertError, name_some
from kbert_cli.files import named_output_errors, read_json, write_json

_ENVIRONMENTS = (
    ("RANK", "WORLD_SIZE"),
    ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"),
)
"""Where launchers say which process this is, and of how many; the first that is set counts."""


_PART = re.compile(r"\.shard-[0-9]{5}-of-([0-9]{5})(?:\.done|\.part)?")
MOST_SHARDS = 99_999


@dataclass(frozen=True)
class Shard:
    """Part ``index`` (from 0) of ``count``."""

    index: int
    count: int

    def span(self, size: int) -> tuple[int, int]:
        """The bytes in which this part's lines begin."""
        return size * self.index // self.count, size * (self.index + 1) // self.count

    def output(self, path: str) -> str:
        """The file of this part."""
        return f"{path}.shard-{self.index:05d}-of-{self.count:05d}"

    def marker(self, path: str) -> Path:
        """The file that says that this part is complete."""
        return Path(f"{self.output(path)}.done")


def parse_shard(text: str | None, environment: Mapping[str, str] = os.environ) -> Shard | None:
    """``3/64`` as a shard; None for all; ``auto`` as what the launcher's environment says.

    Raises:
        KbertError: this is no shard.
    """
    if text is None:
        return None
    if text == "auto":
        for index, count in _ENVIRONMENTS:
            if index in environment and count in environment:
                text = f"{environment[index]}/{environment[count]}"
                break
        else:
            names = ", or ".join(" and ".join(pair) for pair in _ENVIRONMENTS)
            raise KbertError(f"--shard auto needs {names} in the environment")
    first, _, second = text.partition("/")
    whole = re.fullmatch("[0-9]{1,5}/[0-9]{1,5}", text)
    if not (whole and int(first) < int(second)):
        raise KbertError(
            f"--shard is {text!r}; it must be K/N with K from 0 to N - 1", "For example 3/64."
        )
    return Shard(int(first), int(second))


def begin(shard: Shard, path: str) -> None:
    """A part that is made anew is not complete until it is marked again."""
    with named_output_errors(path):
        shard.marker(path).unlink(missing_ok=True)


def mark_done(shard: Shard, path: str, facts: dict[str, Any]) -> None:
    """Write the marker of a complete part, with its size."""
    size = Path(shard.output(path)).stat().st_size
    write_json(
        shard.marker(path), {"shard": f"{shard.index}/{shard.count}", "bytes": size, **facts}
    )


def identity(path: str | Path) -> list[Any]:
    """What tells one input file from another: size and time, whatever it is called."""
    status = Path(path).stat()
    return [status.st_size, status.st_mtime_ns]


def merge(path: str, *, remove: bool = False) -> int:
    """Join the parts of ``path`` in order; the number of rows.

    Args:
        remove: delete parts and markers afterwards.

    Raises:
        KbertError: there is no part, or some are not complete (all are named).
    """
    shards = _found(path)
    missing = [f"{one.index}/{one.count}" for one in shards if not one.marker(path).is_file()]
    if missing:
        raise KbertError(
            f"{len(missing)} of {len(shards)} parts of {path} are not complete: "
            f"{name_some(missing, 20)}",
            "kbert predict --shard K/N --resume makes a part, or goes on with what it has.",
        )
    facts = [_facts(one, path) for one in shards]
    if any(one[key] != facts[0][key] for one in facts for key in _SHARED):
        raise KbertError(
            f"the parts of {path} come from different runs, formats, inputs or options",
            "Make those that are old again.",
        )
    part = Path(f"{path}.part")
    with named_output_errors(path):
        with open(part, "wb") as joined:
            for number, one in enumerate(shards):
                with open(one.output(path), "rb") as stream:
                    if number and facts[number]["header"]:
                        stream.readline()
                    shutil.copyfileobj(stream, joined, 1 << 20)
        part.replace(path)
        if remove:
            for one in shards:
                Path(one.output(path)).unlink()
                one.marker(path).unlink()
    return sum(one["rows"] for one in facts)


_SHARED = ("header", "run", "weights", "format", "input", "reading")
"""Facts that all parts of one prediction have in common."""


def _facts(shard: Shard, path: str) -> dict[str, Any]:
    facts = read_json(shard.marker(path))
    part = Path(shard.output(path))
    if not (
        isinstance(facts, dict)
        and {*_SHARED, "bytes", "rows"} <= facts.keys()
        and isinstance(facts["rows"], int)
    ):
        raise KbertError(f"{shard.marker(path)} is damaged", "Make that part again.")
    if not part.is_file() or part.stat().st_size != facts["bytes"]:
        raise KbertError(
            f"{part} is not as it was written: {facts['bytes']:,} bytes", "Make that part again."
        )
    return facts


def _found(path: str) -> list[Shard]:
    """All shards of the count that the files beside ``path`` tell."""
    folder, name = Path(path).parent, Path(path).name
    ends = (
        _PART.fullmatch(file.name.removeprefix(name))
        for file in folder.glob("*.shard-*-of-*")
        if file.name.startswith(name)
    )
    counts = {int(end[1]) for end in ends if end}
    if len(counts) != 1:
        raise KbertError(
            f"{path} has no parts"
            if not counts
            else f"{path} has parts of {', '.join(map(str, sorted(counts)))} shards",
            "kbert predict FILE --shard K/N --output PATH writes parts; PATH is what is merged.",
        )
    count = counts.pop()
    return [Shard(index, count) for index in range(count)]
