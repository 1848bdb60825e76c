"""Tests of rows that are counted in cells or read by chunks keep their level and power."""

import numpy as np
import polars as pl
import pytest

from caltest import test_calibration as calibration_test
from caltest.htests import REGISTRY
from caltest.nulls.base import Draws
from caltest.nulls.exact import exact_tests
from caltest.sources import count_rows

DATA_SETS = 80


TESTS = ["ece", "ks", "kuiper", "brier", "cox", "hosmer-lemeshow"]


def rejections(n, rate, tests=TESTS, alternative=lambda p: p, sets=DATA_SETS, **options):
    """Rates at which tests of the same cells reject at 5 %; events have alternative(p)."""
    rng = np.random.default_rng(11)
    rejected = []
    for seed in range(sets):
        p = rng.beta(0.5, 0.5 * (1 - rate) / rate, n)
        frame = pl.DataFrame({"y": rng.binomial(1, alternative(p)), "p": p})
        asked = {"label": "y", "probs": "p", "test": tests, "engine": "cells", **options}
        table = calibration_test(None, frame, **asked, n_resamples=99, rng=seed)
        rejected.append([row.pvalue <= 0.05 for row in table])
    return np.mean(rejected, axis=0)


@pytest.mark.filterwarnings("ignore::caltest.errors.DegenerateDataWarning")  # no event at all
@pytest.mark.parametrize(
    ("n", "rate"), [(200, 0.3), (20_000, 1e-4), (5000, 0.05)], ids=["few", "rare", "many"]
)
def test_size_is_that_of_the_level(n, rate):
    """At 5 %, of six tests of the same counts, within four standard errors."""
    size = rejections(n, rate)
    assert (size <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / DATA_SETS)).all(), size
    if rate > 1e-3:
        assert (size >= 0.05 - 4 * np.sqrt(0.05 * 0.95 / DATA_SETS)).all(), size


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::caltest.errors.DegenerateDataWarning")
def test_eight_rows_are_enough_for_the_level():
    """Cells of single rows are redrawn exactly."""
    size = rejections(8, 0.5)
    assert (size <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / DATA_SETS)).all(), size


def test_too_extreme_predictions_are_found():
    """Six tests of 2000 rows find a slope of one half."""
    power = rejections(2000, 0.3, alternative=lambda p: 0.15 + 0.5 * p, sets=20)
    assert (power >= 0.9).all(), power


CURVES = "skce kce cme smooth-ece corp ici calibration-belt unreliability pigeon-heyse t-cal"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::caltest.errors.DegenerateDataWarning")
@pytest.mark.parametrize(
    ("n", "rate", "sets"),
    [
        (200, 0.3, 100),
        pytest.param(20_000, 0.3, 400, marks=pytest.mark.slow),
        pytest.param(20_000, 1e-4, 400, marks=pytest.mark.slow),
    ],
    ids=["few", "many", "rare"],
)
def test_size_of_tests_of_curves_and_kernels(n, rate, sets):
    """At 5 %, of ten tests of the same counts, within four standard errors."""
    # Its grid is as fine as there is where events are rare, which takes seconds a data set.
    tests = [key for key in CURVES.split() if key != "smooth-ece" or rate > 1e-3]
    size = rejections(n, rate, tests, sets=sets, scales=16)
    assert (size <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / sets)).all(), size


WEIGHTED = ["ks", "ece", "brier", "cox"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::caltest.errors.DegenerateDataWarning")
@pytest.mark.parametrize("n", [300, 6000], ids=["counted", "normal"])
def test_size_with_weights_is_that_of_the_level(n):
    """At 5 %, with weights that grow with the predictions, counted and as normal sums."""
    rng = np.random.default_rng(13)
    measures = [REGISTRY[key].with_options({}) for key in WEIGHTED]
    rejected = []
    for seed in range(DATA_SETS):
        p = rng.choice([0.03, 0.1, 0.3, 0.6], n)
        weight = np.exp(2 * p) * rng.lognormal(0, 0.4, n)
        cells = count_rows(p, rng.binomial(1, p), (15,), weight)
        bound = [(measure, measure.bind_cells(cells)) for measure in measures]
        outcomes = exact_tests(bound, Draws(99, seed, 1))
        rejected.append([outcome.pvalue <= 0.05 for outcome in outcomes])
    size = np.mean(rejected, axis=0)
    assert (np.abs(size - 0.05) <= 4 * np.sqrt(0.05 * 0.95 / DATA_SETS)).all(), size


@pytest.mark.parametrize("sets", [10, pytest.param(DATA_SETS, marks=pytest.mark.slow)])
def test_default_of_united_cells_keeps_its_level_and_finds_what_that_of_all_cells_finds(sets):
    """Where it is the only test, more than 16,384 cells are united; beside another they are not."""
    rng = np.random.default_rng(12)
    asked = {"label": "y", "probs": "p", "engine": "cells", "n_resamples": 99}
    united, right, every = [], [], []
    for seed in range(sets):
        p = rng.beta(0.7, 0.7, 30_000)
        odds = (p / (1 - p)) ** 0.97
        calibrated, frame = (
            pl.DataFrame({"y": rng.random(p.size) < true, "p": p})
            for true in (p, odds / (1 + odds))
        )
        right.append(calibration_test(None, calibrated, **asked, rng=seed).pvalue <= 0.05)
        found = calibration_test(None, frame, **asked, rng=seed)
        assert found.parameters["cells"] < 10_000
        united.append(found.pvalue <= 0.05)
        both = calibration_test(None, frame, **asked, rng=seed, test=["combined", "ks"])
        every.append(both[0].pvalue <= 0.05)
    error = np.sqrt(0.05 * 0.95 / sets)
    assert abs(np.mean(right) - 0.05) <= 3 * error
    assert 0.2 < np.mean(every) < 0.9  # where a loss would show
    assert abs(np.mean(united) - np.mean(every)) <= 0.1


CHUNKED = 400


def pvalues(m, n, engine, *, test="skce", power=1.0, digits=None):
    """Return p-values of many data sets whose labels follow powers of the predictions."""
    rng = np.random.default_rng(m)
    names = [f"p{k}" for k in range(m)]
    out = []
    for seed in range(CHUNKED):
        p = rng.dirichlet(np.ones(m), n)
        if digits is not None:
            p = np.round(p, digits) + 0.01
            p /= p.sum(axis=1, keepdims=True)
        q = p**power / (p**power).sum(axis=1, keepdims=True)
        y = np.minimum((rng.random((n, 1)) > q.cumsum(axis=1)).sum(axis=1), m - 1)
        frame = pl.DataFrame({"y": y, **{name: p[:, k] for k, name in enumerate(names)}})
        asked = {"label": "y", "probs": names, "test": test, "engine": engine}
        out.append(calibration_test(None, frame, **asked, n_resamples=99, rng=seed).pvalue)
    return np.array(out)


@pytest.mark.slow
@pytest.mark.parametrize("test", ["skce", "combined"])
@pytest.mark.parametrize(("m", "digits"), [(3, None), (10, None), (3, 1)], ids=["3", "10", "equal"])
def test_size_by_chunks_is_that_of_the_level(m, digits, test):
    """At 5 %, within four standard errors; rows with equals among them too."""
    size = np.mean(pvalues(m, 300, "chunks", test=test, digits=digits) <= 0.05)
    assert abs(size - 0.05) <= 4 * np.sqrt(0.05 * 0.95 / CHUNKED), size


@pytest.mark.slow
def test_power_by_chunks_is_that_of_the_rows():
    """Within four standard errors of a difference, of predictions that are too extreme."""
    by_chunks, by_rows = (
        np.mean(pvalues(3, 300, engine, power=0.6) <= 0.05) for engine in ("chunks", "rows")
    )
    assert 0.2 < by_rows < 0.95
    assert abs(by_chunks - by_rows) <= 4 * np.sqrt(0.5 / CHUNKED), (by_chunks, by_rows)
