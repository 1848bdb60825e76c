"""Tests of weighted rows by cells: as those by rows, and refused where these are."""

import numpy as np
import polars as pl
import pytest

from caltest import NotApplicable, Predictions
from caltest import test_calibration as calibration_test
from caltest.measures.base import keys_by_cells

UNWEIGHTED = ("cme", "hosmer-lemeshow", "pigeon-heyse", "ici", "t-cal")
TESTS = [key for key in keys_by_cells() if key not in UNWEIGHTED]
AT_MEAN_WEIGHT = {"skce": 0.1, "combined": None}  # standard deviations between the statistics


def frame(n=2000, seed=0, slope=1.0):
    """Return predictions, labels and weights, which grow with the predictions."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.6, 2, n)
    weight = np.exp(p) * rng.lognormal(0, 0.5, n)
    return pl.DataFrame({"y": rng.binomial(1, p**slope), "p": p, "w": weight})


def run(data, engine, **options):
    options = {"label": "y", "probs": "p", "sample_weight": "w", "rng": 1, **options}
    return calibration_test(None, data, engine=engine, null="exact", **options)


@pytest.mark.cases(1)
@pytest.mark.parametrize("test", TESTS)
def test_cells_agree_with_rows(test):
    """The statistic in its standard deviations, the p-value within the error of resampling."""
    data = frame()
    rows, cells = (run(data, engine, test=test, n_resamples=399) for engine in ("rows", "cells"))
    assert cells.pvalue == pytest.approx(rows.pvalue, abs=0.11)
    assert (cells.n, cells.m, cells.claim) == (rows.n, rows.m, rows.claim)
    for name in ("predicted", "observed", "low", "high", "deviation"):
        assert getattr(cells.size, name) == pytest.approx(getattr(rows.size, name), rel=1e-3)
    drawn = np.asarray(rows.null_distribution)
    sd = np.std(drawn[np.isfinite(drawn)])
    within = AT_MEAN_WEIGHT.get(test, 0.01)
    if within is not None:
        assert cells.statistic == pytest.approx(rows.statistic, abs=within * sd)


@pytest.mark.parametrize("test", ["ks", "kuiper", "brier", "log-loss", "spiegelhalter", "ece"])
def test_statistic_is_within_the_bound_of_rows(test):
    data = frame(3000, seed=1, slope=1.2)
    rows, cells = (run(data, engine, test=test, n_resamples=9) for engine in ("rows", "cells"))
    text = str(cells.parameters["error by cells"])
    bound = 0.0 if text == "none" else 1.05 * float(text.removeprefix("at most "))
    rounded = 2e-6 * max(1.0, abs(rows.statistic))  # weights, to 2^-20 of themselves
    assert abs(cells.statistic - rows.statistic) <= bound + rounded


def test_components_agree_with_those_of_rows():
    """Statistics and findings of the default test, pairs of rows at the mean weight of a cell."""
    data = frame(3000, slope=1.1)
    rows, cells = run(data, "rows", n_resamples=99), run(data, "cells", n_resamples=99)
    own = {row.test: row for row in cells.components}
    for row in rows.components:
        rel = 0.1 if "skce" in row.test else 0.02
        assert own[row.test].statistic == pytest.approx(row.statistic, rel=rel, abs=1e-3)
        assert own[row.test].estimate == pytest.approx(row.estimate, rel=0.02, abs=1e-4)


@pytest.mark.parametrize("test", ["ks", "kuiper", "ece", "brier", "log-loss", "cox", "corp"])
def test_whole_weights_count_repeated_rows(test):
    """In the statistic, not in its distribution: a row is redrawn as a whole."""
    rng = np.random.default_rng(5)
    p, times = rng.choice([0.1, 0.3, 0.6, 0.9], 400), rng.integers(1, 4, 400)
    y = rng.binomial(1, p)
    weighted = pl.DataFrame({"y": y, "p": p, "w": times.astype(float)})
    repeated = pl.DataFrame({"y": np.repeat(y, times), "p": np.repeat(p, times)})
    one = run(weighted, "cells", test=test, n_resamples=199)
    other = run(repeated, "cells", sample_weight=None, test=test, n_resamples=199)
    unit = 1.0 / times.mean() if test == "cox" else 1.0  # a likelihood grows with the weights
    assert one.statistic == pytest.approx(unit * other.statistic, rel=1e-9)
    assert one.pvalue >= other.pvalue - 0.02


@pytest.mark.parametrize("test", UNWEIGHTED)
def test_test_without_weights_says_so_as_of_rows(test):
    data = frame(200)
    messages = []
    for engine in ("rows", "cells"):
        with pytest.raises(NotApplicable, match=r"takes? no sample weights") as caught:
            run(data, engine, test=test, n_resamples=9, **_options(test))
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def _options(test):
    return {"scales": 4} if test == "t-cal" else {}


def test_groups_have_their_weights():
    """A group by itself is tested as with the others."""
    data = frame(900).with_columns(g=pl.int_range(900) % 3)
    table = run(data, "cells", test=["ks", "brier"], by="g", n_resamples=49)
    rows = run(data, "rows", test=["ks", "brier"], by="g", n_resamples=49)
    for one, other in zip(table, rows, strict=True):
        assert (one.group, one.test, one.n) == (other.group, other.test, other.n)
        assert one.statistic == pytest.approx(other.statistic, rel=1e-3)


@pytest.mark.full
def test_many_groups_with_weights_are_tested_one_by_one():
    """The pass over all groups is for rows that count alike."""
    data = frame(1100).with_columns(g=pl.int_range(1100) % 550)
    assert len(run(data, "cells", test="brier", by="g", n_resamples=9, correction=None)) == 550


def test_intervals_of_weighted_cells_need_the_rows():
    """They say so, and the verdict does without the slope."""
    result = run(frame(500), "cells", test="ks", n_resamples=49)
    with pytest.raises(NotApplicable, match="the interval of weighted cells needs the rows"):
        result.confidence_interval()
    assert "slope" not in str(result.verdict())


def test_chunks_and_segments_take_no_weights():
    data = frame(200).with_columns(g=pl.int_range(200) % 2)
    with pytest.raises(NotApplicable, match="chunks have no sample weights"):
        run(data, "chunks")
    with pytest.raises(ValueError, match="has no effect on segments of rows that are counted"):
        run(data, "cells", segments="g")


def test_values_of_weights_need_the_rows():
    """Cells are counted by the columns of the data."""
    data = frame(200)
    values = data["w"].to_numpy()
    by_name = run(data, "rows", test="ks", n_resamples=49)
    by_value = run(data.drop("w"), "rows", sample_weight=values, test="ks", n_resamples=49)
    of_arrays = calibration_test(
        data["p"].to_numpy(), data["y"].to_numpy(), sample_weight=values, test="ks", rng=1,
        n_resamples=49,
    )  # fmt: skip
    made = Predictions(data["p"].to_numpy(), data["y"].to_numpy(), sample_weight=values)
    of_predictions = calibration_test(None, made, test="ks", rng=1, n_resamples=49)
    for other in (by_value, of_arrays, of_predictions):
        assert (by_name.statistic, by_name.pvalue) == (other.statistic, other.pvalue)
    with pytest.raises(NotApplicable, match="an array of sample_weight= needs the rows"):
        run(data, "cells", sample_weight=values, test="ks")


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (lambda d: {"data": d, "label": "y", "probs": "p", "sample_weight": "v"}, "sample_weight"),
        (lambda d: {"model": d["p"].to_numpy(), "data": d["y"].to_numpy(), "sample_weight": "w"},
         "sample_weight must be an array"),
        (lambda d: {"data": Predictions(d["p"].to_numpy(), d["y"].to_numpy()),
                    "sample_weight": d["w"].to_numpy()}, "sample_weight has no effect"),
    ],
    ids=["no such column", "a name without a frame", "beside Predictions"],
)  # fmt: skip
def test_wrong_weights_are_refused(given, match):
    with pytest.raises(ValueError, match=match):
        calibration_test(**{"model": None, **given(frame(20))})
