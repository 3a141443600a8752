"""Options of the jobs, checked where they are made. Every check names the flag."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from kbert_cli.errors import KbertError
from kbert_cli.registry import METHODS, TASKS

NO_GRAPH = "none"
DEFAULT_ENCODER = "mini-zh"


@dataclass(frozen=True)
class InjectionConfig:
    """How triples get into a sentence; recorded in a run, so that prediction repeats it exactly."""

    max_entities: int = 2
    """Branches a mention may carry (0 injects nothing)."""
    predicate: bool | None = None
    """Whether a branch holds the predicate's text before the object's; None: as the task has it."""
    select: str = "first"
    """Which triples of a mention are injected: first (file order), rare or similar."""
    min_mention_length: int = 2
    """Characters that a name must have to be found in a text."""
    max_length: int = 256
    """Tokens a sentence tree may have, special tokens and branches included."""
    soft_position: bool = True
    """False numbers the tokens as they stand in the flattened tree (ablation)."""
    visible_matrix: bool = True
    """False lets every token see every other one (ablation)."""

    def __post_init__(self) -> None:
        _raise_all(
            _at_least("--max-entities", self.max_entities, 0),
            _at_least("--min-mention-length", self.min_mention_length, 1),
            None
            if self.select in SELECTIONS
            else f"--select is {self.select!r}; it must be one of {', '.join(SELECTIONS)}",
            # [CLS], one token of each of two texts and two [SEP] must fit.
            _at_least("--max-length", self.max_length, 5),
        )


@dataclass(frozen=True)
class TrainingConfig:
    """How the weights are fitted."""

    epochs: float = 5
    """Passes over the training split."""
    batch_size: int | None = None
    """Sentences an optimiser step; None: the reference's for the task (NER 16, else 32)."""
    tokens_per_batch: int | None = None
    """Tokens an optimiser step, padding included, instead of a number of sentences."""
    pack: bool = False
    """Whether short sentences share rows while training."""
    learning_rate: float | None = None
    """Peak of the linear schedule; None: 2e-5; for an encoder that is small or from nothing the
    task's own."""
    warmup: float = 0.1
    """Share of all steps over which the rate rises to its peak."""
    weight_decay: float = 0.01
    """AdamW's decoupled weight decay."""
    dropout: float = 0.1
    """Dropout before the head's output layer."""
    pooling: str | None = None
    """Which state the head of classification and qa reads: cls ([CLS]) or mean (of the trunk);
    None: cls, but mean for an encoder from nothing, whose [CLS] attends to nothing yet."""
    seed: int = 42
    """Seed of initialisation, order of examples and dropout."""
    precision: str = "auto"
    """fp32, bf16, fp16, or auto: bf16 on a GPU that has it, else fp32."""
    eval_steps: int | None = None
    """Optimiser steps between looks at dev, beside those after each epoch."""
    early_stopping: int | None = None
    """End after so many looks at dev in a row without a better figure."""
    freeze_layers: int = 0
    """Layers of the encoder, from below, that stay as they are, and its embeddings with them."""

    def __post_init__(self) -> None:
        _raise_all(
            None if 0 < self.epochs < 1e6 else f"--epochs is {self.epochs}; it must be above 0",
            None
            if 0 <= self.weight_decay < 1
            else f"--weight-decay is {self.weight_decay}; it must be at least 0 and below 1",
            None if self.batch_size is None else _at_least("--batch-size", self.batch_size, 1),
            None
            if self.learning_rate is None or 0 < self.learning_rate < 1
            else f"--learning-rate is {self.learning_rate}; it must lie between 0 and 1",
            None if 0 <= self.warmup <= 1 else f"--warmup is {self.warmup}; it is a share, 0 to 1",
            None
            if 0 <= self.dropout < 1
            else f"--dropout is {self.dropout}; it must be at least 0 and below 1",
            None
            if self.pooling in (None, *POOLINGS)
            else f"--pooling is {self.pooling!r}; it must be one of {', '.join(POOLINGS)}",
            None
            if 0 <= self.seed < 1 << 32
            else f"--seed is {self.seed}; it must be at least 0 and below 2^32",
            None
            if self.precision in PRECISIONS
            else f"--precision is {self.precision!r}; it must be one of {', '.join(PRECISIONS)}",
            *(
                None if value is None else _at_least(flag, value, 1)
                for flag, value in (
                    ("--tokens-per-batch", self.tokens_per_batch),
                    ("--eval-steps", self.eval_steps),
                    ("--early-stopping", self.early_stopping),
                )
            ),
            _at_least("--freeze-layers", self.freeze_layers, 0),
        )


@dataclass(frozen=True)
class EngineConfig:
    """How the machine does a run; nothing here changes its result beyond rounding."""

    gradient_accumulation: int = 1
    """Parts in which a process takes its share of an optimiser step, one after the other."""
    workers: int | None = None
    """Processes that grow trees; 0: this one alone, None: as many as there are cores."""
    compile: bool = False
    """Whether torch compiles the model first."""
    log_to: str | None = None
    """``tensorboard``, beside ``metrics.jsonl``."""
    save_total: int = 1
    """Checkpoints kept while training, beside the best one."""

    def __post_init__(self) -> None:
        _raise_all(
            _at_least("--gradient-accumulation", self.gradient_accumulation, 1),
            None if self.workers is None else _at_least("--workers", self.workers, 0),
            _at_least("--save-total", self.save_total, 1),
            None
            if self.log_to in (None, *LOGGERS)
            else f"--log-to is {self.log_to!r}; it must be one of {', '.join(LOGGERS)}",
        )


LOGGERS = ("tensorboard",)
ATTENTIONS = ("sdpa", "eager", "flex")


@dataclass(frozen=True)
class ReadConfig:
    """How data files are read; what is None is told by the file itself."""

    format: str | None = None
    """One of ``corpus.formats.FORMATS``."""
    encoding: str = "utf-8"
    text_field: str | None = None
    """Column or JSON field of the (first) text."""
    text_b_field: str | None = None
    """Column or JSON field of the second text."""
    label_field: str | None = None
    """Column or JSON field of the label."""
    label_column: str | None = None
    """Where the label is in a table without header: first or last."""
    classes: str | None = None
    """File with a class name a line, for labels that are numbers (from 0)."""

    def __post_init__(self) -> None:
        _raise_all(
            None
            if self.label_column in (None, *LABEL_COLUMNS)
            else f"--label-column is {self.label_column!r}; it must be first or last",
        )


LABEL_COLUMNS = ("first", "last")
SELECTIONS = ("first", "rare", "similar")
POOLINGS = ("cls", "mean")
OPTIMIZERS = ("muon", "adamw")
PRECISIONS = ("auto", "fp32", "bf16", "fp16")


@dataclass(frozen=True)
class PretrainConfig:
    """Everything that decides a pre-training run."""

    texts: tuple[str, ...]
    """Text files, a sentence a line; blank lines part documents."""
    model: str = "scratch:mini"
    """``scratch:SIZE``, or an encoder to go on from."""
    vocab: str | None = None
    """vocab.txt for an encoder from nothing; None: built from the texts."""
    vocab_size: int = 8_000
    """Pieces of a vocabulary that is built."""
    whole_word: bool = True
    """Mask whole words as jieba cuts them, or single pieces."""
    nsp: bool = False
    """Whether the next-sentence objective is trained too."""
    max_steps: int = 20_000
    """Optimiser steps in all; they span the schedule."""
    tokens_per_batch: int = 2_048
    """Tokens a step, padding included."""
    max_length: int = 128
    """Tokens a row in the last stage."""
    short_length: int = 32
    """Tokens a row in the first stage."""
    short_share: float = 0.7
    """Share of the steps in the first stage."""
    optimizer: str = "muon"
    """``muon`` (on the matrices between layers, AdamW on the rest) or ``adamw`` alone."""
    matrix_rate: float = 0.01
    """Muon's peak rate."""
    learning_rate: float = 1e-3
    """AdamW's peak rate; both follow one linear schedule."""
    dropout: float = 0.0
    """While pre-training; fine-tuning has the usual 0.1."""
    count_vectors: bool = True
    """Whether an encoder from nothing starts with word vectors counted in the text."""
    warmup: float = 0.02
    """Share of all steps over which the rate rises to its peak."""
    weight_decay: float = 0.01
    """AdamW's decoupled weight decay."""
    mask_rate: float = 0.25
    """Share of tokens that are asked for; more than BERT's 0.15, because a small model learns
    sooner from more questions a row."""
    seed: int = 42
    """Seed of initialisation, order, masks and dropout."""
    precision: str = "auto"
    """fp32, bf16, fp16, or auto: bf16 where GPU or processor have it, else fp32."""
    save_steps: int = 1_000
    """Steps between checkpoints, and between looks at the held-out text."""

    def __post_init__(self) -> None:
        share = "it is a share, 0 to 1"
        _raise_all(
            None if self.texts else "no text file is given",
            _at_least("--vocab-size", self.vocab_size, 100),
            _at_least("--max-steps", self.max_steps, 1),
            _at_least("--save-steps", self.save_steps, 1),
            _at_least("--short-length", self.short_length, 8),
            _at_least("--max-length", self.max_length, self.short_length),
            _at_least("--tokens-per-batch", self.tokens_per_batch, self.max_length),
            None
            if 0 <= self.seed < 1 << 32
            else f"--seed is {self.seed}; it must be at least 0 and below 2^32",
            None
            if 0 <= self.weight_decay < 1
            else f"--weight-decay is {self.weight_decay}; it must be at least 0 and below 1",
            None if 0 <= self.short_share <= 1 else f"--short-share is {self.short_share}; {share}",
            None if 0 <= self.warmup <= 1 else f"--warmup is {self.warmup}; {share}",
            None
            if self.optimizer in OPTIMIZERS
            else f"--optimizer is {self.optimizer!r}; it must be one of {', '.join(OPTIMIZERS)}",
            None
            if 0 < self.matrix_rate < 1
            else f"--matrix-rate is {self.matrix_rate}; it must lie between 0 and 1",
            None
            if 0 <= self.dropout < 1
            else f"--dropout is {self.dropout}; it must be at least 0 and below 1",
            None
            if 0 < self.mask_rate < 1
            else f"--mask-rate is {self.mask_rate}; it must lie between 0 and 1",
            None
            if 0 < self.learning_rate < 1
            else f"--learning-rate is {self.learning_rate}; it must lie between 0 and 1",
        )


@dataclass(frozen=True)
class FinetuneConfig:
    """Everything that decides a fine-tuning run."""

    task: str
    kg: tuple[str, ...] = (NO_GRAPH,)
    """Graphs in the order given: bundled names, files or folders; ``none`` alone for no graph."""
    method: str = "kbert"
    model: str = DEFAULT_ENCODER
    """A bundled name, a folder, a hub name or ``scratch:SIZE``."""
    train: str = ""
    dev: str | None = None
    test: str | None = None
    attention: str = "sdpa"
    """Attention implementation of the encoder: sdpa, eager or flex."""
    injection: InjectionConfig = field(default_factory=InjectionConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    reading: ReadConfig = field(default_factory=ReadConfig)

    def __post_init__(self) -> None:
        alone = NO_GRAPH not in self.kg or len(self.kg) == 1
        _raise_all(
            None
            if self.task in TASKS
            else f"--task is {self.task!r}; it must be one of {', '.join(TASKS)}",
            None
            if self.method in METHODS
            else f"--method is {self.method!r}; it must be one of {', '.join(METHODS)}",
            None if all(isinstance(one, str) for one in self.kg) else "--kg is no list of names",
            None if alone else f"--kg none stands alone; given: {', '.join(self.kg)}",
            None if self.kg else "--kg is missing",
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data for ``config.json``."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> FinetuneConfig:
        """The inverse of ``as_dict``.

        Raises:
            KbertError: a field is missing or unknown (another version wrote it).
        """
        try:
            value = dict(value)
            value["kg"] = tuple(value["kg"])
            value["injection"] = InjectionConfig(**value["injection"])
            value["training"] = TrainingConfig(**value["training"])
            value["reading"] = ReadConfig(**value.get("reading", {}))
            return cls(**value)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise KbertError(f"config.json does not fit this version of kbert: {error}") from None


def _at_least(flag: str, value: int, least: int) -> str | None:
    return None if value >= least else f"{flag} is {value}; it must be at least {least}"


def _raise_all(*problems: str | None) -> None:
    found = [problem for problem in problems if problem]
    if found:
        raise KbertError("\n".join(found))
