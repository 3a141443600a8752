"""Sources of triples: how they are read, bytes in some compression, lines in some encoding."""

from __future__ import annotations

import bz2
import gzip
import io
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from kbert_cli.corpus.lines import (
    ends_with_cr,
    likely_encoding,
    marked_encoding,
    text_encoding,
)
from kbert_cli.errors import KbertError, at_line
from kbert_cli.files import STDIN, refuse_no_text

FORMATS = ("spo", "csv", "nt", "jsonl")
COMPRESSIONS = (".gz", ".bz2", ".zst")
_SUFFIX_FORMATS = {".csv": "csv", ".nt": "nt", ".jsonl": "jsonl", ".ndjson": "jsonl"}


@dataclass(frozen=True)
class SourceFormat:
    """How a source is read; what is None is told by the file's name."""

    format: str | None = None
    """One of ``FORMATS``."""
    delimiter: str | None = None
    """Between the cells of a line; tab, in csv a comma."""
    columns: tuple[str, ...] | None = None
    """Which cell each column holds: three of s, p, o in some order, ``-`` for a column to skip."""
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        """Raise KbertError unless format, columns and encoding make sense."""
        if self.format is not None and self.format not in FORMATS:
            raise KbertError(f"--format is {self.format!r}; it must be one of {', '.join(FORMATS)}")
        if self.delimiter == "":
            raise KbertError("--delimiter is empty")
        if self.columns is not None and sorted(c for c in self.columns if c != "-") != [*"ops"]:
            raise KbertError(
                f"--columns is {','.join(self.columns)!r}; it must name s, p and o once each",
                "For example s,o,p; - skips a column.",
            )
        object.__setattr__(self, "encoding", text_encoding(self.encoding))

    def of(self, path: str | Path) -> str:
        """The format of one file."""
        return self.format or _SUFFIX_FORMATS.get(_plain_suffix(path), "spo")


def _plain_suffix(path: str | Path) -> str:
    """The end of a file's name below its compression's."""
    name = Path(path)
    return (name.with_suffix("") if name.suffix in COMPRESSIONS else name).suffix.casefold()


@contextmanager
def open_source(path: str | Path) -> Iterator[tuple[IO[bytes], Callable[[], int]]]:
    """A source's bytes, unpacked, and a function that tells how many packed ones were read."""
    if str(path) == STDIN:
        yield sys.stdin.buffer, lambda: 0
        return
    try:
        with open(path, "rb") as raw:
            if Path(path).suffix not in COMPRESSIONS:
                refuse_no_text(raw.peek(32), path)
            # A pipe has no place to tell.
            yield _unpacked(raw, path), raw.tell if raw.seekable() else lambda: 0
    except OSError as error:
        reason = error.strerror or str(error)
        raise KbertError(f"cannot read {path}: {reason}") from None
    except EOFError:
        raise KbertError(f"cannot read {path}: the compressed file ends too early") from None


def _unpacked(raw: IO[bytes], path: str | Path) -> IO[bytes]:
    match Path(path).suffix:
        case ".gz":
            return io.BufferedReader(gzip.GzipFile(fileobj=raw))
        case ".bz2":
            return bz2.BZ2File(raw)
        case ".zst":
            try:
                import zstandard
            except ImportError:
                raise KbertError(
                    f"{path}: reading .zst needs the package zstandard",
                    "Install it with: pip install 'kbert[zstd]'",
                ) from None
            reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
            return io.BufferedReader(reader)
    return raw


def _beginning(path: str | Path) -> bytes:
    """A plain file's first bytes, for a guess at its encoding."""
    if not Path(path).is_file() or Path(path).suffix in COMPRESSIONS:
        return b""
    with open(path, "rb") as stream:
        return stream.read(1 << 16)


def _peek(stream: IO[bytes]) -> bytes:
    """What a stream begins with, without reading on; empty where that cannot be told."""
    peek: Callable[[int], bytes] | None = getattr(stream, "peek", None)
    return peek(1 << 16) if peek else b""


def read_source_lines(
    path: str | Path, encoding: str, on_bytes: Callable[[int], None] = lambda _: None
) -> Iterator[tuple[int, str]]:
    r"""``(number, line)`` of a source, line ends removed.

    ``\n`` and ``\r\n`` end a line, and ``\r`` where the beginning has no other end.

    Raises:
        KbertError: it cannot be read or decoded (names the line).
    """
    number = before = 0
    as_text = False
    try:
        with open_source(path) as (stream, tell):
            head = _peek(stream)
            encoding = marked_encoding(head, encoding)
            cr = ends_with_cr(head)
            as_text = cr or encoding.startswith(("utf-16", "utf-32"))
            lines: Iterable[Any] = (
                io.TextIOWrapper(stream, encoding, newline="\r" if cr else "\n")
                if as_text
                else stream
            )
            for number, raw in enumerate(lines, 1):
                line = raw if as_text else raw.decode(encoding)
                if number == 1:
                    line = line.removeprefix("\ufeff")
                if number % 20_000 == 0:
                    done = tell()
                    on_bytes(done - before)
                    before = done
                yield number, line.removesuffix("\n").removesuffix("\r")
            on_bytes(tell() - before)
    except UnicodeError as error:
        byte = ""
        if isinstance(error, UnicodeDecodeError):
            byte = f" (byte 0x{error.object[error.start]:02x})"
        likely = likely_encoding(_beginning(path))
        known = (
            f"It looks like {likely}: --encoding {likely}."
            if likely
            else "For example --encoding gb18030."
        )
        raise KbertError(
            at_line(path, number + as_text, f"not {encoding.upper()}{byte}"),
            f"Name its encoding. {known}",
        ) from None
