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
SECTIONS = ["Definition", "Null and assumptions", "Options", "Size and power"]
SECTIONS += ["When it misleads", "Example", "Source"]

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
def test_page_has_the_title_the_sections_the_nulls_and_the_options(key):
    """As in the registry; the sections are the same for all, and the default null is said."""
    text, test = page(key), REGISTRY[key]
    first, question = text.split("\n\n", 2)[:2]
    assert first == f"# {key}: {test.title}"
    assert question.startswith("**Question it answers.** ")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS
    assert set(test.options) <= set(re.findall(r"`(\w+)=", section(key, "Options")))
    linked = set(re.findall(r"\[([a-z-]+)\]\(nulls\.md#\1\)", text))
    refused = {"exact", "consistency"} if key == "vasicek" else set()
    assert set(test.nulls) <= linked <= {*test.nulls, "tolerance", "cluster", *refused}
    default = test.default_null
    assert re.search(rf"{default}\]\(nulls\.md#{default}\)\s+by\s+default", text)


@pytest.mark.parametrize(
    ("name", "registry"), [("nulls", nulls.REGISTRY), ("lenses", ct.lenses.REGISTRY)]
)
def test_null_and_lens_have_their_section(name, registry):
    """Each is explained, and in the table."""
    for key in registry:
        short = key.partition("[")[0]
        assert section(name, short)
        assert f"| `{short}" in page(name)


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
