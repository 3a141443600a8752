"""Passages with questions: the JSON of CMRC 2018 and SQuAD, or a table, as examples of reading."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kbert_cli.config import ReadConfig
from kbert_cli.corpus.columns import READING, Columns
from kbert_cli.corpus.entities import offset
from kbert_cli.corpus.example import Example
from kbert_cli.corpus.formats import PASSAGES
from kbert_cli.corpus.json_rows import kind_of
from kbert_cli.corpus.lines import LineSource
from kbert_cli.corpus.row import Row
from kbert_cli.corpus.table import Table
from kbert_cli.errors import KbertError
from kbert_cli.files import parse_json

HEADER = ("id", "question", "context")


def is_passages(source: LineSource, reading: ReadConfig) -> bool:
    """Whether a file is one JSON value rather than a table."""
    if reading.format is not None:
        return reading.format == PASSAGES
    if Path(source.path).suffix.casefold() in (".tsv", ".csv", ".jsonl", ".ndjson"):
        return False
    text = source.beginning().lstrip()
    # JSON lines begin with a brace too, but their first line is whole.
    return text.startswith("[") or (text.startswith("{") and not _is_object(text.split("\n")[0]))


def _is_object(line: str) -> bool:
    try:
        record = parse_json(line)
    except ValueError:
        return False
    return isinstance(record, dict) and not isinstance(record.get("data"), list)


def read_passages(source: LineSource) -> tuple[list[Example], list[tuple[int, str]], list[str]]:
    """All questions of a file, those that cannot be used with the reason, and fields left out.

    Raises:
        KbertError: it is no JSON, or has none of the known forms.
    """
    examples: list[Example] = []
    faults: list[tuple[int, str]] = []
    unused: dict[str, None] = {}
    asked = _questions(_parsed(source), source.path, unused)
    for number, (context, question) in enumerate(asked, 1):
        try:
            answers = _given_answers(question, unused)
            examples.append(_example(context, question, number, answers))
        except ValueError as error:
            faults.append((0, f"question {number}: {error}"))
        unused |= dict.fromkeys(key for key in question if key not in _USED)
    return examples, faults, list(unused)


def _parsed(source: LineSource) -> Any:
    text = "\n".join(line for _, line in source.good_lines())
    try:
        return parse_json(text)
    except ValueError as error:
        raise KbertError(f"{source.path} is no JSON: {error}") from None


def _questions(
    value: Any, path: str, unused: dict[str, None]
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Passages with one question each; the fields that nobody reads go to ``unused``."""
    found = False
    try:
        if isinstance(value, dict):
            unused |= dict.fromkeys(key for key in value if key != "data")
        for one in value["data"] if isinstance(value, dict) else value:
            paragraphs = one.get("paragraphs", [one])
            if "paragraphs" in one:
                unused |= dict.fromkeys(key for key in one if key != "paragraphs")
            for paragraph in paragraphs:
                unused |= dict.fromkeys(key for key in paragraph if key not in (*_CONTEXTS, "qas"))
                context = next((paragraph[key] for key in _CONTEXTS if key in paragraph), None)
                for question in paragraph.get("qas", ()):
                    found = True
                    yield context, dict(question)
    except (KeyError, TypeError, ValueError, AttributeError):
        found = False
    if not found:
        raise KbertError(
            f"{path} is neither SQuAD's nor CMRC's form: no passages with a context and qas"
        )


_CONTEXTS = ("context", "context_text")
_ASKED, _NAMES = ("question", "query_text"), ("id", "query_id")
_USED = (*_ASKED, *_NAMES, *READING.label, *READING.start, "is_impossible")


def _given_answers(question: dict[str, Any], unused: dict[str, None]) -> Any:
    """What a question has as its answers; none at all must be said."""
    found = one_of(question, READING.label)
    impossible = question.get("is_impossible") is True
    if impossible and found:
        raise ValueError("is_impossible is true, and there are answers")
    if found is None and impossible:
        return []
    if isinstance(found, str):
        return [{"text": found, "answer_start": question.get("answer_start")}]
    if isinstance(found, list):
        inner = (key for one in found if isinstance(one, dict) for key in one)
        unused |= dict.fromkeys(
            f"{key} of answers" for key in inner if key not in ("text", "answer_start")
        )
    return found


def one_of(record: dict[str, Any], names: Sequence[str]) -> Any:
    """The value of the one field of those that is there; None where none is.

    Raises:
        ValueError: several are there.
    """
    there = [name for name in names if name in record]
    if len(there) > 1:
        raise ValueError(f"the fields {' and '.join(map(repr, there))} are there both")
    return record[there[0]] if there else None


def _example(context: Any, question: dict[str, Any], number: int, answers: Any) -> Example:
    """The example of a question.

    Raises:
        ValueError: a text is missing, or an answer does not fit.
    """
    text = next((question[key] for key in _ASKED if key in question), None)
    if not isinstance(text, str) or not isinstance(context, str):
        raise ValueError("no question or no context")
    name = next((question[key] for key in _NAMES if question.get(key) is not None), number)
    return answered(Example((text, context), None, str(name), number), answers)


def answered(example: Example, value: Any) -> Example:
    """An example with its answers, which are texts or have one and where it begins.

    ``{"text": […], "answer_start": […]}`` is understood too; an empty list says that the passage
    does not tell.

    Raises:
        ValueError: they are none of these, or not in the passage.
    """
    if isinstance(value, dict) and isinstance(value.get("text"), list):
        texts = value["text"]
        starts = value.get("answer_start") or [None] * len(texts)
        if not isinstance(starts, list):
            raise ValueError(f"answer_start is {kind_of(starts)}, not a list")
        if len(starts) != len(texts):
            raise ValueError(f"{len(texts)} answers begin at {len(starts)} places")
        value = [{"text": text, "answer_start": at} for text, at in zip(texts, starts, strict=True)]
    if not isinstance(value, list):
        raise ValueError(f"no answers: {kind_of(value)}, not a list of texts")
    found = [_answer(one) for one in value]
    label = tuple(text for text, _ in found) or None
    done = replace(example, label=label, answer_starts=tuple(at for _, at in found))
    if fault := answer_fault(done):
        raise ValueError(fault)
    return done


def _answer(one: Any) -> tuple[str, int | None]:
    at = None
    if isinstance(one, dict):
        at = one.get("answer_start")
        # CMRC's baselines write -1 where they did not look.
        at = None if at in (None, -1, "-1", "") else offset(at)
        one = one.get("text")
    if not isinstance(one, str):
        raise ValueError(f"an answer is {kind_of(one)}, not a text")
    return one, at


def answer_fault(example: Example) -> str:
    """Why an answer does not fit its passage; empty where all do, or where there is none."""
    context = example.texts[1]
    for answer, start in itertools.zip_longest(example.label or (), example.answer_starts):
        if not answer:
            return "the answer is empty"
        if start is not None and context[start : start + len(answer)] != answer:
            there = context[start : start + len(answer)]
            return f"at {start} the passage has {there!r}, not {answer!r}"
        if answer not in context:
            return f"the passage does not hold the answer {answer!r}"
    return ""


def write_squad(examples: Iterable[Example]) -> Iterator[str]:
    """SQuAD's form, the questions of one passage together.

    An answer whose place the file did not tell gets that of its first occurrence.
    """
    data = []
    for context, asked in itertools.groupby(examples, key=lambda example: example.texts[1]):
        questions = [
            {
                "id": example.group or str(example.line),
                "question": example.texts[0],
                "answers": placed_answers(example),
            }
            for example in asked
        ]
        data.append({"paragraphs": [{"context": context, "qas": questions}]})
    yield json.dumps({"version": "1.1", "data": data}, ensure_ascii=False) + "\n"


def write_questions(examples: Iterable[Example]) -> Iterator[str]:
    """JSON lines, a question with its passage and answers each."""
    for example in examples:
        record = {
            "id": example.group or str(example.line),
            "question": example.texts[0],
            "context": example.texts[1],
            "answers": placed_answers(example),
        }
        yield json.dumps(record, ensure_ascii=False) + "\n"


def placed_answers(example: Example) -> list[dict[str, Any]]:
    """Answers as SQuAD has them: text and place."""
    given = itertools.zip_longest(example.label or (), example.answer_starts)
    return [
        {"text": text, "answer_start": example.texts[1].find(text) if start is None else start}
        for text, start in given
    ]


def passages_table(path: str | Path, source: LineSource) -> Table:
    """The questions of a file to be predicted, a row each; answers are left alone."""
    value = _parsed(source)

    def rows() -> Iterator[Row]:
        for number, (context, question) in enumerate(_questions(value, str(path), {}), 1):
            try:
                example = _example(context, question, number, [])
            except ValueError as error:
                yield Row(number, ("", "", ""), f"question {number}: {error}")
                continue
            yield Row(number, (example.group or "", *example.texts))

    return Table(str(path), PASSAGES, HEADER, Columns((1, 2), None, 0, 3), rows())
