"""Which method an interval takes."""

from functools import partial

import pytest

from caltest import Forecasts, InvalidInput, NotApplicable
from caltest.htests import REGISTRY as TESTS
from caltest.intervals import choose
from caltest.measures import REGISTRY as MEASURES
from caltest.measures.cumulative.cumulative import KSError
from caltest.measures.kernel.skce import SKCE

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
    "ici": "plug-in",
    "corp": "plug-in",
    "unreliability": "jackknife",
    "brier": "unseen-events",
    "log-loss": "unseen-events",
    "calibration-slope": "profile",
    "calibration-in-the-large": "profile",
    "binomial": "grade-rate",
    "jeffreys": "grade-rate",
    "normal": "grade-rate",
    "vasicek": "grade-rate",
}
STATISTICS = [
    measure
    for measure in MEASURES.values()
    if measure.of is not Forecasts and measure().interval_instead is not None
]


@pytest.mark.parametrize("key", DEFAULTS)
def test_default_method_is_the_one_stated(key):
    """The docs name the method of each test."""
    assert choose(TESTS[key].with_options({})).key == DEFAULTS[key]


@pytest.mark.parametrize("measure", [*STATISTICS, partial(KSError, scaled=True)])
def test_statistic_that_grows_with_n_has_no_interval(measure):
    with pytest.raises(NotApplicable, match=r"grows with n .* use (test=|scaled=False)"):
        choose(measure())


def test_method_without_meaning_names_the_others():
    """And a misspelt one the near miss."""
    with pytest.raises(NotApplicable, match=r"'bca' has no meaning .* use one of 'block'"):
        choose(SKCE(estimator="linear"), "bca")
    with pytest.raises(InvalidInput, match="method must be one of 'u-statistic', 'block'"):
        choose(SKCE(), "normal")
