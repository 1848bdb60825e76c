"""GP calibration: options, the latent function, prediction, degenerate data."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Matern

import caltest as ct
from caltest import InvalidInput
from caltest.calibrators import GPCalibrator, OneVsRest, TemperatureScaling
from caltest.calibrators.gp.fit import unfinished
from caltest.calibrators.gp.optimize import FittedGP
from caltest.calibrators.gp.process import LatentPosterior
from caltest.errors import DegenerateDataWarning
from caltest.measures import log_loss
from caltest.plots.calibration_map import places_of_plot

wavy = pytest.mark.filterwarnings("ignore:the latent mean falls")
far = pytest.mark.filterwarnings("ignore:the evidence lower bound was not at its maximum")


def overconfident(K, n, *, seed=0):
    """Logits, probabilities and labels of a model that should have half its logits."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 3, (n, K))
    truth = softmax(logits / 2, axis=1).cumsum(axis=1)
    return logits, softmax(logits, axis=1), (truth < rng.random((n, 1))).sum(axis=1).clip(0, K - 1)


@pytest.fixture(scope="module")
def three():
    """A fit to 300 rows of three classes, whose latent mean rises."""
    _, probs, codes = overconfident(3, 300)
    return GPCalibrator(monotone=True).fit(probs, codes), probs


def test_latent_band_is_that_of_centred_draws(three):
    """Its width against draws of the latent function, less their mean over the scores."""
    calibrator, _ = three
    q = calibrator._latent
    rng, z = np.random.default_rng(0), np.array([0.05, 0.3, 0.8])
    both = np.concatenate([calibrator._units.of(z), calibrator.places_])

    def kernel(a, b):
        return q.variance * np.exp(-0.5 * ((a[:, None] - b) / q.scale) ** 2)

    K_uu = kernel(q.Z, q.Z) + q.noise * np.eye(q.Z.size)
    G, L = kernel(both, q.Z) @ np.linalg.inv(K_uu), np.linalg.cholesky(K_uu)
    covariance = kernel(both, both) - G @ (K_uu - L @ q.C @ q.C.T @ L.T) @ G.T
    draws = rng.multivariate_normal(np.zeros(both.size), covariance, 20_000, method="eigh")
    centred = draws[:, :3] - (draws[:, 3:] @ calibrator.shares_)[:, None]
    half = 1.959964 * np.sqrt(centred.var(axis=0) + q.noise)
    mean, _, upper = calibrator.latent(z)
    assert upper - mean == pytest.approx(half, rel=0.04)


@wavy
def test_latent_mean_falls_with_a_warning():
    """Labels that prefer small scores make it fall; the order of classes is at risk."""
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    with pytest.warns(DegenerateDataWarning, match=r"falls by .* from score .*; pass monotone"):
        GPCalibrator().fit(probs, probs.argmin(axis=1))


@pytest.mark.full
@wavy
@pytest.mark.parametrize("from_logits", [False, True])
def test_monotone_map_keeps_the_order_of_classes(from_logits):
    """Where the plain one does not; everywhere, beyond the scores of the fit too."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 1, (60, 3))
    inputs = logits if from_logits else softmax(logits, axis=1)
    new = 3 * rng.normal(0, 1, (500, 3))
    others = new if from_logits else softmax(new, axis=1)
    options = {"from_logits": from_logits, "inference": "mean"}
    codes = logits.argmin(axis=1)
    plain = GPCalibrator(**options).fit(inputs, codes).predict_proba(others)
    kept = GPCalibrator(monotone=True, **options).fit(inputs, codes).predict_proba(others)
    ranks = others.argsort(axis=1)
    assert (plain.argsort(axis=1) != ranks).any()
    assert (kept.argsort(axis=1) == ranks).all()


def test_monotone_option_leaves_a_rising_mean_alone():
    """No projection where there is nothing to project."""
    _, probs, _ = overconfident(3, 50)
    calibrator = GPCalibrator(monotone=True).fit(np.eye(3)[[0, 1, 2] * 9], [0, 1, 2] * 9)
    assert calibrator.knots_.size == 0
    assert np.diff(calibrator.latent(np.linspace(0.01, 1, 99)).mean).min() > 0
    assert calibrator.predict_proba(probs).argmax(axis=1).tolist() == probs.argmax(axis=1).tolist()


@wavy
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_gauss_hermite_is_the_limit_of_draws(covariance):
    _, probs, codes = overconfident(2, 150)
    calibrator = GPCalibrator(covariance=covariance).fit(probs, codes)
    exact = calibrator.predict_proba(probs[:20])
    calibrator.set_params(inference="monte-carlo", n_samples=20_000)
    assert calibrator.predict_proba(probs[:20]) == pytest.approx(exact, abs=0.005)


@wavy
def test_gauss_hermite_is_right_where_the_latent_function_is_wide():
    """Far outside of the data, with a deviation of 30 at least."""
    rng = np.random.default_rng(0)
    event, far = rng.uniform(0.3, 0.7, 60), np.array([1e-9, 1e-7, 1e-5, 0.02])
    probs, rows = np.column_stack([1 - event, event]), np.column_stack([1 - far, far])
    wide = {"variance_bounds": (900, 901), "length_scale_bounds": (0.5, 0.6)}
    calibrator = GPCalibrator(covariance="diagonal", **wide).fit(
        probs, rng.uniform(size=60) < event
    )
    exact = calibrator.predict_proba(rows)
    calibrator.set_params(inference="monte-carlo", n_samples=40_000)
    assert calibrator.predict_proba(rows) == pytest.approx(exact, abs=0.01)


@pytest.mark.full
@wavy
@pytest.mark.parametrize("seed", [0, 4, 7])
def test_order_and_repetition_of_rows_change_no_bit(seed):
    """Of sums over rows the order matters to the last bit, and L-BFGS would enlarge it."""
    _, probs, codes = overconfident(3, 60, seed=seed)
    rng = np.random.default_rng(seed)
    times, order = rng.integers(1, 4, 60), rng.permutation(60)
    weighted = GPCalibrator().fit(probs[order], codes[order], times[order])
    repeated = GPCalibrator().fit(probs.repeat(times, axis=0), codes.repeat(times))
    assert weighted.bound_ == repeated.bound_
    assert (weighted.predict_proba(probs) == repeated.predict_proba(probs)).all()


@pytest.mark.full
@wavy
def test_threads_change_no_bit(monkeypatch):
    """Of the fit and of predictions, in several blocks."""
    monkeypatch.setattr("caltest.calibrators.gp.elbo.POINTS", 200)
    monkeypatch.setattr("caltest.calibrators.gp.fit.VALUES_PER_THREAD", 20_000)
    _, probs, codes = overconfident(4, 200)
    fits = [GPCalibrator(n_jobs=jobs).fit(probs, codes) for jobs in (1, 2)]
    one, two = (fit.predict_proba(probs) for fit in fits)
    assert (one == two).all()


@wavy
@far
@pytest.mark.filterwarnings("ignore:every label:caltest.errors.DegenerateDataWarning")
@pytest.mark.parametrize("weight", [1e-200, 1.0, 1e200])
def test_degenerate_data_have_a_finite_band_and_bound(weight, case):
    """Of certain predictions, right or wrong, and of equal ones; maps are those of the contract."""
    certain, flat = np.eye(3)[[0, 1, 2] * 2], np.tile([0.2, 0.3, 0.5], (6, 1))
    for probs, codes in ((certain, [0, 1, 2] * 2), (certain, [1, 2, 0] * 2), (flat, [0] * 6)):
        with case(probs[0], codes):
            calibrator = GPCalibrator(classes=[0, 1, 2]).fit(probs, codes, np.full(6, weight))
            assert np.isfinite(np.array(calibrator.latent([0.0, 0.5, 1.0]))).all()
            assert np.isfinite(calibrator.bound_)


@pytest.mark.parametrize("gap", [1e-9, 1e-13, np.spacing(0.5)])
def test_nearly_equal_scores_are_as_good_as_others(gap):
    """Only their differences enter the process: each map is that of the same data spread out."""
    rng = np.random.default_rng(0)
    share, codes = rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    event = 0.5 + gap * share
    close = GPCalibrator().fit(np.column_stack([1 - event, event]), codes)
    assert close.bound_ < 60 * np.log(0.5) + 5
    assert close.length_scale_ == pytest.approx(np.ptp(close.score_range_) * close.scale_)
    calibrated = close.predict_proba([[0.5, 0.5]])
    assert calibrated == pytest.approx(0.5, abs=0.02)


@pytest.mark.full
@wavy
def test_logits_with_a_large_constant_lose_their_last_digits_alone():
    """Unnormalised log densities; at 1e15 a digit after the point is left."""
    logits, _, codes = overconfident(2, 30)
    plain = GPCalibrator(from_logits=True, tol=1e-10, max_iter=1000).fit(logits, codes)
    for constant, error in ((1e6, 1e-3), (1e15, 0.1)):
        moved = GPCalibrator(from_logits=True, tol=1e-10, max_iter=1000)
        moved.fit(logits + constant, codes)
        expected = plain.predict_proba(logits)
        assert moved.predict_proba(logits + constant) == pytest.approx(expected, abs=error)


@pytest.mark.full
@wavy
def test_shortest_length_scale_has_a_band_and_predictions():
    """The grid then has thousands of nodes, and no table has all pairs of them."""
    _, probs, codes = overconfident(3, 15)
    calibrator = GPCalibrator(length_scale_bounds=(1e-3, 2e-3), tol=0.1)
    calibrator.fit(probs, codes)
    assert calibrator.places_.size > 5_000
    assert np.isfinite(np.array(calibrator.latent(probs[:, 0]))).all()
    assert calibrator.predict_proba(probs).sum(axis=1) == pytest.approx(1)


@pytest.mark.full
@wavy
@far
def test_logits_may_be_huge_or_infinite():
    """The intervals of the kernel follow the range of the logits."""
    logits, _, codes = overconfident(3, 30)
    for values in (1e6 * logits, 1e-6 * logits, 1e300 * logits, np.round(logits) * 5e-324):
        calibrator = GPCalibrator(from_logits=True).fit(values, codes)
        assert np.isfinite(calibrator.predict_proba(values)).all()
    logits, codes = logits[:12], codes[:12]
    logits[0, 0] = -np.inf
    calibrator = GPCalibrator(from_logits=True).fit(logits, codes)
    assert np.isfinite(calibrator.predict_proba(logits)).all()


@pytest.mark.full
@wavy
@pytest.mark.parametrize("seed", range(2))
def test_fit_takes_a_few_dozen_evaluations(seed):
    """Of 10 inducing inputs, which stay in order, whatever the sample; once some took hundreds."""
    rng = np.random.default_rng(seed)
    log_odds = 3 * rng.normal(size=4000)
    y = (rng.random(4000) < expit(log_odds / 2)).astype(int)
    fitted = GPCalibrator().fit(expit(log_odds), y)
    assert fitted.n_evaluations_ < 60
    assert (np.diff(fitted.positions_) > 0.01).all()
    assert "evaluations of the fit" in str(fitted.summary(n_resamples=19))


@pytest.mark.full
@wavy
def test_saturated_probabilities_have_logarithms_as_scores():
    """By the evidence lower bound; the print has the temperature, and JSON the map."""
    rng = np.random.default_rng(0)
    logits = 15 * rng.normal(size=(600, 3))
    y = (logits / 10 + rng.gumbel(size=logits.shape)).argmax(axis=1)
    fit, test = slice(0, 300), slice(300, 600)
    probs = softmax(logits, axis=1)
    with pytest.warns(DegenerateDataWarning, match="% of the rows have a probability above 0.999"):
        of_probs = GPCalibrator(scores="probabilities").fit(probs[fit], y[fit])
    with warnings.catch_warnings(record=True) as caught:
        default = GPCalibrator().fit(probs[fit], y[fit])
    assert not any("0.999" in str(one.message) for one in caught)
    assert default.logarithmic_ > of_probs.logarithmic_
    assert default.bound_ > of_probs.bound_ + 10
    assert default.temperature_ == TemperatureScaling().fit(probs[fit], y[fit]).temperature_
    assert "log scores, temperature" in str(default.summary(n_resamples=19))
    got = default.predict_proba(probs[test])
    temperature = TemperatureScaling().fit(probs[fit], y[fit]).predict_proba(probs[test])
    assert log_loss(got, y[test]) < log_loss(temperature, y[test]) + 0.005
    assert log_loss(got, y[test]) < log_loss(of_probs.predict_proba(probs[test]), y[test]) - 0.1
    read = GPCalibrator.from_json(default.to_json()).predict_proba(probs[test])
    np.testing.assert_array_equal(read, got)
    again = default.set_params(scores="probabilities").fit(probs[:40] * 0.5 + 1 / 6, y[:40])
    assert not again.logarithmic_
    assert "temperature_" not in again.to_dict()["state"]


def test_too_few_iterations_and_failed_searches_are_told():
    """With the remedy; from inside of another calibrator too."""
    _, probs, codes = overconfident(3, 100)
    told = r"not at its maximum after 1 iterations; pass a larger max_iter"
    with pytest.warns(DegenerateDataWarning, match=told):
        GPCalibrator(max_iter=1, monotone=True).fit(probs, codes)
    inner = OneVsRest(GPCalibrator(max_iter=1, monotone=True))
    with pytest.warns(DegenerateDataWarning, match=told):
        inner.fit(probs, codes)
    q = LatentPosterior(np.zeros(1), np.eye(1), np.zeros(1), 1.0, 1.0, 0.1)
    said = unfinished(FittedGP(q, -1.0, 7, converged=False), 300)
    assert (
        said == "the evidence lower bound was not at its maximum after 7 iterations; "
        "pass a larger tol, or scores of a smaller range"
    )


@pytest.mark.full
@pytest.mark.parametrize("unit", [1, 100])
def test_logits_of_a_large_range_are_calibrated(unit):
    """A variance to start from that is small beside their range would end where all is certain."""
    rng = np.random.default_rng(0)
    z = 2 * rng.normal(size=(600, 10))
    y = (z / 2 + rng.gumbel(size=z.shape)).argmax(axis=1)
    probs = GPCalibrator(from_logits=True).fit(unit * z, y).predict_proba(unit * z)
    best = softmax(z / 2, axis=1)
    losses = [-np.log(p[np.arange(len(y)), y]).mean() for p in (probs, best)]
    assert losses[0] < losses[1] + 0.02


@pytest.mark.full
@wavy
def test_fit_that_ends_far_from_the_maximum_is_told():
    """Where all is certain and wrong the bound is so steep that L-BFGS sees no relative change."""
    rng = np.random.default_rng(0)
    z = 2e6 * rng.normal(size=(200, 3))
    y = (z / 4e6 + rng.gumbel(size=z.shape)).argmax(axis=1)
    with pytest.warns(DegenerateDataWarning, match="a larger tol, or scores of a smaller range"):
        GPCalibrator(from_logits=True).fit(z, y)


@far
@wavy
@pytest.mark.parametrize(("unit", "powers"), [(1e5, 0), (1.5, 12)])
def test_fit_of_wild_numbers_ends_where_a_start_gains_little(unit, powers):
    """Where logits are huge or weights span 24 powers of ten, hundreds of starts gain little."""
    rng = np.random.default_rng(1)
    z, y = unit * rng.normal(size=(60, 3)), rng.integers(3, size=60)
    weight = 10 ** rng.uniform(-powers, powers, 60)
    calibrator = GPCalibrator(from_logits=True).fit(z, y, sample_weight=weight)
    assert calibrator.n_evaluations_ < 250


def test_options_are_checked_again_before_they_predict(three):
    """scikit-learn lets them be set after the fit."""
    calibrator, probs = three
    other = clone(calibrator).fit(probs[:40], [0, 1, 2, 0] * 10).set_params(inference="median")
    with pytest.raises(InvalidInput, match="inference must be one of"):
        other.predict_proba(probs)


@pytest.mark.parametrize(
    ("z", "message"),
    [
        ([[0.5]], "z must have one dimension"),
        ([0.5, 1.5], r"z must lie in \[0, 1\]; got 1.5 at row 1"),
        ([np.nan], "z must lie in"),
    ],
)
def test_latent_checks_its_scores(three, z, message):
    with pytest.raises(InvalidInput, match=message):
        three[0].latent(z)


@pytest.mark.full
@wavy
@pytest.mark.parametrize("options", [{"expectation": "monte-carlo"}, {"batch_size": 60}])
def test_other_ways_to_fit_are_near(options):
    """Draws and mini-batches against equation 7 on all rows."""
    _, probs, codes = overconfident(3, 300)
    plain = GPCalibrator().fit(probs, codes).predict_proba(probs)
    other = GPCalibrator(n_samples=50, **options).fit(probs, codes)
    assert other.predict_proba(probs) == pytest.approx(plain, abs=0.08)
    assert np.abs(other.predict_proba(probs) - plain).mean() < 0.015


@pytest.mark.parametrize(("logarithmic", "low", "high"), [(True, 0.002, 1.0), (False, -0.75, 1.25)])
def test_plot_of_equal_scores_shows_their_surroundings(logarithmic, low, high):
    """All probabilities, or logits within 1; otherwise it starts at 1/500 of the largest."""
    z = places_of_plot(np.array([0.25, 0.25]), logarithmic=logarithmic)
    assert (z[0], z[-1]) == (low, high)
    z = places_of_plot(np.array([0.0, 0.5]), logarithmic=logarithmic)
    assert (z[0], z[-1]) == (0.001 if logarithmic else 0.0, 0.5)


def test_zero_mean_function_is_uniform_a_priori_and_learns_the_map_from_data():
    """By the softmax of the latent function alone, at its mean; a flat kernel leaves the prior."""
    data = ct.datasets.generative_model("M1", 800, 3, rng=0)
    options = {"mean_function": "zero", "inference": "mean"}
    flat = GPCalibrator(variance_bounds=(1e-9, 1e-8), noise_bounds=(1e-9, 1e-8), **options)
    np.testing.assert_allclose(flat.fit(data).predict_proba(data.probs), 1 / 3, atol=1e-2)
    model = GPCalibrator(monotone=True, **options).fit(data)
    probs = model.predict_proba(data.probs)
    latent = model.latent(data.probs.ravel()).mean.reshape(-1, 3)
    np.testing.assert_allclose(probs, softmax(latent, axis=1), rtol=1e-9)
    losses = [-np.log(p[np.arange(800), data.labels]).mean() for p in (probs, data.probs)]
    assert losses[0] < losses[1] + 0.02


@wavy
@pytest.mark.parametrize("which", ["matern32", "matern52"])
def test_matern_kernel_predicts_as_its_dense_process(which):
    """By quadrature against scikit-learn's kernel in the formulas of q, to 1e-9; and from JSON."""
    _, probs, codes = overconfident(2, 150)
    calibrator = GPCalibrator(kernel=which).fit(probs, codes)
    q = calibrator._latent
    peer = Matern(q.scale, nu=int(which[-2]) / 2)
    z = calibrator._units.of(probs[:20].ravel())[:, None]
    K_uu = q.variance * peer(q.Z[:, None]) + q.noise * np.eye(q.Z.size)
    L, K_zz = np.linalg.cholesky(K_uu), q.variance * peer(z) + q.noise * np.eye(40)
    A = np.linalg.solve(L, q.variance * peer(q.Z[:, None], z))
    mean = np.log(probs[:20].ravel()) + A.T @ q.m
    covariance = K_zz - A.T @ A + A.T @ q.C @ q.C.T @ A
    x, weight = np.polynomial.hermite.hermgauss(64)
    contrast = np.kron(np.eye(20), [-1.0, 1.0])
    spread = np.sqrt(2 * np.diag(contrast @ covariance @ contrast.T))
    expected = expit((contrast @ mean)[:, None] + spread[:, None] * x) @ weight / np.sqrt(np.pi)
    got = calibrator.predict_proba(probs[:20])
    np.testing.assert_allclose(got[:, 1], expected, atol=1e-9)
    again = GPCalibrator.from_json(calibrator.to_json())
    np.testing.assert_array_equal(again.predict_proba(probs[:20]), got)


@wavy
def test_mean_function_may_be_any_of_the_scores():
    """Pickle keeps it, JSON names the remedy, and what it returns is checked."""
    logits, probs, codes = overconfident(3, 100)
    named = GPCalibrator(from_logits=True).fit(logits, codes)
    free = GPCalibrator(from_logits=True, mean_function=np.positive).fit(logits, codes)
    again = pickle.loads(pickle.dumps(free))  # noqa: S301, its own bytes
    np.testing.assert_allclose(again.predict_proba(logits), named.predict_proba(logits), atol=1e-6)
    with pytest.raises(InvalidInput, match="or pickle the calibrator"):
        free.to_json()
    for function in (np.ravel, lambda z: z * np.nan):
        with pytest.raises(InvalidInput, match="mean_function must return finite numbers"):
            GPCalibrator(mean_function=function).fit(probs, codes)
