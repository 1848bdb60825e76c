"""The picture of the GiViTI belt."""

import numpy as np

import caltest as ct
from caltest.plots import calibration_belt


def belt_of(slope, n=3000, **options):
    """Return the belt of predictions whose log odds are `slope` times too small."""
    rng = np.random.default_rng(7)
    z = rng.normal(0, 1.5, n)
    y = (rng.random(n) < 1 / (1 + np.exp(-slope * z))).astype(int)
    return ct.measures.calibration_belt_curve(1 / (1 + np.exp(-z)), y, **options)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_legend_lists_where_the_belt_leaves_the_diagonal():
    """The intervals of the value, for each level, or that there are none."""
    belt = belt_of(0.6)
    texts = legend(calibration_belt(belt))
    for text, level, above in zip(texts, belt.levels, belt.above, strict=False):
        assert text.startswith(f"{100 * level:g} %:\n")
        assert f"above at {above[0][0]:.3f} to {above[0][1]:.3f}" in text
        assert "below at" in text
    assert legend(calibration_belt(belt_of(1.0)))[1:] == ["95 %: holds the diagonal", "diagonal"]


def test_edges_are_those_of_the_belt():
    """Each level has its two lines beside the diagonal."""
    belt = belt_of(0.6)
    drawn = [line.get_ydata() for line in calibration_belt(belt).lines]
    edges = [belt.lower[1], belt.upper[1], belt.lower[0], belt.upper[0]]
    assert all(np.array_equal(a, b) for a, b in zip(drawn[1:], edges, strict=True))


def test_rare_events_fill_the_axes():
    """The axes end where the belt does, where that is below one half."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.001, 0.1, 20_000)
    ax = calibration_belt(
        ct.measures.calibration_belt_curve(p, (rng.random(p.size) < p).astype(int))
    )
    assert max(p) < ax.get_xlim()[1] < 0.5
    assert ax.get_xlim() == ax.get_ylim()


def test_result_of_the_test_gives_the_same_belt_and_its_own_pvalue():
    """The options are those of the test."""
    data = ct.datasets.generative_model("M2", n=400, m=2, alpha=1.0, rng=2)
    result = ct.test_calibration(data, test="calibration-belt", max_degree=1, n_resamples=99, rng=1)
    ax = calibration_belt(result)
    belt = ct.measures.calibration_belt_curve(data, max_degree=1)
    assert ax.get_title(loc="left").startswith(f"$p$ = {result.pvalue:.4g}, n = 400")
    assert np.array_equal(ax.lines[-1].get_ydata(), belt.upper[0])
