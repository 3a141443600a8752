"""Prediction: rows in, the same rows with the model's answer out, as a stream."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kbert_cli.config import ReadConfig
from kbert_cli.corpus.columns import NER, READING
from kbert_cli.corpus.example import Example
from kbert_cli.corpus.lines import LineSource
from kbert_cli.corpus.reader import open_unlabelled, unlabelled_examples
from kbert_cli.corpus.row import Row
from kbert_cli.corpus.table import Table
from kbert_cli.errors import KbertError, at_line
from kbert_cli.files import BLANKS, NOT_UTF8, STDIN
from kbert_cli.pipeline import Pipeline
from kbert_cli.tasks.base import Prediction
from kbert_cli.tasks.bio import spans_of

CHUNK = 1024
"""Rows in memory at a time: enough to batch alike lengths, few enough for any file."""


@dataclass(frozen=True)
class PredictedRow:
    """A row of the input, untouched, and what the model adds."""

    row: Row
    added: dict[str, Any]
    """New column → value: a string, a number, or a list of entities; empty where there is none."""
    error: str = ""
    """Why there is no prediction, or that it rests on no text."""


@dataclass
class OddRows:
    """Lines worth a warning, filled while the rows stream."""

    empty: list[int] = field(default_factory=list)
    """Lines without text; predicted all the same."""
    wrong_width: list[int] = field(default_factory=list)
    """Lines with more or fewer cells than the table."""
    faulty: list[int] = field(default_factory=list)
    """Lines that could not be predicted."""


def open_input(
    path: str,
    pipeline: Pipeline,
    texts: int,
    span: tuple[int, int] | None = None,
    reading: ReadConfig | None = None,
) -> Table:
    """The table at ``path`` (``-``: standard input), read as the run's task reads it.

    Args:
        span: read only the rows that begin in these bytes.
    """
    return open_unlabelled(path, pipeline.task.columns, texts=texts, span=span, reading=reading)


def predict_rows(
    pipeline: Pipeline, table: Table, odd: OddRows, *, batch_size: int = 64, skip: int = 0
) -> Iterator[PredictedRow]:
    """Predict a table row by row, in order, whatever its length.

    Args:
        skip: rows that are passed over, because they are predicted already.
    """
    rows = itertools.islice(unlabelled_examples(table, pipeline.task.columns), skip, None)
    while chunk := list(itertools.islice(rows, CHUNK)):
        faults = [_fault(row, table) for row, _ in chunk]
        _refuse_another_encoding(table.path, chunk[0][0], faults)
        examples = [example for (_, example), fault in zip(chunk, faults, strict=True) if not fault]
        predictions = iter(pipeline.predict(examples, batch_size=batch_size))
        for (row, example), fault in zip(chunk, faults, strict=True):
            if len(row.cells) != table.columns.width and not row.unread:
                odd.wrong_width.append(row.line)
            if fault:
                odd.faulty.append(row.line)
                yield PredictedRow(row, {}, fault)
                continue
            empty = not any(text.strip(BLANKS) for text in example.texts)
            if empty:
                odd.empty.append(row.line)
            added = added_columns(next(predictions), example)
            yield PredictedRow(row, added, NO_TEXT if empty else "")


def _fault(row: Row, table: Table) -> str:
    """Why a row cannot be predicted; empty where it can."""
    if row.fault:
        return row.fault
    least = max(table.columns.texts) + 1
    return "" if len(row.cells) >= least else f"{len(row.cells)} columns, the text is in {least}"


def _refuse_another_encoding(path: str, first: Row, faults: list[str]) -> None:
    """A file of which most is not UTF-8 is no file with bad rows.

    Not all of it: some short texts in other encodings happen to be valid.
    """
    foreign = [number for number, fault in enumerate(faults) if fault.startswith(NOT_UTF8)]
    if len(foreign) > max(1, len(faults) // 2):
        number, fault = first.line + foreign[0], faults[foreign[0]]
        raise (
            KbertError(at_line(path, number, fault), "Convert it to UTF-8 first.")
            if path == STDIN
            else LineSource(path).fault_error(number, fault)
        )


ERROR = "error"
NO_TEXT = "no text: the prediction rests on nothing"


def added_names(pipeline: Pipeline) -> tuple[str, ...]:
    """The columns that a prediction adds, and that which says why there is none."""
    if pipeline.task.columns is READING:
        return ("prediction", "score", "start", "end", ERROR)
    return ("prediction", "entities" if pipeline.task.columns is NER else "score", ERROR)


def added_columns(prediction: Prediction, example: Example) -> dict[str, Any]:
    """The columns that a prediction adds; offsets are characters of the text, or of the passage."""
    score = round(prediction.score or 0.0, 6)
    if prediction.span is not None:
        start, end = prediction.span
        answer = example.texts[1][start:end]
        return {"prediction": answer, "score": score, "start": start, "end": end}
    if isinstance(prediction.label, str):
        return {"prediction": prediction.label, "score": score}
    text = example.texts[0]
    entities = [
        {"text": text[start:end], "type": kind, "start": start, "end": end}
        for kind, start, end in spans_of(prediction.label)
    ]
    return {"prediction": " ".join(prediction.label), "entities": entities}
