"""The HTML: escaped, self-contained, accessible by its structure."""

import itertools
import re
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest

import caltest as ct

pytestmark = pytest.mark.full  # two pages with all their sections take ten seconds each

VOID = {"meta", "link", "br"}


class Reader(HTMLParser):
    """Collects tags, ids and references, and checks that elements nest."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.refs, self.open = [], Counter(), set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Note an element."""
        named = dict(attrs)
        self.tags.append((tag, named))
        if "id" in named:
            self.ids[named["id"]] += 1
        self.refs |= set(re.findall(r"^#(.+)", named.get("href", "")))
        for value in named.values():
            self.refs |= set(re.findall(r"url\(#([\w-]+)\)", value))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        """Note an element without content."""
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        """Leave the element that was entered last."""
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def reader(html):
    return Reader(html)


def test_elements_nest_headings_are_in_order_and_nothing_is_fetched(reader, html):
    """References have targets; one h1, and no level is left out; no address but of namespaces."""
    assert reader.open == []
    assert max(reader.ids.values()) == 1
    assert reader.refs <= set(reader.ids)
    levels = [int(tag[1]) for tag, _ in reader.tags if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    assert not re.search(r"(?:src|href)\s*=\s*[\"'](?!#|data:)", html)
    assert not re.search(r"https?://|@import", html)


def test_estimates_are_on_the_card(html):
    """They stand below the answer, in its section, and nowhere else."""
    card = re.search(r'<section id="answer".*?</section>', html, re.DOTALL)
    assert card
    assert '<section id="estimates"' in card.group()
    assert html.count('<section id="estimates"') == 1


def test_page_has_what_readers_of_screens_need(reader):
    """Language, title, a link over the head, and scopes of all header cells."""
    tags = reader.tags
    assert ("html", {"lang": "en"}) in tags
    assert [tag for tag, _ in tags].count("title") >= 2
    assert ("a", {"class": "skip", "href": "#content"}) in tags
    assert all(named.get("scope") in {"col", "row"} for tag, named in tags if tag == "th")
    assert all("aria-label" in named for _, named in tags if named.get("role") == "region")


def test_every_figure_is_an_image_with_a_name(reader, page):
    """Each SVG has role, title and description."""
    pictures = [named for tag, named in reader.tags if tag == "svg"]
    figures = [
        named for named in pictures if named.get("aria-labelledby", "").startswith("figure-")
    ]
    assert len(figures) == len(page.figures)
    assert all(named["role"] == "img" for named in pictures)
    assert all(named["aria-describedby"] in reader.ids for named in figures)


@pytest.mark.parametrize("ground", ["light", "dark"])
def test_colours_of_text_have_contrast(html, ground):
    """All colours of text reach 4.5 against the ground and the band, in both schemes."""
    light, dark = re.findall(r":root \{([^}]*)\}", html)[:2]
    text = light if ground == "light" else dark
    colour = dict(re.findall(r"--(\w+): (#\w{6})", text))
    for name in ("text", "soft", "link", "mark"):
        for behind in ("ground", "band"):
            assert contrast(colour[name], colour[behind]) >= 4.5


def contrast(first, second):
    """Contrast of two colours, WCAG 2.2."""
    low, high = sorted(luminance(c) for c in (first, second))
    return (high + 0.05) / (low + 0.05)


def luminance(colour):
    """Relative luminance of #rrggbb, WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_names_of_the_user_are_escaped(hostile):
    """In HTML and in Markdown."""
    text = hostile.to_html()
    assert text.count("<script") == 1
    assert "&lt;script&gt;alert(1)&lt;/script&gt; title" in text
    for part in ("0", "left", ".csv", " author"):
        assert f"alert(1)&lt;/script&gt;{part}" in text
    assert "<script" not in hostile.to_markdown()


def test_landmarks_have_names_and_hidden_rows_stay_hidden(html):
    names = re.findall(r'role="region" aria-label="([^"]*)"', html)
    headings = re.findall(r"<h2[^>]*>([^<]*)</h2>", html)
    assert names
    assert not set(names) & set(headings)
    assert "tr[hidden] { display: none !important; }" in html


def test_long_tables_fold_and_control_characters_are_shown(make):
    data = ct.datasets.generative_model("M1", n=200, m=20, rng=1)
    text = make(data, lens="confidence", test="ece").to_html()
    assert "<summary>Balance of the classes: all 20 rows</summary>" in text
    drawn = ct.datasets.generative_model("M2", n=60, m=3, rng=1)
    data = ct.Predictions(drawn.probs, drawn.labels, source="a\x1b[31mb")
    assert "a\\x1b[31mb" in make(data, lens="confidence", test="ece").to_html()


def test_endless_names_end_and_names_from_right_to_left_leave_numbers_in_place(make):
    """No column is pushed off the paper, and "name: 38 %" keeps its order."""
    drawn = ct.datasets.generative_model("M2", n=60, m=3, rng=1)
    names, hebrew = ["x" * 100, "b", "c"], "\u05d0\u05d1 \u05d2"
    data = ct.Predictions(drawn.probs, np.array(names)[drawn.labels], classes=names)
    text = make(data, lens="classwise", test="ece", by=[hebrew, "a"] * 30).to_html()
    assert f"classwise[{'x' * 10}\u200b{'x' * 20}\u200b" in text
    assert f"\u2068{hebrew}\u2069" in text
