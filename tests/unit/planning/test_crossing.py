"""The search for a crossing on curves that are known, without tests."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from caltest import NotApplicable
from caltest.planning import curve as searching
from caltest.planning.curve import RowsNeeded, SizeSearch
from caltest.planning.results import PowerRow

BLANK = PowerRow(
    test="skce", null="", n=0, n_datasets=0, rejections=0, estimate_name="", estimate=math.nan
)


@pytest.fixture
def search(monkeypatch):
    """Return a search whose data sets are drawn from the power of a curve."""

    def make(curve, seed=1, n_min=20, n_max=10_000):
        rng = np.random.default_rng(seed)

        def simulate(_study, n, sets, *, stage):
            rejections = int(rng.binomial(len(sets), curve(n)))
            return [replace(BLANK, n=n, n_datasets=len(sets), rejections=rejections)]

        monkeypatch.setattr(searching, "simulate", simulate)
        return SizeSearch(None, 0.8, n_min, n_max, 300)

    return make


def curve_through(n):
    """Return the curve of a two-sided normal test that has the power 0.8 at n."""
    return lambda x: norm.cdf(math.sqrt(x / n) * (norm.isf(0.025) + norm.ppf(0.8)) - 1.96)


@pytest.mark.parametrize("n", [25, 90, 1000, 6000])
def test_search_finds_the_crossing(search, n):
    """At any size, by looks that are mostly near it."""
    one = search(curve_through(n))
    found = one.run()
    assert found.n == pytest.approx(n, rel=0.25)
    looks = sum(row.n_datasets for row in one.rows() if n / 2 < row.n < 2 * n)
    assert looks >= 300


def test_search_goes_up_to_the_largest_size(search):
    """The last doubling is cut off there."""
    one = search(curve_through(250), n_max=300)
    assert one.run().n == pytest.approx(250, rel=0.2)
    assert max(one.seen) == 300


@pytest.mark.parametrize("n", [301, 400, 5000])
def test_search_says_that_the_power_is_not_reached(search, n):
    """Where the curve crosses above the largest size, or seems to."""
    messages = []
    for seed in range(20):
        try:
            assert search(curve_through(n), seed, n_max=300).run().n <= 300
        except NotApplicable as error:
            messages.append(str(error))
    assert len(messages) >= (20 if n == 5000 else 5)
    said = "does not reach a power of 0.8 with n_max = 300 rows"
    assert all(said in message for message in messages)


def test_search_that_is_far_from_the_power_ends_early(search):
    """A hundred data sets that are hardly rejected need no more beside them."""
    one = search(lambda _: 0.1, n_max=300)
    with pytest.raises(NotApplicable, match="does not reach a power"):
        one.run()
    assert one.seen[300].n_datasets == searching.FIRST_DATASETS


def test_message_says_where_the_curve_reaches_the_power(search):
    """Where the largest size seems to have the power, the fitted curve has the last word."""
    messages = []
    for seed in range(20):
        try:
            search(curve_through(305), seed, n_max=300).run()
        except NotApplicable as error:
            messages.append(str(error))
    said = [re.search(r"by the curve through all sizes it takes (\d+);", one) for one in messages]
    found = [int(match[1]) for match in said if match]
    assert found
    assert all(300 < n < 400 for n in found)


def test_search_of_a_flat_curve_ends(search):
    """Rates that fall by chance lead nowhere, and are no error by themselves."""
    for seed in range(20):
        try:
            found = search(lambda _: 0.8, seed, n_max=500).run()
        except NotApplicable:
            continue
        assert 20 <= found.n <= 500


def test_search_stops_where_the_least_size_is_enough(search):
    one = search(lambda _: 0.99)
    assert one.run() == RowsNeeded(20, None, 20)
    assert list(one.seen) == [20]


def test_looks_at_one_size_are_joined():
    """Rejections add up; the mean of estimates weighs the data sets that have one."""
    first = replace(BLANK, n=50, n_datasets=10, rejections=4, estimate=1.0, infinite=2)
    second = replace(first, n_datasets=30, rejections=20, estimate=2.0, not_applicable=4)
    joined = searching._joined(first, second)
    assert (joined.n_datasets, joined.rejections) == (40, 24)
    assert (joined.infinite, joined.not_applicable) == (4, 4)
    assert joined.estimate == pytest.approx((8 * 1.0 + 24 * 2.0) / 32)
    assert math.isnan(searching._joined(BLANK, BLANK).estimate)
