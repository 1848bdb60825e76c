"""The pages of the tests have one form, and their index says what the registry says."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import caltest as ct
from caltest import nulls
from caltest.htests import REGISTRY

TESTS = Path(__file__).parents[2] / "docs/tests"
SECTIONS = [
    "Definition",
    "Null and assumptions",
    "Options",
    "Size and power",
    "When it misleads",
    "Example",
    "Source",
]

pytestmark = pytest.mark.skipif(not TESTS.exists(), reason="the pages are in the repository only")


@cache
def page(name):
    """Return the text of a page; none where the tests are away from the repository."""
    if not TESTS.exists():
        return ""
    return (TESTS / f"{name}.md").read_text(encoding="utf-8")


def section(name, heading):
    return re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", page(name), re.MULTILINE | re.DOTALL)[1]


@pytest.mark.parametrize("key", REGISTRY)
def test_page_has_the_title_and_the_sections(key):
    """The title is that of the registry; the sections are the same for all, in one order."""
    text = page(key)
    first, question = text.split("\n\n", 2)[:2]
    assert first == f"# {key}: {REGISTRY[key].title}"
    assert question.startswith("**Question it answers.** ")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS


@pytest.mark.parametrize("key", REGISTRY)
def test_page_names_every_null_of_the_test(key):
    """Each null that the test takes is linked, and the default is said to be it."""
    test = REGISTRY[key]
    linked = re.findall(r"\[([a-z-]+)\]\(nulls\.md#\1\)", page(key))
    refused = {"exact", "consistency"} if key == "vasicek" else set()
    assert set(test.nulls) <= set(linked)
    assert set(linked) <= {*test.nulls, "tolerance", "cluster", *refused}
    assert re.search(
        rf"{test.default_null}\]\(nulls\.md#{test.default_null}\)\s+by\s+default", page(key)
    )


@pytest.mark.parametrize("key", REGISTRY)
def test_page_names_every_option(key):
    """The options of the test are in the section on them."""
    named = set(re.findall(r"`(\w+)=", section(key, "Options")))
    assert set(REGISTRY[key].options) <= named


@pytest.mark.parametrize("key", nulls.REGISTRY)
def test_null_has_its_section(key):
    """Each null is explained, and in the table."""
    assert section("nulls", key)
    assert f"| `{key}` |" in page("nulls")


@pytest.mark.parametrize("key", ct.lenses.REGISTRY)
def test_lens_has_its_section(key):
    """Each lens is explained, and in the table."""
    assert section("lenses", key.partition("[")[0])
    assert f"| `{key.partition('[')[0]}" in page("lenses")


def rows_of_index():
    """Return key and cells of each row of the index."""
    return re.findall(
        r"^\| \[(.+?)\]\(\1\.md\) \| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$",
        page("index"),
        re.MULTILINE,
    )


def test_index_lists_every_test_once():
    """The tables and the navigation have each test, and no other."""
    assert sorted(row[0] for row in rows_of_index()) == sorted(REGISTRY)
    navigation = re.search(r"```\{toctree\}\n(.*?)```", page("index"), re.DOTALL)[1].split()
    assert [name for name in navigation if name in REGISTRY] == list(REGISTRY)


@pytest.mark.parametrize(
    ("key", "default", "classes"), [(r[0], r[2], r[3]) for r in rows_of_index()]
)
def test_index_has_the_default_null_and_the_classes(key, default, classes):
    """The default is that of the registry; a test of two classes refuses three."""
    probs = np.random.default_rng(1).dirichlet(np.ones(3), size=60)
    three = ct.Predictions(probs, np.arange(60) % 3)
    options = {"locations": 2} if key == "cme" else {}
    assert default == REGISTRY[key].default_null
    measure = REGISTRY[key].with_options(options)
    if classes == "numbers":
        assert measure.of is ct.Forecasts
    elif classes == "any":
        measure.bind(three)
    else:
        with pytest.raises(ct.NotApplicable, match="classes"):
            measure.bind(three)
