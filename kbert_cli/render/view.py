"""What of a tree is shown, whatever the form: plain data."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from kbert_cli.kg.triples import Triple
from kbert_cli.tree.layout import TreeLayout
from kbert_cli.tree.sentence_tree import Branch, Knot, SentenceTree
from kbert_cli.tree.visibility import visible_matrix


def visible_rows(layout: TreeLayout, *, tree: bool = True) -> list[str]:
    """The visible matrix as n strings of n characters, ``1`` where row sees column."""
    if not tree:
        return ["1" * len(layout)] * len(layout)
    matrix = visible_matrix(np.array(layout.branch_ids), np.array(layout.mention_ids))
    return ["".join("1" if cell else "0" for cell in row) for row in matrix]


def shown_knots(tree: SentenceTree, layout: TreeLayout) -> Iterator[tuple[Knot, list[Branch], int]]:
    """The knots in reading order, the branches that the layout kept, the mention's number.

    The number is that of ``layout.mention_ids``; 0 where no branch was kept.
    """
    dropped = list(layout.dropped_branches)
    number = 0
    for knot in tree.knots:
        kept = [branch for branch in knot.branches if not _take(dropped, branch.triple)]
        number += bool(kept)
        yield knot, kept, number if kept else 0


def _take(dropped: list[Triple], triple: Triple) -> bool:
    if triple in dropped:
        dropped.remove(triple)
        return True
    return False


def unknown_tokens(layout: TreeLayout, unknown_id: int | None) -> list[int]:
    """Tokens of which the encoder sees only that it does not know them."""
    if unknown_id is None:
        return []
    return [index for index, token in enumerate(layout.token_ids) if token == unknown_id]


def tree_as_dict(
    tree: SentenceTree, layout: TreeLayout, *, visible: bool = True, unknown_id: int | None = None
) -> dict[str, Any]:
    """The object that ``inspect-tree --format json`` prints.

    ``start`` and ``end`` of a mention are characters of its text; those of a branch are tokens.
    """
    pair = {"text_b": tree.texts[1]} if len(tree.texts) > 1 else {}
    return {
        "text": tree.texts[0],
        **pair,
        "mentions": [
            {
                "text": knot.mention.name,
                "start": knot.mention.start,
                "end": knot.mention.end,
                **({"text_index": knot.text_index} if pair else {}),
            }
            for knot in tree.knots
        ],
        "branches": [
            {**branch.triple._asdict(), "start": branch.start, "end": branch.end}
            for branch in layout.branches
        ],
        "tokens": layout.token_texts,
        "unknown": unknown_tokens(layout, unknown_id),
        "soft_positions": layout.soft_positions,
        "branch_ids": layout.branch_ids,
        "visible": visible_rows(layout, tree=visible),
        "dropped_branches": [triple._asdict() for triple in layout.dropped_branches],
        "truncated_characters": layout.truncated_characters,
    }


def visible_characters(text: str) -> str:
    """``text`` with control, format and separator characters written as ``<U+200B>``."""
    return "".join(
        char if char == " " or unicodedata.category(char)[0] not in "CZ" else f"<U+{ord(char):04X}>"
        for char in text
    )


def losses(layout: TreeLayout) -> Iterable[str]:
    """What of the tree the length limit cost, a line each."""
    if layout.dropped_branches:
        names = ", ".join(
            visible_characters(f"{triple.subject}–{triple.object}")
            for triple in layout.dropped_branches
        )
        yield f"dropped {len(layout.dropped_branches)} branches to keep the length limit: {names}"
    if layout.truncated_characters:
        yield f"cut {layout.truncated_characters} characters off the end of the text"
