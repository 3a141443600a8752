"""Real files through every format: `python tools/try_formats.py ../shared/data` prints a table.

Each real file is written in every format that its task has, and read back: rows and content must be
those of the file as it is. Rows in are counted without kbert.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kbert_cli.config import ReadConfig
from kbert_cli.corpus.columns import COLUMNS
from kbert_cli.corpus.convert import TARGETS, WRITTEN_SCHEMES, convert_file
from kbert_cli.corpus.entities import entities_of
from kbert_cli.corpus.example import Example
from kbert_cli.corpus.formats import PASSAGES, TABLES
from kbert_cli.corpus.reader import read_split
from kbert_cli.files import BLANKS

FILES = (
    ("classification", "classification/chnsenticorp/test.tsv", True),
    ("classification", "classification/smp2020_ewect/test.tsv", True),
    ("classification", "classification/thucnews/test.txt", False),
    ("qa", "qa/cmedqq/test.txt", False),
    ("ner", "ner/medical_ner/test.tsv", True),
    ("reading", "qa/cmrc2018/cmrc2018_trial.json", False),
)
"""Task, file, and whether the file has a header."""

_ENDS = {form: form for form in TABLES} | {PASSAGES: "json"}


class Tried(NamedTuple):
    """One format of one file."""

    task: str
    format: str
    file: str
    made: str
    rows_in: int
    rows_read: int
    same: bool


def try_formats(data: Path) -> Iterator[Tried]:
    """Every format of every file below ``data``."""
    with tempfile.TemporaryDirectory() as folder:
        for task, file, headed in FILES:
            yield from _tried(task, data / file, file, headed, Path(folder))


def _tried(task: str, path: Path, file: str, headed: bool, folder: Path) -> Iterator[Tried]:
    rows = _counted(path, headed)
    original = _read(path, task)
    form = PASSAGES if path.suffix == ".json" else "tsv"
    yield Tried(task, form, file, "as it is", rows, len(original), True)

    def again(made: str, target: Path, name: str, reading: ReadConfig) -> Tried:
        found = _read(target, task, reading)
        same = _content(found, task, name) == _content(original, task, name)
        return Tried(task, name, file, made, rows, len(found), same)

    for name in TARGETS:
        if name not in TABLES and (name == PASSAGES) != (task == "reading"):
            continue
        if name not in TABLES and task not in ("ner", "reading"):
            continue
        target = folder / f"out.{_ENDS.get(name, 'txt')}"
        convert_file(path, target, COLUMNS[task], ReadConfig(), form=name)
        yield again("kbert corpus convert", target, name, ReadConfig())
        if name == "conll":
            for scheme in WRITTEN_SCHEMES[1:]:
                convert_file(path, target, COLUMNS[task], ReadConfig(), form=name, scheme=scheme)
                yield again(f"kbert corpus convert --scheme {scheme}", target, name, ReadConfig())
            target.write_text(_weibo(target.read_text(encoding="utf-8")), encoding="utf-8")
            yield again("characters numbered as Weibo's", target, name, ReadConfig())
    if task == "ner":
        target = folder / "brat.txt"
        _write_brat(original, target)
        yield again("written by this script", target, "brat", ReadConfig())
    text = path.read_text(encoding="utf-8")
    for encoding in ("gb18030", "utf-16"):
        target = folder / f"encoded{path.suffix}"
        target.write_bytes(text.encode(encoding))
        yield again(f"in {encoding}", target, form, ReadConfig(encoding=encoding))
    for ends, name in (("\r\n", "CRLF"), ("\r", "CR")):
        target = folder / f"ends{path.suffix}"
        target.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", ends).encode())
        yield again(f"with byte order mark and {name}", target, form, ReadConfig())


def _counted(path: Path, headed: bool) -> int:
    """Rows of a file, counted in the simplest way."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return sum(len(passage["qas"]) for passage in json.loads(text))
    return sum(bool(line.strip()) for line in text.split("\n")) - headed


def _read(path: Path, task: str, reading: ReadConfig | None = None) -> list[Example]:
    return read_split(path, COLUMNS[task], reading=reading).examples


def _content(examples: Sequence[Example], task: str, form: str) -> list[object]:
    """What a format must keep of the examples."""
    return [(one.texts, _label(one, task, form)) for one in examples]


def _label(example: Example, task: str, form: str) -> object:
    if task == "ner":
        return entities_of(example.label or ())
    if task == "reading" and form in ("tsv", "csv"):
        return (example.label or ("",))[0].strip(BLANKS)
    return example.label


def _weibo(text: str) -> str:
    lines = []
    for line in text.split("\n"):
        token, tab, tag = line.partition("\t")
        lines.append(f"{token}{len(lines) % 4}{tab}{tag}" if tab else line)
    return "\n".join(lines)


def _write_brat(examples: Sequence[Example], target: Path) -> None:
    marks, at = [], 0
    for one in examples:
        for start, end, kind in entities_of(one.label or ()):
            span = f"{kind} {at + start} {at + end}"
            marks.append(f"T{len(marks) + 1}\t{span}\t{one.texts[0][start:end]}\n")
        at += len(one.texts[0]) + 1
    target.write_text("".join(f"{one.texts[0]}\n" for one in examples), encoding="utf-8")
    target.with_suffix(".ann").write_text("".join(marks), encoding="utf-8")


def main() -> None:
    """Print the table as Markdown."""
    print("| task | format | file | made | rows in | rows read | content |")
    print("|---|---|---|---|---|---|---|")
    for one in try_formats(Path(sys.argv[1])):
        same = "the same" if one.same else "**differs**"
        print(
            f"| {one.task} | `{one.format}` | {one.file} | {one.made} | {one.rows_in:,} | "
            f"{one.rows_read:,} | {same} |"
        )


if __name__ == "__main__":
    main()
