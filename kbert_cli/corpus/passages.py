"""Passages with questions: the JSON of CMRC 2018 and SQuAD, or a table, as examples of reading."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from kbert_cli.config import ReadConfig
from kbert_cli.corpus.columns import Columns
from kbert_cli.corpus.example import Example
from kbert_cli.corpus.formats import PASSAGES
from kbert_cli.corpus.lines import LineSource
from kbert_cli.corpus.table import Row, Table
from kbert_cli.errors import KbertError
from kbert_cli.files import parse_json

HEADER = ("id", "question", "context")


def is_passages(source: LineSource, reading: ReadConfig) -> bool:
    """Whether a file is one JSON value rather than a table."""
    if reading.format is not None:
        return reading.format == PASSAGES
    text = source.beginning().lstrip()
    # JSON lines begin with a brace too, but their first line is whole.
    return text.startswith("[") or (text.startswith("{") and not _is_object(text.split("\n")[0]))


def _is_object(line: str) -> bool:
    try:
        record = parse_json(line)
    except ValueError:
        return False
    return isinstance(record, dict) and not isinstance(record.get("data"), list)


def read_passages(source: LineSource) -> tuple[list[Example], list[tuple[int, str]]]:
    """All questions of a file, and those that cannot be used with the reason.

    Raises:
        KbertError: it is no JSON, or has none of the known forms.
    """
    text = "\n".join(line for _, line in source.good_lines())
    try:
        value = parse_json(text)
    except ValueError as error:
        raise KbertError(f"{source.path} is no JSON: {error}") from None
    examples: list[Example] = []
    faults: list[tuple[int, str]] = []
    for number, (context, question) in enumerate(_questions(value, source.path), 1):
        try:
            example = _example(context, question, number)
        except (KeyError, TypeError, ValueError) as error:
            faults.append((number, f"question {number}: {error}"))
            continue
        fault = answer_fault(example)
        if fault:
            faults.append((number, f"question {number}: {fault}"))
        else:
            examples.append(example)
    return examples, faults


def _questions(value: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        passages = value["data"] if isinstance(value, dict) else value
        for one in passages:
            for paragraph in one.get("paragraphs", [one]):
                context = next(paragraph[key] for key in _CONTEXTS if key in paragraph)
                for question in paragraph["qas"]:
                    yield context, question
    except (KeyError, TypeError, AttributeError, StopIteration):
        raise KbertError(
            f"{path} is neither SQuAD's nor CMRC's form: no passages with a context and qas"
        ) from None


_CONTEXTS = ("context", "context_text")


def _example(context: str, question: dict[str, Any], number: int) -> Example:
    text = next((question[key] for key in ("question", "query_text") if key in question), None)
    if not isinstance(text, str) or not isinstance(context, str):
        raise ValueError("no question or no context")
    name = next((question[key] for key in ("id", "query_id") if key in question), number)
    answers, start = [], None
    for answer in question.get("answers") or []:
        if isinstance(answer, dict):
            if start is None and answer.get("answer_start") is not None:
                start = int(answer["answer_start"])
            answer = answer["text"]
        answers.append(str(answer))
    return Example((text, context), tuple(answers) or None, str(name), number, start)


def answer_fault(example: Example) -> str:
    """Why an answer does not fit its passage; empty where it does, or where there is none."""
    if example.label is None:
        return ""
    context, first = example.texts[1], example.label[0]
    if not first:
        return "the answer is empty"
    start = example.answer_start
    if start is not None and context[start : start + len(first)] != first:
        return f"at {start} the passage has {context[start : start + len(first)]!r}, not {first!r}"
    return "" if first in context else f"the passage does not hold the answer {first!r}"


def write_squad(examples: Iterable[Example]) -> Iterator[str]:
    """SQuAD's form, the questions of one passage together; offsets are of the first occurrence."""
    data = []
    for context, asked in itertools.groupby(examples, key=lambda example: example.texts[1]):
        questions = []
        for example in asked:
            starts = [example.answer_start, *([None] * len(example.label or ()))]
            answers = [
                {"text": text, "answer_start": context.find(text) if start is None else start}
                for text, start in zip(example.label or (), starts, strict=False)
            ]
            name = example.group or str(example.line)
            questions.append({"id": name, "question": example.texts[0], "answers": answers})
        data.append({"paragraphs": [{"context": context, "qas": questions}]})
    yield json.dumps({"version": "1.1", "data": data}, ensure_ascii=False) + "\n"


def as_reading(example: Example) -> Example:
    """A table's row, whose label is the answer."""
    return replace(example, label=(str(example.label),))


def passages_table(path: str | Path, source: LineSource) -> Table:
    """The questions of a file to be predicted, a row each; answers are left alone."""
    text = "\n".join(line for _, line in source.good_lines())
    try:
        value = parse_json(text)
    except ValueError as error:
        raise KbertError(f"{source.path} is no JSON: {error}") from None

    def rows() -> Iterator[Row]:
        for number, (context, question) in enumerate(_questions(value, str(path)), 1):
            example = _example(context, {**question, "answers": []}, number)
            yield Row(number, (example.group or "", *example.texts))

    return Table(str(path), PASSAGES, HEADER, Columns((1, 2), None, 0, 3), rows())
