"""Write corpora/medical_qa: `python tools/material/make_medical_qa.py`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from medical_qa_words import ANSWERS, ASPECTS, FACTS, QUESTIONS

CORPUS = Path(__file__).parents[2] / "corpora" / "medical_qa"
QUESTIONS_OF = {"train": 200, "dev": 25, "test": 25}
TEST_DISEASES = 7
"""Diseases of the test split, which training and dev never show."""


def facts() -> dict[str, dict[str, str]]:
    """Disease → aspect → what is true of it."""
    rows = (line.split("|") for line in FACTS)
    return {name: dict(zip(ASPECTS, told, strict=True)) for name, *told in rows}


def answer(aspect: str, told: str, chance: random.Random) -> str:
    """An answer about an aspect in one of its forms."""
    return chance.choice(ANSWERS[aspect].split("\n")).format(x=told)


def answers(
    disease: str,
    aspect: str,
    known: dict[str, dict[str, str]],
    names: list[str],
    chance: random.Random,
) -> Iterator[tuple[int, str]]:
    """The right answer and three wrong ones: two on other diseases, one on another aspect."""
    right = known[disease][aspect]
    yield 1, answer(aspect, right, chance)
    others = sorted({known[name][aspect] for name in names} - {right})
    # A department may be one of two that are right: such overlaps are no wrong answers.
    clear = [told for told in others if not (set(told.split("或")) & set(right.split("或")))]
    for told in chance.sample(clear, 2):
        yield 0, answer(aspect, told, chance)
    other = chance.choice([one for one in ASPECTS if one != aspect])
    yield 0, answer(other, known[disease][other], chance)


def rows(
    split: str,
    names: list[str],
    known: dict[str, dict[str, str]],
    pairs: Iterator[tuple[str, str]],
    first: int,
    chance: random.Random,
) -> Iterator[str]:
    """Rows of a split, the right answer anywhere among its four."""
    for number in range(first, first + QUESTIONS_OF[split]):
        disease, aspect = next(pairs)
        question = chance.choice(QUESTIONS[aspect].split("\n")).format(d=disease)
        told = list(answers(disease, aspect, known, names, chance))
        chance.shuffle(told)
        for label, text in told:
            yield f"{label}\t{question}\t{text}\tq{number:03}\n"


def pairs_of(names: list[str], chance: random.Random) -> Iterator[tuple[str, str]]:
    """Every disease with every aspect once, in random order."""
    pairs = [(name, aspect) for name in names for aspect in ASPECTS]
    return iter(chance.sample(pairs, len(pairs)))


def main() -> None:
    """Write the three splits."""
    chance = random.Random(22)
    known = facts()
    names = chance.sample(list(known), len(known))
    test, train = names[:TEST_DISEASES], names[TEST_DISEASES:]
    shared = pairs_of(train, chance)
    CORPUS.mkdir(parents=True, exist_ok=True)
    first = 1
    for split in QUESTIONS_OF:
        own, pairs = (test, pairs_of(test, chance)) if split == "test" else (train, shared)
        lines = rows(split, own, known, pairs, first, chance)
        content = "label\tquestion\tanswer\tqid\n" + "".join(lines)
        (CORPUS / f"{split}.tsv").write_text(content, encoding="utf-8")
        first += QUESTIONS_OF[split]
    print(
        f"{len(known)} diseases; {sum(len(q.split(chr(10))) for q in QUESTIONS.values())} patterns"
    )


if __name__ == "__main__":
    main()
