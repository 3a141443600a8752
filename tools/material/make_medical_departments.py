"""Write corpora/medical_departments: `python tools/material/make_medical_departments.py`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from medical_departments_words import PATTERNS, TERMS

CORPUS = Path(__file__).parents[2] / "corpora" / "medical_departments"
SIZES = {"train": 800, "dev": 100, "test": 100}
HELD_OUT = 4
"""Terms of each kind and department that only the test split shows."""


def shares(words: str, chance: random.Random) -> tuple[list[str], list[str]]:
    """Terms of train and dev, and those of test."""
    terms = words.split()
    chance.shuffle(terms)
    return terms[HELD_OUT:], terms[:HELD_OUT]


def texts(felt: list[str], told: list[str], chance: random.Random, seen: set[str]) -> Iterator[str]:
    """New texts without end; every pattern has its turn before one comes again."""
    while True:
        for pattern in chance.sample(PATTERNS, len(PATTERNS)):
            text = pattern.format(s=chance.choice(felt), d=chance.choice(told))
            if text not in seen:
                seen.add(text)
                yield text


def main() -> None:
    """Write the three splits, balanced by department."""
    chance = random.Random(21)
    seen: set[str] = set()
    rows: dict[str, list[str]] = {split: [] for split in SIZES}
    for department, (felt, told) in TERMS.items():
        felt_shares, told_shares = shares(felt, chance), shares(told, chance)
        for split, size in SIZES.items():
            own = split == "test"
            source = texts(felt_shares[own], told_shares[own], chance, seen)
            rows[split] += [f"{department}\t{next(source)}\n" for _ in range(size // len(TERMS))]
    CORPUS.mkdir(parents=True, exist_ok=True)
    for split, lines in rows.items():
        chance.shuffle(lines)
        content = "label\ttext_a\n" + "".join(lines)
        (CORPUS / f"{split}.tsv").write_text(content, encoding="utf-8")
    print(f"{len(PATTERNS)} patterns")


if __name__ == "__main__":
    main()
