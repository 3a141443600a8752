"""The tree laid flat: tokens, soft positions, branch ids and mention ids. Truncation lives here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kbert_cli.kg.triples import Triple
from kbert_cli.tree.sentence_tree import Branch, Knot, SentenceTree


class Piece(NamedTuple):
    """A token of a text: its id and the characters ``[start, end)`` that it stands for."""

    id: int
    start: int
    end: int


Encode = Callable[[str], Sequence[Piece]]
"""Tokenizes one text, without special tokens."""


@dataclass(frozen=True)
class SpecialTokens:
    """Ids around the texts; None leaves a token out (the reference's trees have neither)."""

    cls: int | None
    sep: int | None


@dataclass(frozen=True)
class PlacedBranch:
    """A branch and the tokens ``[start, end)`` that it occupies in the layout."""

    triple: Triple
    start: int
    end: int


@dataclass
class TreeLayout:
    """A tree of n tokens. The integer lists are parallel, one entry a token."""

    token_ids: list[int] = field(default_factory=list)
    token_texts: list[str] = field(default_factory=list)
    """The characters that each token stands for; the special tokens' names otherwise."""
    soft_positions: list[int] = field(default_factory=list)
    """Position along the tree path, from 0."""
    branch_ids: list[int] = field(default_factory=list)
    """0 on the trunk, else the branch's number, from 1."""
    mention_ids: list[int] = field(default_factory=list)
    """Number (from 1) of the mention whose anchor or branch the token belongs to, else 0."""
    segment_ids: list[int] = field(default_factory=list)
    """Index of the text that the token belongs to, as BERT's token types."""
    spans: list[tuple[int, int]] = field(default_factory=list)
    """Characters of its text that a trunk token stands for; (-1, -1) elsewhere."""
    branches: list[PlacedBranch] = field(default_factory=list)
    dropped_branches: list[Triple] = field(default_factory=list)
    """Branches left out to keep within the length limit."""
    truncated_characters: int = 0
    """Characters of the texts beyond the limit, which no token stands for."""

    def __len__(self) -> int:
        return len(self.token_ids)


class _Twig(NamedTuple):
    """A branch with its tokens: parallel ids and texts."""

    branch: Branch
    ids: list[int]
    texts: list[str]


class _Anchor(NamedTuple):
    """The pieces of a text ``[first, last]`` on which twigs hang."""

    first: int
    last: int
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
    pieces = [list(encode(text)) for text in tree.texts]
    anchors, lost = _anchors(tree, pieces, encode)
    specials = (special.cls is not None) + (special.sep is not None) * len(tree.texts)
    room = max_length - specials
    if room < 0:
        raise ValueError(f"max_length {max_length} does not hold the special tokens")
    dropped = _drop_branches(anchors, room - sum(map(len, pieces)))
    layout = TreeLayout(dropped_branches=lost + dropped)
    layout.truncated_characters = _cut_trunk(tree.texts, pieces, room)
    _write(layout, tree.texts, pieces, anchors, special)
    return layout


def _anchors(
    tree: SentenceTree, pieces: list[list[Piece]], encode: Encode
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
        span = _anchor_span(pieces[index], knot, cursors[index])
        if span is None:
            lost += [branch.triple for branch in knot.branches]
            continue
        cursors[index] = span[1] + 1
        twigs = [_twig(branch, encode) for branch in knot.branches]
        lost += [twig.branch.triple for twig in twigs if not twig.ids]
        anchors[index].append(_Anchor(*span, [twig for twig in twigs if twig.ids]))
    return anchors, lost


def _anchor_span(pieces: list[Piece], knot: Knot, cursor: int) -> tuple[int, int] | None:
    first = cursor
    while first < len(pieces) and pieces[first].end <= knot.mention.start:
        first += 1
    last = first
    while last < len(pieces) and pieces[last].start < knot.mention.end:
        last += 1
    return (first, last - 1) if last > first else None


def _twig(branch: Branch, encode: Encode) -> _Twig:
    tokens = [(piece, part) for part in branch.parts for piece in encode(part)]
    return _Twig(
        branch,
        [piece.id for piece, _ in tokens],
        [part[piece.start : piece.end] for piece, part in tokens],
    )


def _drop_branches(anchors: list[list[_Anchor]], room: int) -> list[Triple]:
    """Remove twigs from the back until their tokens fit ``room``; the removed, in tree order."""
    twigs = [(anchor, twig) for text in anchors for anchor in text for twig in anchor.twigs]
    need = sum(len(twig.ids) for _, twig in twigs)
    dropped: list[Triple] = []
    while twigs and need > max(room, 0):
        anchor, twig = twigs.pop()
        anchor.twigs.pop()
        need -= len(twig.ids)
        dropped.insert(0, twig.branch.triple)
    return dropped


def _cut_trunk(texts: tuple[str, ...], pieces: list[list[Piece]], room: int) -> int:
    """Shorten the longer text's pieces in place until all fit; the number of characters lost."""
    lost = 0
    for index, keep in enumerate(_shares([len(text) for text in pieces], room)):
        if keep < len(pieces[index]):
            del pieces[index][keep:]
            end = pieces[index][-1].end if keep else 0
            lost += len(texts[index]) - end
    return lost


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
    texts: tuple[str, ...],
    pieces: list[list[Piece]],
    anchors: list[list[_Anchor]],
    special: SpecialTokens,
) -> None:
    positions = _Counter()
    mentions = _Counter(1)
    if special.cls is not None:
        _append(layout, special.cls, "[CLS]", positions.take(), segment=0)
    for segment, (text, trunk) in enumerate(zip(texts, pieces, strict=True)):
        pending = (anchor for anchor in anchors[segment] if anchor.twigs)
        anchor = next(pending, None)
        for index, piece in enumerate(trunk):
            inside = anchor is not None and index >= anchor.first
            _append(
                layout,
                piece.id,
                text[piece.start : piece.end],
                positions.take(),
                segment=segment,
                mention=mentions.value if inside else 0,
                span=(piece.start, piece.end),
            )
            if anchor is not None and index == anchor.last:
                _hang(layout, anchor, mentions.take(), segment)
                anchor = next(pending, None)
        if special.sep is not None:
            _append(layout, special.sep, "[SEP]", positions.take(), segment=segment)


def _hang(layout: TreeLayout, anchor: _Anchor, mention: int, segment: int) -> None:
    """Append the anchor's twigs; each continues from the anchor's last token."""
    after = layout.soft_positions[-1] + 1
    for twig in anchor.twigs:
        number = len(layout.branches) + 1
        start = len(layout)
        for step, (token_id, text) in enumerate(zip(twig.ids, twig.texts, strict=True)):
            _append(
                layout,
                token_id,
                text,
                after + step,
                segment=segment,
                branch=number,
                mention=mention,
            )
        layout.branches.append(PlacedBranch(twig.branch.triple, start, len(layout)))


def _append(
    layout: TreeLayout,
    token_id: int,
    text: str,
    position: int,
    *,
    segment: int,
    branch: int = 0,
    mention: int = 0,
    span: tuple[int, int] = (-1, -1),
) -> None:
    layout.token_ids.append(token_id)
    layout.token_texts.append(text)
    layout.soft_positions.append(position)
    layout.branch_ids.append(branch)
    layout.mention_ids.append(mention)
    layout.segment_ids.append(segment)
    layout.spans.append(span)


class _Counter:
    def __init__(self, value: int = 0) -> None:
        self.value = value

    def take(self) -> int:
        self.value += 1
        return self.value - 1


def anchor_tokens(layout: TreeLayout, branch: PlacedBranch) -> Iterator[int]:
    """Indices of the trunk tokens on which ``branch`` hangs."""
    mention = layout.mention_ids[branch.start]
    owners = zip(layout.mention_ids, layout.branch_ids, strict=True)
    return (index for index, owner in enumerate(owners) if owner == (mention, 0))
