"""Figures of training and prediction. Ratios are taken side by side, in rounds that alternate.

    python benchmarks/train.py --task ner --kg Medical.spo --train train.tsv

The peer is the same model on the same sentences, batched as the reference does it: every row padded
to --max-length, in random order. ``text tokens`` are those of the sentences themselves, without
padding and branches.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

from kbert_cli.batch import TreeIds
from kbert_cli.batch_plan import BatchPlan, BatchSettings
from kbert_cli.config import EngineConfig, FinetuneConfig, InjectionConfig, TrainingConfig
from kbert_cli.corpora import Corpus, read_corpus
from kbert_cli.fitting import plan_batches
from kbert_cli.items import Item
from kbert_cli.kg.catalog import open_graph
from kbert_cli.pipeline import Pipeline
from kbert_cli.preparation import build_pipeline, resolve_defaults
from kbert_cli.reporting import Reporter
from kbert_cli.tasks.loss import summed_loss

Batches = Iterator[tuple[dict[str, torch.Tensor], int]]


def pipeline_of(
    options: argparse.Namespace, kg: str, **training: object
) -> tuple[Pipeline, Corpus]:
    """A pipeline that is ready to train, and its corpus."""
    config = resolve_defaults(
        FinetuneConfig(
            task=options.task,
            kg=(kg,),
            model=options.model,
            train=options.train,
            injection=InjectionConfig(max_length=options.max_length),
            training=TrainingConfig(precision=options.precision, **training),
        )
    )
    opened = open_graph(config.kg, Reporter())
    corpus = read_corpus(config, Reporter())
    return build_pipeline(config, corpus, opened), corpus


def text_tokens(items: list[Item]) -> int:
    """Trunk tokens."""
    return sum(int((item.features.branch_ids == 0).sum()) for item in items)


def planned(pipeline: Pipeline, items: list[Item]) -> Batches:
    """Kbert's batches."""
    lengths = np.array([len(item.features) for item in items])
    plan = plan_batches(pipeline.config, lengths, EngineConfig())
    packed = pipeline.config.training.pack
    for index in range(len(plan)):
        chosen = [items[one] for one in plan[index]]
        batch = (
            pipeline.collate_packed(chosen, pipeline.config.injection.max_length)
            if packed
            else pipeline.collate(chosen)
        )
        yield batch, text_tokens(chosen)


def random_order(pipeline: Pipeline, items: list[Item], width: int | None) -> Batches:
    """Batches in random order, padded to the longest of each or to ``width``."""
    size = pipeline.config.training.batch_size
    order = np.random.default_rng(0).permutation(len(items))
    for start in range(0, len(order), size):
        chosen = [items[index] for index in order[start : start + size]]
        batch = pipeline.collate(chosen)
        if width is not None:
            batch = {name: widened(name, tensor, width) for name, tensor in batch.items()}
        yield batch, text_tokens(chosen)


def widened(name: str, tensor: torch.Tensor, width: int) -> torch.Tensor:
    """Padded to ``width`` columns."""
    if tensor.ndim == 1:
        return tensor
    fill = {"branch_ids": -1, "labels": -100}.get(name, 0)
    return torch.nn.functional.pad(tensor, (0, width - tensor.shape[1]), value=fill)


def train_steps(pipeline: Pipeline, batches: Batches, seconds: float) -> tuple[float, int, int]:
    """Train for some seconds; seconds, text tokens and steps that were done."""
    model = pipeline.model.train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-6)
    device = pipeline.device
    bf16 = pipeline.config.training.precision == "bf16"
    tokens = steps = 0
    before = time.perf_counter()
    while time.perf_counter() - before < seconds:
        found = next(batches, None)
        if found is None:
            break
        batch, count = found
        moved = {name: tensor.to(device) for name, tensor in batch.items()}
        labels = moved.pop("labels")
        with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            logits = model(**moved)["logits"]
        loss = summed_loss(logits, labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        tokens += count
        steps += 1
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - before, tokens, steps


def rates(jobs: dict[str, Callable[[], tuple[float, int, int]]], rounds: int) -> dict[str, float]:
    """Text tokens a second of each job: the median of rounds in which all take turns."""
    found: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            seconds, tokens, _ = job()
            found[name].append(tokens / seconds)
    return {name: statistics.median(values) for name, values in found.items()}


def training_figures(options: argparse.Namespace) -> dict[str, float]:
    """Kbert's ways to batch against padded rows."""
    pipeline, corpus = pipeline_of(options, options.kg)
    packing, _ = pipeline_of(options, options.kg, pack=True)
    bare, _ = pipeline_of(options, "none")
    items, plain = pipeline.encode(corpus.train), bare.encode(corpus.train)
    streams = {
        "padded to the limit": (
            pipeline,
            lambda: random_order(pipeline, items, options.max_length),
        ),
        "padded to the longest": (pipeline, lambda: random_order(pipeline, items, None)),
        "kbert": (pipeline, lambda: planned(pipeline, items)),
        "kbert --pack": (packing, lambda: planned(packing, items)),
        "kbert --kg none": (bare, lambda: planned(bare, plain)),
    }
    running = {name: make() for name, (_, make) in streams.items()}

    def job(name: str) -> tuple[float, int, int]:
        used, make = streams[name]
        seconds, tokens, steps = train_steps(used, running[name], options.seconds)
        if not steps:
            running[name] = make()
            return job(name)
        return seconds, tokens, steps

    for name in streams:
        job(name)
    found = rates({name: lambda name=name: job(name) for name in streams}, options.rounds)
    lengths = np.array([len(item.features) for item in items])
    total, alone = int(lengths.sum()), sum(len(item.features) for item in plain)
    figures = {f"text tokens/s, {name}": round(rate) for name, rate in found.items()}
    for peer in ("padded to the limit", "padded to the longest"):
        for name in ("kbert", "kbert --pack"):
            figures[f"{name} to {peer}"] = round(found[name] / found[peer], 2)
    # Time a text token with the graph, over that without, over the growth in tokens.
    growth = total / alone
    figures["tokens with graph to without"] = round(growth, 3)
    slower = found["kbert --kg none"] / found["kbert"]
    figures["overhead of the graph beyond its tokens"] = round(slower / growth - 1, 3)
    size = pipeline.config.training.batch_size
    for name, packed in (("", False), (" --pack", True)):
        settings = BatchSettings(size, packed=packed, row_length=options.max_length)
        share = BatchPlan(lengths, settings, epochs=1).padding_share()
        figures[f"padding share, kbert{name}"] = round(share, 4)
    figures["padding share, padded to the limit"] = round(
        1 - total / (len(items) * options.max_length), 4
    )
    stored = pipeline.stored(corpus.train).table
    folder = Path(stored.folder)
    size_on_disk = sum(path.stat().st_size for path in folder.iterdir())
    figures["bytes a token at rest"] = round(size_on_disk / total, 1)
    figures["KiB an example at rest, length 256"] = round(256 * size_on_disk / total / 1024, 2)
    return figures


def prediction_figures(options: argparse.Namespace) -> dict[str, float]:
    """``Pipeline.predict`` against the bare model on tokenized text, no graph in either."""
    pipeline, corpus = pipeline_of(options, "none")
    graph, _ = pipeline_of(options, options.kg)
    examples = list(corpus.train[: options.predicted])
    model = pipeline.model.eval()
    encoder, head = model.encoder.encoder, model.head

    @torch.inference_mode()
    def bare() -> None:
        order = sorted(examples, key=lambda example: -sum(map(len, example.texts)))
        for start in range(0, len(order), 64):
            texts = [list(example.texts) for example in order[start : start + 64]]
            given = texts if len(texts[0]) > 1 else [one[0] for one in texts]
            batch = pipeline.tokenizer(
                given,
                padding=True,
                truncation=True,
                max_length=options.max_length,
                return_tensors="pt",
            ).to(pipeline.device)
            states = encoder(**batch).last_hidden_state
            head(states, TreeIds(batch["attention_mask"] - 1, None)).argmax(-1).cpu()

    found: dict[str, list[float]] = {"bare model": [], "kbert": [], "kbert with the graph": []}
    jobs = {
        "bare model": bare,
        "kbert": lambda: pipeline.predict(examples),
        "kbert with the graph": lambda: graph.predict(examples),
    }
    for number in range(options.rounds + 1):
        for name, job in jobs.items():
            before = time.perf_counter()
            job()
            if number:
                found[name].append(len(examples) / (time.perf_counter() - before))
    median = {name: statistics.median(values) for name, values in found.items()}
    figures = {f"sentences/s, {name}": round(rate, 1) for name, rate in median.items()}
    for name in ("kbert", "kbert with the graph"):
        figures[f"prediction, {name} to bare model"] = round(median[name] / median["bare model"], 3)
    return figures


def main() -> None:
    """Measure and print one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--task", required=True)
    parser.add_argument("--kg", required=True)
    parser.add_argument("--train", required=True)
    parser.add_argument("--model", default="mini-zh")
    parser.add_argument("--max-length", type=int, default=256)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--seconds", type=float, default=6, help="of training a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--predicted", type=int, default=1_000, help="sentences")
    options = parser.parse_args()
    figures = training_figures(options) | prediction_figures(options)
    print(json.dumps(figures, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
