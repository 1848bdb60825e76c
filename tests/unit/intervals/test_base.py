"""What keeps an interval from contradicting the exact test."""

import numpy as np
import polars as pl
import pytest

import caltest as ct
from caltest.intervals.base import REACHES, REJECTED, Exact, agreeing
from caltest.measures.kernel.skce import SKCE
from caltest.measures.outcome import Ends
from caltest.measures.recalibration.cox import CalibrationSlope
from caltest.measures.scores.confidence import Overconfidence

DATA = ct.datasets.generative_model("M2", n=40, m=2, rng=1)
NOISE = np.linspace(0.0, 1.0, 1001)
RARE = ct.Predictions(np.random.default_rng(0).beta(1, 60, 100), np.zeros(100, int), classes=[0, 1])


def agreed(ends, measure, exact):
    """Return the interval at 95 %; the noise is drawn only where the test has none."""
    value = measure.calibrated_value(DATA)
    return agreeing(ends, measure, exact, value, lambda: NOISE, level=0.95)


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize("key", ["skce", "kce", "mmce", "skce-block", "unreliability"])
def test_no_event_among_rare_ones_is_no_error(key):
    """The standard error is next to nothing, and p far from small."""
    result = ct.test_calibration(RARE, test=key, rng=0)
    interval = result.confidence_interval(n_resamples=199)
    assert interval.low == 0.0
    assert interval.notes[-1] == REACHES.format(p=result.pvalue, value=0.0)


@pytest.mark.parametrize(
    ("pvalue", "low", "expected"), [(0.06, 0.3, 0.0), (0.01, 0.3, 0.225), (0.01, 0.1, 0.1)]
)
def test_lower_end_is_beyond_the_noise_of_calibration(pvalue, low, expected):
    """0 unless p is small; else T = 1.2 less the quantile .975 of the noise, or the own end."""
    ends = Ends(low, 2.0, 1.2, "")
    found = agreed(ends, SKCE(), Exact("SKCE", pvalue, 1.2, NOISE))
    assert found.low == pytest.approx(expected)


@pytest.mark.parametrize(("low", "high"), [(1.2, 2.0), (0.1, 0.8)])
def test_value_of_calibration_is_held_on_either_side(low, high):
    ends = Ends(low, high, 0.5, "")
    found = agreed(ends, CalibrationSlope(), Exact("z", 0.2, 0.5, None))
    assert (found.low, found.high) == (min(low, 1.0), max(high, 1.0))
    kept = agreed(ends, CalibrationSlope(), Exact("z", 0.01, 0.5, None))
    assert kept == ends


def test_interval_that_reaches_calibration_says_that_the_test_rejects():
    """A measure without a value under calibration is left alone."""
    ends = Ends(0.5, 1.5, 0.8, "")
    found = agreed(ends, CalibrationSlope(), Exact("z", 0.01, 0.8, None))
    assert found.notes == (REJECTED.format(p=0.01, value=1.0),)
    assert agreed(ends, Overconfidence(), Exact("z", 0.5, 0.8, None)) == ends


def test_few_resamples_leave_the_exact_pvalue_to_the_interval():
    """Nine resamples cannot give p = .05, and the error is plain."""
    data = ct.datasets.generative_model("M2", n=300, m=2, rng=1)
    result = ct.test_calibration(data, test="skce", n_resamples=9, rng=1)
    assert result.pvalue > 0.05
    assert result.confidence_interval(n_resamples=199).low > 0.0


# ---- intervals from cells are those of the rows -------------------------------------------------

NAMES = {"label": "y", "probs": "p", "rng": 1}
ERRORS = ("ece", "mce", "ks", "kuiper")
MEANS = ("brier", "log-loss")
COEFFICIENTS = ("calibration-slope", "calibration-in-the-large")


def rows(n, *, rate=3.0, power=1.0, seed=0):
    """Return a frame of calibrated predictions, or of others."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1, rate, n)
    return pl.DataFrame({"y": (rng.random(n) < p**power).astype(int), "p": p})


def both(frame, test, **options):
    """Return the intervals from cells and from rows."""
    found = []
    for engine in ("cells", "rows"):
        result = ct.test_calibration(None, frame, test=test, engine=engine, **NAMES)
        found.append(result.confidence_interval(n_resamples=999, **options))
    return found


@pytest.mark.cases(2, full=8)
@pytest.mark.parametrize("test", [*ERRORS, *MEANS, *COEFFICIENTS])
@pytest.mark.parametrize(("n", "rate", "power"), [(3000, 3.0, 1.2), (2000, 60.0, 1.0)])
def test_ends_are_those_of_the_rows(test, n, rate, power):
    """Up to the resamples, whose quantiles move by a tenth of the width; the same estimates."""
    cells, expected = both(rows(n, rate=rate, power=power), test)
    assert cells.estimate == pytest.approx(expected.estimate, rel=1e-3)
    width = expected.high - expected.low
    assert cells.low == pytest.approx(expected.low, abs=0.1 * width)
    assert cells.high == pytest.approx(expected.high, abs=0.1 * width)
    assert cells.level == 0.95


@pytest.mark.parametrize("test", [*ERRORS, *MEANS, *COEFFICIENTS])
def test_calibration_is_left_out_only_where_the_exact_test_rejects(test):
    """The value of calibration, 0 for an error, agrees with the p-value that was printed."""
    calibrated = {"calibration-slope": 1.0}
    for seed in range(0, 6, 2):
        frame = rows(400, power=1.0 + 0.05 * seed, seed=seed)
        result = ct.test_calibration(None, frame, test=test, engine="cells", **NAMES)
        found = result.confidence_interval(n_resamples=199)
        value = calibrated.get(test, 0.0)
        if test in MEANS:
            p = frame["p"].to_numpy()
            entropy = -p * np.log(p) - (1 - p) * np.log1p(-p)
            value = float(np.mean(p * (1 - p) if test == "brier" else entropy))
        held = found.low <= value * (1 + 1e-6) and value * (1 - 1e-6) <= found.high
        if test in ERRORS:
            held = found.low == 0.0
        assert held == (result.pvalue > 0.05)


def test_threads_and_levels():
    """Threads do not change an interval; a higher level makes it wider, and retests exactly."""
    frame = rows(3000, power=1.1)
    result = ct.test_calibration(None, frame, test="ks", engine="cells", n_resamples=99, **NAMES)
    one = result.confidence_interval(n_resamples=199, n_jobs=1)
    assert result.confidence_interval(n_resamples=199, n_jobs=2) == one
    wide = result.confidence_interval(0.995, n_resamples=499)
    assert wide.low <= one.low
    assert one.high < wide.high
    assert ct.results.Interval.from_dict(one.to_dict()) == one


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
@pytest.mark.filterwarnings("ignore::caltest.errors.DegenerateDataWarning")
def test_what_needs_the_rows_says_so():
    """Other methods, other measures, and statistics that grow with n."""
    frame = rows(300)

    def interval(test, **options):
        result = ct.test_calibration(None, frame, test=test, engine="cells", **NAMES)
        return result.confidence_interval(n_resamples=99, **options)

    with pytest.raises(ct.NotApplicable, match="engine='rows'"):
        interval("ece", method="bca")
    with pytest.raises(ct.NotApplicable, match="engine='rows'"):
        interval(ct.measures.ECE(distance="sqeuclidean"))
    with pytest.raises(ct.NotApplicable, match="grows with n"):
        interval("cox")
    few = ct.test_calibration(None, rows(4), test="ece", engine="cells", **NAMES)
    with pytest.raises(ct.NotApplicable, match="at least 5 rows"):
        few.confidence_interval()
    impossible = pl.DataFrame({"y": [1, 0] * 20, "p": [0.0, 0.5] * 20})
    result = ct.test_calibration(None, impossible, test="log-loss", engine="cells", **NAMES)
    with pytest.raises(ct.NotApplicable, match="infinite"):
        result.confidence_interval()
