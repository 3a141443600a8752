"""Text files in and out: UTF-8, line ends, atomic writes, kbert's own folders."""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from kbert_cli.errors import KbertError, at_line

STDIN = "-"
NOT_UTF8 = "not UTF-8"

# Outer blanks of a cell carry no meaning: white space (U+3000 and NBSP too) and invisible marks.
BLANKS = " \t\r\n\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, [*range(0x2000, 0x200E), 0x2060, 0xFEFF])
)


_NO_TEXT = {
    b"PK\x03\x04": "a zip archive (.zip, .xlsx, .docx)",
    b"\x1f\x8b": "a gzip archive (.gz)",
    b"BZh91AY&SY": "a bzip2 archive (.bz2)",
    b"\x28\xb5\x2f\xfd": "a Zstandard archive (.zst)",
    b"\xfd7zXZ\x00": "an xz archive (.xz)",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive (.7z)",
    b"Rar!\x1a\x07": "a rar archive (.rar)",
    b"\xd0\xcf\x11\xe0": "an old Office file (.xls, .doc)",
    b"%PDF-": "a PDF (.pdf)",
    b"SQLite format 3\x00": "an SQLite database (.db)",
}


def refuse_no_text(head: bytes, path: str | Path) -> None:
    """Raise KbertError when bytes begin as archives and other files do that hold no lines."""
    for mark, kind in _NO_TEXT.items():
        if head.startswith(mark):
            raise KbertError(
                f"{path} is no text file but compressed or binary: it begins as {kind}",
                "Unpack it, or save it as CSV or TSV in UTF-8.",
            )


def read_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    r"""Stream ``(number, line)`` of a UTF-8 text file, numbers from 1, line ends removed.

    A byte order mark is dropped. Only ``\n`` and ``\r\n`` end a line: ``str.splitlines`` would also
    cut at \x0b, \x85 or \u2028, which occur inside real cells. ``-`` is standard input.

    Raises:
        KbertError: the file cannot be opened or is not UTF-8 (names the line).
    """
    try:
        with _open_bytes(path) as stream:
            for number, raw in enumerate(stream, 1):
                if number == 1:
                    refuse_no_text(raw, path)
                line, fault = decoded_line(raw, "utf-8", first=number == 1)
                if fault:
                    raise KbertError(
                        at_line(path, number, fault),
                        f"Convert it first, for example: iconv -f gb18030 -t utf-8 {path} > new",
                    )
                yield number, line
    except OSError as error:
        raise KbertError(f"cannot read {path}: {error.strerror}") from None


def decoded_line(raw: bytes, encoding: str, *, first: bool, ends: bool = False) -> tuple[str, str]:
    """A line without its end (with it where ``ends``), and its fault; bad bytes are replaced."""
    codec = "utf-8-sig" if first and encoding == "utf-8" else encoding
    fault = ""
    try:
        line = raw.decode(codec)
    except UnicodeDecodeError as error:
        line = raw.decode(codec, "replace")
        # Behind a byte order mark the decoder counts without it.
        byte = raw[error.start + len(raw) - len(error.object)]
        name = NOT_UTF8 if encoding == "utf-8" else f"not {encoding.upper()}"
        fault = f"{name} (byte 0x{byte:02x})"
    return line if ends else without_end(line), fault


def without_end(line: str) -> str:
    r"""A line without ``\n``, ``\r\n`` or ``\r`` at its end."""
    return line.removesuffix("\n").removesuffix("\r")


def read_span(path: str | Path, first: int, end: int) -> Iterator[tuple[int, str, str]]:
    """Number, text and fault of the lines that begin at bytes ``first`` to ``end`` - 1.

    Numbers count from the first of these lines.
    """
    number = 0
    try:
        with open(path, "rb") as stream:
            if first:
                # A line that began before belongs to who is before.
                stream.seek(first - 1)
                stream.readline()
            position = stream.tell()
            while position < end and (raw := stream.readline()):
                number += 1
                yield number, *decoded_line(raw, "utf-8", first=not position)
                position += len(raw)
    except OSError as error:
        raise KbertError(f"cannot read {path}: {error.strerror}") from None


@contextlib.contextmanager
def _open_bytes(path: str | Path) -> Iterator[IO[bytes]]:
    if str(path) == STDIN:
        yield sys.stdin.buffer
        return
    with open(path, "rb") as stream:
        yield stream


@contextlib.contextmanager
def atomic_output(path: str | Path) -> Iterator[IO[str]]:
    """A UTF-8 text stream that becomes ``path`` only when the block ends without an error.

    Until then its ``name`` is that of a file beside ``path``.
    """
    path = Path(path)
    with named_output_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        temporary = Path(name)
        try:
            os.close(handle)
            with open(temporary, "w", encoding="utf-8", newline="\n") as stream:
                yield stream
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def require_readable(path: str | Path) -> None:
    """Raise KbertError when a file that is named is not there; ``-`` always is."""
    if str(path) == STDIN:
        return
    try:
        if Path(path).is_dir():
            raise KbertError(f"cannot read {path}: it is a folder")
        Path(path).stat()
    except OSError as error:
        raise KbertError(f"cannot read {path}: {error.strerror}") from None


def require_parent(path: str | Path) -> None:
    """Raise KbertError when the folder that a file is to be written to is not there."""
    parent = Path(path).absolute().parent
    if not parent.is_dir():
        raise KbertError(f"cannot write {path}: there is no folder {parent}", "Make it first.")


@contextlib.contextmanager
def named_output_errors(path: str | Path) -> Iterator[None]:
    """Turn an ``OSError`` while writing ``path`` into a clear error; pass a closed pipe on."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise KbertError(
            f"cannot write {error.filename or path}: {error.strerror}",
            "Name a place that can be written with --output.",
        ) from None


LOCK = ".lock"
"""Name, or end of the name, of files that are held while something is written."""


@contextlib.contextmanager
def exclusive(lock: Path, what: str) -> Iterator[None]:
    """Hold the file ``lock`` while ``what`` is written; a killed process holds nothing.

    Raises:
        KbertError: another process holds it.
    """
    from filelock import FileLock, Timeout

    with named_output_errors(what):
        fresh = not lock.parent.exists()
        lock.parent.mkdir(parents=True, exist_ok=True)
        # The library takes some errors of the file system for a lock that is held.
        lock.touch()
        held = FileLock(lock, timeout=0)
        try:
            held.acquire()
        except Timeout:
            raise KbertError(
                f"another process is writing {what} at this moment",
                "Wait until it has ended, or name another --output.",
            ) from None
        except NotImplementedError:
            # A file system without locks; all else works there.
            pass
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        held.release()
        if fresh:
            with contextlib.suppress(OSError):
                # Only where nothing was written.
                lock.parent.rmdir()


def require_free(output: Path, hint: str) -> None:
    """Raise KbertError when ``output`` is there already and is no empty folder."""
    if output.exists() and (
        not output.is_dir() or any(path.name != LOCK for path in output.iterdir())
    ):
        raise KbertError(f"--output {output} exists already", hint)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_json(path: str | Path, value: Any) -> None:
    """Write ``value`` as indented UTF-8 JSON, atomically."""
    with atomic_output(path) as stream:
        stream.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def parse_json(text: str) -> Any:
    """The value of a JSON text that somebody handed in.

    Raises:
        ValueError: it is none, nested deeper than the library follows, or holds half a character,
            a field twice, or a number that JSON has not.
    """
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])[1:-1]
        raise ValueError(f"{half} is half a character") from None
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {twice!r} is there twice")
    return found


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no value of JSON")


_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(path: str | Path) -> Any:
    """Read a JSON file; a damaged one is a clear error."""
    try:
        return parse_json(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise KbertError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise KbertError(f"{path} is not valid JSON: {error}") from None


def cache_folder(name: str) -> Path:
    """A private folder for kbert's own caches, created when missing.

    ``KBERT_HOME`` moves it. Where it cannot be written, a fresh private temporary folder serves.
    """
    from platformdirs import user_cache_path

    home = os.environ.get("KBERT_HOME")
    folder = (Path(home) if home else user_cache_path("kbert")) / name
    return folder if made_writable(folder, mode=0o700) else Path(tempfile.mkdtemp(prefix="kbert-"))


def require_writable(output: Path) -> None:
    """Raise KbertError when a folder ``output`` could not be written or made; makes nothing."""
    place = next(path for path in (output, *output.absolute().parents) if path.exists())
    if not place.is_dir():
        raise KbertError(
            f"cannot write {output}: {place} is not a folder", "Name another --output."
        )
    if not os.access(place, os.W_OK | os.X_OK):
        raise KbertError(
            f"cannot write {output}: {place} may not be written to",
            "Name a place that can be written with --output.",
        )


def made_writable(folder: Path, *, mode: int = 0o777) -> bool:
    """Make a folder where it is missing; whether it can be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=mode)
    except OSError:
        return False
    return os.access(folder, os.W_OK)


def bundled_folder(name: str) -> Path:
    """The folder of bundled material: in the installed package, or beside it in a checkout."""
    package = Path(__file__).parent
    installed = package / f"_{name}"
    return installed if installed.is_dir() else package.parent / name
