"""Trees as pages and pictures: what is drawn is what the layout holds, and nothing gets out."""

from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from kbert_cli.config import InjectionConfig
from kbert_cli.inspection import Inspector
from kbert_cli.kg.catalog import open_graph
from kbert_cli.render.html import render_html
from kbert_cli.render.svg import matrix_svg, render_svg
from kbert_cli.render.view import visible_characters, visible_rows

HOSTILE = "头痛<script>alert('x')</script>&amp;\"]]>--><!--\x07\u202e高血压"
GRAPH = (
    '头痛\t</svg><script>\t"onload="alert(1)\n高血压\t<b>类别\t疾病&lt;\u200b\n高血压\t症状\t头晕\n'
)
SVG = "{http://www.w3.org/2000/svg}"


def inspector_of(graph, **injection):
    return Inspector(open_graph([str(graph)]), InjectionConfig(**injection), "scratch:mini")


@pytest.fixture
def seen(write):
    inspector = inspector_of(write("g.spo", GRAPH))
    one = inspector.inspect([HOSTILE])
    return one.tree, one.layout


class Page(HTMLParser):
    """Elements, attributes and text of a page, as a browser would see them."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.texts = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)


def assert_harmless(tags, attributes, text):
    assert not {"script", "iframe", "object", "a", "img", "foreignobject"} & {*tags}
    names = {name for name, _ in attributes}
    assert not [name for name in names if name.startswith("on") or name in {"href", "src", "style"}]
    assert "\x07" not in text
    assert "\u202e" not in text


def test_a_picture_is_well_formed_and_holds_every_token_as_text(seen):
    _, layout = seen
    picture = render_svg([layout])
    root = ElementTree.fromstring(picture)
    elements = list(root.iter())
    texts = [element.text for element in root.iter(f"{SVG}text")]
    for token in layout.token_texts:
        assert visible_characters(token) in texts
    assert {element.tag.removeprefix(SVG) for element in elements} == {
        "svg", "title", "rect", "line", "text",
    }  # fmt: skip
    assert_harmless(
        [element.tag for element in elements],
        [pair for element in elements for pair in element.attrib.items()],
        picture,
    )
    assert layout.branches
    assert len(list(root.iter(f"{SVG}line"))) == len(layout.branches)


def test_the_drawn_matrix_is_the_visible_matrix(seen):
    _, layout = seen
    size = len(layout)
    drawn = matrix_svg(layout)
    cell = int(drawn.get("width")) // size
    cells = [["0"] * size for _ in range(size)]
    for rect in list(drawn.iter("rect"))[1:]:
        x, y, width = (int(rect.get(name)) // cell for name in ("x", "y", "width"))
        for column in range(x, x + width):
            cells[y][column] = "1"
    assert ["".join(row) for row in cells] == visible_rows(layout)
    assert len(list(matrix_svg(layout, visible=False).iter("rect"))) == size + 1


def test_a_page_marks_the_mentions_and_escapes_the_rest(seen):
    tree, layout = seen
    written = render_html([(tree, layout)])
    page = Page(written)
    assert_harmless(page.tags, page.attributes, written)
    # The mentions stand in the text and in the list of branches.
    assert page.tags.count("mark") == 2 * len(tree.knots) == 4
    assert visible_characters(HOSTILE) in "".join(page.texts)
    assert page.tags.count("tr") == len(layout) + 1
    assert '</svg><script> → "onload="alert(1)' in page.texts


def test_pages_and_pictures_are_always_the_same(seen):
    tree, layout = seen
    assert render_html([(tree, layout)]) == render_html([(tree, layout)])
    assert render_svg([layout, layout]) == render_svg([layout, layout])


def test_losses_and_unknown_characters_are_shown(write):
    inspector = inspector_of(write("g.spo", GRAPH), max_length=8)
    one = inspector.inspect(["头痛高血压" * 3])
    assert "cut 9 characters" in render_html([(one.tree, one.layout)])
    assert "cut 9 characters" in render_svg([one.layout])
    unknown = one.layout.token_ids[1]
    assert 'stroke="#d62728"' in render_svg([one.layout], unknown_id=unknown)
    assert (
        "unknown" in render_html([(one.tree, one.layout)], unknown_id=unknown).split("</style>")[1]
    )


def test_the_command_writes_both(kbert, tmp_path):
    for form in ("svg", "html"):
        done = kbert("inspect-tree", "患者头痛", "-q", "--format", form, "--output", f"t.{form}")
        assert (done.returncode, done.stdout) == (0, "")
        assert "头" in (tmp_path / f"t.{form}").read_text(encoding="utf-8")
    two = kbert("inspect-tree", "-", "--format", "svg", "-q", stdin="患者头痛\n咳嗽\n").stdout
    assert len(ElementTree.fromstring(two).findall(f"{SVG}svg")) == 2
