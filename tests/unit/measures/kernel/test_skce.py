"""The SKCE: large data by tiles and threads, its options, its limit law, its errors."""

import tracemalloc

import numpy as np
import pytest

from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.kernels import Diagonal, Exponential, Gaussian, Matern32, Product, Scaled, Sum
from caltest.kernels.fitted import COLUMNS, FittedKernel
from caltest.measures import SKCE, skce
from caltest.numerics.labels import resample_keys
from caltest.numerics.loops import threads

CLOSE = {"rtol": 1e-12, "atol": 1e-14}
A = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, -1.0], [0.0, -1.0, 3.0]])
KERNELS = {
    "identity": Exponential(0.8),
    "matrix": Scaled(Gaussian(0.8), A),
    "diagonal": Diagonal([Exponential(0.8), Gaussian(0.5), Exponential(0.8)]),
    "sum": Sum(Exponential(0.8), Scaled(Matern32(0.5), A)),
    "product": Product(Scaled(Exponential(0.8), A), Gaussian(0.5)),
}


def gram_h(predictions, kernel):
    """Return the n x n matrix of h from whole kernel matrices, one for each term."""
    n, m = predictions.probs.shape
    rows, columns = np.indices((n, n)).reshape(2, -1)
    delta = np.eye(m)[predictions.labels] - predictions.probs
    h = np.zeros((n, n))
    for term in FittedKernel(SKCE(kernel=kernel).witness_kernel, predictions.probs).terms:
        h += term.pairs(rows, columns).reshape(n, n) * (delta @ term.matrix @ delta.T)
    return h


# ---- sizes at which tiles, column blocks and threads meet ---------------------------------------


@pytest.fixture(scope="module")
def large():
    """Predictions of three classes that need several tiles and more than one column block."""
    return generative_model("M2", n=COLUMNS + 150, m=3, rng=0)


@pytest.mark.cases(1)
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("name", KERNELS)
def test_tiles_give_the_mean_over_all_pairs(large, name, n_jobs):
    """Value, row sums and the biased estimate are those of the whole n x n matrix."""
    h = gram_h(large, KERNELS[name])
    n, total, diagonal = large.n, h.sum(), np.trace(h)
    bound = SKCE(kernel=KERNELS[name]).bind_all_pairs(large)
    unbiased = (total - diagonal) / (n * (n - 1))
    with threads(n_jobs):
        np.testing.assert_allclose(bound.value(), unbiased, **CLOSE)
        np.testing.assert_allclose(bound.values(bound.observed[None]), unbiased, **CLOSE)
        np.testing.assert_allclose(bound.row_sums(), h.sum(axis=1) - np.diag(h), atol=1e-11)
    biased = skce(large, estimator="biased", kernel=KERNELS[name], n_jobs=n_jobs)
    assert biased == pytest.approx(total / n**2, rel=1e-12)


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", KERNELS)
def test_tiles_give_values_of_redrawn_labels(large, name):
    """Every resample has the value of predictions with its labels, with one thread and two."""
    bound = SKCE(kernel=KERNELS[name]).bind_all_pairs(large)
    labels = bound.redraw(resample_keys(0, 300))
    values = bound.values(labels)
    with threads(2):
        np.testing.assert_allclose(bound.values(labels), values, **CLOSE)
    for b in (0, 255, 299):
        again = Predictions(large.probs, labels[b])
        np.testing.assert_allclose(values[b], skce(again, kernel=KERNELS[name]), **CLOSE)


@pytest.mark.loops
@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("concentration", [0.1, 3.0])
def test_look_ups_give_values_of_redrawn_labels(concentration, weighted, estimator):
    """With a class that most labels have, and without: those of predictions with these labels."""
    rng = np.random.default_rng(2)
    probs, n = rng.dirichlet(np.full(4, concentration), 80), 80
    data = Predictions(
        probs, np.arange(n) % 4, sample_weight=rng.uniform(0.5, 2, n) if weighted else None
    )
    matrix = np.eye(4) + 0.2
    measure = SKCE(kernel=Scaled(Exponential(0.8), matrix), estimator=estimator)
    labels = measure.bind(data).redraw(resample_keys(0, 10))
    values = measure.bind(data).values(labels)
    for row, value in zip(labels, values, strict=True):
        again = Predictions(probs, row, sample_weight=data.sample_weight)
        np.testing.assert_allclose(value, measure.bind(again).value(), **CLOSE)


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_line_takes_a_hundred_bytes_for_each_prediction():
    """So that ten million binary predictions stay below 1 GiB, the predictions not counted."""
    n = 200_000
    event = np.random.default_rng(0).random(n)
    predictions = Predictions(event, event > 0.5)
    tracemalloc.start()
    skce(predictions, kernel=Exponential(0.5))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 107 * n  # 2^30 / 10^7 = 107


@pytest.mark.parametrize("name", KERNELS)
def test_blocks_give_the_same_in_chunks_and_threads(large, name, monkeypatch):
    """The block estimates do not depend on how many are computed at a time."""
    measure = SKCE(estimator="block", block_size=7, kernel=KERNELS[name])
    whole = measure.bind(large)
    values, labels = whole.block_values(), whole.redraw(resample_keys(0, 5))
    monkeypatch.setattr("caltest.measures.kernel.pairs.PAIRS_AT_A_TIME", 200)
    chunks = measure.bind(large)
    with threads(2):
        np.testing.assert_allclose(chunks.block_values(), values, **CLOSE)
        np.testing.assert_allclose(chunks.values(labels), whole.values(labels), **CLOSE)


# ---- errors -------------------------------------------------------------------------------------


def test_skce_needs_two_positive_weights():
    """One observation that counts is no pair."""
    predictions = Predictions([0.2, 0.7, 0.4], [0, 1, 1], sample_weight=[0, 1, 0])
    with pytest.raises(NotApplicable, match="two observations, and one has a positive weight"):
        skce(predictions)


@pytest.mark.parametrize("kernel", [None, Gaussian()])
@pytest.mark.parametrize("large", [1e12, 1e17, 1e30])
def test_skce_of_a_very_large_weight_is_that_of_its_pairs(kernel, large):
    """Their weight was a difference of squares, and the SKCE minus infinity; the bandwidth too."""
    probs, labels = [[0.2, 0.8], [0.4, 0.6], [0.7, 0.3], [0.1, 0.9]], [1, 0, 1, 1]
    usual, found = (
        skce(probs, labels, kernel=kernel, sample_weight=[1, w, 1, 1]) for w in (1e9, large)
    )
    assert found == pytest.approx(usual, rel=1e-8)


@pytest.mark.parametrize("estimator", ["linear", "block"])
def test_skce_in_blocks_takes_no_weights(estimator):
    """The message names the estimator that does."""
    predictions = Predictions([0.2, 0.7], [0, 1], sample_weight=[1, 2])
    with pytest.raises(NotApplicable, match="take no sample weights; use estimator='unbiased'"):
        skce(predictions, estimator=estimator)


def test_limit_of_the_biased_estimator_is_not_applicable():
    """The biased estimator has the exact null, and the unbiased one Pearson's curve."""
    with pytest.raises(NotApplicable, match=r"biased.*no limiting distribution; use null='exact'"):
        SKCE(estimator="biased").limit(generative_model("M1", n=20, m=3, rng=0))


@pytest.mark.parametrize("n", [2, 3, 8])
def test_limit_of_blocks_that_do_not_vary_is_not_applicable(n):
    """A standard deviation of 0, or of a single block, has no z."""
    predictions = Predictions(np.eye(2)[np.zeros(n, int)], np.zeros(n, int))
    with pytest.raises(NotApplicable, match="needs block values that vary, and these"):
        SKCE(estimator="linear").limit(predictions)


def test_limit_of_few_blocks_carries_a_note():
    """Below 30 blocks the print says that the normal limit can fail."""
    few = generative_model("M1", n=40, m=3, rng=0)
    many = generative_model("M1", n=80, m=3, rng=0)
    assert "fewer than 30 blocks" in SKCE(estimator="linear").limit(few).notes[-1]
    assert SKCE(estimator="linear").limit(many).notes == ()


@pytest.mark.loops
@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_look_ups_of_few_rows_are_exact(estimator):
    """Resamples of few rows often tie, which rounding errors of 1e-10 would hide."""
    far = [0.625, 0.125, 0.125, 0.125]
    probs = np.repeat([np.full(4, 0.25), far], 5, axis=0)
    measure = SKCE(kernel=Exponential(0.5), estimator=estimator)
    bound = measure.bind(Predictions(probs, np.arange(10) % 4))
    labels = bound.redraw(resample_keys(0, 20))
    each = [measure.bind(Predictions(probs, row, classes=range(4))).value() for row in labels]
    np.testing.assert_allclose(bound.values(labels), each, rtol=0, atol=1e-14)
