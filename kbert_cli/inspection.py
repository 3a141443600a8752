"""Inspection: the path from a text to its tree, stopped before the model. Needs no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kbert_cli.checkpoint import ENCODER, read_record
from kbert_cli.config import InjectionConfig
from kbert_cli.features import Featurizer
from kbert_cli.kg.catalog import OpenedGraph, open_graph
from kbert_cli.kg.graph import MemoryGraph
from kbert_cli.registry import SCRATCH
from kbert_cli.tokenization import PieceEncoder, open_backend
from kbert_cli.tree.layout import SpecialTokens, TreeLayout
from kbert_cli.tree.sentence_tree import SentenceTree
from kbert_cli.vocabulary import BERT_SPECIAL, build_backend, build_vocabulary


@dataclass(frozen=True)
class Inspected:
    """A tree and its layout."""

    tree: SentenceTree
    layout: TreeLayout


class Inspector:
    """Grows and lays out trees as a model would get them."""

    def __init__(self, opened: OpenedGraph, injection: InjectionConfig, tokenizer: str) -> None:
        """``tokenizer``: an encoder, or ``scratch:…``, whose pieces are characters."""
        self.injection = injection
        self._graph = opened.graph
        self.unknown_id: int | None = None
        """What the tokenizer makes of what it does not know."""
        self._fixed = None
        if not tokenizer.startswith(SCRATCH):
            backend, special = open_backend(tokenizer)
            self.unknown_id = backend.token_to_id(getattr(backend.model, "unk_token", None) or "")
            self._fixed = self._featurizer(PieceEncoder(backend), special)

    def _featurizer(self, encode: PieceEncoder, special: SpecialTokens) -> Featurizer:
        return Featurizer(self._graph, encode, special, self.injection)

    def inspect(self, texts: Sequence[str]) -> Inspected:
        """One text or a pair as a tree."""
        featurizer = self._fixed or self._for_texts(texts)
        tree = featurizer.grow(texts)
        return Inspected(tree, featurizer.lay_out(tree))

    def _for_texts(self, texts: Sequence[str]) -> Featurizer:
        """A featurizer whose vocabulary holds all that these texts can become: no [UNK]."""
        bare = self._featurizer(PieceEncoder(build_backend(build_vocabulary([]))), BERT_SPECIAL)
        branches = _branch_texts(bare.grow(texts))
        vocabulary = build_vocabulary([*texts, *branches])
        return self._featurizer(PieceEncoder(build_backend(vocabulary)), BERT_SPECIAL)


def _branch_texts(tree: SentenceTree) -> Iterator[str]:
    return (part for branch in tree.branches() for part in branch.parts)


def run_inspector(folder: str | Path) -> Inspector:
    """An inspector with graph, settings and tokenizer of a run."""
    record = read_record(folder)
    config = record.config
    opened = open_graph(config.kg)
    injection = config.injection
    if config.method == "none":
        injection = replace(injection, max_entities=0)
    if not injection.max_entities:
        opened = OpenedGraph(MemoryGraph(), ())
    return Inspector(opened, injection, str(Path(folder) / ENCODER))
