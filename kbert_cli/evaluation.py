"""Evaluation: a labelled file held against a run's predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kbert_cli.config import ReadConfig
from kbert_cli.corpus.columns import NER, READING
from kbert_cli.corpus.reader import read_split
from kbert_cli.errors import KbertError, at_line, name_some
from kbert_cli.pipeline import Pipeline
from kbert_cli.reporting import Reporter


@dataclass(frozen=True)
class Evaluation:
    """Figures of a file, and where the model errs."""

    scores: dict[str, Any]
    confusion: dict[str, dict[str, int]] | None
    """Gold label → predicted label → count; None for NER."""


def evaluate_file(
    pipeline: Pipeline,
    path: str,
    texts: int,
    reporter: Reporter,
    *,
    batch_size: int = 64,
    reading: ReadConfig | None = None,
) -> Evaluation:
    """Predict the labelled examples of ``path`` and score them.

    Raises:
        KbertError: the file cannot be read, or holds labels that the run does not know.
    """
    split = read_split(path, pipeline.task.columns, texts=texts, reading=reading)
    for note in split.notes:
        reporter.note(note)
    problems = [
        at_line(path, example.line, problem)
        for example in split.examples
        if (problem := pipeline.task.label_problem(example, pipeline.labels))
    ]
    if problems:
        raise KbertError(
            f"{len(problems)} examples have labels that the run does not know:\n"
            + "\n".join(problems[:20]),
            f"The run's labels: {name_some(pipeline.labels)}.",
        )
    with reporter.progress("predicting", len(split.examples)) as advance:
        predictions = pipeline.predict(split.examples, batch_size=batch_size, on_batch=advance)
    scores = pipeline.task.score(split.examples, predictions, pipeline.labels)
    confusion = None
    if pipeline.task.columns not in (NER, READING):
        gold = [str(example.label) for example in split.examples]
        confusion = confusion_counts(gold, [str(one.label) for one in predictions])
    return Evaluation(scores.as_dict(), confusion)


def confusion_counts(gold: list[str], predicted: list[str]) -> dict[str, dict[str, int]]:
    """How often each gold label was predicted as each label."""
    import pandas

    table = pandas.crosstab(pandas.Series(gold, dtype=str), pandas.Series(predicted, dtype=str))
    labels = sorted({*gold, *predicted})
    table = table.reindex(index=labels, columns=labels, fill_value=0)
    return {row: {column: int(table.at[row, column]) for column in labels} for row in labels}
