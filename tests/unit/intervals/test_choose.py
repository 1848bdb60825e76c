"""Which method an interval takes."""

from __future__ import annotations

import pytest

from caltest import InvalidInput, NotApplicable
from caltest.htests import REGISTRY as TESTS
from caltest.intervals import REGISTRY, choose
from caltest.measures import REGISTRY as MEASURES
from caltest.measures.skce import SKCE

DEFAULTS = {
    "skce": "u-statistic",
    "kce": "u-statistic",
    "mmce": "u-statistic",
    "skce-linear": "block",
    "skce-block": "block",
    "ece": "convex",
    "classwise-ece": "convex",
    "mce": "convex",
    "ks": "convex",
    "kuiper": "convex",
    "debiased-ece": "jackknife",
    "smooth-ece": "plug-in",
    "t-cal": "plug-in",
    "brier": "bca",
    "log-loss": "bca",
}


@pytest.mark.parametrize("key", DEFAULTS)
def test_default_method_is_the_one_stated(key):
    """The docs name the method of each test."""
    assert choose(TESTS[key].with_options({})).key == DEFAULTS[key]


@pytest.mark.parametrize("key", MEASURES)
def test_every_measure_has_a_method(key):
    """There is an interval for a new measure too."""
    assert choose(MEASURES[key]()).key in REGISTRY


def test_method_without_meaning_names_the_others():
    """Neighbours are paired: rows cannot be drawn with replacement."""
    with pytest.raises(NotApplicable, match=r"'bca' has no meaning .* use one of 'block'"):
        choose(SKCE(estimator="linear"), "bca")


def test_misspelt_method_is_an_error():
    """The message lists the keys."""
    with pytest.raises(InvalidInput, match="method must be one of 'u-statistic', 'block'"):
        choose(SKCE(), "normal")
