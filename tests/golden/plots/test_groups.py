"""Pictures of very many groups."""

import numpy as np
import polars as pl
import pytest

import caltest as ct


@pytest.fixture(scope="module")
def result():
    """Return 600 clinics of very different sizes, some of them wrong."""
    rng = np.random.default_rng(4)
    clinic = np.repeat(np.arange(600), np.exp(rng.normal(5, 0.8, 600)).astype(int) + 10)
    risk = rng.beta(2, 8, 600)[clinic] * rng.uniform(0.7, 1.2, clinic.size)
    wrong = 0.15 * (clinic % 200 == 17) - risk * np.isin(clinic, (40, 400))
    event = rng.random(clinic.size) < risk + wrong
    names = pl.format("clinic {}", pl.col("clinic"))
    data = pl.DataFrame({"clinic": clinic, "p": risk, "y": event}).with_columns(clinic=names)
    options = {"label": "y", "probs": "p", "by": "clinic", "test": "ks", "level": 0.05, "rng": 1}
    return ct.test_calibration(None, data, engine="cells", n_resamples=99, **options)


@pytest.mark.parametrize("kind", ["funnel", "gaps"])
def test_groups_look_as_they_did(result, assert_same_picture, kind):
    """Control limits and names; or intervals, the worst groups first."""
    assert_same_picture(result.plot(kind, rows=12).figure, f"groups_{kind}")
