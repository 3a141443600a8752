"""Trees and visible matrices as SVG: real text, no scripts, everything escaped."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence, Set
from itertools import groupby
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from kbert_cli.render.view import losses, unknown_tokens, visible_characters, visible_rows
from kbert_cli.tree.layout import PlacedBranch, TreeLayout

MENTION_COLOURS = ("#9bd0f5", "#a8e0b0", "#f6d98a", "#e3b5ea", "#b7bdf3", "#f5b7b1")
"""Light fills that dark text can be read on; repeated when there are more mentions."""
_TRUNK, _UNKNOWN, _SEEN, _HIDDEN = "#f2f2f2", "#d62728", "#444444", "#eeeeee"
_FONT = "'Noto Sans CJK SC','PingFang SC','Microsoft YaHei',sans-serif"
_MARGIN, _BOX, _ROW, _LINE_WIDTH = 12, 24, 44, 960
_NARROW, _PADDING = 9, 10


def render_svg(
    layouts: Sequence[TreeLayout], *, visible: bool = True, unknown_id: int | None = None
) -> str:
    """One picture of the trees, one below the other, each with its matrix.

    Args:
        visible: false when the visible matrix is off (everything sees everything).
        unknown_id: of the tokens that the encoder does not know; they are framed in red.
    """
    root = _svg()
    height, width = _MARGIN, 0
    for layout in layouts:
        picture = _Picture(root, layout, set(unknown_tokens(layout, unknown_id)))
        height = picture.draw(height) + _MARGIN
        matrix = matrix_svg(layout, visible=visible)
        matrix.set("x", str(_MARGIN))
        matrix.set("y", str(height))
        root.append(matrix)
        height += int(matrix.get("height", "0")) + 2 * _MARGIN
        width = max(width, picture.width, int(matrix.get("width", "0")) + _MARGIN)
    _resize(root, width + _MARGIN, height)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def matrix_svg(layout: TreeLayout, *, visible: bool = True) -> Element:
    """The visible matrix, a rectangle for each run of a row that sees."""
    size = len(layout)
    cell = max(2, min(10, _LINE_WIDTH // max(size, 1)))
    root = _svg()
    SubElement(root, "title").text = f"visible matrix, {size} × {size}: row sees column"
    _rect(root, 0, 0, size * cell, size * cell, _HIDDEN)
    for y, row in enumerate(visible_rows(layout, tree=visible)):
        x = 0
        for seen, run in groupby(row):
            length = len(list(run))
            if seen == "1":
                branch = layout.branch_ids[y]
                colour = colour_of(layout.mention_ids[y]) if branch else _SEEN
                _rect(root, x * cell, y * cell, length * cell, cell, colour)
            x += length
    _resize(root, size * cell, size * cell)
    return root


def colour_of(mention_id: int) -> str:
    """The fill of a mention's tokens; the trunk's own for 0."""
    return MENTION_COLOURS[(mention_id - 1) % len(MENTION_COLOURS)] if mention_id else _TRUNK


def _svg() -> Element:
    return Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "font-family": _FONT})


def _resize(root: Element, width: int, height: int) -> None:
    root.set("width", str(width))
    root.set("height", str(height))
    root.set("viewBox", f"0 0 {width} {height}")


def _rect(root: Element, x: int, y: int, width: int, height: int, fill: str) -> Element:
    place = {"x": x, "y": y, "width": width, "height": height}
    return SubElement(root, "rect", {**{key: str(at) for key, at in place.items()}, "fill": fill})


def _text(root: Element, x: int, y: int, text: str, size: int, **style: str) -> None:
    place = {"x": str(x), "y": str(y), "font-size": str(size), **style}
    SubElement(root, "text", place).text = text


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


class _Picture:
    """One tree: trunk lines, and under each the branches of its mentions."""

    def __init__(self, root: Element, layout: TreeLayout, unknown: Set[int]) -> None:
        self.width = 0
        self._root = root
        self._layout = layout
        self._texts = [visible_characters(text) for text in layout.token_texts]
        self._unknown = unknown

    def draw(self, top: int) -> int:
        """Draw below ``top`` and give the height of what is free again."""
        drawn: set[int] = set()
        for line in self._trunk_lines():
            anchors: dict[int, int] = {}
            for token, x in line.items():
                anchors.setdefault(self._mention(token), x)
                self._token(token, x, top)
            below = top + _ROW
            for branch in self._layout.branches:
                mention = self._mention(branch.start)
                if mention in anchors and mention not in drawn:
                    self._branch(branch, anchors[mention], top, below)
                    below += _ROW
            drawn |= set(anchors)
            top = below + _MARGIN
        for loss in losses(self._layout):
            _text(self._root, _MARGIN, top, loss, 12, fill=_UNKNOWN)
            self.width = max(self.width, _MARGIN + 7 * _columns(loss))
            top += 2 * _MARGIN
        return top

    def _mention(self, token: int) -> int:
        return self._layout.mention_ids[token]

    def _size(self, token: int) -> int:
        return max(_BOX, _NARROW * _columns(self._texts[token]) + _PADDING)

    def _trunk_lines(self) -> Iterator[dict[int, int]]:
        """Token → x, a line at a time."""
        line: dict[int, int] = {}
        x = _MARGIN
        for token, branch in enumerate(self._layout.branch_ids):
            if branch:
                continue
            if line and x + self._size(token) > _LINE_WIDTH:
                yield line
                line, x = {}, _MARGIN
            line[token] = x
            x += self._size(token) + 2
        yield line

    def _token(self, token: int, x: int, y: int) -> None:
        size = self._size(token)
        box = _rect(self._root, x, y + 12, size, _BOX, colour_of(self._mention(token)))
        if token in self._unknown:
            box.set("stroke", _UNKNOWN)
        middle = {"text-anchor": "middle"}
        position = str(self._layout.soft_positions[token])
        _text(self._root, x + size // 2, y + 9, position, 9, fill="#777777", **middle)
        _text(self._root, x + size // 2, y + 30, self._texts[token], 15, **middle)
        self.width = max(self.width, x + size)

    def _branch(self, branch: PlacedBranch, x: int, top: int, y: int) -> None:
        line = {"x1": x + 4, "y1": top + 12 + _BOX, "x2": x + 4, "y2": y + 24}
        places = {key: str(at) for key, at in line.items()}
        stem = SubElement(self._root, "line", {**places, "stroke": "#999999"})
        SubElement(stem, "title").text = visible_characters(" – ".join(branch.triple))
        x += _MARGIN
        for token in range(branch.start, branch.end):
            self._token(token, x, y)
            x += self._size(token) + 2
