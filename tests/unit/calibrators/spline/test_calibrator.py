"""Spline calibration: the fit, its constraints, its modes, and what degenerate data give."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize

import caltest as ct
from caltest.calibrators import SplineCalibrator
from caltest.errors import DegenerateDataWarning, InvalidInput

GRID = np.linspace(0, 1, 5001)


def simulated(n=2000, m=4, seed=0, power=1.5):
    """Overconfident predictions and their labels."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.full(m, 0.5), n)
    labels = (true.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    probs = true**power
    return probs / probs.sum(axis=1, keepdims=True), labels


def one_score(n=400, seed=0, steep=8.0):
    """One score with distinct values, and an event whose probability leaves a straight line."""
    rng = np.random.default_rng(seed)
    score = np.sort(rng.random(n))
    return score, (rng.random(n) < 1 / (1 + np.exp(-steep * (score - 0.7)))).astype(int)


def points(score, event, target):
    """Return the fractiles and the curve that a spline is fitted to."""
    n = len(score)
    given = score if target == "difference" else 0.0
    return np.arange(1, n + 1) / n, np.cumsum(event - given) / n


def misfit(values, t, curve):
    """Sum the squares of scipy's natural spline minus the curve, over n."""
    spline = CubicSpline(np.linspace(0, 1, len(values)), values, bc_type="natural")
    return np.mean((spline(t) - curve) ** 2)


@pytest.mark.parametrize("target", ["cumulative", "difference"])
def test_slope_at_the_end_of_a_step_is_the_derivative_of_scipys_spline(target):
    rng = np.random.default_rng(0)
    score = rng.random(1000).round(2)
    event = (rng.random(1000) < 0.3 + 0.4 * score**2).astype(int)
    fitted = SplineCalibrator(mode="class-wise", target=target, slope="end").fit(score, event)
    values = np.unique(score)
    t = np.searchsorted(np.sort(score), values, side="right") / 1000
    spline = CubicSpline(np.linspace(0, 1, 6), fitted.values_[0], bc_type="natural")
    expected = spline(t, 1) + (values if target == "difference" else 0)
    np.testing.assert_allclose(fitted.predict_proba(values)[:, 1], expected, atol=1e-12)
    mean = SplineCalibrator(mode="class-wise", target=target).fit(score, event)
    assert np.abs(mean.predict_proba(values)[:, 1] - expected).max() > 1e-3


@pytest.mark.parametrize("runout", ["natural", "parabolic", "cubic"])
@pytest.mark.parametrize("target", ["cumulative", "difference"])
def test_recalibrated_scores_are_mean_slopes_of_the_curve(runout, target):
    """So they sum up to the spline at every score of the calibration set."""
    rng = np.random.default_rng(0)
    score = rng.random(1000).round(2)
    event = (rng.random(1000) < 0.3 + 0.4 * score**2).astype(int)
    fitted = SplineCalibrator(mode="class-wise", runout=runout, target=target, knots=5)
    fitted.fit(score, event)
    t, values = fitted.fractiles_[0], fitted.recalibrated_[0]
    assert 0 < values.min() < values.max() < 1  # nothing is clipped
    sums = np.cumsum(values * np.diff(t, prepend=0))
    curve = fitted.curve(np.append(0, t))
    np.testing.assert_allclose(sums, curve.spline[1:] - curve.spline[0], atol=1e-12)
    np.testing.assert_array_equal(fitted.predict_proba(fitted.scores_[0])[:, 1], values)


def brute_force(score, event, *, constrained, monotone, margin):
    """Minimise the misfit by SLSQP with the bounds of the derivative on a grid, moved inwards."""
    t, curve = points(score, event, "cumulative")
    knots = np.linspace(0, 1, 6)
    basis = CubicSpline(knots, np.eye(6), bc_type="natural")
    slope = basis(np.linspace(0, 1, 1001), 1)
    rows, bounds = [np.empty((0, 6))], [np.empty(0)]
    if constrained:
        rows += [slope, -slope]
        bounds += [np.full(1001, margin), np.full(1001, margin - 1)]
    if monotone:
        rows += [basis(knots[1:-1], 2)]
        bounds += [np.zeros(4)]
    return misfit(slsqp(basis(t), curve, np.vstack(rows), np.concatenate(bounds)), t, curve)


def slsqp(design, curve, A, b):
    """Minimise |design y - curve|^2 under A y >= b."""
    return minimize(
        lambda y: np.mean((design @ y - curve) ** 2) * 1e4,
        curve[-1] * np.linspace(0, 1, design.shape[1]),
        jac=lambda y: 2e4 * design.T @ (design @ y - curve) / len(curve),
        constraints={"type": "ineq", "fun": lambda y: A @ y - b, "jac": lambda _: A},
        options={"maxiter": 500, "ftol": 1e-14},
    ).x


@pytest.mark.parametrize(("constrained", "monotone"), [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("seed", [0, 1])
def test_constrained_fit_is_feasible_and_beats_brute_force(constrained, monotone, seed):
    """Its misfit lies between those of SLSQP on a grid with and without a margin for the gaps."""
    score, event = one_score(seed=seed, steep=30.0)
    options = {"mode": "class-wise", "target": "cumulative"}
    free = SplineCalibrator(**options).fit(score, event)
    chosen = {"constrained": constrained, "monotone": monotone}
    fitted = SplineCalibrator(**options, **chosen).fit(score, event)
    ours = misfit(fitted.values_[0], *points(score, event, "cumulative"))
    assert brute_force(score, event, margin=0, **chosen) - 1e-10 <= ours
    assert ours <= brute_force(score, event, margin=1e-4, **chosen) + 1e-10
    slope, loose = fitted.curve(GRID).derivative, free.curve(GRID).derivative
    if constrained:
        assert slope.min() >= -1e-9
        assert slope.max() <= 1 + 1e-9
        assert loose.min() < -0.01  # the constraint does something
    if monotone:
        assert np.diff(slope).min() >= -1e-9
        assert np.diff(loose).min() < -1e-6
        assert np.all(np.diff(fitted.recalibrated_[0]) >= 0)


@pytest.mark.parametrize(("constrained", "monotone"), [(True, False), (False, True), (True, True)])
def test_constrained_difference_is_feasible_and_beats_brute_force(constrained, monotone):
    """Every recalibrated score lies in [0, 1], or not below the one before it."""
    score, event = one_score(n=150, steep=30.0)
    t, curve = points(score, event, "difference")
    fitted = SplineCalibrator(mode="class-wise", constrained=constrained, monotone=monotone)
    fitted.fit(score, event)
    basis = CubicSpline(np.linspace(0, 1, 6), np.eye(6), bc_type="natural")
    slope = np.diff(basis(np.append(0, t)), axis=0) * 150
    rows = ([slope, -slope] if constrained else []) + ([np.diff(slope, axis=0)] if monotone else [])
    bounds = ([-score, score - 1] if constrained else []) + ([-np.diff(score)] if monotone else [])
    A, b, design = np.vstack(rows), np.concatenate(bounds), basis(t)
    found = slsqp(design, curve, A, b)
    y = fitted.values_[0]
    assert misfit(y, t, curve) <= misfit(found, t, curve) + 1e-10
    assert np.min(A @ y - b) >= -1e-8
    free = SplineCalibrator(mode="class-wise").fit(score, event)
    assert np.min(A @ free.values_[0] - b) < -1e-3


@pytest.mark.full
@pytest.mark.parametrize("mode", ["top-1", "top-2", "top-3", "within-top-2", "within-top-3"])
def test_lens_of_the_mode_sees_the_recalibrated_score(mode):
    """What the row was put back for is what the lens of that name reads off."""
    probs, labels = simulated(m=6)
    fitted = SplineCalibrator(mode=mode).fit(probs, labels)
    lens = (
        ct.lenses.WithinTop(int(mode[-1])) if "within" in mode else ct.lenses.TopRank(int(mode[-1]))
    )
    before = lens(ct.Predictions(probs, labels))
    after = lens(ct.Predictions(fitted.predict_proba(probs), labels))
    expected = np.interp(before.probs[:, 1], fitted.scores_[0], fitted.recalibrated_[0])
    floor, ceiling = (
        (int(mode[-1]) / 6, 1) if "within" in mode or mode == "top-1" else (0, 1 / int(mode[-1]))
    )
    np.testing.assert_allclose(after.probs[:, 1], np.clip(expected, floor, ceiling), atol=1e-12)
    np.testing.assert_array_equal(after.labels, before.labels)


def test_within_top_1_is_top_1():
    """The largest is the sum of the one largest."""
    probs, labels = simulated()
    one, other = (
        SplineCalibrator(mode=mode).fit(probs, labels).predict_proba(probs)
        for mode in ("top-1", "within-top-1")
    )
    np.testing.assert_allclose(one, other, atol=1e-14)


def test_all_ranks_is_one_spline_for_each_rank():
    """That of `mode="top-r"`, for the probability of rank r; rows are then normalised."""
    probs, labels = simulated(m=3)
    fitted = SplineCalibrator(mode="all-ranks").fit(probs, labels)
    order = np.argsort(-probs, axis=1)
    values = np.empty_like(probs)
    for r in range(3):
        one = SplineCalibrator(mode=f"top-{r + 1}").fit(probs, labels)
        np.testing.assert_array_equal(fitted.values_[r], one.values_[0])
        score = probs[np.arange(len(probs)), order[:, r]]
        new = np.interp(score, one.scores_[0], one.recalibrated_[0])
        values[np.arange(len(probs)), order[:, r]] = new
    expected = values / values.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.predict_proba(probs), expected, atol=1e-13)
    assert [c.name for c in fitted.coefficients()][6] == "s(0), top-2"
    assert fitted.curve(k=2).score[-1] == np.sort(probs, axis=1)[:, 1].max()


def test_class_wise_is_one_spline_for_each_class():
    """Of the probability of that class; rows are then normalised."""
    probs, labels = simulated(m=3)
    fitted = SplineCalibrator(mode="class-wise").fit(probs, labels)
    maps = zip(probs.T, fitted.scores_, fitted.recalibrated_, strict=True)
    values = np.column_stack([np.interp(*one) for one in maps])
    expected = values / values.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.predict_proba(probs), expected, atol=1e-13)


@pytest.mark.parametrize("mode", ["class-wise", "all-ranks"])
def test_row_of_zeros_keeps_its_probabilities(mode):
    """Each class is impossible at its score by its own spline."""
    probs, labels = simulated(m=3)
    fitted = SplineCalibrator(mode=mode).fit(probs, labels)
    fitted.recalibrated_ = [0.0 * values for values in fitted.recalibrated_]
    np.testing.assert_array_equal(fitted.predict_proba(probs), probs)


@pytest.mark.parametrize(("mode", "knots"), [("top-1", 6), ("top-2", 6), ("within-top-2", 14)])
def test_default_knots_are_those_of_the_paper(mode, knots):
    """6, and 14 for the sum of the two largest."""
    fitted = SplineCalibrator(mode=mode).fit(*simulated())
    np.testing.assert_allclose(fitted.knots_, np.linspace(0, 1, knots))


def test_curve_holds_the_empirical_sums():
    """At the fractile of the median, the sums up to it."""
    score, event = one_score(n=100)
    fitted = SplineCalibrator(mode="class-wise").fit(score, event)
    curve = fitted.curve(0.5)
    assert curve.fractile.tolist() == [0.5]
    assert curve.score.tolist() == [score[49]]
    assert curve.cumulative_score == pytest.approx(score[:50].sum() / 100)
    assert curve.cumulative_event == pytest.approx(event[:50].sum() / 100)
    assert len(fitted.curve().spline) == 201
    # As in the graphs of the paper, spline and events are near each other.
    assert np.abs(fitted.curve().spline - fitted.curve().cumulative_event).max() < 0.02


def test_curve_of_a_class_has_its_name():
    """In the mode with one spline for each."""
    probs, labels = simulated(m=3)
    names = np.array(["cat", "dog", "emu"])[labels]
    fitted = SplineCalibrator(mode="class-wise").fit(probs, names)
    assert fitted.curve(k="dog").score[-1] == probs[:, 1].max()
    with pytest.raises(InvalidInput, match=r"k must name a class .* one of 'cat', 'dog', 'emu'"):
        fitted.curve()


def test_constant_predictions_map_to_the_share_of_events():
    probs, labels = np.full((10, 2), [0.2, 0.8]), [1, 1, 1, 0, 0, 1, 1, 1, 0, 1]
    with pytest.warns(DegenerateDataWarning, match="1 distinct scores for 6 knots"):
        fitted = SplineCalibrator().fit(probs, labels)
    np.testing.assert_allclose(fitted.predict_proba([[0.1, 0.9]]), [[0.3, 0.7]], atol=1e-12)


@pytest.mark.filterwarnings("ignore:every label")
@pytest.mark.parametrize("mode", ["top-1", "class-wise"])
def test_event_that_always_happens_leaves_its_score(mode):
    """Nothing says that the next one cannot go wrong."""
    probs = np.array([[0.2, 0.8], [0.1, 0.9], [0.4, 0.6]])
    with pytest.warns(DegenerateDataWarning, match="never or always happened"):
        fitted = SplineCalibrator(mode=mode, classes=[0, 1]).fit(probs, [1, 1, 1])
    np.testing.assert_allclose(fitted.predict_proba(probs), probs, atol=1e-15)


def test_class_that_never_occurs_keeps_its_probability():
    """In the mode with one spline for each, before rows are normalised."""
    probs, labels = simulated(m=3)
    labels = np.where(labels == 2, 0, labels)
    with pytest.warns(DegenerateDataWarning, match="the event of 2 never or always happened"):
        fitted = SplineCalibrator(mode="class-wise").fit(probs, labels)
    np.testing.assert_array_equal(fitted.recalibrated_[2], fitted.scores_[2])


@pytest.mark.parametrize(
    ("t", "message"),
    [
        ([0.2, 1.5], r"t must lie in \[0, 1\]; got 1.5 at position 1"),
        ([np.nan], r"t must lie in \[0, 1\]; got nan"),
        ([[0.1, 0.2]], r"t must have one dimension"),
    ],
)
def test_fractiles_are_checked(t, message):
    fitted = SplineCalibrator().fit(*simulated(100))
    with pytest.raises(InvalidInput, match=message):
        fitted.curve(t)
    with pytest.raises(InvalidInput, match="k must be None where there is one spline"):
        fitted.curve(k=1)
