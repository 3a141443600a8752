"""The tree laid flat: tokens, soft positions, branch ids and mention ids. Truncation lives here."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from kbert_cli.kg.triples import Triple
from kbert_cli.tree.pieces import Encode, Pieces
from kbert_cli.tree.sentence_tree import Branch, Knot, SentenceTree


@dataclass(frozen=True)
class SpecialTokens:
    """Ids around the texts; None leaves a token out (the reference's trees have neither)."""

    cls: int | None
    sep: int | None


class PlacedBranch(NamedTuple):
    """A branch and the tokens ``[start, end)`` that it occupies in the layout."""

    triple: Triple
    start: int
    end: int
    texts: tuple[str, ...]
    """The injected texts, in order."""
    pieces: tuple[Pieces, ...]
    """Their tokens."""


@dataclass
class TreeLayout:
    """A tree of n tokens. The integer lists are parallel, one entry a token."""

    texts: tuple[str, ...]
    token_ids: list[int] = field(default_factory=list)
    soft_positions: list[int] = field(default_factory=list)
    """Position along the tree path, from 0."""
    branch_ids: list[int] = field(default_factory=list)
    """0 on the trunk, else the branch's number, from 1."""
    mention_ids: list[int] = field(default_factory=list)
    """Number (from 1) of the mention whose anchor or branch the token belongs to, else 0."""
    segment_ids: list[int] = field(default_factory=list)
    """Index of the text that the token belongs to, as BERT's token types."""
    starts: list[int] = field(default_factory=list)
    """First character of its text that a trunk token stands for; -1 elsewhere."""
    ends: list[int] = field(default_factory=list)
    """Behind the last such character; -1 elsewhere."""
    branches: list[PlacedBranch] = field(default_factory=list)
    dropped_branches: list[Triple] = field(default_factory=list)
    """Branches left out to keep within the length limit."""
    truncated_characters: int = 0
    """Characters of the texts beyond the limit, which no token stands for."""

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def spans(self) -> list[tuple[int, int]]:
        """``starts`` and ``ends`` as pairs."""
        return list(zip(self.starts, self.ends, strict=True))

    @property
    def token_texts(self) -> list[str]:
        """The characters that each token stands for; the special tokens' names otherwise."""
        shown = [
            self.texts[segment][start:end] if start >= 0 else "[SEP]"
            for segment, (start, end) in zip(self.segment_ids, self.spans, strict=True)
        ]
        if shown and self.starts[0] < 0 and self.branch_ids[0] == 0:
            shown[0] = "[CLS]"
        for branch in self.branches:
            shown[branch.start : branch.end] = [
                one
                for text, pieces in zip(branch.texts, branch.pieces, strict=True)
                for one in pieces.texts(text)
            ]
        return shown


class _Twig(NamedTuple):
    """A branch with its tokens."""

    branch: Branch
    pieces: tuple[Pieces, ...]
    size: int


class _Anchor(NamedTuple):
    """The pieces of a text ``[first, end)`` on which twigs hang."""

    first: int
    end: int
    twigs: list[_Twig]


def lay_out(
    tree: SentenceTree, encode: Encode, special: SpecialTokens, *, max_length: int
) -> TreeLayout:
    """Flatten ``tree`` into at most ``max_length`` tokens, each branch right behind its mention.

    Too long a tree loses whole branches first, the last ones first; then the longer text loses its
    end. Special tokens always stay.

    Raises:
        ValueError: not even the special tokens fit.
    """
    pieces = [encode(text) for text in tree.texts]
    anchors, lost = _anchors(tree, pieces, encode)
    specials = (special.cls is not None) + (special.sep is not None) * len(tree.texts)
    room = max_length - specials
    if room < 0:
        raise ValueError(f"max_length {max_length} does not hold the special tokens")
    lengths = [len(one.ids) for one in pieces]
    dropped = _drop_branches(anchors, room - sum(lengths))
    kept = _shares(lengths, room)
    layout = TreeLayout(tree.texts, dropped_branches=lost + dropped)
    layout.truncated_characters = sum(
        len(text) - (one.ends[keep - 1] if keep else 0)
        for text, one, keep in zip(tree.texts, pieces, kept, strict=True)
        if keep < len(one.ids)
    )
    _write(layout, pieces, kept, anchors, special)
    return layout


def _anchors(
    tree: SentenceTree, pieces: list[Pieces], encode: Encode
) -> tuple[list[list[_Anchor]], list[Triple]]:
    """The anchors of each text in order, and the triples that have no token or no place to hang."""
    anchors: list[list[_Anchor]] = [[] for _ in tree.texts]
    lost: list[Triple] = []
    cursors = [0] * len(tree.texts)
    for knot in tree.knots:
        if not knot.branches:
            continue
        index = knot.text_index
        # Searching from behind the previous anchor: a token that two mentions share stays the
        # first one's, so that every token belongs to one mention at most.
        first, end = _anchor_span(pieces[index], knot, cursors[index])
        if end <= first:
            lost += [branch.triple for branch in knot.branches]
            continue
        cursors[index] = end
        twigs = []
        for branch in knot.branches:
            parts = tuple([encode(part) for part in branch.parts])
            size = sum([len(part.ids) for part in parts])
            if size:
                twigs.append(_Twig(branch, parts, size))
            else:
                lost.append(branch.triple)
        anchors[index].append(_Anchor(first, end, twigs))
    return anchors, lost


def _anchor_span(pieces: Pieces, knot: Knot, cursor: int) -> tuple[int, int]:
    """``[first, end)``, the pieces that the mention touches; end <= first when there is none."""
    first = bisect_right(pieces.ends, knot.mention.start, cursor)
    return first, bisect_left(pieces.starts, knot.mention.end, first)


def _drop_branches(anchors: list[list[_Anchor]], room: int) -> list[Triple]:
    """Remove twigs from the back until their tokens fit ``room``; the removed, in tree order."""
    twigs = [(anchor, twig) for text in anchors for anchor in text for twig in anchor.twigs]
    need = sum([twig.size for _, twig in twigs])
    dropped: list[Triple] = []
    while twigs and need > max(room, 0):
        anchor, twig = twigs.pop()
        anchor.twigs.pop()
        need -= twig.size
        dropped.append(twig.branch.triple)
    return dropped[::-1]


def _shares(lengths: list[int], room: int) -> list[int]:
    """How many pieces each text keeps, cutting the longer one first.

    >>> _shares([10, 3], 9), _shares([10, 8], 9), _shares([4], 9)
    ([6, 3], [5, 4], [4])
    """
    if sum(lengths) <= room:
        return lengths
    if len(lengths) == 1:
        return [room]
    first, second = lengths
    half = room // 2
    if second <= half:
        return [room - second, second]
    if first <= room - half:
        return [first, room - first]
    return [room - half, half]


def _write(
    layout: TreeLayout,
    pieces: list[Pieces],
    kept: list[int],
    anchors: list[list[_Anchor]],
    special: SpecialTokens,
) -> None:
    position, mention = 0, 1
    if special.cls is not None:
        _append_special(layout, special.cls, position)
        position += 1
    for segment, (trunk, keep) in enumerate(zip(pieces, kept, strict=True)):
        at = 0
        for anchor in anchors[segment]:
            if not anchor.twigs:
                continue
            _append_trunk(layout, trunk, at, anchor.end, position)
            layout.mention_ids += [0] * (anchor.first - at)
            layout.mention_ids += [mention] * (anchor.end - anchor.first)
            position += anchor.end - at
            at = anchor.end
            # Each twig continues from the anchor's last token.
            for twig in anchor.twigs:
                _append_twig(layout, twig, position, mention)
            mention += 1
        _append_trunk(layout, trunk, at, keep, position)
        layout.mention_ids += [0] * (keep - at)
        position += keep - at
        if special.sep is not None:
            _append_special(layout, special.sep, position)
            position += 1
        layout.segment_ids += [segment] * (len(layout) - len(layout.segment_ids))


def _append_special(layout: TreeLayout, token_id: int, position: int) -> None:
    layout.token_ids.append(token_id)
    layout.soft_positions.append(position)
    layout.branch_ids.append(0)
    layout.mention_ids.append(0)
    layout.starts.append(-1)
    layout.ends.append(-1)


def _append_trunk(layout: TreeLayout, trunk: Pieces, at: int, end: int, position: int) -> None:
    """Pieces ``[at, end)``, all but their mention ids."""
    layout.token_ids += trunk.ids[at:end]
    layout.soft_positions += range(position, position + end - at)
    layout.branch_ids += [0] * (end - at)
    layout.starts += trunk.starts[at:end]
    layout.ends += trunk.ends[at:end]


def _append_twig(layout: TreeLayout, twig: _Twig, position: int, mention: int) -> None:
    start = len(layout.token_ids)
    for part in twig.pieces:
        layout.token_ids += part.ids
    nowhere = [-1] * twig.size
    layout.soft_positions += range(position, position + twig.size)
    layout.branch_ids += [len(layout.branches) + 1] * twig.size
    layout.mention_ids += [mention] * twig.size
    layout.starts += nowhere
    layout.ends += nowhere
    layout.branches.append(
        PlacedBranch(twig.branch.triple, start, start + twig.size, twig.branch.parts, twig.pieces)
    )


def anchor_tokens(layout: TreeLayout, branch: PlacedBranch) -> Iterator[int]:
    """Indices of the trunk tokens on which ``branch`` hangs."""
    mention = layout.mention_ids[branch.start]
    owners = zip(layout.mention_ids, layout.branch_ids, strict=True)
    return (index for index, owner in enumerate(owners) if owner == (mention, 0))
