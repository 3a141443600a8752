"""Compiling sources into a graph on disk, in bounded memory, all or nothing."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

from kbert_cli.errors import KbertError
from kbert_cli.files import BLANKS, STDIN, named_output_errors, write_json
from kbert_cli.kg.compiled import (
    ALIASES,
    DESCRIPTIONS,
    FOLDING,
    OBJECT_COUNTS,
    PREDICATES,
    TRIPLES,
)
from kbert_cli.kg.keys import folded_key, simplified_table
from kbert_cli.kg.manifest import Manifest, is_compiled, read_manifest
from kbert_cli.kg.settings import BuildSettings, triple_filter
from kbert_cli.kg.sources import COMPRESSIONS, read_source_lines
from kbert_cli.kg.table import Table
from kbert_cli.kg.table_builder import LINE_CAP, TableBuilder
from kbert_cli.kg.triples import ReadReport, read_triples
from kbert_cli.reporting import Reporter
from kbert_cli.version import __version__

_BUILDING = ".building-"
_COMPRESSION_RATE = 8
"""Unpacked bytes a packed one, roughly: only the number of parts depends on it."""
_TRIPLE_BYTES = 40
_MIN_BUCKETS, _MAX_BUCKETS = 1 << 12, 1 << 25


def build_graph(
    sources: Sequence[str | Path],
    folder: Path,
    settings: BuildSettings,
    reporter: Reporter,
    *,
    aliases: str | Path | None = None,
    replace: bool = False,
) -> Manifest:
    """Compile ``sources`` into ``folder``; until that is complete, nothing stands there.

    Args:
        aliases: a mention table, ``mention<TAB>entity`` a line.
        replace: put the new graph in the place of one that is there.

    Raises:
        KbertError: a source cannot be read, none of its rows is a triple, or ``folder`` is taken.
    """
    if folder.exists() and not replace:
        raise KbertError(
            f"{folder} exists already", "Name another one, or replace it with --force."
        )
    if folder.exists() and not (is_compiled(folder) or _is_empty(folder)):
        raise KbertError(
            f"{folder} is no graph, and --force replaces graphs only", "Name another place."
        )
    with named_output_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        _remove_dead_builds(folder.parent)
        work = Path(tempfile.mkdtemp(prefix=f"{_BUILDING}{os.getpid()}-", dir=folder.parent))
        try:
            manifest = _Builder(sources, work, settings, aliases, reporter).build()
            work.chmod(0o755)
            if replace and folder.exists():
                old = work.with_name(work.name + "-old")
                folder.replace(old)
                work.replace(folder)
                shutil.rmtree(old)
            else:
                _put(work, folder, manifest)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return manifest


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def _put(work: Path, folder: Path, manifest: Manifest) -> None:
    try:
        work.replace(folder)
    except OSError:
        if not is_compiled(folder):
            raise
        # Another process was here meanwhile; the graph of the same sources is as good.
        if read_manifest(folder).content_hash != manifest.content_hash:
            raise KbertError(
                f"another process has built another graph in {folder} meanwhile",
                "Name another one, or replace it with --force.",
            ) from None


def _remove_dead_builds(parent: Path) -> None:
    """Remove what builds left that were killed."""
    for path in parent.glob(f"{_BUILDING}*"):
        process = path.name.removeprefix(_BUILDING).split("-")[0]
        if process.isdigit() and not _is_alive(int(process)):
            shutil.rmtree(path, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


class _Builder:
    def __init__(
        self,
        sources: Sequence[str | Path],
        work: Path,
        settings: BuildSettings,
        aliases: str | Path | None,
        reporter: Reporter,
    ) -> None:
        self._sources = sources
        self._work = work
        self._settings = settings
        self._aliases = aliases
        self._reporter = reporter
        self._simplified = simplified_table() if settings.simplified else {}
        self._folding = str.maketrans(self._simplified)
        self._predicates: dict[str, list[int]] = {}
        size = _expected_bytes(sources)
        self._size = size
        triples = (size or 1 << 30) // _TRIPLE_BYTES
        self._buckets = min(max(1 << (2 * triples).bit_length(), _MIN_BUCKETS), _MAX_BUCKETS)
        self._object_counts = array("I", bytes(4 * self._buckets))

    def _key(self, text: str) -> str:
        return folded_key(text, self._folding)

    def build(self) -> Manifest:
        with contextlib.ExitStack() as stack:
            triples = TableBuilder(self._work, TRIPLES, self._size)
            stack.callback(triples.close)
            descriptions = None
            if self._settings.description_predicates:
                descriptions = TableBuilder(self._work, DESCRIPTIONS, self._size)
                stack.callback(descriptions.close)
            with self._reporter.progress("reading triples", self._read_total()) as advance:
                reports = [
                    self._read(source, triples, descriptions, advance) for source in self._sources
                ]
            with self._reporter.progress("writing the index", 100) as advance:
                done = triples.finish(lambda share: advance(100 * share))
            counts = {
                "triples": done.lines,
                "subjects": done.keys,
                "predicates": len(self._predicates),
                "duplicates": done.duplicates,
                "self_loops": sum(report.self_loops for report in reports),
                "filtered": sum(report.filtered for report in reports),
                "rejected": sum(report.rejected_count for report in reports),
                "capped": done.capped,
            }
            digests = [done.digest]
            if descriptions is not None:
                described = descriptions.finish()
                counts["descriptions"] = described.keys
                digests.append(described.digest)
            longest = done.longest_key
            if self._aliases is not None:
                named, lost = self._add_aliases()
                counts |= {"aliases": named.keys, "aliases_without_entity": lost}
                longest = max(longest, named.longest_key)
                digests.append(named.digest)
        if done.capped:
            self._reporter.warn(
                f"{done.capped:,} triples beyond the first {LINE_CAP:,} of their subject left out"
            )
        self._write_rest()
        # Duplicates are known for the whole graph only; with one source they are that source's.
        if len(reports) == 1:
            reports[0].duplicates = done.duplicates
            reports[0].triples -= done.duplicates + done.capped
        manifest = Manifest(
            kbert=__version__,
            counts=counts,
            content_hash=self._content_hash(digests),
            longest_name=longest,
            settings=self._settings.as_dict(),
            sources=reports,
            licence=self._settings.licence,
        )
        manifest.write(self._work)
        return manifest

    def _read_total(self) -> int | None:
        paths = [source for source in self._sources if str(source) != STDIN]
        return sum(Path(path).stat().st_size for path in paths if Path(path).is_file()) or None

    def _read(
        self,
        source: str | Path,
        triples: TableBuilder,
        descriptions: TableBuilder | None,
        advance: Callable[[int], None],
    ) -> ReadReport:
        report = ReadReport(str(source))
        keeps = triple_filter(self._settings)
        describing = frozenset(self._settings.description_predicates)
        predicates, counts, buckets = self._predicates, self._object_counts, self._buckets
        add = triples.add
        last, key = "", ""
        for triple in read_triples(source, self._settings.source, report, advance):
            subject, predicate, value = triple
            if subject == value:
                report.self_loops += 1
                continue
            if keeps is not None and not keeps(triple):
                report.filtered += 1
                continue
            if subject != last:
                last, key = subject, self._key(subject)
            if predicate in describing:
                assert descriptions is not None
                descriptions.add(key, value)
                continue
            known = predicates.get(predicate)
            if known is None:
                known = predicates[predicate] = [len(predicates), 0]
            known[1] += 1
            counts[crc32(value.encode()) % buckets] += 1
            add(key, f"{'' if subject == key else subject}\t{known[0]}\t{value}")
            report.triples += 1
        if report.rows and report.rejected_count == report.rows:
            first = report.rejected[0]
            raise KbertError(
                f"{source}: none of its {report.rows:,} rows is a triple; the first is "
                f"{source}:{first.line}: {first.reason}",
                "A graph has one triple a line: subject, tab, predicate, tab, object. "
                "--delimiter, --columns and --format name other forms.",
            )
        return report

    def _add_aliases(self) -> tuple[Any, int]:
        assert self._aliases is not None
        subjects = Table(self._work, TRIPLES)
        table = TableBuilder(self._work, ALIASES, _expected_bytes([self._aliases]))
        lost = 0
        try:
            for number, line in read_source_lines(self._aliases, self._settings.source.encoding):
                cells = [cell.strip(BLANKS) for cell in line.split("\t")]
                if not any(cells):
                    continue
                if len(cells) < 2 or not all(cells[:2]) or "\0" in line:
                    raise KbertError(
                        f"{self._aliases}:{number}: a mention table has two columns, mention and "
                        "entity, separated by a tab"
                    )
                mention, entity = self._key(cells[0]), self._key(cells[1])
                if entity not in subjects:
                    lost += 1
                elif mention != entity:
                    table.add(mention, entity)
            return table.finish(), lost
        finally:
            table.close()

    def _write_rest(self) -> None:
        counted = {name: count for name, (_, count) in self._predicates.items()}
        write_json(self._work / PREDICATES, counted)
        if self._simplified:
            write_json(self._work / FOLDING, self._simplified)
        exponents = bytes(max(count.bit_length() - 1, 0) for count in self._object_counts)
        (self._work / OBJECT_COUNTS).write_bytes(exponents)

    def _content_hash(self, digests: Sequence[int]) -> str:
        names = "\n".join(self._predicates)
        rest = json.dumps(sorted(self._simplified.items()))
        joined = f"{'/'.join(map(str, digests))}\n{rest}\n{names}"
        return hashlib.sha256(joined.encode()).hexdigest()


def _expected_bytes(sources: Sequence[str | Path]) -> int | None:
    """Bytes of the sources when unpacked, roughly; None when nobody knows."""
    total = 0
    for source in sources:
        if str(source) == STDIN:
            return None
        path = Path(source)
        rate = _COMPRESSION_RATE if path.suffix in COMPRESSIONS else 1
        total += path.stat().st_size * rate if path.is_file() else 0
    return total
