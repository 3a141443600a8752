"""The jobs as functions, for notebooks and pipelines. ``from kbert_cli import …`` gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from kbert_cli.config import (
    DEFAULT_ENCODER,
    EngineConfig,
    FinetuneConfig,
    InjectionConfig,
    ReadConfig,
    TrainingConfig,
)
from kbert_cli.corpus.catalog import SplitFiles, corpus_files, corpus_for
from kbert_cli.corpus.columns import NER
from kbert_cli.corpus.example import Example
from kbert_cli.corpus.tags import plain_text
from kbert_cli.errors import KbertError
from kbert_cli.kg.catalog import domain_of, open_graph
from kbert_cli.reporting import Reporter


def finetune(
    task: str,
    kg: str | Sequence[str] = "none",
    *,
    train: str | None = None,
    dev: str | None = None,
    test: str | None = None,
    corpus: str | None = None,
    output: str | Path | None = None,
    force: bool = False,
    resume: bool = False,
    reporter: Reporter | None = None,
    **options: Any,
) -> Any:
    """Fine-tune as ``kbert finetune`` does.

    >>> result = finetune("ner", "medical", epochs=0.1, output="runs/doc")
    >>> sorted(result.metrics["test"])[:3]
    ['entities', 'examples', 'f1']

    Args:
        task: ``classification``, ``ner`` or ``qa``.
        kg: a graph's name or file, several of them, or ``none``.
        train: training file; without it ``corpus``, or the bundled corpus of task and graph.
        resume: go on with the unfinished run in ``output``.
        options: fields of ``FinetuneConfig``, ``InjectionConfig``, ``TrainingConfig``,
            ``ReadConfig`` and ``EngineConfig`` by name.

    Returns:
        A ``FinetuneResult``: run folder, configuration and metrics.

    Raises:
        KbertError: the input or an option is wrong; nothing was trained then.
    """
    from kbert_cli.training import finetune as run_finetune

    graphs = (kg,) if isinstance(kg, str) else tuple(kg)
    if train is None:
        files = corpus_files(corpus or corpus_for(task, domain_of(graphs[0])).name)
    else:
        files = SplitFiles(train, dev, test)
    config = FinetuneConfig(
        task=task,
        kg=graphs,
        train=files.train,
        dev=files.dev,
        test=files.test,
        injection=InjectionConfig(**_taken(options, InjectionConfig)),
        training=TrainingConfig(**_taken(options, TrainingConfig)),
        reading=ReadConfig(**_taken(options, ReadConfig)),
        **_taken(options, FinetuneConfig),
    )
    engine = EngineConfig(**_taken(options, EngineConfig))
    _refuse(options)
    return run_finetune(
        config,
        reporter or Reporter(),
        output=Path(output) if output is not None else None,
        force=force,
        resume=resume,
        engine=engine,
    )


def _taken(options: dict[str, Any], kind: Any) -> dict[str, Any]:
    """The options that are fields of ``kind``, removed from ``options``."""
    names = {field.name for field in fields(kind)} & options.keys()
    return {name: options.pop(name) for name in names}


def _refuse(options: dict[str, Any]) -> None:
    if options:
        raise KbertError(f"unknown options: {', '.join(sorted(options))}")


class Predictor:
    """A fine-tuned run, ready to be called on texts. Pickles as its folder."""

    def __init__(
        self, run: str | Path, *, kg: Sequence[str] = (), device: str | None = None
    ) -> None:
        """Load a run folder.

        Args:
            kg: where the run's graphs are now, if they have moved.
            device: by default a GPU when there is one.

        Raises:
            KbertError: something is missing or damaged, or the graph has changed since training.
        """
        from kbert_cli.pipeline import open_pipeline

        self._place = (str(run), tuple(kg), device)
        self._pipeline, self._record = open_pipeline(run, kg=kg, device=device)

    def __reduce__(self) -> Any:
        return _load, self._place

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the run."""
        return self._record.labels

    @property
    def texts(self) -> int:
        """How many texts an example has."""
        return self._record.texts

    def __call__(self, texts: Sequence[str | Sequence[str]], *, batch_size: int = 64) -> list[Any]:
        """A ``Prediction`` for each text (or pair of texts): label, and score or None for NER.

        >>> predict = load("runs/doc")
        >>> len(predict(["患者头痛3天。"])[0].label)
        7
        """
        if isinstance(texts, str):
            raise KbertError("texts is a single string", "Give a list of texts.")
        odd = next((one for one in texts if not _is_text(one)), None)
        if odd is not None or None in texts:
            raise KbertError(f"{odd!r} is no text and no pair of texts")
        examples = [Example((one,) if isinstance(one, str) else tuple(one)) for one in texts]
        if self._pipeline.task.columns is NER:
            examples = [replace(one, texts=(plain_text(one.texts[0]),)) for one in examples]
        wrong = next((one for one in examples if len(one.texts) != self._record.texts), None)
        if wrong is not None:
            raise KbertError(f"the run takes {self._record.texts} texts, and {wrong.texts} is not")
        return self._pipeline.predict(examples, batch_size=batch_size)


def _is_text(one: Any) -> bool:
    return isinstance(one, str) or (
        isinstance(one, Sequence) and all(isinstance(part, str) for part in one)
    )


def _load(run: str, kg: tuple[str, ...], device: str | None) -> Predictor:
    return Predictor(run, kg=kg, device=device)


class BatchPredictor:
    """A run for Ray Data's ``map_batches``; each worker loads it once.

    >>> answer = BatchPredictor("runs/doc")({"text": ["患者头痛。"]})
    >>> len(answer["prediction"][0].split())
    5
    """

    def __init__(self, run: str | Path, **options: Any) -> None:
        """Load a run folder; ``options`` are those of ``Predictor``."""
        self._predictor = Predictor(run, **options)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Columns in, the same columns and the answers out.

        ``text`` (or ``text_a`` and ``text_b``) is read; ``prediction`` and ``score`` are added, for
        NER the tags separated by spaces.
        """
        texts: list[Any] = list(map(str, batch["text" if "text" in batch else "text_a"]))
        if self._predictor.texts > 1:
            texts = list(zip(texts, map(str, batch["text_b"]), strict=True))
        found = self._predictor(texts)
        labels = [one.label if isinstance(one.label, str) else " ".join(one.label) for one in found]
        return {**batch, "prediction": labels, "score": [one.score or 0.0 for one in found]}


def load(run: str | Path | None = None, **options: Any) -> Predictor:
    """The run in a folder, or the newest under ``runs/``, as a ``Predictor``.

    >>> load("runs/doc").labels[0]
    'O'
    """
    from kbert_cli.checkpoint import newest_run

    return Predictor(run if run is not None else newest_run(), **options)


def predict(texts: Sequence[str | Sequence[str]], run: str | Path | None = None) -> list[Any]:
    """Predictions of a run (the newest by default) for texts or pairs of texts.

    >>> predict(["头痛"], "runs/doc")[0].score is None
    True
    """
    return load(run)(texts)


def inspect_tree(
    text: str | Sequence[str],
    kg: str | Sequence[str] = "medical",
    *,
    model: str = DEFAULT_ENCODER,
    **options: Any,
) -> dict[str, Any]:
    """The sentence tree of a text (or pair), as ``kbert inspect-tree --format json`` prints it.

    >>> [one["text"] for one in inspect_tree("患者头痛伴高血压3天")["mentions"]]
    ['头痛', '高血压']

    Args:
        options: fields of ``InjectionConfig`` by name.
    """
    from kbert_cli.inspection import Inspector
    from kbert_cli.render.view import tree_as_dict

    graphs = (kg,) if isinstance(kg, str) else tuple(kg)
    injection = InjectionConfig(**_taken(options, InjectionConfig))
    _refuse(options)
    inspector = Inspector(open_graph(graphs), injection, model)
    seen = inspector.inspect([text] if isinstance(text, str) else list(text))
    return tree_as_dict(
        seen.tree, seen.layout, unknown_id=inspector.unknown_id, visible=injection.visible_matrix
    )
