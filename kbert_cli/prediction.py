"""Prediction: rows in, the same rows with the model's answer out, as a stream."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from kbert_cli.corpus.reader import unlabelled_examples
from kbert_cli.corpus.table import Row, Table, open_table
from kbert_cli.files import BLANKS
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
    """New column → value: a string, a number, or a list of entities."""


@dataclass
class OddRows:
    """Lines worth a warning, filled while the rows stream."""

    empty: list[int] = field(default_factory=list)
    """Lines without text; predicted all the same."""
    wrong_width: list[int] = field(default_factory=list)
    """Lines with more or fewer cells than the table."""


def open_input(
    path: str, pipeline: Pipeline, texts: int, span: tuple[int, int] | None = None
) -> Table:
    """The table at ``path`` (``-``: standard input), read as the run's task reads it.

    Args:
        span: read only the rows that begin in these bytes.
    """
    return open_table(path, pipeline.task.columns, texts=texts, span=span)


def predict_rows(
    pipeline: Pipeline, table: Table, odd: OddRows, *, batch_size: int = 64, skip: int = 0
) -> Iterator[PredictedRow]:
    """Predict a table row by row, in order, whatever its length.

    Args:
        skip: rows that are passed over, because they are predicted already.
    """
    rows = itertools.islice(unlabelled_examples(table, pipeline.task.columns), skip, None)
    while chunk := list(itertools.islice(rows, CHUNK)):
        examples = [example for _, example in chunk]
        predictions = pipeline.predict(examples, batch_size=batch_size)
        for (row, example), prediction in zip(chunk, predictions, strict=True):
            if not any(text.strip(BLANKS) for text in example.texts):
                odd.empty.append(row.line)
            if len(row.cells) != table.columns.width:
                odd.wrong_width.append(row.line)
            yield PredictedRow(row, added_columns(prediction, example.texts[0]))


def added_names(pipeline: Pipeline) -> tuple[str, str]:
    """The columns that ``added_columns`` fills."""
    return ("prediction", "entities" if pipeline.task.token_level else "score")


def added_columns(prediction: Prediction, text: str) -> dict[str, Any]:
    """The columns that a prediction adds; entities have character offsets into the text."""
    if isinstance(prediction.label, str):
        return {"prediction": prediction.label, "score": round(prediction.score or 0.0, 6)}
    entities = [
        {"text": text[start:end], "type": kind, "start": start, "end": end}
        for kind, start, end in spans_of(prediction.label)
    ]
    return {"prediction": " ".join(prediction.label), "entities": entities}
