"""Lines of text files in any encoding, whatever ends them, with the fault of those that are bad."""

from __future__ import annotations

import codecs
import io
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from kbert_cli.errors import KbertError, at_line
from kbert_cli.files import STDIN, decoded_line, refuse_no_text, without_end

_HEAD = 1 << 16
_LONGEST_HEAD = 1 << 24
_WIDE = ("utf-16", "utf-32")
_COMMON = frozenset("的一是不了人我在有他这中大来上国個说們到和地也子時道出而要于就下得可你年生")
"""Signs that real Chinese text of some length holds, and text in a wrong encoding hardly."""
_BAD = "\udcff"
"""Stands for bytes that cannot be decoded: a lone surrogate is in no text, U+FFFD in many."""
_MARKED = "kbert-marked"
codecs.register_error(_MARKED, lambda error: (_BAD, error.end))  # type: ignore[attr-defined]
Line = tuple[int, str, str]
"""Number from 1, text without its end, and what is wrong with it (empty for a good line)."""


class LineSource:
    """A file or standard input, whose beginning can be looked at before it is read."""

    def __init__(self, path: str | Path, encoding: str = "utf-8") -> None:
        r"""Open ``path`` (``-``: standard input).

        A byte order mark is dropped, and that of UTF-16 or UTF-32 decides the encoding. ``\n`` and
        ``\r\n`` end a line, and ``\r`` alone where the file has no other end.

        Raises:
            KbertError: the file cannot be read, or the encoding has no such name.
        """
        self.path = str(path)
        self.encoding = text_encoding(encoding)
        self._stream: IO[bytes] | None = None
        with _named(self.path):
            if self.path == STDIN:
                self._stream = sys.stdin.buffer
            elif not Path(self.path).is_file():
                # A pipe gives its bytes once; a folder is an error here.
                self._stream = open(self.path, "rb")  # noqa: SIM115
            if self._stream is not None:
                self._head = _beginning(self._stream)
            else:
                with open(self.path, "rb") as stream:
                    self._head = _beginning(stream)
        refuse_no_text(self._head, self.path)
        self.encoding = marked_encoding(self._head, self.encoding)
        self.cr = ends_with_cr(self._head)
        """Whether lines end with CR alone."""

    def head(self) -> list[str]:
        """The first lines, as many as 64 KiB hold whole, one at least; bad parts are replaced."""
        text = self.beginning()
        lines = text.replace("\r\n", "\n").split("\r" if self.cr else "\n")
        return lines[:-1] if len(self._head) >= _HEAD and len(lines) > 1 else lines

    def beginning(self) -> str:
        """The first 64 KiB, or the first line where it is longer, as text."""
        encoding = "utf-8-sig" if self.encoding == "utf-8" else self.encoding
        return codecs.getincrementaldecoder(encoding)("replace").decode(self._head)

    def lines(self, *, ends: bool = False) -> Iterator[Line]:
        """All lines; can be asked once for standard input and pipes.

        Args:
            ends: leave their ends on the lines.
        """
        with _named(self.path):
            if self._stream is not None:
                rest = iter(lambda: self._stream.read(_HEAD) if self._stream else b"", b"")
                yield from self._decoded(_whole_lines(itertools.chain([self._head], rest)), ends)
                return
            with open(self.path, "rb") as stream:
                yield from self._decoded(stream, ends)

    def _decoded(self, raw: Iterator[bytes] | IO[bytes], ends: bool) -> Iterator[Line]:
        if self.encoding.startswith(_WIDE) or self.cr:
            yield from self._decoded_as_text(raw, ends)
            return
        for number, line in enumerate(raw, 1):
            if line == codecs.BOM_UTF8:
                # A file of nothing else has no line.
                return
            yield number, *decoded_line(line, self.encoding, first=number == 1, ends=ends)

    def _decoded_as_text(self, raw: Iterator[bytes] | IO[bytes], ends: bool) -> Iterator[Line]:
        """Where bytes cannot be cut at line ends: in wide encodings, and with lone CR."""
        stream = io.BytesIO(b"".join(raw))
        encoding = "utf-8-sig" if self.encoding == "utf-8" else self.encoding
        text = io.TextIOWrapper(stream, encoding, _MARKED, newline="\r" if self.cr else "\n")
        for number, line in enumerate(text, 1):
            fault = f"not {self.encoding.upper()}" if _BAD in line else ""
            whole = line.replace(_BAD, "\ufffd")
            yield number, whole if ends else without_end(whole), fault

    def fault_error(self, number: int, fault: str) -> KbertError:
        """The error for a file whose line ``number`` is bad, with the encoding that would fit."""
        likely = likely_encoding(self._head)
        known = f" It looks like {likely}: try --encoding {likely}." if likely else ""
        return KbertError(
            at_line(self.path, number, fault),
            f"Name the file's encoding with --encoding, or convert it to UTF-8.{known}",
        )

    def first_fault(self) -> str:
        """Why the first line cannot be decoded; empty where it can."""
        if self.encoding.startswith(_WIDE) or self.cr:
            return ""
        return decoded_line(self._head.split(b"\n", 1)[0], self.encoding, first=True)[1]

    def refuse_if_foreign(self, faults: Sequence[tuple[int, str]], rows: int) -> None:
        """Raise KbertError when most of ``rows`` cannot be decoded: the encoding is another."""
        foreign = [one for one in faults if one[1].startswith(f"not {self.encoding.upper()}")]
        # Not all: some short texts happen to be valid in other encodings.
        if len(foreign) > max(1, rows // 2):
            raise self.fault_error(*foreign[0])

    def good_lines(self) -> Iterator[tuple[int, str]]:
        """Numbers and texts.

        Raises:
            KbertError: a line cannot be decoded (it is named).
        """
        return ((number, line) for number, line, _ in self.refused(self.lines()))

    def refused(self, lines: Iterable[Line]) -> Iterator[Line]:
        """The lines, up to the first that cannot be decoded, which is an error."""
        for number, line, fault in lines:
            if fault:
                raise self.fault_error(number, fault)
            yield number, line, ""


def _beginning(stream: IO[bytes]) -> bytes:
    """The first bytes; more of them where the first line would not be whole."""
    head = bytearray()
    while len(head) < _LONGEST_HEAD and (block := stream.read(_HEAD)):
        head += block
        if b"\n" in block or b"\r" in block:
            break
    return bytes(head)


def _whole_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    rest = b""
    for block in blocks:
        *whole, rest = (rest + block).split(b"\n")
        yield from (line + b"\n" for line in whole)
    if rest:
        yield rest


def text_encoding(name: str) -> str:
    """Python's own name of a text encoding.

    Raises:
        KbertError: there is none of that name, or lines and cells cannot be told in it.
    """
    try:
        found = codecs.lookup(name).name.removesuffix("-sig")
        decoder = codecs.getincrementaldecoder(found)("replace")
        sound = decoder.decode(_ENDS.encode(found), final=True) == _ENDS
        plain = found.startswith(_WIDE) or _ENDS.encode(found) == _ENDS.encode()
        if sound and plain and found not in _NO_ENCODINGS:
            return found
    except (LookupError, ValueError, TypeError, AttributeError, AssertionError):
        pass
    raise KbertError(
        f"--encoding {name!r} is not known to Python, or does not keep lines apart",
        "Common ones: utf-8, gb18030, gbk, big5, utf-16.",
    )


_ENDS = "a\n\t,"
_NO_ENCODINGS = ("idna", "punycode", "unicode_escape", "raw-unicode-escape", "raw_unicode_escape")


def marked_encoding(head: bytes, encoding: str) -> str:
    """The encoding of bytes by their byte order mark; without one, ``encoding``.

    UTF-16 and UTF-32 without a mark are read in the byte order in which more of the text is
    Chinese or ASCII.
    """
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if encoding not in _WIDE:
        return encoding

    def fits(ordered: str) -> int:
        text = codecs.getincrementaldecoder(ordered)("replace").decode(head)
        return sum(char in _COMMON or char.isascii() for char in text)

    return max(f"{encoding}-le", f"{encoding}-be", key=fits)


def ends_with_cr(head: bytes) -> bool:
    """Whether lines end with CR alone; the last byte may be the first half of CR LF."""
    return b"\n" not in head and b"\r" in head[:-1]


def likely_encoding(raw: bytes) -> str | None:
    """The encoding in which bytes read as Chinese, if there is one; for messages, not decisions."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    best, share = None, 0.02
    raw = raw[:_HEAD]
    for encoding in ("gb18030", "big5", "utf-16-le", "utf-16-be"):
        text = codecs.getincrementaldecoder(encoding)("replace").decode(raw)
        wide = [char for char in text if ord(char) > 127]
        if not wide or text.count("\ufffd") > len(wide) // 50:
            continue
        found = sum(char in _COMMON for char in wide) / len(wide)
        if found > share:
            best, share = encoding, found
    return "utf-16" if best and best.startswith("utf-16") else best


class _named:  # noqa: N801
    """Turns an ``OSError`` into a clear error."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, OSError):
            raise KbertError(f"cannot read {self._path}: {error.strerror}") from None
