"""The SKCE of forecasts: values in closed form and of another package, and its null."""

import math

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.errors import NotApplicable
from caltest.forecasts.laws import Cdf, Frozen, Histogram, Members, Mixture, NormalLaw, Quantiles
from caltest.kernels import Exponential
from caltest.measures.kernel.forecasts import ForecastSKCE

LEVELS = (0.1, 0.4, 0.6, 0.9)
N = 30


@pytest.fixture
def rng():
    return np.random.default_rng(20261128)


def gaussian(rng, n=N, spread=1.0, **rows):
    mean, scale = rng.normal(size=n), np.exp(0.4 * rng.normal(size=n))
    return ct.Forecasts(mean + spread * scale * rng.normal(size=n), mean=mean, scale=scale, **rows)


def gamma(rng, n=N):
    law = stats.gamma(np.exp(rng.normal(size=n)), scale=np.exp(0.5 * rng.normal(size=n)))
    return ct.Forecasts(law.rvs(random_state=rng), distribution=law)


def ensemble(rng, n=N):
    scale = np.exp(0.5 * rng.normal(size=(n, 1)))
    members = rng.normal(size=(n, 1)) + scale * rng.normal(size=(n, 10))
    return ct.Forecasts(members[:, 0], members=members[:, 1:])


def quantiles(rng, n=N):
    mean = rng.normal(size=n)
    values = mean[:, None] + stats.norm.ppf(LEVELS)
    return ct.Forecasts(mean + rng.normal(size=n), quantiles=values, levels=LEVELS)


def closed_form(forecasts, gram, width, *, biased):
    """The mean of h of Gaussian forecasts by loops over the pairs."""

    def kappa(distance, variance):
        total = width * width + variance
        return width / math.sqrt(total) * math.exp(-distance * distance / (2 * total))

    y, m, v = forecasts.outcomes, forecasts.mean, forecasts.scale**2
    h = [
        gram[i, j]
        * (
            kappa(y[i] - y[j], 0.0)
            - kappa(m[i] - y[j], v[i])
            - kappa(y[i] - m[j], v[j])
            + kappa(m[i] - m[j], v[i] + v[j])
        )
        for i in range(forecasts.n)
        for j in range(forecasts.n)
        if biased or i != j
    ]
    return np.mean(h)


@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_value_is_that_of_the_closed_form(estimator, rng):
    """Sums of cosines and features take the place of pairs."""
    forecasts = gaussian(rng)
    points = np.column_stack([forecasts.mean, forecasts.scale])
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    expected = closed_form(forecasts, np.exp(-distance / 0.7), 0.8, biased=estimator == "biased")
    options = {"kernel": Exponential(0.7), "width": 0.8, "compare": "outcomes"}
    found = ct.measures.forecast_skce(forecasts, estimator=estimator, **options)
    assert found == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    ("outcomes", "scale", "width", "expected"),
    [
        ([0, 0], 1, 1, (1, 2**-0.5, 2**-0.5, 3**-0.5)),
        ([1, 0], 2, 1, (math.exp(-1 / 2), 2**-0.5, 5**-0.5, math.exp(-1 / 12) / 6**0.5)),
        ([1, 0], 2, 2, (math.exp(-1 / 8), 1.25**-0.5, 2**-0.5, math.exp(-1 / 18) / 1.5)),
    ],
)
def test_values_of_calibration_errors_jl(outcomes, scale, width, expected):
    """devmotion/CalibrationErrors.jl at 8dfa994, test/distributions/normal.jl, basic examples.

    Its ExponentialKernel of Wasserstein() times SqExponentialKernel(), scaled by 1 / width.
    """
    same = scale == 1
    forecasts = ct.Forecasts(outcomes, mean=[0, 0 if same else 1], scale=[1, scale])
    a, b, c, d = expected
    value = (1 if same else math.exp(-math.sqrt(2))) * (a - b - c + d)
    found = ct.measures.forecast_skce(
        forecasts, kernel=Exponential(1.0), width=width, compare="outcomes"
    )
    assert found == pytest.approx(value, abs=1e-12)


def test_means_of_cosines_and_sines(rng):
    """Of each kind of law, by outcomes that it draws, or in closed form."""
    mean, scale = rng.normal(size=3), np.exp(rng.normal(size=3))
    normal = NormalLaw(mean, scale)
    laws = [
        normal,
        Frozen(stats.gamma(scale, loc=mean)),
        Mixture([0.3, 0.7], [normal, NormalLaw(mean + 1, scale)]),
        Members(rng.normal(size=(3, 5))),
        Quantiles(LEVELS, mean[:, None] + stats.norm.ppf(LEVELS)),
        Histogram([0.0, 1.0, 3.0], [[0.2, 0.8]] * 3),
    ]
    u = (np.arange(2000) + 0.5) / 2000
    for law in laws:
        z = np.exp(1j * 0.7 * (law.quantile(np.tile(u, (3, 1))) - 0.2))
        expected = np.concatenate([(z**k).mean(axis=1)[None] for k in (1, 2, 3)])
        found = law.expected_harmonics(0.7, 0.2, 3)
        assert np.allclose(found[:3] + 1j * found[3:], expected, atol=2e-3), law.title
    given = Cdf(lambda y: stats.norm.cdf(y, mean, scale), 3)
    both = [law.expected_harmonics(0.7, 0.2, 4) for law in (normal, given)]
    assert np.allclose(*both, atol=1e-9)


def test_weights_count_rows(rng):
    """A row of weight 3 is three rows, whose pairs with each other the biased estimate has."""
    forecasts = gaussian(rng, n=20, sample_weight=np.repeat([1.0, 3.0], 10))
    again = gaussian(np.random.default_rng(20261128), n=20).subset(
        np.repeat(range(20), [1] * 10 + [3] * 10)
    )
    options = {"kernel": ct.kernels.Gaussian(1.0), "width": 1.0, "compare": "outcomes"}
    found, expected = (
        ct.measures.forecast_skce(one, estimator="biased", **options) for one in (forecasts, again)
    )
    assert found == pytest.approx(expected, rel=1e-9)


def test_values_in_blocks_of_rows_and_of_resamples(rng, monkeypatch):
    """The size of a block does not change them."""
    bound = ForecastSKCE(compare="outcomes").bind(gaussian(rng))
    outcomes = bound.drawn(rng.random((7, N)))
    whole = bound.values(outcomes)
    assert whole.mean() == pytest.approx(0.0, abs=0.05)
    for size in (11, 2 * N):
        monkeypatch.setattr("caltest.measures.kernel.forecasts.AT_A_TIME", size)
        assert np.allclose(bound.values(outcomes), whole, rtol=1e-11, atol=1e-13)


def test_features_that_leave_something_out_are_noted(rng):
    """Kernels that are not smooth have many eigenvalues; the share is that of the trace."""
    found = ct.test_calibration(
        gaussian(rng, n=400), test="forecast-skce", kernel=Exponential(), n_resamples=9, rng=1
    )
    assert found.notes[-1].startswith("the SKCE is that of 256 features of the kernel")


@pytest.mark.parametrize("compare", ["pit", "outcomes"])
def test_too_sure_forecasts_are_found(compare, rng):
    """Also where all forecasts are the same, whose kernel is 1."""
    equal = ct.Forecasts(rng.normal(size=300), mean=0.0, scale=0.6)
    for forecasts in (gaussian(rng, n=300, spread=1.5), equal):
        found = ct.test_calibration(forecasts, test="forecast-skce", compare=compare, rng=1)
        assert found.pvalue == 0.001


def test_one_row_has_no_pair(rng):
    """The biased estimate has the pair of the row with itself."""
    one = gaussian(rng, n=1)
    with pytest.raises(NotApplicable, match="at least two"):
        ct.measures.forecast_skce(one)
    assert ct.measures.forecast_skce(one, estimator="biased") > 0


@pytest.mark.parametrize("compare", ["pit", "outcomes"])
@pytest.mark.parametrize("make", [gaussian, gamma, ensemble, quantiles])
@pytest.mark.cases(2, full=4)
@pytest.mark.full
def test_size(make, compare):
    """An outcome that changes places with a member takes its forecast along."""
    options = {"test": "forecast-skce", "compare": compare, "n_resamples": 19}
    drawn = [make(np.random.default_rng([seed, 8]), 8) for seed in range(100)]
    found = [ct.test_calibration(one, rng=k, **options).pvalue for k, one in enumerate(drawn)]
    assert stats.binomtest(sum(p <= 0.1 for p in found), 100, 0.1).pvalue > 1e-3
