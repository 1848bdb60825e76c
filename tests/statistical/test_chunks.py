"""The tests of rows that are read by chunks keep their level and their power."""

import numpy as np
import polars as pl
import pytest

from caltest import test_calibration as calibration_test

DATA_SETS = 400


def pvalues(m, n, engine, *, test="skce", power=1.0, digits=None):
    """Return p-values of many data sets whose labels follow powers of the predictions."""
    rng = np.random.default_rng(m)
    names = [f"p{k}" for k in range(m)]
    out = []
    for seed in range(DATA_SETS):
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
def test_size_is_that_of_the_level(m, digits, test):
    """At 5 %, within four standard errors; rows with equals among them too."""
    size = np.mean(pvalues(m, 300, "chunks", test=test, digits=digits) <= 0.05)
    assert abs(size - 0.05) <= 4 * np.sqrt(0.05 * 0.95 / DATA_SETS), size


@pytest.mark.slow
def test_power_is_that_of_the_rows():
    """Within four standard errors of a difference, of predictions that are too extreme."""
    by_chunks, by_rows = (
        np.mean(pvalues(3, 300, engine, power=0.6) <= 0.05) for engine in ("chunks", "rows")
    )
    assert 0.2 < by_rows < 0.95
    assert abs(by_chunks - by_rows) <= 4 * np.sqrt(0.5 / DATA_SETS), (by_chunks, by_rows)
