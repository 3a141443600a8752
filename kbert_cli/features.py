"""Features: a sentence tree as integers, O(n) an example."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kbert_cli.config import InjectionConfig
from kbert_cli.kg.graph import Graph
from kbert_cli.mentions.finder import MentionFinder
from kbert_cli.tree.layout import SpecialTokens, TreeLayout, lay_out
from kbert_cli.tree.pieces import Encode, Pieces
from kbert_cli.tree.sentence_tree import BranchSource, SentenceTree, grow_tree

# Sentence and clause ends, where a long text may be cut into windows.
_CLAUSE_ENDS = frozenset("。！？；，!?;,\n")


WHOLE, TEXT, CONTEXT = "whole", "text", "context"
"""How a text beyond the length limit is read, see ``Featurizer.parts``."""


@dataclass(frozen=True)
class Features:
    """One tree of n tokens as the model takes it, and where it comes from."""

    token_ids: np.ndarray
    """[n] int32"""
    segment_ids: np.ndarray
    """[n] int8"""
    positions: np.ndarray
    """[n] int16, soft positions, or 0 … n - 1 without them"""
    branch_ids: np.ndarray
    """[n] int16, 0 on the trunk"""
    mention_ids: np.ndarray
    """[n] int16, 0 for none"""
    spans: np.ndarray
    """[n, 2] int32, characters of the window that a trunk token stands for, else (-1, -1)"""
    truncated_characters: int
    dropped_branches: int
    branches: int

    def __len__(self) -> int:
        return len(self.token_ids)


@dataclass(frozen=True)
class Part:
    """An example's tree, or that of a window of a long one."""

    start: int
    """First character of the window; 0 for a whole example."""
    length: int
    """Characters of the window."""
    features: Features


@dataclass(frozen=True)
class FeaturizerRecipe:
    """What a featurizer is made of; it pickles, so that another process can make its own."""

    graph: Graph
    tokenizer: str
    """The ``tokenizers.Tokenizer`` as JSON."""
    special: SpecialTokens
    injection: InjectionConfig


class Featurizer:
    """Walks the path from texts to features with the settings of one run."""

    def __init__(
        self,
        graph: Graph,
        encode: Encode,
        special: SpecialTokens,
        injection: InjectionConfig,
    ) -> None:
        self._encode = encode
        self._special = special
        self._injection = injection
        self._source = BranchSource(
            graph,
            max_entities=injection.max_entities,
            predicate=injection.predicate is not False,
            select=injection.select,
        )
        self._finder = MentionFinder(graph, min_length=injection.min_mention_length)

    def grow(self, texts: Sequence[str]) -> SentenceTree:
        """The sentence tree of one text or of a pair; no mention crosses from one to the other."""
        return grow_tree(
            texts,
            [self._finder.find(text) for text in texts],
            self._source,
        )

    def lay_out(self, tree: SentenceTree) -> TreeLayout:
        """The tree laid flat, as the model gets it."""
        layout = lay_out(tree, self._encode, self._special, max_length=self._injection.max_length)
        if not self._injection.soft_position:
            layout.soft_positions = list(range(len(layout)))
        return layout

    def featurize(self, texts: Sequence[str]) -> Features:
        """From texts to integers."""
        layout = self.lay_out(self.grow(texts))
        return Features(
            token_ids=_packed("i", layout.token_ids),
            segment_ids=_packed("b", layout.segment_ids),
            positions=_packed("h", layout.soft_positions),
            branch_ids=_packed("h", layout.branch_ids),
            mention_ids=_packed("h", layout.mention_ids),
            spans=_packed("i", layout.starts + layout.ends).reshape(2, -1).T,
            truncated_characters=layout.truncated_characters,
            dropped_branches=len(layout.dropped_branches),
            branches=len(layout.branches),
        )

    def parts(self, texts: Sequence[str], windowing: str = WHOLE) -> Iterator[Part]:
        """What an example is read in.

        Args:
            windowing: how a text beyond the length limit is read: cut off (``WHOLE``), in windows
                one behind the other (``TEXT``), or, the second of a pair, in windows that overlap
                by half, each beside the first (``CONTEXT``).
        """
        if windowing == WHOLE:
            yield Part(0, len(texts[0]), self.featurize(texts))
        elif windowing == TEXT:
            for start, end in self.windows(texts[0]):
                yield Part(start, end - start, self.featurize([texts[0][start:end]]))
        else:
            question, context = texts
            question = self._first_pieces(question)
            for start, end in self._overlapping(question, context):
                yield Part(start, end - start, self.featurize([question, context[start:end]]))

    def _first_pieces(self, question: str) -> str:
        """A question cut to a quarter of the length limit."""
        pieces, limit = self._encode(question), self._injection.max_length // 4
        return question if len(pieces.ids) <= limit else question[: pieces.ends[limit - 1]]

    def _overlapping(self, question: str, context: str) -> Iterator[tuple[int, int]]:
        """Character spans of a context, each of which fits beside the question.

        A quarter of the room is left to branches, with or without a graph: runs with and without
        one then read the same windows.
        """
        pieces = self._encode(context)
        left = self._injection.max_length - 3 - len(self._encode(question).ids)
        room = max(1, left * 3 // 4)
        count = len(pieces.ids)
        first = 0
        while count - first > room:
            yield pieces.starts[first], pieces.ends[first + room - 1]
            first += max(1, room // 2)
        yield (pieces.starts[first] if first else 0), len(context)

    def windows(self, text: str) -> Iterator[tuple[int, int]]:
        """Character spans that cut ``text`` into parts whose trunks keep within the length limit.

        A cut falls behind the last clause end in the second half of a window, else at its end.
        """
        room = self._injection.max_length - 2
        pieces = self._encode(text)
        first = start = 0
        while len(pieces.ids) - first > room:
            first = _cut(text, pieces, first, room)
            yield start, pieces.starts[first]
            start = pieces.starts[first]
        yield start, len(text)


def _packed(code: str, numbers: list[int]) -> np.ndarray:
    """A list as an array; by way of the standard library's, which is three times as fast."""
    return np.frombuffer(array(code, numbers), code)


def _cut(text: str, pieces: Pieces, first: int, room: int) -> int:
    """The piece before which a window ends that begins with piece ``first``."""
    for index in range(first + room, first + room // 2, -1):
        if text[pieces.starts[index - 1]] in _CLAUSE_ENDS:
            return index
    return first + room
