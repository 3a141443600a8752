"""Write corpora/medical_ner: `python tools/material/make_medical_ner.py`.

Sentence patterns with slots, filled with terms of kgs/medical.spo. Terms of the test split never
occur in training, half of those of dev do not.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

from make_medical_graph import CURATED, TARGET
from medical_ner_patterns import HELD_OUT, PATTERNS

CORPUS = Path(__file__).parents[2] / "corpora" / "medical_ner"
SIZES = {"train": 800, "dev": 100, "test": 100}

TYPES = {
    "D": "Disease",
    "S": "Symptom",
    "E": "Examine",
    "B": "BodyPart",
    # Drugs and treatments fit other sentences, but are one type in the task.
    "M": "Cure",
    "T": "Cure",
}
KINDS = {"疾病": "D", "症状": "S", "检查": "E", "部位": "B", "治疗": "T", "药物": "M"}
MORE = {"D": 120, "S": 60}
"""Terms taken from the graph besides the curated ones."""
SLOT = re.compile(r"\{([DSEBMT]+)\}")
NUMBER = re.compile(r"#")


def terms() -> dict[str, list[str]]:
    """Slot letter → terms, curated ones and short ones of the graph."""
    found: dict[str, list[str]] = {letter: [] for letter in TYPES}
    for kind, words in CURATED.items():
        found[KINDS[kind]] += words.split()
    known = {term for words in found.values() for term in words}
    taken = dict.fromkeys(MORE, 0)
    for line in TARGET.read_text(encoding="utf-8").splitlines():
        term, predicate, kind = line.split("\t")
        letter = KINDS.get(kind, "")
        # Short names without Latin letters read naturally in any pattern.
        fits = predicate == "类别" and letter in MORE and 3 <= len(term) <= 6
        plain = not re.search("[A-Za-z0-9]", term)
        if fits and plain and term not in known and taken[letter] < MORE[letter]:
            taken[letter] += 1
            found[letter].append(term)
    return found


def shares(found: dict[str, list[str]], chance: random.Random) -> dict[str, dict[str, list[str]]]:
    """Split → letter → terms: test's are its own, dev has half of its own and half of train's."""
    result: dict[str, dict[str, list[str]]] = {split: {} for split in SIZES}
    for letter, words in found.items():
        words = chance.sample(words, len(words))
        fifth = len(words) // 5
        test, own, train = words[:fifth], words[fifth : fifth * 3 // 2], words[fifth * 3 // 2 :]
        result["test"][letter] = test
        result["dev"][letter] = own + train[: len(own)]
        result["train"][letter] = train
    return result


def fill(
    pattern: str, words: dict[str, list[str]], chance: random.Random
) -> tuple[list[str], list[str]]:
    """Characters and tags of a pattern; no term twice in one sentence."""
    characters: list[str] = []
    tags: list[str] = []
    used: set[str] = set()
    for index, part in enumerate(SLOT.split(pattern)):
        if index % 2 == 0:
            plain = NUMBER.sub(lambda _: str(chance.randint(2, 9)), part)
            characters += plain
            tags += ["O"] * len(plain)
            continue
        letter = chance.choice(part)
        term = chance.choice([word for word in words[letter] if word not in used])
        used.add(term)
        characters += term
        tags += [f"B-{TYPES[letter]}"] + [f"I-{TYPES[letter]}"] * (len(term) - 1)
    return characters, tags


def rows(
    split: str, words: dict[str, list[str]], chance: random.Random, seen: set[str]
) -> Iterator[str]:
    """Rows of a split, each text new; every pattern has its turn before one comes again."""
    patterns = PATTERNS if split == "train" else PATTERNS[::3] + HELD_OUT
    made = 0
    while made < SIZES[split]:
        for pattern in chance.sample(patterns, len(patterns)):
            characters, tags = fill(pattern, words, chance)
            text = "".join(characters)
            if text in seen or made == SIZES[split]:
                continue
            seen.add(text)
            made += 1
            yield f"{' '.join(characters)}\t{' '.join(tags)}\n"


def main() -> None:
    """Write the three splits."""
    chance = random.Random(20)
    seen: set[str] = set()
    CORPUS.mkdir(parents=True, exist_ok=True)
    for split, words in shares(terms(), chance).items():
        content = "text_a\tlabel\n" + "".join(rows(split, words, chance, seen))
        (CORPUS / f"{split}.tsv").write_text(content, encoding="utf-8")
    print(f"{len(set(PATTERNS))} patterns, {len(set(HELD_OUT))} of dev and test only")


if __name__ == "__main__":
    main()
