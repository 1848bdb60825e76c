"""Which method an interval takes."""

from functools import partial

import pytest

from caltest import Forecasts, InvalidInput, NotApplicable
from caltest.intervals import choose
from caltest.measures import REGISTRY as MEASURES
from caltest.measures.cumulative.cumulative import KSError
from caltest.measures.kernel.skce import SKCE

STATISTICS = [
    measure
    for measure in MEASURES.values()
    if measure.of is not Forecasts and measure().interval_instead is not None
]


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
