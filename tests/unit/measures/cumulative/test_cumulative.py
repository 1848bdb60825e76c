"""The KS error under every lens of two classes, its scaling and its limit law."""

import math

import numpy as np
import pytest

from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.measures import ks_error, kuiper_error
from caltest.measures.cumulative.cumulative import KSError, KuiperError, near_maximum
from caltest.measures.tolerance import Tolerance, draw_poisson
from caltest.numerics.tails import modulus_sf, range_sf


@pytest.mark.parametrize(
    ("kind", "error", "tail"),
    [(KSError, ks_error, modulus_sf), (KuiperError, kuiper_error, range_sf)],
)
def test_limit_law_is_that_of_the_scaled_error(kind, error, tail):
    """The statistic is the error over the standard deviation of the whole sum, scaled or not."""
    data = generative_model("M1", n=500, m=2, rng=0)
    event = data.probs[:, 1]
    statistic = error(data) * 500 / math.sqrt(np.sum(event * (1 - event)))
    for scaled in (False, True):
        limit = kind(scaled=scaled).limit(data)
        assert limit.statistic == pytest.approx(statistic, rel=1e-12)
        assert limit.pvalue == pytest.approx(tail(statistic), rel=1e-10)
        assert limit.statistic_name == f"scaled {kind().symbol}"


@pytest.mark.parametrize("options", [{"scaled": True}, {"scaled": False}])
def test_certain_predictions_have_no_scale(options):
    """All 0 or 1: the labels have no variance, and nothing is divided by it."""
    data = Predictions([0.0, 1.0, 1.0], [0, 1, 0])
    with pytest.raises(NotApplicable, match=r"no variance to scale by.*null='exact'"):
        KSError(**options).limit(data)
    assert ks_error(data) == pytest.approx(1 / 3)


def test_zero_is_not_negative():
    """A perfect forecast prints as 0, not -0."""
    assert math.copysign(1, ks_error([0.0, 1.0], [0, 1])) == 1


# ---- places where the partial sums are near their maximum ---------------------------------------

MOST, LEAST = Tolerance(0.1), Tolerance(0.1, equivalence=True)


def test_place_of_equivalence_is_that_of_the_definition():
    data = generative_model("M2", n=150, m=2, alpha=1.0, rng=1)
    p = np.sort(data.probs[:, 1])
    delta = (data.labels - data.probs[:, 1])[np.argsort(data.probs[:, 1])]
    terms = delta * (p <= p[:, None])
    sums, sd = terms.mean(axis=1), terms.std(axis=1).max()
    slack = 0.5 * np.sqrt(np.log(150)) * sd / np.sqrt(150)
    near = np.abs(sums) >= np.abs(sums).max() - slack
    one = near_maximum(data, LEAST, "KS")
    up, down = (one.resample.keywords[side] for side in ("up", "down"))
    chosen = np.flatnonzero(np.isfinite(up) | np.isfinite(down))
    assert chosen == np.argmax(np.where(near, terms.std(axis=1), -1))
    assert up[chosen] == 0.0 or down[chosen] == 0.0


def test_sums_are_resampled_within_the_tolerance():
    """A standard error to the unfavourable side, written out for every resample."""
    data = generative_model("M2", n=80, m=2, alpha=1.0, rng=1)
    order = np.argsort(data.probs[:, 1])
    residuals = (data.labels - data.probs[:, 1])[order]
    prefix = np.tri(80) * residuals
    sums, errors = prefix.mean(axis=1), prefix.std(axis=1) / np.sqrt(80)
    near = near_maximum(data, Tolerance(0.02), "KS")
    counts = draw_poisson(np.random.default_rng(0), 13, near.n)  # eight lanes and five rows
    for row, found in zip(counts, near.resample(counts), strict=True):
        moved = (prefix * (row - row.mean())).mean(axis=1)
        sides = [np.minimum(0.02, sign * sums + errors) + sign * moved for sign in (1, -1)]
        assert found == pytest.approx(np.max(sides) - 0.02)


def test_residuals_that_do_not_vary_are_not_applicable():
    """Certain predictions that are right have nothing to resample."""
    data = Predictions(np.arange(20) % 2, np.arange(20) % 2)
    with pytest.raises(NotApplicable, match=r"residuals y - p that vary, .*; use more data"):
        near_maximum(data, MOST, "KS")
