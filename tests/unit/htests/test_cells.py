"""Tests by cells: as those by rows, and refused where the rows are needed."""

import numpy as np
import polars as pl
import pytest

from caltest import NotApplicable
from caltest import test_calibration as calibration_test
from caltest.htests import cells as cells_module
from caltest.htests import ways
from caltest.measures.base import keys_by_cells

TESTS = [key for key in keys_by_cells() if key != "combined"]  # which has scales of its own


def frame(n=1000, seed=0, slope=1.0):
    """Return predictions on a grid that cells keep apart, and labels."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 3, n)
    return pl.DataFrame({"y": rng.binomial(1, p**slope), "p": p})


def run(data, engine, **options):
    options = {"label": "y", "probs": "p", "rng": 1, **options}
    return calibration_test(None, data, engine=engine, **options)


@pytest.mark.parametrize("test", TESTS)
def test_cells_of_equal_predictions_are_rows(test):
    """Nothing is lost where the predictions of a cell are equal."""
    rng = np.random.default_rng(3)
    p = rng.choice(np.arange(1, 40) / 64, 500)
    data = pl.DataFrame({"y": rng.binomial(1, p), "p": p})
    rows = run(data, "rows", test=test, n_resamples=49)
    cells = run(data, "cells", test=test, n_resamples=49)
    assert cells.statistic == pytest.approx(rows.statistic, rel=1e-7, abs=1e-12)
    assert (cells.n, cells.m, cells.claim) == (rows.n, rows.m, rows.claim)
    assert cells.size.low == pytest.approx(rows.size.low, abs=1e-8)


@pytest.mark.parametrize("lens", ["confidence", "classwise", "classwise[1]", "top-label"])
def test_lenses_of_several_classes(lens):
    """All the events of a query are those of the lens."""
    rng = np.random.default_rng(2)
    p = rng.dirichlet([1, 1, 2], 2000)
    p[:100] = [0.4, 0.4, 0.2]  # ties in the largest
    y = (rng.random(2000)[:, None] > p.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    data = pl.DataFrame({"y": y, "p_0": p[:, 0], "p_1": p[:, 1], "p_2": p[:, 2]})
    options = {"label": "y", "test": ["ece", "brier"], "lens": lens, "n_resamples": 49, "rng": 1}
    rows = calibration_test(None, data, engine="rows", correction="holm", **options)
    cells = calibration_test(None, data, engine="cells", **options)
    assert [(r.test, r.lens, r.n) for r in rows] == [(r.test, r.lens, r.n) for r in cells]
    for one, other in zip(rows, cells, strict=True):
        assert other.statistic == pytest.approx(one.statistic, abs=1e-5)


def test_auto_takes_cells_of_many_rows(monkeypatch):
    """Above a number of rows, where the test has a version for cells."""
    monkeypatch.setattr(ways, "ROWS", 999)
    assert "cells" in run(frame(), "auto", test="ks", n_resamples=49).parameters
    assert "cells" in run(frame().lazy(), "auto", test="ks", n_resamples=49).parameters
    chunks = iter([frame(700), frame(700)])
    assert run(chunks, "auto", test="ks", n_resamples=49).n == 1400
    assert "cells" not in run(frame(), "auto", test="skce-linear", n_resamples=49).parameters
    monkeypatch.setattr(ways, "ROWS", 1000)
    assert "cells" not in run(frame(), "auto", test="ks", n_resamples=49).parameters
    few = run(iter([frame(300), frame(300, 1)]), "auto", test="ks", n_resamples=49)
    assert few.n == 600
    assert "cells" not in few.parameters


def test_auto_takes_rows_for_the_strong_lens_of_several_classes(monkeypatch):
    monkeypatch.setattr(ways, "ROWS", 1)
    data = pl.DataFrame({"y": [0, 1, 2], "p_0": [0.5] * 3, "p_1": [0.25] * 3, "p_2": [0.25] * 3})
    result = calibration_test(None, data, label="y", test="brier", n_resamples=49, rng=1)
    assert "cells" not in result.parameters


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"test": "skce-linear"}, "linear estimator needs the rows: its blocks are of rows that"),
        ({"test": "classwise-ece"}, "share the label of a row.*test='ece' with lens='classwise'"),
        ({"test": "t-cal"}, "needs the rows: bins are finer than cells; with scales=16 or fewer"),
        ({"test": "t-cal", "scales": 17}, "needs the rows: bins are finer than cells"),
        ({"test": "smooth-ece", "method": "exact"}, "method='exact' adds the points one by one"),
        ({"test": "confidence-band"}, "its limits are those of all blocks"),
        ({"test": "binomial"}, "test='calibration-in-the-large' tests the number of events"),
        ({"test": "vasicek"}, "no exact null, and cells have no other"),
        ({"test": "ks", "null": "consistency"}, "null= needs the rows"),
        ({"test": "ks", "tolerance": 0.1}, "tolerance= needs the rows"),
        ({"test": "ece", "binning": "quantile"}, "calibration error needs the rows"),
        ({"test": "ks", "n_resamples": "adaptive"}, "n_resamples='adaptive' needs the rows"),
        ({"test": "ks", "lens": "largest-1"}, "lens 'largest-1' needs the rows.*'confidence'"),
        ({"test": "ks", "cluster": "g"}, "cluster= needs the rows"),
    ],
)
def test_what_needs_the_rows_is_refused(options, words):
    """One error that names what there is."""
    with pytest.raises(NotApplicable, match=words):
        run(frame(50), "cells", **options)


def test_groups_are_as_many_as_memory_holds(monkeypatch):
    """Resampled statistics of all of them are held for the joint adjustment."""
    monkeypatch.setattr(cells_module, "MOST", 250)
    data = frame().with_columns(g=pl.Series(["a", "b", "c", "a"] * 250))
    with pytest.raises(NotApplicable, match="3 tests of groups and lenses with B = 99 hold 300"):
        run(data, "cells", test="ks", by="g", n_resamples=99)


def test_questions_that_need_the_rows_are_refused():
    result = run(frame(), "cells", n_resamples=49)
    with pytest.raises(NotApplicable, match=r"counted in cells.*engine='rows'"):
        result.witness()


def test_impossible_label_is_infinite():
    data = pl.DataFrame({"y": [1, 0, 1], "p": [0.0, 0.5, 1.0]})
    with pytest.warns(UserWarning, match="probability 0 in 1 of 3 rows"):
        assert run(data, "cells", test="log-loss", n_resamples=99).statistic == np.inf
    with pytest.warns(UserWarning, match="probabilit|log odds|all labels"):
        result = run(data, "cells", test="cox", n_resamples=99)
    assert (result.statistic, result.pvalue) == (np.inf, 0.01)


def test_score_without_variance_is_that_of_the_rows():
    """Spiegelhalter's z of a group with predictions of 0, 1/2 and 1, whatever the other group."""
    y = [0, 1, 0, 1] * 5
    data = pl.DataFrame({"y": y, "p": [0.0, 0.5, 0.5, 1.0] * 5, "g": ["a"] * 20})
    impossible = data.with_columns(y=pl.col("y").replace({0: 1}), g=pl.lit("b"))
    both = pl.concat(
        [data, impossible, frame(20).with_columns(g=pl.lit("c"))], how="diagonal_relaxed"
    )
    with pytest.warns(UserWarning, match="no variance|probability 0"):
        cells, rows = (run(both, e, test="spiegelhalter", by="g") for e in ("cells", "rows"))
    assert [r.statistic for r in cells][:2] == [0, np.inf]
    assert [r.pvalue for r in cells] == pytest.approx([r.pvalue for r in rows], abs=0.06)
    assert "error by cells:  none" in str(cells[1])


def test_group_that_is_too_small_has_the_nearest_test():
    """As where the rows are in memory, with the note; one that has none is left out."""
    rng = np.random.default_rng(1)
    p = rng.uniform(0.2, 0.8, 61)
    frame = {"p": p, "y": rng.random(61) < p, "g": ["a"] * 60 + ["b"]}
    asked = {"label": "y", "probs": "p", "by": "g", "engine": "cells", "rng": 1, "n_resamples": 19}
    with pytest.warns(UserWarning, match="no bandwidth"):
        table = calibration_test(None, pl.DataFrame(frame), test="skce", **asked)
    assert [row.group for row in table] == ["a", "b"]
    assert "tested by the squared kernel calibration error, biased" in table[1].notes[0]
