"""The one place where finder, graph, featurizer, model and task meet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from kbert_cli.batch import collate, collate_packed
from kbert_cli.batch_plan import pack
from kbert_cli.checkpoint import ENCODER, RunRecord, load_head, read_record, require_complete
from kbert_cli.config import FinetuneConfig
from kbert_cli.corpus.example import Example
from kbert_cli.encoders import Encoder, load_encoder
from kbert_cli.errors import KbertError
from kbert_cli.feature_table import featurized
from kbert_cli.features import Featurizer, FeaturizerRecipe
from kbert_cli.items import Item, StoredItems, make_item
from kbert_cli.kg.catalog import open_graph
from kbert_cli.kg.graph import Graph, MemoryGraph
from kbert_cli.methods import load_method
from kbert_cli.model import TaskModel
from kbert_cli.tasks import load_task
from kbert_cli.tasks.base import Prediction
from kbert_cli.tokenization import PieceEncoder, special_tokens


class Pipeline:
    """Graph, tokenizer and model of one run, from text to prediction."""

    def __init__(
        self,
        config: FinetuneConfig,
        labels: Sequence[str],
        graph: Graph,
        encoder: Encoder,
    ) -> None:
        self.config = config
        self.labels = list(labels)
        self.task = load_task(config.task)
        self.graph = graph
        self.tokenizer = encoder.tokenizer
        method = load_method(config.method)
        injection = config.injection
        if not method.injects_branches:
            injection = replace(injection, max_entities=0)
        encode = PieceEncoder(encoder.tokenizer.backend_tokenizer)
        self.recipe = FeaturizerRecipe(
            graph if injection.max_entities else MemoryGraph(),
            encoder.tokenizer.backend_tokenizer.to_str(),
            special_tokens(encoder.tokenizer),
            injection,
        )
        self.featurizer = Featurizer(self.recipe.graph, encode, self.recipe.special, injection)
        head = self.task.build_head(encoder.width, len(self.labels), config.training)
        self.model = TaskModel(method.build(encoder, config.injection), head)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.model.parameters()).device

    def encode(self, examples: Iterable[Example]) -> list[Item]:
        """Examples as items, in order; a long text of a token-level task gives several."""
        return [
            make_item(self.task, self.labels, index, example, part)
            for index, example in enumerate(examples)
            for part in self.featurizer.parts(example.texts, self.task.windowing)
        ]

    def stored(
        self,
        examples: Sequence[Example],
        *,
        workers: int | None = 0,
        on_examples: Callable[[int], None] = lambda _: None,
    ) -> StoredItems:
        """The same, with features that are computed once and kept on disk.

        Args:
            workers: processes that compute them, see ``featurized``.
        """
        table = featurized(
            self.recipe,
            [example.texts for example in examples],
            windowing=self.task.windowing,
            workers=workers,
            on_examples=on_examples,
        )
        return StoredItems(table, examples, self.task, self.labels)

    def collate(self, items: Sequence[Item]) -> dict[str, torch.Tensor]:
        """Items as the tensors of one batch, on the CPU; an item a row."""
        return collate(
            [item.features for item in items],
            [item.targets for item in items],
            per_token=self.task.token_level,
            **self._padding(),
        )

    def collate_packed(self, items: Sequence[Item], row_length: int) -> dict[str, torch.Tensor]:
        """Items as the tensors of one batch, on the CPU; several share a row."""
        features = [item.features for item in items]
        rows = pack([len(one) for one in features], row_length)
        targets = [item.targets for item in items]
        return collate_packed(features, targets, rows, **self._padding())

    def _padding(self) -> dict[str, int]:
        # Attention kernels on CUDA want lengths in eights.
        multiple = 8 if self.device.type == "cuda" else 1
        return {"pad_token_id": self.tokenizer.pad_token_id, "multiple": multiple}

    def summarize(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """What is kept of a batch's logits."""
        return self.task.summarize(logits, targets, self.labels)

    @torch.inference_mode()
    def summaries(
        self, items: Sequence[Item], *, batch_size: int, on_batch: Callable[[int], None]
    ) -> list[np.ndarray]:
        """Run the model over items, alike lengths together; summaries in the order of the items."""
        self.model.eval()
        order = sorted(range(len(items)), key=lambda index: -len(items[index].features))
        results: list[np.ndarray] = [np.empty(0)] * len(items)
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            batch = self.collate([items[index] for index in chosen])
            targets = batch.pop("labels").to(self.device)
            moved = {name: tensor.to(self.device) for name, tensor in batch.items()}
            summary = self.summarize(self.model(**moved)["logits"], targets)
            for index, row in zip(chosen, summary.cpu().numpy(), strict=True):
                results[index] = row
            on_batch(len(chosen))
        return results

    def decode(self, items: Sequence[Item], summaries: Iterable[np.ndarray]) -> list[Prediction]:
        """One prediction an example; the windows of a long text are joined."""
        predictions: list[Prediction] = []
        for item, summary in zip(items, summaries, strict=True):
            found = self.task.decode(summary, item.part, self.labels)
            if item.example < len(predictions):
                found = self.task.join(predictions.pop(), found)
            predictions.append(found)
        return predictions

    def predict(
        self,
        examples: Iterable[Example],
        *,
        batch_size: int = 64,
        on_batch: Callable[[int], None] = lambda _: None,
    ) -> list[Prediction]:
        """Predictions for examples, in order; their labels are not looked at."""
        examples = [replace(example, label=None) for example in examples]
        items = self.encode(examples)
        return self.predict_items(items, examples, batch_size=batch_size, on_batch=on_batch)

    def predict_items(
        self,
        items: Sequence[Item],
        examples: Iterable[Example],
        *,
        batch_size: int = 64,
        on_batch: Callable[[int], None] = lambda _: None,
    ) -> list[Prediction]:
        """The same for examples that are encoded already."""
        found = self.decode(items, self.summaries(items, batch_size=batch_size, on_batch=on_batch))
        return [
            one if one.span is None else replace(one, label=example.texts[1][slice(*one.span)])
            for one, example in zip(found, examples, strict=True)
        ]


def open_pipeline(
    folder: str | Path, *, kg: Sequence[str] = (), device: str | None = None
) -> tuple[Pipeline, RunRecord]:
    """The pipeline of a run folder, ready to predict, and the run's record.

    Args:
        kg: where the graph is now, if it has moved; its content must be that of training.
        device: where to put the model; by default a GPU when there is one.

    Raises:
        KbertError: something is missing or damaged, or the graph has changed since training.
    """
    folder = Path(folder)
    record = read_record(folder)
    require_complete(folder)
    config = replace(record.config, kg=tuple(kg) or record.config.kg)
    graph = open_graph(config.kg).graph
    if graph.content_hash != record.graph_hash:
        raise KbertError(
            f"the graph {', '.join(config.kg)} is not the one that {folder} was trained with",
            "Predictions would rest on other triples. Name the old graph with --kg, or train anew.",
        )
    attention = config.attention
    if attention == "flex" and not torch.cuda.is_available():
        # Its kernels are for GPUs; the others compute the same.
        attention = "sdpa"
    encoder = load_encoder(str(folder / ENCODER), attention=attention)
    pipeline = Pipeline(config, record.labels, graph, encoder)
    load_head(folder, pipeline.model.head)
    pipeline.model.to(device or default_device())
    return pipeline, record


def default_device() -> str:
    """``cuda`` when there is a GPU, else ``cpu``."""
    return "cuda" if torch.cuda.is_available() else "cpu"
