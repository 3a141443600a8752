"""Make corpora/medical_qa: questions, each with one right answer and three wrong ones.

Run it from anywhere: ``python tools/material/make_medical_qa.py``.  The same seed gives the
same bytes.  Facts and patterns lie beside this file in medical_qa_*.txt.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle, zip_longest
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = HERE.parents[1] / "corpora" / "medical_qa"
SEED = 20240613
QUESTIONS = {"train": 200, "dev": 25, "test": 25}

# Aspects of the same entity that cannot be taken for an answer to a question on this aspect.
# What is missing here (say, prevention for diet) might answer it in part.
CLEAR = {
    "症状": "病因 科室 饮食 用药 预防",
    "病因": "科室 饮食 用药 检查 急救",
    "科室": "症状 病因 饮食 预后 预防",
    "饮食": "症状 病因 科室 检查",
    "用药": "症状 病因 科室 饮食 检查",
    "检查": "症状 病因 科室 饮食 用药 预防",
    "预后": "症状 病因 科室 检查 饮食",
    "预防": "症状 病因 科室 检查",
    "急救": "症状 病因 科室 检查 预后",
    "孕期": "症状 病因 科室",
    "儿童": "症状 病因 科室",
    "老人": "症状 病因 科室",
    "可能": "处理 警惕",
    "处理": "可能 警惕",
    "警惕": "可能 处理",
    "用途": "用法 注意",
    "用法": "用途",
    "注意": "用途",
    "目的": "准备 感受",
    "准备": "目的 感受",
    "感受": "目的 准备",
}

NAMING = {"急救", "孕期", "儿童", "老人", "警惕"}


@dataclass(frozen=True)
class Fact:
    """What is true of one aspect of an entity."""

    entity: str
    fields: frozenset[str]
    aspect: str
    text: str


@dataclass
class Patterns:
    """How an aspect is asked about and answered; every pattern has its turn."""

    questions: list[str] = field(default_factory=list)
    plain: list[str] = field(default_factory=list)
    naming: list[str] = field(default_factory=list)


def read_lines(name: str) -> list[str]:
    """Lines of a material file without comments and empty lines."""
    lines = (HERE / name).read_text(encoding="utf-8").split("\n")
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def read_facts() -> dict[str, list[Fact]]:
    """Split → facts of its entities."""
    facts: dict[str, list[Fact]] = {split: [] for split in QUESTIONS}
    entity = areas = split = ""
    for line in read_lines("medical_qa_facts.txt"):
        if line.startswith("@"):
            entity, areas, split = [*line[1:].split(), "train"][:3]
        else:
            aspect, text = line.split(": ")
            facts[split].append(Fact(entity, frozenset(areas), aspect, text))
    return facts


def read_patterns() -> dict[str, Patterns]:
    """Aspect → its patterns."""
    patterns: dict[str, Patterns] = defaultdict(Patterns)
    aspect = ""
    for line in read_lines("medical_qa_patterns.txt"):
        kind, text = line[0], line[1:]
        if kind == "[":
            aspect = text.rstrip("]")
        elif kind == "?":
            patterns[aspect].questions.append(text)
        else:
            own = patterns[aspect]
            (own.naming if "{d}" in text else own.plain).append(text)
    return dict(patterns)


def pieces(text: str, size: int) -> set[str]:
    """All runs of ``size`` characters, punctuation left out."""
    bare = "".join(char for char in text if char.isalnum())
    return {bare[i : i + size] for i in range(len(bare) - size + 1)}


def alike(one: Fact, other: Fact, size: int) -> bool:
    """Whether two facts on the same aspect say something in common."""
    if one.aspect == "科室":
        # 内科 in common does not make two departments one.
        return bool(set(one.text.split("或")) & set(other.text.split("或")))
    return bool(pieces(one.text, size) & pieces(other.text, size))


def elsewhere(asked: Fact, facts: list[Fact]) -> list[Fact]:
    """Facts on the same aspect of entities of other fields, the least alike where enough."""
    others = [one for one in facts if one.aspect == asked.aspect and not one.fields & asked.fields]
    apart = [one for one in others if not alike(asked, one, 2)]
    if len(apart) >= 4:
        return apart
    return [one for one in others if not alike(asked, one, 3)]


def aside(asked: Fact, facts: list[Fact]) -> list[Fact]:
    """Facts on other aspects of the same entity that do not answer the question."""
    clear = CLEAR[asked.aspect].split()
    return [one for one in facts if one.entity == asked.entity and one.aspect in clear]


def askable(facts: list[Fact]) -> list[Fact]:
    """Facts with wrong answers enough."""
    return [one for one in facts if len(elsewhere(one, facts)) >= 2 and aside(one, facts)]


def chosen(facts: list[Fact], count: int, chance: random.Random) -> list[Fact]:
    """Facts to ask for: every entity has its turn before one comes again."""
    by_entity: dict[str, list[Fact]] = defaultdict(list)
    for fact in chance.sample(facts, len(facts)):
        by_entity[fact.entity].append(fact)
    rounds = zip_longest(*by_entity.values())
    turns = [fact for turn in rounds for fact in turn if fact is not None]
    assert len(turns) >= count, "too few facts"
    return chance.sample(turns[:count], count)


class Writer:
    """Words questions and answers, and keeps count of the patterns used."""

    def __init__(self, patterns: dict[str, Patterns], chance: random.Random) -> None:
        self.chance = chance
        self.used: Counter[str] = Counter()
        self.questions = {aspect: self._turns(own.questions) for aspect, own in patterns.items()}
        self.plain = {aspect: self._turns(own.plain) for aspect, own in patterns.items()}
        self.naming = {aspect: self._turns(own.naming) for aspect, own in patterns.items()}

    def _turns(self, texts: list[str]) -> Iterator[str]:
        return cycle(self.chance.sample(texts, len(texts)))

    def question(self, fact: Fact) -> str:
        """A question that the fact answers."""
        pattern = next(self.questions[fact.aspect])
        self.used["?" + fact.aspect + pattern] += 1
        return pattern.format(d=fact.entity)

    def answer(self, fact: Fact, naming: bool) -> str:
        """The fact as an answer, with or without the entity's name."""
        pattern = next((self.naming if naming else self.plain)[fact.aspect])
        self.used["=" + fact.aspect + pattern] += 1
        return pattern.format(d=fact.entity, x=fact.text)


def wrong_facts(asked: Fact, facts: list[Fact], chance: random.Random) -> list[Fact]:
    """Three wrong answers: one or two on another entity, the rest on another aspect."""
    others, asides = elsewhere(asked, facts), aside(asked, facts)
    count = min(len(asides), chance.choice([1, 2]))
    return [*chance.sample(asides, count), *chance.sample(others, 3 - count)]


def must_name(asked: Fact, wrong: Fact) -> bool:
    """Whether a wrong answer has to say what it is about, being good advice for anybody."""
    return wrong.entity != asked.entity and wrong.aspect in NAMING


def groups(facts: list[Fact], count: int, writer: Writer) -> Iterator[list[str]]:
    """Groups of a right and three wrong rows, without qid."""
    chance = writer.chance
    for number, asked in enumerate(chosen(askable(facts), count, chance)):
        question = writer.question(asked)
        wrong = [
            writer.answer(one, must_name(asked, one) or chance.random() < 0.5)
            for one in wrong_facts(asked, facts, chance)
        ]
        answers = [f"0\t{question}\t{text}" for text in wrong]
        right = writer.answer(asked, number % 2 == 0)
        answers.insert(chance.randrange(4), f"1\t{question}\t{right}")
        yield answers


def check_held_out(train: str, facts: list[Fact]) -> None:
    """Entities of the test split occur nowhere in train."""
    shown = {fact.entity for fact in facts if fact.entity in train}
    assert not shown, f"in train: {shown}"


def card(sizes: dict[str, int], facts: dict[str, list[Fact]], used: Counter[str]) -> str:
    """The corpus's card."""
    entities = {split: len({fact.entity for fact in own}) for split, own in facts.items()}
    asked = sum(key.startswith("?") for key in used)
    return f'''name = "medical_qa"
title = "Medical questions, each with one right and three wrong answers"
task = "qa"
domain = "medical"
language = "zh"
licence = "MIT"
labels = ["0", "1"]
how_made = """
Written for kbert from common medical knowledge: no sentence is copied from a data set.
{sum(map(len, facts.values()))} hand-written facts on {sum(entities.values())} diseases, symptoms, \
medicines and examinations are put into
{asked} question patterns and {len(used) - asked} answer patterns. A question has one right answer; \
its wrong
ones are answers to other questions: on another entity in the same manner, or on another
aspect of the same one. Half of the right answers do not repeat the entity's name.
The {entities["test"]} entities of the test split occur nowhere in train.
It is a sample to try the tool with, neither a benchmark nor medical advice.
Made by: python tools/material/make_medical_qa.py
"""

[splits]
train = {sizes["train"]}
dev = {sizes["dev"]}
test = {sizes["test"]}
'''


def main() -> None:
    """Write the three splits and the card."""
    chance = random.Random(SEED)
    facts = read_facts()
    writer = Writer(read_patterns(), chance)
    TARGET.mkdir(parents=True, exist_ok=True)
    number, tables = 0, {}
    for split, count in QUESTIONS.items():
        lines = []
        for rows in groups(facts[split], count, writer):
            number += 1
            lines += [f"{row}\tq{number:03}\n" for row in rows]
        tables[split] = lines
        content = "label\tquestion\tanswer\tqid\n" + "".join(lines)
        (TARGET / f"{split}.tsv").write_text(content, encoding="utf-8", newline="\n")
    check_held_out("".join(tables["train"]), facts["test"])
    sizes = {split: len(lines) for split, lines in tables.items()}
    text = card(sizes, facts, writer.used)
    (TARGET / "card.toml").write_text(text, encoding="utf-8", newline="\n")
    print(f"{sizes}; {len(writer.used)} patterns used")


if __name__ == "__main__":
    main()
