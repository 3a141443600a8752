"""A synthetic graph of CN-DBpedia's shape: as many triples and subjects, names that look real.

One dictionary word in eight is a subject, so that texts mention some; the other names are made up.

    python benchmarks/make_graph.py graph.spo
    python benchmarks/make_graph.py graph.spo --triples 17000000 --subjects 10000000
    python benchmarks/make_graph.py graph.spo --hub 0.4
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator

import jieba
import numpy as np

# Frequent characters of names and values; the real ones follow Zipf's law, so do these.
CHARACTERS = np.array([chr(code) for code in range(0x4E00, 0x4E00 + 6_000)])
PREDICATES = 2_000
BLOCK = 200_000
"""Triples that are made at a time."""


def words(chance: np.random.Generator, count: int, longest: int) -> list[str]:
    """``count`` words of 2 to ``longest`` characters."""
    lengths = np.clip(chance.poisson(3.2, count) + 1, 2, longest)
    drawn = np.minimum(chance.zipf(1.25, lengths.sum()) - 1, len(CHARACTERS) - 1)
    text = "".join(CHARACTERS[drawn])
    ends = np.cumsum(lengths)
    return [text[end - length : end] for end, length in zip(ends, lengths, strict=True)]


def names(chance: np.random.Generator) -> Iterator[str]:
    """Names without end, no two alike."""
    with jieba.get_dict_file() as stream:
        known = [line.decode().split()[0] for line in stream]
    yield from (word for word in known[::8] if len(word) > 1)
    for number in itertools.count():
        if number % BLOCK == 0:
            made = words(chance, BLOCK, 10)
        # The last two characters count up.
        last = CHARACTERS[number // 6_000 % 6_000] + CHARACTERS[number % 6_000]
        yield made[number % BLOCK] + last


def main() -> None:
    """Write the graph."""
    parser = argparse.ArgumentParser()
    parser.add_argument("output")
    parser.add_argument("--triples", type=int, default=5_168_865)
    parser.add_argument("--subjects", type=int, default=1_453_687)
    parser.add_argument("--hub", type=float, default=0.0, help="share of one subject's triples")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    chance = np.random.default_rng(options.seed)
    predicates = words(chance, PREDICATES, 8)
    supply = names(chance)
    left, subjects = options.triples, options.subjects
    with open(options.output, "w", encoding="utf-8", newline="\n") as stream:
        while left > 0:
            block = min(left, BLOCK)
            own = list(itertools.islice(supply, max(1, round(subjects * block / left))))
            # Each name has at least one triple.
            more = chance.integers(0, len(own), block - len(own))
            owners = np.sort(np.concatenate([np.arange(len(own)), more]))
            kinds = np.minimum(chance.zipf(1.4, block) - 1, PREDICATES - 1)
            values = words(chance, block, 20)
            hub = chance.random(block) < options.hub
            stream.writelines(
                f"{'大枢纽' if is_hub else own[owner]}\t{predicates[kind]}\t{value}\n"
                for owner, kind, value, is_hub in zip(owners, kinds, values, hub, strict=True)
            )
            left, subjects = left - block, subjects - len(own)


if __name__ == "__main__":
    main()
