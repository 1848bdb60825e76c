"""Places where the partial sums are near their maximum."""

import numpy as np
import pytest

from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.measures import ks_error
from caltest.measures.cumulative.cumulative import NearMaximum
from caltest.measures.tolerance import Tolerance

MOST, LEAST = Tolerance(0.1), Tolerance(0.1, equivalence=True)


def test_value_is_the_ks_error():
    data = generative_model("M2", n=200, m=2, alpha=1.0, rng=0)
    tied = Predictions(np.round(data.probs[:, 1], 1), data.labels)
    for one in (data, tied):
        assert NearMaximum(one, MOST, "KS").value == pytest.approx(ks_error(one), rel=1e-12)


def test_place_of_equivalence_is_that_of_the_definition():
    data = generative_model("M2", n=150, m=2, alpha=1.0, rng=1)
    p = np.sort(data.probs[:, 1])
    delta = (data.labels - data.probs[:, 1])[np.argsort(data.probs[:, 1])]
    terms = delta * (p <= p[:, None])
    sums, sd = terms.mean(axis=1), terms.std(axis=1).max()
    slack = 0.5 * np.sqrt(np.log(150)) * sd / np.sqrt(150)
    near = np.abs(sums) >= np.abs(sums).max() - slack
    one = NearMaximum(data, LEAST, "KS")
    chosen = np.flatnonzero(np.isfinite(one.up) | np.isfinite(one.down))
    assert chosen == np.argmax(np.where(near, terms.std(axis=1), -1))
    assert one.up[chosen] == 0.0 or one.down[chosen] == 0.0


def test_sums_are_resampled_within_the_tolerance():
    """A standard error to the unfavourable side, written out for every resample."""
    data = generative_model("M2", n=80, m=2, alpha=1.0, rng=1)
    order = np.argsort(data.probs[:, 1])
    residuals = (data.labels - data.probs[:, 1])[order]
    prefix = np.tri(80) * residuals
    sums, errors = prefix.mean(axis=1), prefix.std(axis=1) / np.sqrt(80)
    near = NearMaximum(data, Tolerance(0.02), "KS")
    counts = near.draw(np.random.default_rng(0), 5)
    for row, found in zip(counts, near.resample(counts), strict=True):
        moved = (prefix * (row - row.mean())).mean(axis=1)
        sides = [np.minimum(0.02, sign * sums + errors) + sign * moved for sign in (1, -1)]
        assert found == pytest.approx(np.max(sides) - 0.02)


def test_residuals_that_do_not_vary_are_not_applicable():
    """Certain predictions that are right have nothing to resample."""
    data = Predictions(np.arange(20) % 2, np.arange(20) % 2)
    with pytest.raises(NotApplicable, match=r"residuals y - p that vary, .*; use more data"):
        NearMaximum(data, MOST, "KS")
