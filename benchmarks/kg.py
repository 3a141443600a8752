"""Figures of graphs: compile, open, look up, find mentions. Ratios are taken side by side.

    python benchmarks/make_graph.py graph.spo
    python benchmarks/kg.py graph.spo reviews.txt

``reviews.txt`` holds a text a line. Times are the best of several runs in one process; memory is
what the kernel counts as the process's own.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

OPEN = """
import sys, time
sys.path[:0] = {path!r}
before = time.perf_counter()
from kbert_cli.kg.compiled import CompiledGraph
from pathlib import Path
graph = CompiledGraph(Path({folder!r}))
list(graph.triples_of({name!r}))
print(time.perf_counter() - before)
"""

LOOKUPS = """
import sys, json
sys.path[:0] = {path!r}
from itertools import islice
from kbert_cli.kg.compiled import CompiledGraph
from pathlib import Path

def private():
    rows = open("/proc/self/smaps_rollup").read().splitlines()
    return sum(int(row.split()[1]) for row in rows if row.startswith("Private_")) / 1024

def resident():
    rows = open("/proc/self/status").read().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("VmRSS")) / 1024

names = open({names!r}, encoding="utf-8").read().splitlines()
before = private(), resident()
graph = CompiledGraph(Path({folder!r}))
found = sum(len(list(islice(graph.triples_of(name), 2))) for name in names)
print(json.dumps([private() - before[0], resident() - before[1], found]))
"""


def run(code: str) -> str:
    """What a fresh Python prints."""
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


def best(job: Callable[[], object], times: int = 3) -> float:
    """Seconds of the fastest of some runs."""
    found = []
    for _ in range(times):
        before = time.perf_counter()
        job()
        found.append(time.perf_counter() - before)
    return min(found)


def compile_graph(source: str, folder: str) -> dict[str, float]:
    """Compile in a process of its own; seconds, and megabytes at the peak."""
    before = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "kbert_cli", "kg", "build", source, "--output", folder, "--json"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {"compile_s": time.perf_counter() - before, "compile_peak_mb": peak}


def open_graph(folder: str, name: str, names: list[str]) -> dict[str, float]:
    """Open in fresh processes, the first look-up included; memory of 10,000 look-ups."""
    path = [str(Path(__file__).parents[1])]
    opened = [float(run(OPEN.format(path=path, folder=folder, name=name))) for _ in range(7)]
    started = [best(lambda: run("pass"), 1) for _ in range(7)]
    whole = [
        best(lambda: run(OPEN.format(path=path, folder=folder, name=name)), 1) for _ in range(7)
    ]
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as asked:
        asked.write("\n".join(names))
        asked.flush()
        dirty, resident, found = json.loads(
            run(LOOKUPS.format(path=path, folder=folder, names=asked.name))
        )
    return {
        "open_s": statistics.median(opened),
        "open_process_over_bare_python_s": statistics.median(whole) - statistics.median(started),
        "lookups_private_mb": dirty,
        "lookups_resident_mb": resident,
        "lookups_triples": found,
    }


def find(folder: str, texts: list[str]) -> dict[str, float]:
    """Text → features against bare jieba on the same texts, in this process."""
    import jieba
    import numpy as np
    import torch

    from kbert_cli.batch import additive_mask
    from kbert_cli.config import InjectionConfig
    from kbert_cli.features import Featurizer
    from kbert_cli.kg.compiled import CompiledGraph
    from kbert_cli.mentions import boundaries
    from kbert_cli.tokenization import PieceEncoder
    from kbert_cli.vocabulary import BERT_SPECIAL, build_backend, build_vocabulary

    graph = CompiledGraph(Path(folder))
    encode = PieceEncoder(build_backend(build_vocabulary(texts)))
    featurizer = Featurizer(graph, encode, BERT_SPECIAL, InjectionConfig())
    jieba.lcut(texts[0], HMM=False)

    def features() -> list[object]:
        return [featurizer.featurize([text]) for text in texts]

    def bare() -> None:
        for text in texts:
            jieba.lcut(text, HMM=False)

    figures: dict[str, float] = {"texts": len(texts)}
    figures["characters_a_text"] = statistics.mean(map(len, texts))
    yardstick = best(bare)
    figures["jieba_texts_per_s"] = len(texts) / yardstick
    found = features()
    figures["branches_a_text"] = statistics.mean(one.branches for one in found)
    for name, words in (("jieba", boundaries.jieba_words), ("rjieba", _rjieba())):
        if words is None:
            continue
        boundaries.segmenter = lambda words=words: words
        seconds = best(features)
        figures[f"features_{name}_texts_per_s"] = len(texts) / seconds
        figures[f"features_{name}_to_bare_jieba"] = yardstick / seconds
    chance = np.random.default_rng(0)
    branches = torch.from_numpy(chance.integers(0, 9, (32, 256)))
    mentions = torch.from_numpy(chance.integers(0, 5, (32, 256)))
    seconds = best(lambda: additive_mask(branches, mentions, torch.float32), 20)
    return figures | {"visible_matrix_32x256_ms": seconds * 1000}


def _rjieba() -> Callable[[str], list[str]] | None:
    try:
        import rjieba
    except ImportError:
        return None
    return lambda text: rjieba.cut(text, hmm=False)


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("graph")
    parser.add_argument("texts", nargs="?")
    parser.add_argument("--limit", type=int, default=2_000, help="texts")
    parser.add_argument("--keep", help="folder for the compiled graph")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or f"{scratch}/graph"
        figures = {} if Path(folder).exists() else compile_graph(options.graph, folder)
        figures["bytes_on_disk"] = sum(path.stat().st_size for path in Path(folder).iterdir())
        names = []
        with open(options.graph, encoding="utf-8") as stream:
            for number, line in enumerate(stream):
                if number % 400 == 0 and len(names) < 10_000:
                    names.append(line.split("\t")[0])
        figures |= open_graph(folder, names[0], names)
        if options.texts:
            with open(options.texts, encoding="utf-8") as stream:
                texts = [line.rstrip("\n") for line in stream if line.strip()][: options.limit]
            figures |= find(folder, texts)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
