"""What of a tree is shown, whatever the form: plain data."""

from __future__ import annotations

from typing import Any

import numpy as np

from kbert_cli.tree.layout import TreeLayout
from kbert_cli.tree.sentence_tree import SentenceTree
from kbert_cli.tree.visibility import visible_matrix


def visible_rows(layout: TreeLayout, *, tree: bool = True) -> list[str]:
    """The visible matrix as n strings of n characters, ``1`` where row sees column."""
    if not tree:
        return ["1" * len(layout)] * len(layout)
    matrix = visible_matrix(np.array(layout.branch_ids), np.array(layout.mention_ids))
    return ["".join("1" if cell else "0" for cell in row) for row in matrix]


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
