"""A tree for the terminal: what hangs where, the tokens, the visible matrix."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from kbert_cli.kg.triples import Triple
from kbert_cli.render.view import unknown_tokens, visible_rows
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
    for line in (*_losses(layout), *_unknown(layout, unknown_id)):
        console.print(Text(line, style="bold red"))
    return "".join(line.rstrip() + "\n" for line in stream.getvalue().splitlines())


def _unknown(layout: TreeLayout, unknown_id: int | None) -> list[str]:
    shown = [layout.token_texts[index] for index in unknown_tokens(layout, unknown_id)]
    names = " ".join(map(visible_characters, dict.fromkeys(shown)))
    return [f"unknown to the encoder, which gets [UNK]: {names}"] if shown else []


def visible_characters(text: str) -> str:
    """``text`` with control, format and separator characters written as ``<U+200B>``."""
    return "".join(
        char if char == " " or unicodedata.category(char)[0] not in "CZ" else f"<U+{ord(char):04X}>"
        for char in text
    )


def _style(mention_id: int) -> str:
    return _COLOURS[(mention_id - 1) % len(_COLOURS)] if mention_id else ""


def _drawn_tree(tree: SentenceTree, layout: TreeLayout) -> Tree:
    drawn = Tree(Text(" ⏐ ".join(map(visible_characters, tree.texts)), style="bold"))
    dropped = list(layout.dropped_branches)
    number = 0
    for knot in tree.knots:
        shown = [branch for branch in knot.branches if not _take(dropped, branch.triple)]
        number += bool(shown)
        style = _style(number) if shown else ""
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


def _take(dropped: list[Triple], triple: Triple) -> bool:
    if triple in dropped:
        dropped.remove(triple)
        return True
    return False


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


def _losses(layout: TreeLayout) -> Iterable[str]:
    if layout.dropped_branches:
        names = ", ".join(
            visible_characters(f"{triple.subject}–{triple.object}")
            for triple in layout.dropped_branches
        )
        yield f"dropped {len(layout.dropped_branches)} branches to keep the length limit: {names}"
    if layout.truncated_characters:
        yield f"cut {layout.truncated_characters} characters off the end of the text"
