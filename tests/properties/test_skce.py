"""The SKCE, KCE and MMCE are sums over pairs by plain loops, for all kernels and lenses."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import caltest as ct
from caltest import Forecasts, Predictions
from caltest.kernels import (
    Diagonal,
    Exponential,
    Gaussian,
    Matern32,
    Matern52,
    Product,
    RationalQuadratic,
    Scaled,
    Sum,
)
from caltest.lenses import REGISTRY, Custom, Grouped, resolve_lens
from caltest.measures import SKCE, kce, mmce, skce
from caltest.measures.kernel.pairs import LinePairs
from caltest.nulls import REGISTRY as NULLS
from caltest.testing import strategies

ESTIMATORS = ["unbiased", "biased", "linear", "block"]

# ---- the definitions, as plain as can be --------------------------------------------------------

PROFILES = {
    Exponential: lambda r: math.exp(-r),
    Gaussian: lambda r: math.exp(-(r**2) / 2),
    Matern32: lambda r: (1 + math.sqrt(3) * r) * math.exp(-math.sqrt(3) * r),
    Matern52: lambda r: (1 + math.sqrt(5) * r + 5 * r**2 / 3) * math.exp(-math.sqrt(5) * r),
    RationalQuadratic: lambda r: 1 / (1 + r**2 / 2),
}


def log_odds(p):
    """Return log(p / (1 - p)) of a probability clipped to [2^-52, 1 - 2^-52]."""
    p = min(max(p, 2.0**-52), 1 - 2.0**-52)
    return math.log(p) - math.log1p(-p)


def chebyshev(s, t):
    """Return a metric that caltest does not know."""
    return max(abs(a - b) for a, b in zip(s, t, strict=True))


METRICS = {
    "tv": lambda s, t: sum(abs(s - t)) / 2,
    "euclidean": lambda s, t: math.sqrt(sum((s - t) ** 2)),
    "logit": lambda s, t: abs(log_odds(s[1]) - log_odds(t[1])),
    chebyshev: chebyshev,
}


def scalar_kernel(kernel, probs):
    """Return kappa(s, t) with the bandwidth rule applied to the rows of probs."""
    distance, bandwidth = METRICS[kernel.metric], kernel.bandwidth
    if isinstance(bandwidth, str):
        distances = [distance(s, t) for s, t in combinations(probs, 2)]
        bandwidth = {"median": np.median, "mean": np.mean}[bandwidth](distances)
        if bandwidth == 0:
            bandwidth = np.mean([d for d in distances if d > 0] or [1.0])
    return lambda s, t: PROFILES[type(kernel)](distance(s, t) / bandwidth)


def h_matrix(predictions, kernel_matrix):
    """Return h_ij = delta_i' k(p_i, p_j) delta_j, times w_i w_j."""
    probs, n = predictions.probs, predictions.n
    weight = np.ones(n) if predictions.sample_weight is None else predictions.sample_weight
    delta = np.eye(predictions.m)[predictions.labels] - probs
    h = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            k = kernel_matrix(probs[i], probs[j])
            h[i, j] = weight[i] * weight[j] * delta[i] @ k @ delta[j]
    return h, weight


def mean_over_pairs(h, weight, *, biased=False):
    """Return the sum of h over the pairs divided by the sum of w_i w_j over them."""
    pairs = np.ones_like(h) if biased else 1 - np.eye(len(h))
    return np.sum(h * pairs) / np.sum(np.outer(weight, weight) * pairs)


def estimate(h, weight, estimator, block_size):
    """Return the estimate of Widmann et al. (2019), table 1."""
    if estimator in ("unbiased", "biased"):
        return mean_over_pairs(h, weight, biased=estimator == "biased")
    size = 2 if estimator == "linear" else block_size
    blocks = [slice(start, start + size) for start in range(0, len(h) - size + 1, size)]
    return np.mean([mean_over_pairs(h[b, b], weight[b]) for b in blocks])


# ---- kernels, by name ---------------------------------------------------------------------------

FIRST, SECOND = Exponential(0.7), Matern32(0.4, metric="tv")


def matrix_kernels(m):
    """Return matrix-valued kernels for m classes with the scalar kernels and matrices in them."""
    rng = np.random.default_rng(m)
    a, b = (factor @ factor.T / m for factor in rng.normal(size=(2, m, m)))
    low_rank = np.outer(a[0], a[0])
    units = [np.diag(row) for row in np.eye(m)]
    alternating = [(FIRST, SECOND)[k % 2] for k in range(m)]
    return {
        "matrix": (Scaled(FIRST, a), [((FIRST,), a)]),
        "low rank": (Scaled(SECOND, low_rank), [((SECOND,), low_rank)]),
        "diagonal": (
            Diagonal(alternating),
            [((k,), unit) for k, unit in zip(alternating, units, strict=True)],
        ),
        "sum": (Sum(FIRST, Scaled(SECOND, a)), [((FIRST,), np.eye(m)), ((SECOND,), a)]),
        "product": (Product(Scaled(FIRST, a), Scaled(SECOND, b)), [((FIRST, SECOND), a * b)]),
        "scalar product": (Product(FIRST, SECOND), [((FIRST, SECOND), np.eye(m))]),
    }


KERNELS = list(matrix_kernels(2))


def matrix_kernel(name, m):
    """Return the kernel, and the function that gives its m x m matrices."""
    kernel, terms = matrix_kernels(m)[name]
    functions = [([scalar_kernel(k, ()) for k in factors], matrix) for factors, matrix in terms]
    return kernel, lambda s, t: sum(
        math.prod(kappa(s, t) for kappa in factors) * matrix for factors, matrix in functions
    )


# ---- predictions --------------------------------------------------------------------------------


@st.composite
def rows(draw, m):
    """Corners of the simplex, rows of simple fractions with zeros, or anything inside."""
    kind = draw(st.sampled_from(["corner", "fractions", "inside"]))
    if kind == "corner":
        return np.eye(m)[draw(st.integers(0, m - 1))]
    if kind == "fractions":
        parts = draw(st.lists(st.integers(0, 3), min_size=m, max_size=m).filter(any))
        return np.array(parts) / sum(parts)
    return np.random.default_rng(draw(st.integers(0, 1000))).dirichlet(np.full(m, 0.3))


@st.composite
def predictions(draw, classes=(2, 3, 10), *, weighted=False):
    """Few distinct rows, often repeated, with any labels, those of probability 0 too."""
    m = draw(st.sampled_from(classes))
    n = draw(st.integers(2, 9))
    pool = draw(st.lists(rows(m), min_size=1, max_size=n))
    probs = [draw(st.sampled_from(pool)) for _ in range(n)]
    labels = draw(st.lists(st.integers(0, m - 1), min_size=n, max_size=n))
    weights = st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n)
    return Predictions(
        probs, labels, classes=range(m), sample_weight=draw(weights) if weighted else None
    )


def weighted_too(estimator, classes=(2, 3, 10)):
    """Predictions for an estimator: with weights now and then where it takes them."""
    if estimator in ("unbiased", "biased"):
        return predictions(classes) | predictions(classes, weighted=True)
    return predictions(classes)


def row_order(bound):
    """Return the order of the rows of a bound measure: on a line they are sorted."""
    p = bound.predictions
    if not isinstance(bound, LinePairs):
        return np.arange(p.n)
    if p.sample_weight is not None:
        return np.argsort(p.probs[:, 1])
    return np.lexsort((p.labels, p.probs[:, 1]))


def bound_rows(bound, labels):
    """Put rows of labels or counts into the order in which a bound measure keeps its rows."""
    return np.ascontiguousarray(labels[:, row_order(bound)])


# ---- estimators ---------------------------------------------------------------------------------


@settings.get_profile("few")
@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: getattr(metric, "__name__", metric))
@pytest.mark.parametrize("kernel", PROFILES, ids=lambda kernel: kernel.__name__)
@given(data=st.data())
def test_skce_of_scalar_kernels_equals_a_double_loop(kernel, metric, data):
    """Every profile over every metric, with every bandwidth rule and estimator."""
    estimator = data.draw(st.sampled_from(ESTIMATORS))
    two = predictions((2,)) | weighted_too(estimator, (2,))
    p = data.draw(two if metric == "logit" else two | weighted_too(estimator))
    scalar = kernel(data.draw(st.sampled_from(["median", "mean", 0.3, 2.0])), metric)
    kappa = scalar_kernel(scalar, p.probs)
    check_values(p, scalar, lambda s, t: kappa(s, t) * np.eye(p.m), estimator, data)


@settings.get_profile("few")
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("name", KERNELS)
@given(data=st.data())
def test_skce_of_matrix_kernels_equals_a_double_loop(name, estimator, data):
    """Every way to make a kernel matrix-valued, with every estimator."""
    p = data.draw(weighted_too(estimator))
    check_values(p, *matrix_kernel(name, p.m), estimator, data)


def check_values(p, kernel, kernel_matrix, estimator, data):
    """Compare the value, and what a bound measure gives for redrawn labels, with double loops."""
    block_size = data.draw(st.integers(2, p.n))
    labels = np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, p.m, (11, p.n))
    labels[0] = p.labels
    expected = []
    for row in labels:
        redrawn = Predictions(p.probs, row, classes=p.classes, sample_weight=p.sample_weight)
        expected.append(estimate(*h_matrix(redrawn, kernel_matrix), estimator, block_size))
    bound = SKCE(estimator=estimator, block_size=block_size, kernel=kernel).bind(p)
    assert bound.value() == pytest.approx(expected[0], rel=1e-12, abs=1e-12)
    values = bound.values(bound_rows(bound, labels.astype(np.uint8)))
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-12)


LENSES = {
    "strong": "strong",
    "confidence": "confidence",
    "classwise": "classwise",
    "cumulative": "cumulative",
    "top-label": "top-label",
    "top-R": "top-2",
    "within-top-R": "within-top-2",
    "largest-R": "largest-2",
    "grouped[...]": Grouped([[0, 2]]),
    "custom": Custom(lambda probs, labels: (probs[:, :2].sum(axis=1), labels < 2)),
}


def test_all_lenses_are_tested():
    """The table above has every lens of the registry, and one of one's own."""
    of_classes = {key for key, kind in REGISTRY.items() if kind.of is not Forecasts}
    assert set(LENSES) == {*of_classes, "custom"}


@settings.get_profile("few")
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("lens", LENSES)
@given(p=predictions((3, 10)))
def test_skce_under_a_lens_equals_a_double_loop(lens, estimator, p):
    """The value is that of the predictions as each member of the lens shows them."""
    found = resolve_lens(LENSES[lens])
    expected = []
    for member in found.members(p):
        seen = member(p)
        assume(seen.n > 1 or estimator == "biased")
        kappa = scalar_kernel(FIRST, seen.probs)
        h, weight = h_matrix(seen, lambda s, t, kappa=kappa: kappa(s, t) * np.eye(len(s)))
        expected.append(estimate(h, weight, estimator, 2))
    value = skce(p, lens=LENSES[lens], estimator=estimator, kernel=FIRST)
    np.testing.assert_allclose(np.atleast_1d(value), expected, rtol=1e-12, atol=1e-12)
    assert np.ndim(value) == found.is_family


# ---- what the nulls need ------------------------------------------------------------------------


@settings.get_profile("few")
@pytest.mark.parametrize("name", ["line", *KERNELS])
@given(data=st.data())
def test_sums_over_pairs_equal_double_loops(name, data):
    """Row sums leave out the diagonal; weighted sums take the pairs j < i; the diagonal is h_ii."""
    p = data.draw(predictions((2,)) if name == "line" else predictions())
    kernel, kernel_matrix = _kernel_or_line(name, p)
    h, _ = h_matrix(p, kernel_matrix)
    counts = np.random.default_rng(p.n).integers(0, 4, (3, p.n)).astype(np.uint8)
    bound = SKCE(kernel=kernel).bind_all_pairs(p)
    order = row_order(bound)
    close = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(bound.diagonal(), np.diag(h)[order], **close)
    np.testing.assert_allclose(bound.row_sums(), (h.sum(axis=1) - np.diag(h))[order], **close)
    expected = [sum(c[i] * c[j] * h[i, j] for i in range(p.n) for j in range(i)) for c in counts]
    np.testing.assert_allclose(bound.weighted_sums(bound_rows(bound, counts)), expected, **close)


@settings.get_profile("few")
@pytest.mark.parametrize("name", ["line", *KERNELS])
@given(data=st.data())
def test_bootstrap_equals_its_formula(name, data):
    """T' = n^-2 sum_i C_i sum_j (n / (n - 1) (C_j - 1[i = j]) - 2) h_ij, and T, by double loops."""
    p = data.draw(predictions((2,)) if name == "line" else predictions())
    kernel, kernel_matrix = _kernel_or_line(name, p)
    judged = NULLS["bootstrap"].test(SKCE(kernel=kernel), p, n_resamples=3, seed=p.n)
    bound = SKCE(kernel=kernel).bind_all_pairs(p)
    order = row_order(bound)
    h, weight = h_matrix(p, kernel_matrix)
    h = h[np.ix_(order, order)]
    expected = [bootstrap_statistic(h, c) for c in _counts(p.n, seed=p.n, size=3)]
    np.testing.assert_allclose(judged.distribution, expected, rtol=1e-12, atol=1e-12)
    unbiased = mean_over_pairs(h, weight)
    observed = p.n / (p.n - 1) * unbiased - mean_over_pairs(h, weight, biased=True)
    assert judged.statistic == pytest.approx(observed, rel=1e-12, abs=1e-12)
    assert judged.estimate == pytest.approx(unbiased, rel=1e-12, abs=1e-12)


def bootstrap_statistic(h, c):
    """Return T' for one vector of counts."""
    n, total = len(h), 0.0
    for i in range(n):
        for j in range(n):
            total += c[i] * (n / (n - 1) * (c[j] - (i == j)) - 2) * h[i, j]
    return total / n**2


def _counts(n, seed, size):
    """Draw the counts of the first batch of resamples."""
    (child,) = np.random.SeedSequence(seed).spawn(1)
    rng = np.random.default_rng(child)
    return [np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(size)]


def _kernel_or_line(name, p):
    if name != "line":
        return matrix_kernel(name, p.m)
    kappa = scalar_kernel(FIRST, p.probs)
    return FIRST, lambda s, t: kappa(s, t) * np.eye(2)


@given(strategies.predictions((1, 9), (2, 5)))
def test_kce_is_the_root_of_the_biased_skce(predictions):
    """The same code gives both, so they agree to the last digit."""
    kernel = Exponential(0.5)
    squared = skce(predictions, estimator="biased", kernel=kernel)
    assert kce(predictions, kernel=kernel) == math.sqrt(max(squared, 0.0))


@pytest.mark.full
@pytest.mark.parametrize("null", ["exact", "consistency", "distribution-free"])
@pytest.mark.parametrize("m", [2, 4])
def test_kce_has_the_pvalue_of_the_biased_skce(m, null):
    """The square root is monotone, so the test is the same."""
    predictions = ct.datasets.generative_model("M2", n=60, m=m, rng=0)
    root = ct.test_calibration(None, predictions, test="kce", null=null, rng=1)
    options = {"estimator": "biased", "null": null, "rng": 1}
    squared = ct.test_calibration(None, predictions, test="skce", **options)
    assert root.pvalue == squared.pvalue
    assert root.statistic**2 == pytest.approx(squared.statistic, rel=1e-12)


@given(strategies.predictions((1, 12)), st.sampled_from([0.1, 0.4, 2.0]))
def test_mmce_is_the_root_of_a_double_sum(predictions, width):
    """MMCE^2 = mean of (c_i - r_i)(c_j - r_j) exp(-|r_i - r_j| / width)."""
    top = predictions.probs.argmax(axis=1)
    r, c = predictions.probs.max(axis=1), top == predictions.labels
    w = np.ones(predictions.n) if predictions.sample_weight is None else predictions.sample_weight
    d = w * (c - r)
    total = d @ np.exp(-np.abs(r[:, None] - r) / width) @ d
    expected = math.sqrt(max(total, 0.0)) / w.sum()
    assert mmce(predictions, width=width) == pytest.approx(expected, rel=1e-9, abs=1e-7)


@pytest.mark.parametrize("null", ["exact", "consistency", "distribution-free"])
def test_mmce_has_the_pvalue_of_that_kce(null):
    predictions = ct.datasets.generative_model("M3", n=30, m=3, alpha=1.0, rng=0)
    settings = {"lens": "confidence", "null": null, "rng": 1}
    expected = ct.test_calibration(
        None, predictions, test="kce", kernel=Exponential(0.4), **settings
    )
    result = ct.test_calibration(None, predictions, test="mmce", **settings)
    assert result.pvalue == pytest.approx(expected.pvalue, rel=1e-12)


@pytest.mark.parametrize("m", [2, 10])
def test_mmce_of_many_predictions_equals_the_double_sum(m):
    """The recursion on sorted confidences is exact where rounding could add up."""
    predictions = ct.datasets.generative_model("M3", n=2000, m=m, rng=0)
    r = predictions.probs.max(axis=1)
    d = (predictions.probs.argmax(axis=1) == predictions.labels) - r
    expected = math.sqrt(d @ np.exp(-np.abs(r[:, None] - r) / 0.4) @ d) / 2000
    assert mmce(predictions) == pytest.approx(expected, rel=1e-11)
