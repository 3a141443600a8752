"""Damaged files through the commands: `python tools/fuzz.py --inputs 2000 --seed 1`.

Each input is a good file with damage drawn from a seed. A command must end within its time, with
exit status 0 or 1 and without a traceback, and must account for every row. Prints counts as JSON.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import random
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from fuzz_oracle import lines_of, not_given_back, unexplained

from kbert_cli.cli.main import run

SECONDS = 60

ROWS = [("1", "头痛三天，伴发热"), ("0", "今天天气很好"), ("1", "高血压 病史"), ("0", "𠮷野家的饭")]
ENTITIES = [("头痛三天，伴发热", [(0, 2, "症状"), (6, 8, "症状")]), ("患高血压", [(1, 4, "疾病")])]
TRIPLES = [("头痛", "类别", "症状"), ("高血压", "类别", "疾病"), ("高血压", "症状", "头晕")]


def _table(rows: list[tuple[str, ...]], separator: str = "\t") -> str:
    return "".join(separator.join(row) + "\n" for row in rows)


def _json_lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _tags(text: str, entities: list[tuple[int, int, str]]) -> list[str]:
    tags = ["O"] * len(text)
    for start, end, kind in entities:
        tags[start:end] = [f"B-{kind}"] + [f"I-{kind}"] * (end - start - 1)
    return tags


_TAGGED = [(text, _tags(text, found)) for text, found in ENTITIES]
_PAIRS = [("头痛怎么办", "休息，多喝水"), ("高血压吃什么", "清淡的饭菜")]

BASES: dict[str, tuple[str, str]] = {
    "classes.tsv": ("classification", _table([("label", "text_a"), *ROWS])),
    "bare.tsv": ("classification", _table(ROWS)),
    "classes.csv": ("classification", _table([("label", "text_a"), *ROWS], ",")),
    "classes.jsonl": ("classification", _json_lines([{"label": a, "text": b} for a, b in ROWS])),
    "pairs.tsv": (
        "qa",
        _table([("label", "text_a", "text_b"), *(("1", *pair) for pair in _PAIRS)]),
    ),
    "tags.tsv": (
        "ner",
        _table(
            [("text_a", "label"), *((" ".join(text), " ".join(tags)) for text, tags in _TAGGED)]
        ),
    ),
    "columns.txt": (
        "ner",
        "".join(_table(list(zip(text, tags, strict=True))) + "\n" for text, tags in _TAGGED),
    ),
    "cluener.json": (
        "ner",
        _json_lines(
            [
                {"text": text, "label": {kind: {text[a:b]: [[a, b - 1]]} for a, b, kind in found}}
                for text, found in ENTITIES
            ]
        ),
    ),
    "entities.jsonl": (
        "ner",
        _json_lines(
            [
                {
                    "text": text,
                    "entities": [{"begin": a, "end": b, "label": kind} for a, b, kind in found],
                }
                for text, found in ENTITIES
            ]
        ),
    ),
    "cmeee.txt": (
        "ner",
        "".join(
            "|||".join([text, *(f"{a}    {b - 1}    {kind}" for a, b, kind in found), ""]) + "\n"
            for text, found in ENTITIES
        ),
    ),
    "inline.txt": ("ner", "[头痛](症状)三天，伴[发热](症状)\n患<疾病>高血压</疾病>\n"),
    "brat.txt": ("ner", "".join(f"{text}\n" for text, _ in ENTITIES)),
    "cmrc.json": (
        "reading",
        json.dumps(
            [
                {
                    "context_text": "患者服用阿司匹林后好转。",
                    "qas": [{"query_id": "q", "query_text": "服用什么？", "answers": ["阿司匹林"]}],
                }
            ],
            ensure_ascii=False,
        ),
    ),
    "squad.json": (
        "reading",
        json.dumps(
            {
                "data": [
                    {
                        "paragraphs": [
                            {
                                "context": "患者服用阿司匹林后好转。",
                                "qas": [
                                    {
                                        "id": "q",
                                        "question": "服用什么？",
                                        "answers": [{"text": "阿司匹林", "answer_start": 4}],
                                    }
                                ],
                            }
                        ]
                    }
                ]
            },
            ensure_ascii=False,
        ),
    ),
    "graph.spo": ("kg", _table(TRIPLES)),
    "graph.csv": ("kg", _table([("实体", "属性", "值"), *TRIPLES], ",")),
    "graph.nt": ("kg", "".join(f'<x:{s}> <x:{p}> "{o}" .\n' for s, p, o in TRIPLES)),
    "graph.jsonl": (
        "kg",
        _json_lines([{"subject": s, "predicate": p, "object": o} for s, p, o in TRIPLES]),
    ),
    "graph.spo.gz": ("kg", _table(TRIPLES)),
    "texts.txt": ("predict", "".join(f"{text}\n" for _, text in ROWS)),
    "texts.tsv": ("predict", _table([("label", "text_a"), *ROWS])),
    "texts.jsonl": ("predict", _json_lines([{"text": text} for _, text in ROWS])),
}
"""File name → what it is for, and good content."""

_BYTES = [
    *(b"\x00", b"\r", b"\r\n", b"\n", b"\n\n", b"\t", b'"', b"'", b"\\", b",", b"|||", b"{", b"]"),
    *(b"\xff", b"\x80", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xfe\xff", b"\x1a", b"\x85", b"\x0b"),
    *("\u2028\u200b\u202e\u3000\ufffd\U0001f468\u200d\U0001f469é[SEP]</svg>".encode(), b"%s" * 9),
    *(b"-1", b"1e999", b"9" * 400, b"NaN", b"null", b"[" * 3000, b'{"a":' * 3000, b"x" * 70_000),
]


def _cut(data: bytes, draw: random.Random) -> bytes:
    return data[: draw.randrange(len(data) + 1)]


def _flip(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8))):
        if changed:
            changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def _insert(data: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(data) + 1)
    return data[:at] + draw.choice(_BYTES) + data[at:]


def _lines(data: bytes, draw: random.Random) -> bytes:
    """Lines lost, doubled, shuffled or joined."""
    lines = data.splitlines(keepends=True) or [b""]
    at = draw.randrange(len(lines))
    match draw.randrange(4):
        case 0:
            del lines[at]
        case 1:
            lines[at:at] = [lines[at]] * draw.choice((1, 3, 50))
        case 2:
            draw.shuffle(lines)
        case _:
            lines[at] = lines[at].rstrip(b"\r\n")
    return b"".join(lines)


def _cells(data: bytes, draw: random.Random) -> bytes:
    """One separator, bracket or quotation mark lost, doubled or become another."""
    marks = [at for at, byte in enumerate(data) if byte in b'\t,|"{}[]:<>- ']
    if not marks:
        return data
    at = draw.choice(marks)
    return data[:at] + draw.choice((b"", data[at : at + 1] * 2, b"\t", b" ")) + data[at + 1 :]


def _recode(data: bytes, draw: random.Random) -> bytes:
    encoding = draw.choice(("gb18030", "big5", "utf-16", "utf-16-le", "utf-32", "utf-8-sig"))
    return data.decode("utf-8", "replace").encode(encoding, "replace")


def _ends(data: bytes, draw: random.Random) -> bytes:
    return data.replace(b"\n", draw.choice((b"\r", b"\r\n", b"\n\r", b"")))


def _noise(_data: bytes, draw: random.Random) -> bytes:
    return draw.choice((b"", b"\n", b"\xef\xbb\xbf", b"\n" * 99, draw.randbytes(300)))


def _other(_data: bytes, draw: random.Random) -> bytes:
    """Good content of another format under this name."""
    return draw.choice([*BASES.values()])[1].encode()


def _keys(data: bytes, draw: random.Random) -> bytes:
    """A field of one row renamed, emptied, made another kind, or left out."""
    lines = data.split(b"\n")
    at = draw.randrange(len(lines))
    try:
        record = json.loads(lines[at])
        key = draw.choice(list(record))
    except (ValueError, TypeError, IndexError, RecursionError):
        return data
    if not isinstance(record, dict):
        return data
    value = record.pop(key)
    match draw.randrange(5):
        case 0:
            record[draw.choice(("text", "sentence", "label", "entities", "more"))] = value
        case 1:
            record[key] = draw.choice((None, "", [], {}, 1.5, True, -1, "\ud800"))
        case 2:
            record[key] = [value]
        case 3:
            record["more"] = {key: value}
    lines[at] = json.dumps(record).encode()
    return b"\n".join(lines)


_DAMAGE: list[Callable[[bytes, random.Random], bytes]] = [
    *(_cut, _flip, _flip, _insert, _insert, _insert, _lines, _cells, _cells),
    *(_recode, _ends, _noise, _other, _keys, _keys),
]


def damaged(content: str, draw: random.Random) -> bytes:
    """Good content with one to three kinds of damage."""
    data = content.encode()
    for _ in range(draw.choice((1, 1, 2, 3))):
        data = draw.choice(_DAMAGE)(data, draw)
    return data


@dataclass
class Counts:
    """What was tried, and what went wrong."""

    inputs: Counter[str] = field(default_factory=Counter)
    commands: int = 0
    refused: int = 0
    """Commands that ended with a clear error."""
    rows: int = 0
    """Rows that were accounted for."""
    failures: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "inputs": sum(self.inputs.values()),
            "by_kind": dict(sorted(self.inputs.items())),
            "commands": self.commands,
            "refused": self.refused,
            "rows": self.rows,
            "failures": self.failures,
        }


class _TooSlow(BaseException):
    """Not an Exception: the command must not swallow it."""


def _too_slow(_signum: int, _frame: object) -> None:
    raise _TooSlow


def _command(counts: Counts, label: str, *arguments: str) -> tuple[int, str]:
    """Run one command line in this process; its status and standard output."""
    out, err = io.StringIO(), io.StringIO()
    counts.commands += 1
    signal.alarm(SECONDS)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = run([*arguments])
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        counts.failures.append(f"{label}: {arguments[0]}: {type(error).__name__}: {error}")
        return -1, ""
    finally:
        signal.alarm(0)
    message = err.getvalue()
    if status not in (0, 1) or "bug of kbert" in message or "Traceback" in message:
        counts.failures.append(f"{label}: {' '.join(arguments[:2])}: {status} {message[-300:]}")
    if status == 1 and not message.strip():
        counts.failures.append(f"{label}: {' '.join(arguments[:2])}: failed without a word")
    counts.refused += status == 1
    return status, out.getvalue()


def _lines_in(data: bytes) -> int:
    """Lines of a file that ends them with line feeds, as `wc` and a last open line count them."""
    return data.count(b"\n") + (not data.endswith(b"\n") and bool(data))


def _miscounted(data: bytes, known: int) -> str:
    """Whether every line with content is a row, a fault, or a header; empty if so."""
    full = sum(bool(line.strip(b"\r\t ")) for line in data.split(b"\n"))
    if lines_of(data) is None or full - 1 <= known <= _lines_in(data):
        return ""
    return f"{known} rows of {full} lines are accounted for"


_ENCODINGS = (None, None, None, None, "utf-16", "gb18030", "utf-8-sig", "idna")


def _corpus(counts: Counts, label: str, path: Path, task: str, data: bytes) -> None:
    encoding = random.Random(label).choice(_ENCODINGS)
    options = ("--task", task, *(("--encoding", encoding) if encoding else ()))
    _, out = _command(counts, label, "corpus", "check", str(path), *options, "--json")
    found = json.loads(out) if out.strip() else None
    target = path.with_suffix(".converted.jsonl" if task != "reading" else ".converted.json")
    target.unlink(missing_ok=True)
    form = {"ner": ("--to", "entities"), "reading": ()}.get(task, ())
    command = ("corpus", "convert", str(path), str(target), *options, *form, "--skip-bad")
    converted, _ = _command(counts, label, *command)
    if found is None:
        return
    known = found["rows"] + len(found["faults"])
    counts.rows += known
    if found["format"] == "tsv" and encoding is None and (fault := _miscounted(data, known)):
        counts.failures.append(f"{label}: {fault}")
    if converted != 0 or task == "reading":
        return
    written = [json.loads(line) for line in target.read_text(encoding="utf-8").split("\n")[:-1]]
    if len(written) != found["rows"]:
        counts.failures.append(f"{label}: {found['rows']} rows became {len(written)}")
    if encoding in (None, "utf-8-sig") and (task != "ner" or found["format"] != "tsv"):
        faults = dict(found["faults"])
        if reason := unexplained(found["format"], data, faults, written):
            counts.failures.append(f"{label}: {reason}")


def _graph(counts: Counts, label: str, path: Path, data: bytes) -> None:
    status, out = _command(counts, label, "kg", "check", str(path), "--json")
    built = path.parent / "built"
    command = ("kg", "build", str(path), "--output", str(built), "--force", "--json", "-q")
    done, _ = _command(counts, label, *command)
    if not out.strip():
        return
    found = json.loads(out)[0]
    counts.rows += found["rows"]
    if found["triples"] + found["rejected"] > found["rows"]:
        counts.failures.append(f"{label}: more triples and rejections than rows")
    if path.suffix == ".spo" and (fault := _miscounted(data, found["rows"])):
        counts.failures.append(f"{label}: {fault}")
    if done == 0:
        _command(counts, label, "inspect-tree", "患者头痛伴高血压", "--kg", str(built), "-q")
    elif found["rows"] and not found["rejected"] and status == 0 and found["triples"]:
        counts.failures.append(f"{label}: checked as clean, not built")


def _predict(counts: Counts, label: str, path: Path, trained: str, data: bytes) -> None:
    status, out = _command(counts, label, "predict", str(path), "--run", trained, "-q")
    if status != 0:
        return
    counts.rows += out.count("\n")
    if reason := not_given_back(data, path.suffix, out):
        counts.failures.append(f"{label}: {reason}")


_RUN_FILES = (
    *("config.json", "encoder/config.json", "encoder/tokenizer.json"),
    *("encoder/tokenizer_config.json", "head.safetensors", "encoder/model.safetensors"),
)


def _damaged_run(
    counts: Counts, label: str, trained: str, folder: Path, draw: random.Random
) -> None:
    """One file of a run damaged, the others as they are."""
    copy = folder / "run"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(trained, copy, copy_function=os.symlink)
    victim = copy / draw.choice(_RUN_FILES)
    data = victim.read_bytes()
    victim.unlink()
    if victim.suffix == ".json":
        victim.write_bytes(draw.choice(_DAMAGE)(data, draw))
    else:
        # The header of the weights tells their places: damage there is the dangerous one.
        victim.write_bytes(draw.choice((_cut, _flip, _insert))(data[:4000], draw) + data[4000:])
    texts = folder / "texts.txt"
    texts.write_text("头痛三天\n", encoding="utf-8")
    _command(counts, f"{label}, {victim.name}", "predict", str(texts), "--run", str(copy), "-q")


def inputs(seed: int, count: int) -> Iterator[tuple[str, str, str, bytes]]:
    """``count`` inputs: label, file name, kind and damaged bytes; equal seeds give equal ones."""
    names = list(BASES)
    for number in range(count):
        draw = random.Random(f"{seed}:{number}")
        name = names[number % len(names)]
        kind, content = BASES[name]
        yield f"seed {seed}, input {number} ({name})", name, kind, damaged(content, draw)


def fuzz(seed: int, count: int, trained: str | None = None) -> Counts:
    """Run ``count`` damaged files through the commands that read their kind.

    Args:
        trained: run folder of a classifier; without one nothing is predicted.
    """
    counts = Counts()
    signal.signal(signal.SIGALRM, _too_slow)
    with tempfile.TemporaryDirectory() as folder:
        for label, name, kind, data in inputs(seed, count):
            path = Path(folder) / name
            if name == "brat.txt":
                # The text stays good, its marks are damaged.
                path.write_bytes(BASES[name][1].encode())
                path.with_suffix(".ann").write_bytes(
                    damaged("T1\t症状 0 2\t头痛\nT2\t疾病 10 13\t高血压\n", random.Random(label))
                )
            else:
                path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
            if kind == "kg":
                _graph(counts, label, path, data)
            elif kind != "predict":
                _corpus(counts, label, path, kind, data)
            elif trained is not None:
                _predict(counts, label, path, trained, data)
            else:
                continue
            counts.inputs[kind] += 1
            if kind == "predict" and trained is not None:
                _damaged_run(counts, label, trained, Path(folder), random.Random(label))
                counts.inputs["run"] += 1
    return counts


@click.command()
@click.option("--inputs", "count", default=1000, show_default=True, help="Files to try.")
@click.option("--seed", default=1, show_default=True)
@click.option("--run", "trained", help="Run folder of a classifier, for prediction.")
def main(count: int, seed: int, trained: str | None) -> None:
    """Try damaged files and print what happened."""
    counts = fuzz(seed, count, trained)
    click.echo(json.dumps(counts.as_dict(), ensure_ascii=False, indent=2))
    if counts.failures:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
