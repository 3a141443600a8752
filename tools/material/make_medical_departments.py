"""Make corpora/medical_departments: what patients ask, labelled with the department to see.

Run it from anywhere: ``python tools/material/make_medical_departments.py``.  The same seed
gives the same bytes.  Terms and patterns lie beside this file in medical_departments_*.txt.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = HERE.parents[1] / "corpora" / "medical_departments"
SEED = 20240614
SIZES = {"train": 80, "dev": 10, "test": 10}
"""Texts a department."""

DAYS = ["三天", "五天", "一个星期", "十来天", "半个月", "二十多天", "一个月", "两个月"]
AGES = ["二十六", "二十九", "三十二", "三十四", "三十五", "三十八", "三十九", "四十一"]
SLOT = re.compile(r"\{(\w+)\}")

Cluster = dict[str, list[str]]


def read_lines(name: str) -> list[str]:
    """Lines of a material file without comments and empty lines."""
    lines = (HERE / name).read_text(encoding="utf-8").split("\n")
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def read_terms() -> dict[str, tuple[list[Cluster], list[Cluster]]]:
    """Department → clusters of train and dev, clusters of test."""
    terms: dict[str, tuple[list[Cluster], list[Cluster]]] = {}
    name = ""
    for line in read_lines("medical_departments_terms.txt"):
        if line.startswith("["):
            name = line.strip("[]")
            terms[name] = ([], [])
        else:
            kinds = [part.split() for part in line[1:].split(";")]
            cluster = {kind: words for kind, *words in kinds}
            terms[name][line[0] == "!"].append(cluster)
    return terms


def patterns_for(department: str) -> list[str]:
    """Patterns that a text of the department can have."""
    fits = {
        "*": True,
        "大": department != "儿科",
        "童": department == "儿科",
        "男": department not in ("儿科", "妇产科"),
    }
    rows = [line.split("|") for line in read_lines("medical_departments_patterns.txt")]
    return [pattern for whom, pattern in rows if fits.get(whom, department[0] in whom)]


class Dealer:
    """Deals items of a list; every item has its turn before one comes again."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.left: dict[tuple[str, ...], list[str]] = {}

    def deal(self, words: list[str]) -> str:
        """The next word of the list."""
        key = tuple(words)
        if not self.left.get(key):
            self.left[key] = self.chance.sample(words, len(words))
        return self.left[key].pop()


def fill(pattern: str, clusters: list[Cluster], dealer: Dealer) -> str | None:
    """The pattern with terms of one cluster; None where no cluster has all that it needs."""
    lists = {"day": DAYS, "age": AGES}
    slots = [slot for slot in SLOT.findall(pattern) if slot not in lists]
    fitting = [one for one in clusters if all(slot in one for slot in slots)]
    if not fitting:
        return None
    # The term of the first slot picks the cluster, so that all terms come equally often.
    first = dealer.deal([term for one in fitting for term in one[slots[0]]])
    cluster = next(one for one in fitting if first in one[slots[0]])
    known = {**lists, **cluster, slots[0]: [first]}
    return SLOT.sub(lambda slot: dealer.deal(known[slot[1]]), pattern)


def texts(
    patterns: list[str], clusters: list[Cluster], dealer: Dealer, seen: dict[str, str]
) -> Iterator[str]:
    """New texts without end; each is noted with its pattern."""
    while True:
        pattern = dealer.deal(patterns)
        text = fill(pattern, clusters, dealer)
        if text is not None and text not in seen:
            seen[text] = pattern
            yield text


def terms_of(clusters: list[Cluster]) -> list[str]:
    """All terms of clusters."""
    return [term for cluster in clusters for words in cluster.values() for term in words]


def card(labels: list[str], sizes: dict[str, int], patterns: int, fewest: int) -> str:
    """The corpus's card."""
    quoted = ", ".join(f'"{label}"' for label in labels)
    return f'''name = "medical_departments"
title = "Patients' questions and complaints, and the department to see"
task = "classification"
domain = "medical"
language = "zh"
licence = "MIT"
labels = [{quoted}]
how_made = """
Written for kbert: no sentence is copied from a data set, and nothing of a real patient is in it.
A script fills {patterns} hand-written sentence patterns (short questions, complaints, long stories,
questions on behalf of others) with terms of ten departments: at least {fewest} for each, of what
one feels, diseases, medicines and examinations.
About a quarter of the terms is held out: they are in the test split only and occur nowhere in
train. Terms are combined by a script: the texts are no medical advice.
It is a sample to try the tool with, not a benchmark.
Made by: python tools/material/make_medical_departments.py
"""

[splits]
train = {sizes["train"]}
dev = {sizes["dev"]}
test = {sizes["test"]}
'''


def main() -> None:
    """Write the three splits and the card."""
    chance = random.Random(SEED)
    dealer = Dealer(chance)
    terms = read_terms()
    seen: dict[str, str] = {}
    rows: dict[str, list[str]] = {split: [] for split in SIZES}
    for department, (shared, held_out) in terms.items():
        patterns = patterns_for(department)
        for split, size in SIZES.items():
            source = texts(patterns, held_out if split == "test" else shared, dealer, seen)
            rows[split] += [f"{department}\t{next(source)}\n" for _ in range(size)]
    train = "".join(rows["train"])
    shown = [term for _, own in terms.values() for term in terms_of(own) if term in train]
    assert not shown, f"in train: {shown}"
    TARGET.mkdir(parents=True, exist_ok=True)
    for split, lines in rows.items():
        chance.shuffle(lines)
        content = "label\ttext_a\n" + "".join(lines)
        (TARGET / f"{split}.tsv").write_text(content, encoding="utf-8", newline="\n")
    sizes = {split: len(lines) for split, lines in rows.items()}
    counts = [len(terms_of(shared + held_out)) for shared, held_out in terms.values()]
    patterns = len(set(seen.values()))
    text = card(list(terms), sizes, patterns, min(counts))
    (TARGET / "card.toml").write_text(text, encoding="utf-8", newline="\n")
    print(f"{sizes}; {patterns} patterns; {counts} terms")


if __name__ == "__main__":
    main()
