"""Maps of one score: optima of their likelihoods, averages by their definitions, their order."""

import math
import warnings
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, xlog1py, xlogy
from sklearn.isotonic import IsotonicRegression

from caltest import DegenerateDataWarning
from caltest.calibrators import (
    BBQ,
    ENIR,
    BetaCalibrator,
    HistogramBinning,
    IsotonicCalibrator,
    PlattScaling,
    VennAbers,
)
from caltest.calibrators.binary.enir import mean_of_models, solution_path
from caltest.testing import strategies

PROBS = st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]) | st.floats(0.001, 0.999)
# Farther apart than the 1e-15 within which scores are equal, also to scikit-learn's interpolation.
APART = st.integers(0, 10**6).map(lambda k: k / 10**6) | st.sampled_from([0.0, 0.1, 0.5, 1.0])
ANY = st.floats(0, 1)
SCORES = st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.8, 1.0]) | st.floats(0, 1, width=32)


@st.composite
def data(draw, probs, fewest=1):
    """Probabilities with ties, labels and weights or none; some are separable or of one class."""
    n = draw(st.integers(fewest, 30))
    p = draw(st.lists(probs, min_size=n, max_size=n))
    y = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    weight = draw(st.none() | st.lists(st.sampled_from([0.0, 0.5, 1, 3]), min_size=n, max_size=n))
    if weight is not None and not any(weight):
        weight[0] = 1.0
    return np.array(p), np.array(y), None if weight is None else np.array(weight)


def sets(rows, **options):
    """Scores, labels and weights or none as a user of `caltest.testing` draws them."""
    drawn = strategies.predictions(rows, 2, **options)
    return drawn.map(lambda data: (data.probs[:, 1], data.labels, data.sample_weight))


def fitted(kind, p, y, weight=None, **options):
    """Fit without the warnings about degenerate data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return kind(classes=[0, 1], **options).fit(p, y, weight)


# ---- beta ----------------------------------------------------------------------------------------

PARAMETERS = st.sampled_from(["abm", "am", "ab"])


def features(p, parameters):
    """Columns of a, b and c; those of "am" are of a = b, those of "ab" have ln 2 in them."""
    u, v = np.log(np.maximum(p, 2**-52)), -np.log(np.maximum(1 - p, 2**-52))
    if parameters == "am":
        return np.stack([u + v, np.ones(len(p))])
    if parameters == "ab":
        return np.stack([u + np.log(2), v - np.log(2)])
    return np.stack([u, v, np.ones(len(p))])


def values(beta):
    """Return the parameters in that order."""
    return {
        "abm": [beta.a_, beta.b_, beta.c_],
        "am": [beta.a_, beta.c_],
        "ab": [beta.a_, beta.b_],
    }[beta.parameters]


def has_maximum(p, y, parameters):
    """Whether no increasing map separates the classes, and the features tell parameters apart."""
    zero, one = p[y == 0], p[y == 1]
    if parameters == "ab":
        separated = (zero <= 0.5).all() and (one >= 0.5).all()
    else:
        separated = len(zero) == 0 or len(one) == 0 or zero.max() <= one.min()
    X = features(p, parameters)
    return not separated and np.linalg.matrix_rank(X, tol=1e-4) == len(X)


@given(data(PROBS, fewest=2), PARAMETERS)
def test_beta_fulfils_the_kkt_conditions(data, parameters):
    """The gradient vanishes, or points into the constraint where a or b is 0."""
    p, y, weight = data
    w = np.ones(len(p)) if weight is None else weight
    if not has_maximum(p[w > 0], y[w > 0], parameters):
        return
    beta = fitted(BetaCalibrator, p, y, weight, parameters=parameters)
    X, x = features(p, parameters), np.array(values(beta))
    gradient = X @ (w * (expit(x @ X) - y)) / w.sum()
    slopes = 1 if parameters == "am" else 2
    scale = np.abs(X).max(axis=1)
    bound = (x == 0) & (np.arange(len(x)) < slopes)
    assert (x[:slopes] >= 0).all()
    assert (np.abs(gradient[~bound]) <= 1e-11 * scale[~bound]).all()
    assert (gradient[bound] >= -1e-11 * scale[bound]).all()


@given(data(PROBS, fewest=2), PARAMETERS)
@settings.get_profile("some")
def test_beta_has_no_greater_loss_than_what_scipy_finds(data, parameters):
    """Under the same bounds, from two starts; separable and undetermined data too."""
    p, y, weight = data
    w = np.ones(len(p)) if weight is None else weight
    X = features(p, parameters)
    slopes = 1 if parameters == "am" else 2
    bounds = [(0, None)] * slopes + [(None, None)] * (len(X) - slopes)

    def loss(x):
        eta = x @ X
        return w @ (np.logaddexp(0, eta) - y * eta) / w.sum()

    def slope(x):
        return X @ (w * (expit(x @ X) - y)) / w.sum()

    beta = fitted(BetaCalibrator, p, y, weight, parameters=parameters)
    mean = 0 if parameters == "ab" else X @ w / w.sum()
    variance = ((X.T - mean) ** 2).T @ w / w.sum()
    for start in (np.zeros(len(X)), np.ones(len(X))):
        other = minimize(
            loss, start, jac=slope, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100}
        )
        penalty = 0.0
        if not has_maximum(p[w > 0], y[w > 0], parameters):
            # Separable data have a penalty, and then that of the other's slopes is a bound.
            penalty = 1e-8 / 2 * (other.x**2 @ variance)
        assert loss(np.array(values(beta))) <= other.fun + penalty + 1e-10


@given(data(PROBS, fewest=2), PARAMETERS, st.lists(PROBS, min_size=2, max_size=10))
def test_beta_keeps_the_order(data, parameters, new):
    """It is never decreasing, unless it is not constrained."""
    out = fitted(BetaCalibrator, *data, parameters=parameters).predict_proba(np.sort(new))[:, 1]
    assert (np.diff(out) >= -1e-15).all()
    assert np.isfinite(out).all()


@given(data(PROBS, fewest=2), PARAMETERS)
def test_beta_is_one_half_at_m(data, parameters):
    """Where m lies within the unit interval."""
    beta = fitted(BetaCalibrator, *data, parameters=parameters)
    if 1e-9 < beta.m_ < 1 - 1e-9:
        # Steep maps turn the last bit of m into more.
        slope = (beta.a_ / beta.m_ + beta.b_ / (1 - beta.m_)) / 4
        assert beta.predict_proba([beta.m_])[0, 1] == pytest.approx(0.5, abs=1e-14 * (9 + slope))


# ---- isotonic ------------------------------------------------------------------------------------


def as_one(p):
    """Scores within 1e-15 of the first of them as that one, which the map takes as equal."""
    order = np.argsort(p)
    firsts = p[order]
    for i in range(1, len(p)):
        if firsts[i] - firsts[i - 1] < 1e-15:
            firsts[i] = firsts[i - 1]
    return firsts[np.argsort(order)]


@given(data(APART), st.lists(ANY, min_size=1, max_size=20))
def test_isotonic_is_that_of_scikit_learn(data, new):
    """On its own data, between them and outside of them."""
    p, y, weight = data
    peer = IsotonicRegression(out_of_bounds="clip").fit(p, y.astype(float), weight)
    at = np.append(new, p)
    ours = fitted(IsotonicCalibrator, p, y, weight).predict_proba(at)[:, 1]
    assert ours == pytest.approx(peer.predict(at), abs=1e-13)


@given(data(ANY))
def test_isotonic_step_is_the_best_increasing_map(data):
    """By the minimax formula: the max over starts of the min over ends of the shares between."""
    p, y, weight = data
    w = np.ones(len(p)) if weight is None else weight
    p, y, w = p[w > 0], y[w > 0], w[w > 0]
    ours = fitted(IsotonicCalibrator, p, y, w, interpolation="step").predict_proba(p)[:, 1]
    p = as_one(p)
    for score, value in zip(p, ours, strict=True):
        starts = [p >= low for low in p if low <= score]
        ends = [p <= high for high in p if high >= score]
        best = max(min(w[s & e] @ y[s & e] / w[s & e].sum() for e in ends) for s in starts)
        assert value == pytest.approx(best, abs=1e-13)


@given(
    data(ANY),
    st.sampled_from(["linear", "step"]),
    st.lists(ANY, min_size=2, max_size=20),
)
def test_isotonic_keeps_the_order(data, interpolation, new):
    """Also where scores are tiny or next to each other."""
    isotonic = fitted(IsotonicCalibrator, *data, interpolation=interpolation)
    out = isotonic.predict_proba(np.sort(np.append(new, data[0])))[:, 1]
    assert (np.diff(out) >= 0).all()
    assert ((out >= 0) & (out <= 1)).all()


@given(data(ANY))
def test_weights_of_one_change_no_bit(data):
    p, y, _ = data
    plain, weighted = (
        fitted(IsotonicCalibrator, p, y, None),
        fitted(IsotonicCalibrator, p, y, np.ones(len(p))),
    )
    assert (plain.x_ == weighted.x_).all()
    assert (plain.y_ == weighted.y_).all()


# ---- platt ---------------------------------------------------------------------------------------

OF_PLATT = sets((2, 30), weighted=(1.0, 0.5, 3.0, 0.0))


def log_odds(p):
    """Clipped at 2.2e-16."""
    p, q = np.maximum(p, 2**-52), np.maximum(1 - p, 2**-52)
    return np.log(p) - np.log(q)


def has_maximum_of_platt(f, y):
    """Two classes, and each has a score beyond one of the other."""
    zero, one = f[y == 0], f[y == 1]
    return 0 < len(one) < len(y) and zero.max() > one.min() and one.max() > zero.min()


@given(OF_PLATT, st.booleans())
def test_gradient_vanishes_at_the_estimate(data, smooth):
    """Of the mean loss, where it has a minimum: smoothed targets always do."""
    p, y, weight = data
    w = np.ones(len(p)) if weight is None else weight
    f, t = log_odds(p), y.astype(float)
    counted = w > 0
    if smooth:
        one, zero = w[y == 1].sum(), w[y == 0].sum()
        t = np.where(y == 1, (one + 1) / (one + 2), 1 / (zero + 2))
    elif not has_maximum_of_platt(f[counted], y[counted]):
        return
    platt = fitted(PlattScaling, p, y, weight, smooth_targets=smooth)
    residual = w * (expit(platt.slope_ * f + platt.intercept_) - t) / w.sum()
    assert abs(residual.sum()) < 1e-12
    assert abs(residual @ f) < 1e-12 * max(1, np.abs(f).max())


@given(OF_PLATT)
@settings.get_profile("some")
def test_no_other_parameters_have_a_smaller_loss(data):
    """Not those that scipy finds from two starts."""
    p, y, weight = data
    w = np.ones(len(p)) if weight is None else weight
    f = log_odds(p) / 10

    def loss(x):
        eta = x[0] * f + x[1]
        return w @ (np.logaddexp(0, eta) - y * eta) / w.sum()

    platt = fitted(PlattScaling, p, y, weight)
    ours = loss([10 * platt.slope_, platt.intercept_])
    for start in ([0, 0], [1, 0]):
        other = minimize(loss, start, method="BFGS", options={"maxiter": 100})
        penalty = 0.0
        if not has_maximum_of_platt(f[w > 0], y[w > 0]):
            # Separable data have a penalty, and then that of the other's slope is a bound.
            variance = np.cov(f, aweights=w, ddof=0) if (w > 0).sum() > 1 else 0.0
            penalty = 1e-8 / 2 * other.x[0] ** 2 * variance
        assert ours <= other.fun + penalty + 1e-10


@given(OF_PLATT, st.lists(PROBS | ANY, min_size=2, max_size=10))
def test_order_is_kept_or_turned_around(data, new):
    platt = fitted(PlattScaling, *data)
    out = platt.predict_proba(np.sort(new))[:, 1] * (-1 if platt.slope_ < 0 else 1)
    assert (np.diff(out) >= 0).all()
    assert np.isfinite(out).all()


# ---- histogram -----------------------------------------------------------------------------------


def frequency(scores, labels, weight, low, high):
    """Weighted frequency in (low, high], with 0 in the first bin; None where it is empty."""
    rows = (scores <= high) & ((scores > low) | (low == 0))
    weight = np.ones(len(scores)) if weight is None else weight
    return (weight * labels)[rows].sum() / weight[rows].sum() if rows.any() else None


@given(sets((1, 20)), st.integers(1, 12))
def test_bins_of_equal_width_hold_the_frequency(data, bins):
    """The edges are the doubles k / B; an empty bin has its middle."""
    binning = fitted(HistogramBinning, *data, bins=bins)
    for k in range(bins):
        low, high = k / bins, (k + 1) / bins
        share = frequency(*data, low, high)
        expected = (low + high) / 2 if share is None else share
        assert binning.values_[k] == pytest.approx(expected, abs=1e-12)
        assert (binning.predict_proba([high])[:, 1] == binning.values_[k]).all()


@given(sets((1, 20)), st.integers(1, 12))
def test_bins_of_equal_mass_hold_the_frequency(data, bins):
    """Cuts are the smallest scores up to which k / B of the mass lies."""
    scores, labels, weight = data
    binning = fitted(HistogramBinning, *data, bins=bins, binning="quantile")
    mass = np.ones(len(scores)) if weight is None else weight
    reached = [
        min(x for x in scores if mass[scores <= x].sum() >= k / bins * mass.sum() * (1 - 1e-12))
        for k in range(1, bins)
    ]
    cuts = sorted({x for x in reached if x < scores.max()})
    assert binning.edges_.tolist() == [0.0, *cuts, 1.0]
    ends = [-math.inf, *cuts, 1.0]
    for k, value in enumerate(binning.values_):
        rows = (scores > ends[k]) & (scores <= ends[k + 1])
        assert value == pytest.approx((mass * labels)[rows].sum() / mass[rows].sum(), abs=1e-12)
        assert (binning.predict_proba(scores[rows])[:, 1] == value).all()


# ---- bbq -----------------------------------------------------------------------------------------


def binning(scores, bins):
    """Cuts midway between the smallest score that reaches k / B of the rows and the next."""
    ordered = np.sort(scores)
    last = [ordered[math.ceil(k * len(scores) / bins) - 1] for k in range(1, bins)]
    last = sorted({x for x in last if x < ordered[-1]})
    return np.array([(x + ordered[ordered > x][0]) / 2 for x in last])


def model(scores, labels, bins, size):
    """Return cuts, posterior means and the log of the product of gamma functions."""
    cuts = binning(scores, bins)
    ends = [0.0, *cuts, 1.0]
    at = np.array([np.sum(cuts < p) for p in scores])
    means, score = [], 0.0
    for b in range(len(cuts) + 1):
        p = min(max((ends[b] + ends[b + 1]) / 2, 2.0**-52), 1 - 2.0**-52)
        prior = size / (len(cuts) + 1)
        m, n = np.sum(labels[at == b] == 1), np.sum(labels[at == b] == 0)
        score += math.lgamma(prior) - math.lgamma(m + n + prior)
        score += math.lgamma(m + prior * p) - math.lgamma(prior * p)
        score += math.lgamma(n + prior * (1 - p)) - math.lgamma(prior * (1 - p))
        means.append((m + prior * p) / (m + n + prior))
    return cuts, np.array(means), score


@given(data(SCORES), st.sampled_from([0.5, 2.0, 40.0]), st.integers(1, 9))
def test_bbq_is_the_average_of_its_models(data, size, most):
    """Every model from its definition, at the scores of the set and between."""
    bbq = fitted(BBQ, *data[:2], prior_size=size, min_bins=1, max_bins=most)
    models = [model(*data[:2], bins, size) for bins in range(1, most + 1)]
    scores = np.array([score for *_, score in models])
    weight = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    points = np.unique(np.concatenate([data[0], np.linspace(0, 1, 12)]))
    fits = [[means[np.sum(cuts < p)] for p in points] for cuts, means, _ in models]
    assert bbq.log_scores_ == pytest.approx(scores, abs=1e-9)
    assert bbq.predict_proba(points)[:, 1] == pytest.approx(weight @ np.array(fits), abs=1e-9)


@given(data(SCORES), st.integers(1, 9))
def test_bbq_without_averaging_is_the_best_model(data, most):
    """The smallest of those with the highest score."""
    bbq = fitted(BBQ, *data[:2], averaging=False, min_bins=1, max_bins=most)
    best = int(np.argmax(bbq.log_scores_)) + 1
    cuts, means, _ = model(*data[:2], best, 2.0)
    assert bbq.cuts_ == pytest.approx(cuts)
    assert bbq.values_ == pytest.approx(means, abs=1e-12)


@given(data(SCORES))
def test_bbq_is_never_certain(data):
    """The prior has both classes in every bin."""
    probs = fitted(BBQ, *data[:2]).predict_proba(np.linspace(0, 1, 33))
    assert (probs[:, 1] > 0).all()
    assert (probs <= 1).all()


# ---- enir ----------------------------------------------------------------------------------------


def pooled(scores, labels):
    """Distinct scores, their numbers of rows and of events."""
    values, at = np.unique(scores, return_inverse=True)
    return values, np.bincount(at), np.bincount(at, labels)


def path(mass, events):
    """Follow the path in fractions: [(lambda, [(first, last, beta), ...]), ...]."""
    y = [Fraction(int(e), int(m)) for e, m in zip(events, mass, strict=True)]
    blocks, lam, found = [[j, j] for j in range(len(y))], Fraction(0), []
    falls = [a > b for a, b in pairwise(y)]

    def beta(block, lam):
        (first, last), rows = block, slice(block[0], block[1] + 1)
        left = first > 0 and falls[first - 1]
        right = last < len(y) - 1 and falls[last]
        return (int(sum(events[rows])) + (left - right) * lam) / Fraction(int(sum(mass[rows])))

    while True:
        k = 0
        while k < len(blocks) - 1:
            if beta(blocks[k], lam) == beta(blocks[k + 1], lam):
                blocks[k : k + 2] = [[blocks[k][0], blocks[k + 1][1]]]
                k = max(k - 1, 0)
            else:
                k += 1
        found.append((lam, [(*block, beta(block, lam)) for block in blocks]))
        meetings = []
        for a, b in pairwise(blocks):
            now, later = beta(b, lam) - beta(a, lam), beta(b, lam + 1) - beta(a, lam + 1)
            if now != later and now / (now - later) > 0:
                meetings.append(lam + now / (now - later))
        if not meetings:
            return found
        lam = min(meetings)


def definition(scores, labels):
    """BIC of all models above lambda = 0, and their mean at the distinct scores."""
    _, mass, events = pooled(scores, labels)
    models = path(mass, events)
    models = models[1:] or models
    fits = [np.repeat([float(b) for *_, b in m], [j - i + 1 for i, j, _ in m]) for _, m in models]
    bic = []
    for fit, (_, blocks) in zip(fits, models, strict=True):
        loss = -(xlogy(events, fit) + xlog1py(mass - events, -fit)).sum()
        bic.append(2 * loss + len(blocks) * math.log(len(scores)))
    weight = np.exp((min(bic) - np.array(bic)) / 2)
    return [float(lam) for lam, _ in models], bic, weight @ np.array(fits) / weight.sum()


@given(sets((1, 14), weighted=False))
def test_enir_is_the_average_over_the_exact_path(data):
    """Every breakpoint, its BIC and the mean, from a path in fractions."""
    enir, (lambdas, bic, mean) = fitted(ENIR, *data), definition(*data[:2])
    assert enir.lambdas_ == pytest.approx(lambdas, rel=1e-12)
    assert enir.bic_ == pytest.approx(bic, rel=1e-12)
    assert enir.predict_proba(np.unique(data[0]))[:, 1] == pytest.approx(mean, abs=1e-12)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), min_size=1, max_size=40))
def test_every_breakpoint_solves_the_penalised_problem(rows):
    """The subgradients that the residuals ask for lie in [0, 1], 1 where beta falls, 0 else."""
    mass = np.array([m for m, _ in rows], dtype=float)
    events = np.minimum(mass, [e for _, e in rows])
    blocks, merges = solution_path(mass, events)
    for t, lam in enumerate(merges[0], start=1):
        first, last, value = mean_of_models(blocks, merges, np.array([t]), np.ones(1))
        beta = np.repeat(value, last - first + 1)
        s = np.cumsum(events - mass * beta) / lam
        fall = -np.diff(beta)
        assert s[-1] == pytest.approx(0, abs=1e-9)
        assert (s > -1e-9).all()
        assert (s < 1 + 1e-9).all()
        assert s[:-1][fall > 1e-9] == pytest.approx(1, abs=1e-9)
        assert s[:-1][fall < -1e-9] == pytest.approx(0, abs=1e-9)


# ---- venn abers ----------------------------------------------------------------------------------

ROUNDING = 1e-14  # of sums of relative weights


def definition_of_venn_abers(scores, labels, weight, new, label):
    """Fit isotonic regression with the new observation in the set."""
    weight = np.ones(len(scores)) if weight is None else weight
    # Ranks, since scikit-learn takes scores that differ by less than 1e-16 for equal.
    ranks = np.unique(np.append(scores, new), return_inverse=True)[1]
    fit = IsotonicRegression().fit(ranks, np.append(labels, label) * 1.0, np.append(weight, 1.0))
    return fit.predict(ranks[-1:])[0]


@given(sets((1, 12)), SCORES)
def test_venn_abers_is_isotonic_regression_with_the_new_observation(data, new):
    """At scores of the set, between them and beyond."""
    points = np.unique(np.append(data[0], new))
    expected = [[definition_of_venn_abers(*data, x, label) for label in (0, 1)] for x in points]
    assert fitted(VennAbers, *data).interval(points) == pytest.approx(np.array(expected), abs=1e-12)


@given(sets((1, 12)))
def test_venn_abers_does_not_fall_and_is_never_certain(data):
    """The merged probability rises with the score and is inside (0, 1)."""
    venn = fitted(VennAbers, *data)
    grid = np.unique(np.concatenate([np.linspace(0, 1, 21), data[0]]))
    merged = venn.predict_proba(grid)[:, 1]
    assert (np.diff(merged) >= -ROUNDING).all()
    assert (merged > 0).all()
    assert (merged < 1).all()


@given(sets((1, 12)), st.floats(0.001, 0.999), st.floats(0, 1))
def test_log_loss_merge_has_the_smallest_worst_regret(data, other, score):
    """Regret: log loss beyond that of the probability that belongs to the label."""
    venn = fitted(VennAbers, *data)
    (low, high), merged = venn.interval([score])[0], venn.predict_proba([score])[0, 1]
    regret = [max(np.log((1 - low) / (1 - p)), np.log(high / p)) for p in (merged, other)]
    assert regret[0] <= regret[1] + 1e-12
