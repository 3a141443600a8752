"""Trees as one standalone HTML page: real text, no scripts, everything escaped."""

from __future__ import annotations

from collections.abc import Sequence, Set
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from kbert_cli.mentions.finder import Mention
from kbert_cli.render.svg import MENTION_COLOURS, matrix_svg
from kbert_cli.render.view import losses, shown_knots, unknown_tokens, visible_characters
from kbert_cli.tree.layout import TreeLayout
from kbert_cli.tree.sentence_tree import Branch, Knot, SentenceTree

_STYLE = """
body { font-family: sans-serif; margin: 2em; line-height: 1.6; }
table { border-collapse: collapse; margin: 1em 0; }
td, th { border: 1px solid #ccc; padding: 0 .6em; text-align: right; }
td:nth-child(2) { text-align: left; }
td.branch { padding-left: 2em; }
.unknown { outline: 2px solid #d62728; }
.loss { color: #d62728; }
""" + "".join(
    f".m{number} {{ background: {fill}; }}\n" for number, fill in enumerate(MENTION_COLOURS)
)


def render_html(
    shown: Sequence[tuple[SentenceTree, TreeLayout]],
    *,
    visible: bool = True,
    unknown_id: int | None = None,
) -> str:
    """One page with a section a tree: text with mentions, branches, tokens, visible matrix.

    Args:
        visible: false when the visible matrix is off (everything sees everything).
        unknown_id: of the tokens that the encoder does not know; they are framed in red.
    """
    page = Element("html", {"lang": "zh"})
    head = SubElement(page, "head")
    SubElement(head, "meta", {"charset": "utf-8"})
    SubElement(head, "title").text = "kbert: sentence trees"
    SubElement(head, "style").text = _STYLE
    body = SubElement(page, "body")
    for tree, layout in shown:
        section = SubElement(body, "section")
        knots = list(shown_knots(tree, layout))
        for index, text in enumerate(tree.texts):
            here = [(knot.mention, number) for knot, _, number in knots if knot.text_index == index]
            _marked(SubElement(section, "h2"), text, here)
        _branches(SubElement(section, "ul"), knots)
        for loss in losses(layout):
            SubElement(section, "p", {"class": "loss"}).text = loss
        _tokens(SubElement(section, "table"), layout, set(unknown_tokens(layout, unknown_id)))
        SubElement(section, "p").text = "visible matrix (row sees column)"
        section.append(matrix_svg(layout, visible=visible))
    written = ElementTree.tostring(page, encoding="unicode", method="html")
    return f"<!DOCTYPE html>\n{written}\n"


def _colour(mention_id: int) -> str:
    return f"m{(mention_id - 1) % len(MENTION_COLOURS)}" if mention_id else ""


def _marked(place: Element, text: str, mentions: Sequence[tuple[Mention, int]]) -> None:
    """The text with its mentions marked."""
    begins = [*(mention.start for mention, _ in mentions), len(text)]
    place.text = visible_characters(text[: begins[0]])
    for (mention, number), after in zip(mentions, begins[1:], strict=True):
        mark = SubElement(place, "mark", {"class": _colour(number)})
        mark.text = visible_characters(text[mention.start : mention.end])
        mark.tail = visible_characters(text[mention.end : after])


def _branches(place: Element, knots: Sequence[tuple[Knot, list[Branch], int]]) -> None:
    for knot, kept, number in knots:
        item = SubElement(place, "li")
        mention = knot.mention
        SubElement(item, "mark", {"class": _colour(number)}).text = visible_characters(mention.name)
        item[-1].tail = f" characters {mention.start}–{mention.end}"
        below = SubElement(item, "ul")
        for branch in kept:
            predicate, value = map(visible_characters, branch.triple[1:])
            left = f"{predicate} →" if branch.with_predicate else f"({predicate})"
            SubElement(below, "li").text = f"{left} {value}"
    if not knots:
        SubElement(place, "li").text = "no mention of an entity of the graph"


def _tokens(place: Element, layout: TreeLayout, unknown: Set[int]) -> None:
    row = SubElement(place, "tr")
    for name in ("#", "token", "soft position", "branch"):
        SubElement(row, "th").text = name
    for index, token in enumerate(layout.token_texts):
        branch = layout.branch_ids[index]
        classes = [_colour(layout.mention_ids[index])]
        classes += ["branch"] * bool(branch) + ["unknown"] * (index in unknown)
        row = SubElement(place, "tr")
        SubElement(row, "td").text = str(index)
        SubElement(row, "td", {"class": " ".join(filter(None, classes))}).text = visible_characters(
            token
        )
        SubElement(row, "td").text = str(layout.soft_positions[index])
        SubElement(row, "td").text = str(branch) if branch else "trunk"
