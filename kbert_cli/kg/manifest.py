"""The manifest of a compiled graph, and the rule that nothing unverified is mapped."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from kbert_cli.errors import KbertError
from kbert_cli.files import parse_json, read_json, write_json
from kbert_cli.kg.triples import ReadReport, RejectedLine

MANIFEST, STAMP = "manifest.json", "verified.json"
FORMAT, VERSION = "kbert-graph", 2


@dataclass
class Manifest:
    """What a compiled graph says of itself."""

    kbert: str
    counts: dict[str, int]
    """triples, subjects, predicates, aliases, descriptions, and what was left out."""
    content_hash: str
    longest_name: int
    settings: dict[str, Any]
    """How the sources were read and filtered."""
    sources: list[ReadReport]
    licence: str | None = None
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Name → bytes and sha256."""
    format: str = FORMAT
    version: int = VERSION
    seal: str = ""
    """Hash of all the rest."""

    def write(self, folder: Path) -> None:
        """Hash the files and write manifest and stamp."""
        self.files = {
            path.name: {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
            for path in sorted(folder.iterdir())
            if path.is_file() and path.name not in (MANIFEST, STAMP)
        }
        self.seal = _seal(asdict(self))
        write_json(folder / MANIFEST, asdict(self))
        write_stamp(folder, self)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a compiled graph.

    Raises:
        KbertError: the folder is none, is damaged, or was written by another version.
    """
    value = read_json(folder / MANIFEST)
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise KbertError(f"{folder} is no compiled graph", _REBUILD)
    if value.get("version") != VERSION:
        raise KbertError(
            f"{folder} is a compiled graph of format {value.get('version')}, and this kbert reads "
            f"format {VERSION}",
            _REBUILD,
        )
    if value.get("seal") != _seal(value):
        raise KbertError(f"{folder / MANIFEST} is damaged: it was changed by hand", _REBUILD)
    try:
        value["sources"] = [
            ReadReport(**{**one, "rejected": [RejectedLine(**bad) for bad in one["rejected"]]})
            for one in value["sources"]
        ]
        return Manifest(**value)
    except (KeyError, TypeError) as error:
        raise KbertError(f"{folder / MANIFEST} is damaged: {error}", _REBUILD) from None


_REBUILD = "Build it anew with `kbert kg build SOURCE --name NAME`."


def _seal(value: dict[str, Any]) -> str:
    rest = json.dumps({**value, "seal": ""}, sort_keys=True)
    return hashlib.sha256(rest.encode()).hexdigest()


def is_compiled(folder: Path) -> bool:
    """Whether a folder claims to be a compiled graph."""
    return (folder / MANIFEST).is_file()


def require_verified(folder: Path, manifest: Manifest, needed: Sequence[str]) -> None:
    """Return only when the files are those of the manifest, and ``needed`` are among them.

    Hashing takes seconds for a large graph, so sizes and times of the last verified state are kept;
    files that differ from it are hashed again.

    Raises:
        KbertError: a file is missing, or differs.
    """
    lacking = [name for name in needed if name not in manifest.files]
    strange = [name for name in manifest.files if Path(name).name != name]
    if lacking or strange:
        raise KbertError(
            f"{folder / MANIFEST} is damaged: it lacks {', '.join(lacking)}"
            if lacking
            else f"{folder / MANIFEST} names files elsewhere: {', '.join(strange)}",
            _REBUILD,
        )
    try:
        stamp = parse_json((folder / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        stamp = None
    if stamp is None or stamp != _signatures(folder, manifest):
        verify(folder, manifest)


def verify(folder: Path, manifest: Manifest) -> None:
    """Hash all files, and remember their state when they are right.

    Raises:
        KbertError: files are missing or differ from the manifest (all are listed).
    """
    problems = []
    for name, expected in manifest.files.items():
        path = folder / name
        if not path.is_file():
            problems.append(f"{name} is missing")
        elif path.stat().st_size != expected["bytes"]:
            problems.append(f"{name} has {path.stat().st_size:,} bytes, not {expected['bytes']:,}")
        elif sha256_of(path) != expected["sha256"]:
            problems.append(f"{name} has other content than when it was built")
    if problems:
        raise KbertError(f"{folder} is damaged: " + "; ".join(problems), _REBUILD)
    write_stamp(folder, manifest)


def write_stamp(folder: Path, manifest: Manifest) -> None:
    """Remember sizes and times of files that are right; a folder that is read-only has no stamp."""
    if os.access(folder, os.W_OK):
        write_json(folder / STAMP, _signatures(folder, manifest))


def _signatures(folder: Path, manifest: Manifest) -> dict[str, list[int]]:
    found = {}
    for name in manifest.files:
        try:
            status = (folder / name).stat()
        except OSError:
            continue
        found[name] = [status.st_size, status.st_mtime_ns]
    return found


def sha256_of(path: Path) -> str:
    """Hex digest of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
