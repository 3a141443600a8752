"""Make corpora/reviews: a small sample of Chinese reviews labelled positive or negative.

Run it from anywhere: ``python tools/material/make_reviews.py``.  The same seed gives the
same bytes.  The patterns and word lists lie beside this file in reviews_*.txt.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGET = HERE.parents[1] / "corpora" / "reviews"
SEED = 20240611
SIZES = {"train": 800, "dev": 100, "test": 100}
LABELS = {"+": "1", "-": "0"}
OPPOSITE = {"+": "-", "-": "+"}

DEGREES = ["很", "非常", "特别", "相当", "十分", "真的很", "确实很"]
MILD = {"+": ["还算", "还比较", "勉强算"], "-": ["有点", "稍微有些", "略显"]}
EMPHASIS = ["", "", "真是", "简直"]
PRICE_ASPECTS = {"房价", "菜价", "价格", "学费", "运费"}
SLOT = re.compile(r"\{([A-Za-z]+?)([0-9]?)\}")


@dataclass(frozen=True)
class Word:
    """An opinion word and how it may be used."""

    text: str
    held_out: bool
    negatable: bool
    gradable: bool


@dataclass(frozen=True)
class Pattern:
    """A sentence pattern with its scope (all, train, test) and label (*, +, -)."""

    scope: str
    label: str
    domains: tuple[str, ...]
    text: str


Aspects = dict[str, dict[str, list[Word]]]
Fields = dict[str, list[str]]


class NoFitError(Exception):
    """The words drawn so far leave a slot without a word; the caller draws again."""


def read_lines(name: str) -> list[str]:
    """Lines of a material file without comments and empty lines."""
    lines = (HERE / name).read_text(encoding="utf-8").split("\n")
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def parse_word(token: str) -> Word:
    """Read one word with its marks, see reviews_words.txt."""
    text = token.strip("*~!")
    gradable = not token.endswith("!") and len(text) < 4
    return Word(text, token.startswith("*"), token.endswith("~") and gradable, gradable)


def read_words() -> dict[str, Aspects]:
    """Opinion words by domain, aspect and polarity."""
    domains: dict[str, Aspects] = {}
    current: Aspects = {}
    for line in read_lines("reviews_words.txt"):
        if line.startswith("["):
            current = domains.setdefault(line.strip("[]"), {})
            continue
        aspect, rest = line.split(" + ")
        positive, negative = rest.split(" - ")
        current[aspect] = {
            "+": [parse_word(token) for token in positive.split()],
            "-": [parse_word(token) for token in negative.split()],
        }
    return domains


def read_fields() -> dict[str, Fields]:
    """Wording by domain; a key that is repeated continues its list."""
    domains: dict[str, Fields] = {}
    current: Fields = {}
    for line in read_lines("reviews_domains.txt"):
        if line.startswith("["):
            current = domains.setdefault(line.strip("[]"), {})
            continue
        key, values = line.split(": ", 1)
        current.setdefault(key, []).extend(values.split(" / "))
    return domains


def read_patterns() -> list[Pattern]:
    """All sentence patterns."""
    patterns = []
    for line in read_lines("reviews_patterns.txt"):
        head, text = line.split(" | ", 1)
        scope, label, *domains = head.split()
        names = tuple(domains[0].split(",")) if domains else ()
        patterns.append(Pattern(scope, label, names, text))
    return patterns


def by_split(values: list[str], split: str) -> list[str]:
    """The values a split may use: the starred ones are for test alone."""
    starred = split == "test" and any(value.startswith("*") for value in values)
    return [value.strip("*") for value in values if value.startswith("*") == starred]


class Writer:
    """Fills one pattern for one split and label."""

    def __init__(
        self,
        rng: random.Random,
        split: str,
        label: str,
        aspects: Aspects,
        fields: Fields,
        shared: Fields,
    ) -> None:
        self.rng = rng
        self.split = split
        self.label = label
        self.aspects = aspects
        self.fields = fields
        self.shared = shared
        self.chosen: dict[str, str] = {}
        self.filled: dict[str, str] = {}
        self.used: set[str] = set()
        # A deck, so that one text does not say the same degree adverb twice.
        self.degrees = rng.sample(DEGREES, len(DEGREES))

    def fill(self, pattern: Pattern) -> str:
        """The pattern with every slot replaced."""
        priced = re.search(r"\{price\}|价钱|样的钱", pattern.text) is not None
        names = [name for name in self.aspects if not (priced and name in PRICE_ASPECTS)]
        numbers = sorted({number for _, number in SLOT.findall(pattern.text) if number})
        if len(numbers) > len(names):
            raise NoFitError
        self.chosen = dict(zip(numbers, self.rng.sample(names, len(numbers)), strict=True))
        return SLOT.sub(lambda match: self.slot(match[1], match[2]), pattern.text)

    def slot(self, kind: str, number: str) -> str:
        """The value of one slot; a slot written twice keeps its value."""
        key = kind + number
        if key not in self.filled:
            make = self.opinion if number else self.wording
            self.filled[key] = make(kind, number)
        return self.filled[key]

    def pick(self, number: str, label: str, *, bare: bool, negated: bool = False) -> Word:
        """An opinion word of this split that the text has not used yet."""
        words = [
            word
            for word in self.aspects[self.chosen[number]][label]
            if word.held_out == (self.split == "test")
            and word.text not in self.used
            and (word.gradable or not bare)
            and (word.negatable or not negated)
        ]
        if not words:
            raise NoFitError
        word = self.rng.choice(words)
        self.used.add(word.text)
        return word

    def opinion(self, kind: str, number: str) -> str:
        """A slot that speaks about an aspect."""
        aspect = self.chosen[number]
        other = OPPOSITE[self.label]
        if kind == "a":
            return aspect
        if kind in "wx":
            return self.pick(number, self.label, bare=True).text
        if kind == "n":
            return self.pick(number, other, bare=True, negated=True).text
        if kind == "C":
            word = self.pick(number, other, bare=True)
            return aspect + self.rng.choice(MILD[other]) + word.text
        word = self.pick(number, self.label, bare=False)
        if kind == "c":
            return aspect + self.phrase(word, closing=True)
        return self.phrase(word, closing=False)

    def phrase(self, word: Word, closing: bool) -> str:
        """The word with a degree; closing allows forms that end a clause."""
        if not word.gradable:
            return (self.rng.choice(EMPHASIS) if closing and len(word.text) > 3 else "") + word.text
        draw = self.rng.random()
        if closing and draw < 0.12:
            return f"太{word.text}了"
        if closing and draw < 0.24:
            return f"挺{word.text}的"
        return self.degrees.pop() + word.text

    def wording(self, kind: str, _number: str) -> str:
        """A slot that holds no opinion word."""
        if kind == "price":
            low, high = (int(value) for value in self.fields["price"][0].split())
            return str(self.rng.randint(low, high))
        if kind == "again":
            return str(self.rng.randint(2, 5))
        if kind == "who":
            return self.rng.choice(self.shared["who"])
        if kind in ("e", "s"):
            return self.rng.choice(self.shared[{"e": "emoji", "s": "score"}[kind] + self.label])
        if kind in ("f", "g"):
            return self.unused(by_split(self.fields["fact" + self.label], self.split))
        if kind == "v":
            key = "verdict" + self.label
            return self.unused(by_split(self.shared[key] + self.fields[key], self.split))
        return self.rng.choice(self.fields[kind])

    def unused(self, values: list[str]) -> str:
        """One of the values that the text does not hold yet."""
        value = self.rng.choice([value for value in values if value not in self.used])
        self.used.add(value)
        return value


class Material:
    """Everything the texts are made from."""

    def __init__(self) -> None:
        self.words = read_words()
        self.fields = read_fields()
        self.patterns = read_patterns()
        self.held_out = self.vocabulary("+", True) | self.vocabulary("-", True)
        self.check()

    def vocabulary(self, label: str, held_out: bool | None = None) -> set[str]:
        """The distinct opinion words of a label, all or by whether they are held out."""
        return {
            word.text
            for aspects in self.words.values()
            for words in aspects.values()
            for word in words[label]
            if held_out is None or word.held_out == held_out
        }

    def check(self) -> None:
        """Refuse material in which a held-out word would reach the train split."""
        held = self.held_out
        seen = self.vocabulary("+", False) | self.vocabulary("-", False)
        open_text = [pattern.text for pattern in self.patterns if pattern.scope != "test"]
        for fields in self.fields.values():
            for values in fields.values():
                open_text.extend(value for value in values if not value.startswith("*"))
        for aspects in self.words.values():
            open_text.extend(aspects)
        for text in [*open_text, *seen]:
            leaked = sorted(word for word in held if word in text)
            if leaked:
                raise ValueError(f"held-out {leaked} in open material: {text}")

    def usable(self, split: str, label: str) -> list[Pattern]:
        """Patterns of a split and label; test-only ones count twice so that they show."""
        scopes = ("all", "test", "test") if split == "test" else ("all", "train")
        return [
            pattern
            for scope in scopes
            for pattern in self.patterns
            if pattern.scope == scope and pattern.label in ("*", label)
        ]

    def write(self, rng: random.Random, split: str, label: str, pattern: Pattern) -> str:
        """One text from a pattern, drawing again until all its slots can be filled."""
        for _ in range(2000):
            domain = rng.choice(pattern.domains or tuple(self.words))
            writer = Writer(
                rng, split, label, self.words[domain], self.fields[domain], self.fields["shared"]
            )
            try:
                text = writer.fill(pattern)
            except NoFitError:
                continue
            # Two neighbours can spell a held-out word where they meet.
            if split == "test" or not any(word in text for word in self.held_out):
                return text
        raise ValueError(f"no words fit {pattern.text}")

    def rows(self, rng: random.Random, split: str, taken: set[str]) -> list[tuple[str, str]]:
        """The rows of a split, half of each label; going round the patterns uses them evenly."""
        rows = []
        for label in LABELS:
            queue: list[Pattern] = []
            wanted = SIZES[split] // 2
            while wanted:
                if not queue:
                    queue = self.usable(split, label)
                    rng.shuffle(queue)
                text = self.write(rng, split, label, queue.pop())
                if text not in taken:
                    taken.add(text)
                    rows.append((LABELS[label], text))
                    wanted -= 1
        rng.shuffle(rows)
        return rows


def card(material: Material) -> str:
    """The text of card.toml."""
    test_only = sum(pattern.scope == "test" for pattern in material.patterns)
    counts = {
        (label, held): len(material.vocabulary(label, held))
        for label in LABELS
        for held in (None, True)
    }
    splits = "\n".join(f"{name} = {size}" for name, size in SIZES.items())
    return f'''name = "reviews"
title = "Short Chinese reviews of stays, meals, goods and courses, positive or negative"
task = "classification"
domain = "general"
language = "zh"
licence = "MIT"
labels = ["0", "1"]
how_made = """
Written for kbert: no sentence is copied from a data set, and no real shop or brand is named.
Label 1 is a positive review, 0 a negative one.
A script fills {len(material.patterns)} hand-written sentence patterns ({test_only} in test only)
with aspects, facts and opinion words of {len(material.words)} domains:
{counts["+", None]} positive and {counts["-", None]} negative opinion words.
{counts["+", True]} positive and {counts["-", True]} negative opinion words are held out:
none occurs in train or dev, and the opinion slots of test draw on them alone,
so a model gains from knowing the words beforehand.
It is a sample to try the tool with, not a benchmark.
Made by: python tools/material/make_reviews.py
"""

[splits]
{splits}
'''


def save(path: Path, text: str) -> None:
    """Write UTF-8 with LF line ends on every system."""
    path.write_bytes(text.encode("utf-8"))


def main() -> None:
    """Make the three splits and the card."""
    material = Material()
    rng = random.Random(SEED)
    taken: set[str] = set()
    TARGET.mkdir(parents=True, exist_ok=True)
    for split in SIZES:
        rows = [("label", "text_a"), *material.rows(rng, split, taken)]
        save(TARGET / f"{split}.tsv", "".join(f"{label}\t{text}\n" for label, text in rows))
    save(TARGET / "card.toml", card(material))


if __name__ == "__main__":
    main()
