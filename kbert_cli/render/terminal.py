"""A tree for the terminal: what hangs where, the tokens, the visible matrix."""

from __future__ import annotations

import io

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from kbert_cli.render.view import (
    losses,
    shown_knots,
    unknown_tokens,
    visible_characters,
    visible_rows,
)
from kbert_cli.tree.layout import TreeLayout
from kbert_cli.tree.sentence_tree import SentenceTree

# Repeated when there are more mentions.
_COLOURS = ("cyan", "green", "yellow", "magenta", "blue", "red")
_UNSEEN, _SEEN = "·", "■"


def render_terminal(
    tree: SentenceTree,
    layout: TreeLayout,
    *,
    colour: bool,
    width: int,
    visible: bool = True,
    unknown_id: int | None = None,
) -> str:
    """The tree as lines of at most ``width`` columns.

    The matrix is left out where it would not fit.

    Args:
        colour: whether to use ANSI colours.
        visible: false when the visible matrix is off (everything sees everything).
        unknown_id: of the tokens that the encoder does not know; they are named.
    """
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        no_color=not colour,
        highlight=False,
        legacy_windows=False,
    )
    console.print(_drawn_tree(tree, layout))
    console.print(_token_table(layout))
    console.print(_matrix(layout, width, visible))
    for line in (*losses(layout), *_unknown(layout, unknown_id)):
        console.print(Text(line, style="bold red"))
    return "".join(line.rstrip() + "\n" for line in stream.getvalue().splitlines())


def _unknown(layout: TreeLayout, unknown_id: int | None) -> list[str]:
    shown = [layout.token_texts[index] for index in unknown_tokens(layout, unknown_id)]
    names = " ".join(map(visible_characters, dict.fromkeys(shown)))
    return [f"unknown to the encoder, which gets [UNK]: {names}"] if shown else []


def _style(mention_id: int) -> str:
    return _COLOURS[(mention_id - 1) % len(_COLOURS)] if mention_id else ""


def _drawn_tree(tree: SentenceTree, layout: TreeLayout) -> Tree:
    drawn = Tree(Text(" ⏐ ".join(map(visible_characters, tree.texts)), style="bold"))
    for knot, shown, number in shown_knots(tree, layout):
        style = _style(number)
        mention = knot.mention
        label = Text(visible_characters(mention.name), style=f"bold {style}")
        label.append(f"  characters {mention.start}–{mention.end}", style="dim")
        node = drawn.add(label)
        for branch in shown:
            _, predicate, value = branch.triple
            line = Text(f"{visible_characters(predicate)} → ", style="dim")
            if not branch.with_predicate:
                line = Text(f"({visible_characters(predicate)}) ", style="dim")
            node.add(line.append(visible_characters(value), style=style))
    if not tree.knots:
        drawn.add(Text("no mention of an entity of the graph", style="dim"))
    return drawn


def _token_table(layout: TreeLayout) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("#", "token", "soft position", "branch"):
        table.add_column(name, justify="left" if name == "token" else "right")
    rows = zip(
        layout.token_texts,
        layout.soft_positions,
        layout.branch_ids,
        layout.mention_ids,
        strict=True,
    )
    for index, (token, position, branch, mention) in enumerate(rows):
        indent = "  " if branch else ""
        table.add_row(
            str(index),
            Text(indent + visible_characters(token), style=_style(mention)),
            str(position),
            str(branch) if branch else "trunk",
        )
    return table


def _matrix(layout: TreeLayout, width: int, visible: bool) -> Text:
    size = len(layout)
    gutter = len(str(size)) + 1
    if size + gutter > width:
        return Text(
            f"visible matrix: {size} × {size}, too wide for {width} columns; --format json has it",
            style="dim",
        )
    text = Text("visible matrix (row sees column)\n", style="dim")
    for index, row in enumerate(visible_rows(layout, tree=visible)):
        text.append(f"{index:>{gutter - 1}} ", style="dim")
        for cell, mention, branch in zip(row, layout.mention_ids, layout.branch_ids, strict=True):
            style = _style(mention) if branch or layout.branch_ids[index] else ""
            text.append(*(_SEEN, style) if cell == "1" else (_UNSEEN, "dim"))
        text.append("\n")
    return text
