from xml.etree import ElementTree as ET

import caltest as ct
from caltest.reporting.html import THEMED, inline_svg


def svg_of_diagram():
    """Return a diagram of two bins as SVG."""
    ax = ct.plots.reliability_diagram([0.2] * 40 + [0.8] * 40, [1] + [0] * 40 + [1] * 39)
    return inline_svg(ax.figure, key="figure-1", title="A diagram", description="Points.")


def test_points_have_titles():
    """A browser shows them where the pointer rests; one for each bin."""
    root = ET.fromstring(svg_of_diagram())  # noqa: S314 - written above
    titles = [element.text for element in root.iter("title")]
    assert titles[0] == "A diagram"
    assert [text.split(":")[0] for text in titles[1:]] == ["40 rows", "40 rows"]


def test_colours_are_those_of_the_page():
    """No colour that has a variable is left without it, and the ground is not drawn."""
    svg = svg_of_diagram()
    bare = svg
    for colour, themed in THEMED.items():
        bare = bare.replace(themed, "")
        assert colour not in bare
    assert "fill:currentColor" in svg


def test_titles_hold_no_character_that_xml_forbids():
    """NUL, other control characters and lone surrogates are shown as Python writes them."""
    ax = ct.plots.reliability_diagram([0.2] * 40 + [0.8] * 40, [1] + [0] * 40 + [1] * 39)
    odd = "a\x00b\x0b\ufffe\ud800"
    svg = inline_svg(ax.figure, key="figure-1", title=odd, description=odd)
    root = ET.fromstring(svg)  # noqa: S314 - written above
    assert [root.find(tag).text for tag in ("title", "desc")] == [r"a\x00b\x0b\ufffe\ud800"] * 2
