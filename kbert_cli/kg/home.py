"""Where compiled graphs live: named ones, and those that ``--kg FILE`` made on the way.

``KBERT_HOME`` moves both. A home that cannot be written is replaced by a temporary folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from kbert_cli.config import NO_GRAPH
from kbert_cli.errors import KbertError
from kbert_cli.files import STDIN, made_writable, parse_json, write_json
from kbert_cli.kg.build import build_graph
from kbert_cli.kg.compiled import CompiledGraph
from kbert_cli.kg.manifest import VERSION, is_compiled, sha256_of
from kbert_cli.kg.settings import BuildSettings
from kbert_cli.reporting import Reporter
from kbert_cli.version import __version__

_NAMED, _CACHED, _SEEN = "graphs", "compiled", "seen"


_LONGEST_NAME = 200


def named_folder(name: str) -> Path:
    """Where the graph ``name`` is, or would be.

    Raises:
        KbertError: this cannot be a name.
    """
    if (
        name in ("", ".", "..", NO_GRAPH, STDIN)
        or len(name.encode()) > _LONGEST_NAME
        or not name.isprintable()
        or set(name) & set('/\\\0:*?"<>|')
        or name.startswith(".")
    ):
        raise KbertError(
            f"{name!r} cannot be the name of a graph",
            "A name is short, printable, not none, and has no sign that a file's name cannot have.",
        )
    return _home() / _NAMED / name


def named_graphs() -> list[str]:
    """Names of the graphs that ``kg build`` made, in name order."""
    folder = _home() / _NAMED
    if not folder.is_dir():
        return []
    return sorted(path.name for path in folder.iterdir() if is_compiled(path))


def _home() -> Path:
    from platformdirs import user_data_path

    home = os.environ.get("KBERT_HOME")
    return Path(home) if home else user_data_path("kbert")


@cache
def _writable_home(reporter: Reporter) -> Path:
    if made_writable(_home() / _CACHED):
        return _home()
    place = Path(tempfile.gettempdir()) / f"kbert-{os.getuid() if hasattr(os, 'getuid') else 0}"
    place.mkdir(mode=0o700, exist_ok=True)
    # Somebody else's folder of that name could hold anything.
    if hasattr(os, "getuid") and place.stat().st_uid != os.getuid():
        place = Path(tempfile.mkdtemp(prefix="kbert-"))
    reporter.note(f"{_home()} cannot be written: compiled graphs go to {place} (see KBERT_HOME)")
    return place


def open_source_graph(files: Sequence[Path], reporter: Reporter) -> CompiledGraph:
    """The compiled form of source files: found again, or made now.

    It is kept by content. Sizes and times of files that were seen spare hashing them again.

    Raises:
        KbertError: they cannot be read or compiled.
    """
    home = _writable_home(reporter)
    seen = home / _CACHED / _SEEN / f"{_signature(files)}.json"
    key = _remembered(seen)
    if key is None or not is_compiled(home / _CACHED / key):
        key = _content_key(files)
        folder = home / _CACHED / key
        if not is_compiled(folder):
            shown = files[0] if len(files) == 1 else f"{len(files)} files in {files[0].parent}"
            reporter.note(f"{shown}: compiling this graph, once; it is kept in {home / _CACHED}")
            build_graph(list(files), folder, BuildSettings(), reporter)
        write_json(seen, key)
    try:
        return CompiledGraph(home / _CACHED / key)
    except KbertError as error:
        # What kbert made it can make again.
        reporter.warn(f"{error.what}; compiling it anew")
        shutil.rmtree(home / _CACHED / key, ignore_errors=True)
        build_graph(list(files), home / _CACHED / key, BuildSettings(), reporter)
        return CompiledGraph(home / _CACHED / key)


def _remembered(seen: Path) -> str | None:
    try:
        value = parse_json(seen.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, str) else None


def _signature(files: Sequence[Path]) -> str:
    parts = []
    for file in files:
        try:
            status = file.stat()
        except OSError as error:
            raise KbertError(f"cannot read {file}: {error.strerror}") from None
        if not file.is_file():
            raise KbertError(
                f"{file} is no regular file", "Compile it first: kbert kg build FILE --name NAME"
            )
        parts.append(f"{file.resolve()}\t{status.st_size}\t{status.st_mtime_ns}")
    return _digest([f"{VERSION} {__version__}", *parts])


def _content_key(files: Sequence[Path]) -> str:
    try:
        hashes = [f"{file.suffix}\t{sha256_of(file)}" for file in files]
    except OSError as error:
        raise KbertError(f"cannot read {error.filename}: {error.strerror}") from None
    return _digest([f"{VERSION} {__version__}", *hashes])


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
