"""Measures of cells: as those of the rows, up to what cells are said to change."""

import numpy as np
import pytest

from caltest import NotApplicable, kernels, measures
from caltest.htests.run import REGISTRY
from caltest.measures.base import keys_by_cells
from caltest.measures.smooth.ici import E50, E90, Emax
from caltest.numerics.cell_counts import draw_counts
from caltest.numerics.labels import resample_keys
from caltest.predictions import Predictions
from caltest.sources import count_rows

ROUNDED = 1e-6  # in standard deviations: predictions are rounded to 2^-36
# In standard deviations of the null distribution, where no number bounds it; as in docs/scale.md.
OTHERS = 0.05
MOVED = {"corp": 0.7, "corp-log": 0.7}
# Where events are rare most predictions lie in a few hundred cells, and many in the first.
RARE = {"hosmer-lemeshow": 1.0, "pigeon-heyse": 1.0, "calibration-belt": 0.6, "corp-log": 2.5}
RARE |= {"e50": 0.3, **dict.fromkeys(("ici", "e90", "calibration-slope"), 0.2)}
SHAPES = {
    "uniform": lambda rng, n: rng.random(n),
    "extreme": lambda rng, n: rng.beta(0.5, 0.5, n),
    "rare": lambda rng, n: rng.beta(0.5, 0.5 / 1e-3, n),
    "ties": lambda rng, n: rng.choice(np.arange(41) / 40.0, n),
    "certain": lambda rng, n: np.clip(1.25 * rng.random(n) - 0.125, 0.0, 1.0),
}
TESTS = {
    **{key: REGISTRY[key].with_options({}) for key in keys_by_cells() if key != "combined"},
    "t-cal": measures.TCal(scales=16),
    "skce-biased": measures.SKCE(estimator="biased"),
    "corp-log": measures.CorpMiscalibration(score="log-loss"),
    "e50": E50(),
    "e90": E90(),
    "emax": Emax(),
}
BINS = (10, 15, 2**16)
LARGE = [pytest.param(n, marks=pytest.mark.slow) for n in (100_000, 1_000_000)]


def drawn(shape, n):
    """Return predictions, labels and cells."""
    rng = np.random.default_rng(n)
    p = SHAPES[shape](rng, n)
    y = (rng.random(n) < p).astype(int)
    return p, y, count_rows(p, y, BINS)


def check(p, y, cells, moved):
    """Compare each value with that of the rows, in standard deviations under calibration."""
    rows = Predictions(p, y)
    counts = draw_counts(cells.law, cells.hashes, resample_keys(1, 60))
    for key, measure in TESTS.items():
        bound = measure.bind_cells(cells)
        value, own = bound.value(), measure.bind(rows).value()
        redrawn = bound.values(counts)
        sd = float(redrawn[redrawn < 1e9].std())
        error = bound.error()
        allowed = moved.get(key, OTHERS) * sd if error is None else error + 1e-4 * sd * (error > 0)
        assert abs(value - own) <= allowed + ROUNDED * sd + 1e-14, (key, own, value, error, sd)


@pytest.mark.filterwarnings("ignore::caltest.errors.DegenerateDataWarning")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [1000, 10_000, *LARGE])
def test_values_are_those_of_the_rows(n, shape):
    """Within the bound where there is one, else as near as the documentation says."""
    check(*drawn(shape, n), MOVED | RARE if shape == "rare" else MOVED)


@pytest.mark.parametrize(
    "kernel",
    [
        kernels.Exponential(bandwidth=0.1),
        kernels.Matern32(bandwidth="median"),
        kernels.Matern52(metric="logit", bandwidth="mean"),
        kernels.Gaussian(),
        kernels.RationalQuadratic(metric="logit"),
        kernels.Scaled(kernels.Gaussian(), np.array([[2.0, 0.5], [0.5, 1.0]])),
    ],
    ids=str,
)
@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_skce_is_the_sum_over_pairs_of_rows(kernel, estimator):
    """Of any kernel, with bandwidths by the same rules, where predictions are tied."""
    rng = np.random.default_rng(5)
    p = rng.choice(np.arange(1, 64) / 64, 1500)
    y = rng.binomial(1, p)
    measure = measures.SKCE(estimator=estimator, kernel=kernel)
    bound, rows = measure.bind_cells(count_rows(p, y)), measure.bind(Predictions(p, y))
    assert bound.value() == pytest.approx(rows.value(), rel=1e-7)
    assert bound.error() == 0
    bandwidth = rows.parameters["bandwidth"]
    assert bound.parameters["bandwidth"] == pytest.approx(bandwidth, rel=1e-9)
    assert bound.parameters["bandwidth rule"] == rows.parameters["bandwidth rule"]


def test_kernels_that_are_no_line_are_interpolated_between_places():
    """Beyond 2048 cells, to five digits of the standard deviation."""
    p, y, cells = drawn("uniform", 6000)
    measure = measures.SKCE(kernel=kernels.Gaussian())
    bound = measure.bind_cells(cells)
    assert "interpolated between 2048 places" in bound.caution
    counts = draw_counts(cells.law, cells.hashes, resample_keys(1, 60))
    sd = bound.values(counts).std()
    assert bound.value() == pytest.approx(measure.bind(Predictions(p, y)).value(), abs=1e-4 * sd)


def test_bandwidths_below_a_cell_are_told():
    """The kernel falls across a cell, which the print says."""
    _, _, cells = drawn("uniform", 100_000)
    narrow = measures.SKCE(kernel=kernels.Exponential(bandwidth=1e-5)).bind_cells(cells)
    assert "falls by 0." in narrow.caution
    assert "falls by 2e-05" in measures.SKCE().bind_cells(cells).caution


def test_a_metric_of_rows_needs_the_rows():
    kernel = kernels.Exponential(metric=lambda s, t: float(abs(s - t).sum()))
    with pytest.raises(NotApplicable, match="a callable metric takes rows"):
        measures.SKCE(kernel=kernel).bind_cells(count_rows([0.2, 0.4], [0, 1]))


def test_equal_predictions_have_a_bandwidth_of_one():
    bound = measures.KCE().bind_cells(count_rows([0.5, 0.5, 0.5], [0, 1, 1]))
    assert bound.degenerate
    assert bound.value() == pytest.approx(np.sqrt(2.0) / 6)


@pytest.mark.parametrize(("key", "p", "y"), [("skce", [0.5], [1]), ("cme", [0.5], [1])])
def test_one_row_is_not_enough(key, p, y):
    with pytest.raises(NotApplicable, match=r"at least two|more observations"):
        TESTS[key].bind_cells(count_rows(p, y))
    with pytest.raises(NotApplicable, match="two predictions in one half"):
        TESTS["t-cal"].bind_cells(count_rows(p, y, BINS))


@pytest.mark.parametrize("key", ["corp-log", "calibration-belt", "unreliability"])
def test_an_impossible_label_is_infinite(key):
    p, y = [0.0, 0.2, 0.4, 0.5, 0.7, 1.0], [1, 0, 1, 0, 1, 1]
    bound = TESTS[key].bind_cells(count_rows(p, y))
    assert bound.value() == np.inf
    assert bound.degenerate


def test_smooth_ece_is_bounded_by_where_events_are_in_their_cells():
    """Two rows at the ends of a cell, of which either has the event."""
    low, high = 0.5 + 2.0**-30, 0.5 + 2.0**-16 - 2.0**-30
    for bandwidth in (None, 2.0**-12, 0.1):
        measure = measures.SmoothECE(bandwidth=bandwidth)
        for y in ([1, 0], [0, 1]):
            bound = measure.bind_cells(count_rows([low, high], y))
            own = measure.bind(Predictions([low, high], y)).value()
            assert 0 < abs(bound.value() - own) <= bound.error()


def test_quantiles_of_loess_errors_count_the_rows_of_a_cell():
    rng = np.random.default_rng(2)
    p = rng.choice([0.1, 0.2, 0.4, 0.7], 203)
    y = rng.binomial(1, 0.9 * p)
    for measure in (E50(), E90(), Emax()):
        value = measure.bind_cells(count_rows(p, y)).value()
        assert value == pytest.approx(measure.evaluate(p, y), rel=1e-9)


def test_given_locations_are_those_of_rows():
    p, y, cells = drawn("ties", 500)
    measure = measures.CME(locations=([[0.7, 0.3], [0.2, 0.8]], [1, 0]))
    assert measure.bind_cells(cells).value() == pytest.approx(measure.evaluate(p, y), rel=1e-7)
