import warnings

import numpy as np
import pytest
from scipy.special import digamma, softmax
from scipy.stats import dirichlet
from sklearn.model_selection import KFold

from caltest import InvalidInput
from caltest.calibrators import DirichletCalibrator, EnsembleCalibrator, VectorScaling
from caltest.calibrators.linear import softmax_regression as newton_cg
from caltest.errors import DegenerateDataWarning


def sample(n=300, m=3, seed=0):
    """Predictions that are too sure of themselves."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(n, m))
    return softmax(logits, axis=1), (logits / 2 + rng.gumbel(size=(n, m))).argmax(axis=1)


def test_canonical_form_shows_the_centre_and_the_columns():
    """Near a facet the odds change with epsilon to the power of a_ij - a_kj."""
    fitted = DirichletCalibrator().fit(*sample())
    A, c = fitted.canonical_
    assert fitted.predict_proba(np.full((1, 3), 1 / 3))[0] == pytest.approx(c)
    assert A.min(axis=0) == pytest.approx(0)
    near, nearer = (fitted.interpretation_points(e)[1] for e in (1e-6, 1e-8))
    for j in range(3):
        power = (np.log(near[j]) - np.log(nearer[j])) / np.log(100)
        assert power - power[0] == pytest.approx(A[:, j] - A[0, j], abs=1e-5)
    assert near[3] == pytest.approx(c)


def test_unpenalised_weights_have_the_column_sums_of_the_identity():
    """The constants that no prediction depends on are chosen so."""
    W, b = DirichletCalibrator(lam=0).fit(*sample()).linear_
    assert W.sum(axis=0) == pytest.approx(1)
    assert b.sum() == pytest.approx(0, abs=1e-12)
    common = DirichletCalibrator(lam=0, diagonal="common").fit(*sample()).linear_
    assert common[0].sum() == pytest.approx(3)
    assert np.ptp(np.diagonal(common[0])) == pytest.approx(0, abs=1e-12)


def test_parts_of_the_matrix_may_be_fixed():
    """Zero off the diagonal is vector scaling; dropped it keeps the rest of the whole fit."""
    probs, y = sample()
    fitted = DirichletCalibrator(lam=0, off_diagonal="zero").fit(probs, y)
    expected = VectorScaling().fit(probs, y).predict_proba(probs)
    assert fitted.predict_proba(probs) == pytest.approx(expected, abs=1e-6)
    whole, dropped = (
        DirichletCalibrator(off_diagonal=option).fit(*sample()).linear_
        for option in ("free", "dropped")
    )
    assert (dropped[0] == np.diag(np.diagonal(whole[0]))).all()
    assert (dropped[1] == whole[1]).all()
    weights, b = DirichletCalibrator(diagonal="fixed", intercept=False).fit(*sample()).linear_
    assert (np.diagonal(weights) == 1).all()
    assert (weights != np.eye(3)).any()
    assert not b.any()


def test_sequences_are_compared_by_cross_validation():
    """All pairs of two sequences, as EnsembleCalibrator compares them, then a fit to all rows."""
    probs, y = sample()
    fitted = DirichletCalibrator(lam=[0.01, 1, 100], mu=[0.1, 1], cv=3).fit(probs, y)
    grid = {"lam": [0.01, 1, 100], "mu": [0.1, 1]}
    search = EnsembleCalibrator(DirichletCalibrator(), param_grid=grid, cv=3).fit(probs, y)
    assert {"lam": fitted.lam_, "mu": fitted.mu_} == search.best_params_
    again = DirichletCalibrator(lam=fitted.lam_, mu=fitted.mu_).fit(probs, y)
    assert (again.linear_[0] == fitted.linear_[0]).all()
    several = DirichletCalibrator(lam=[0.01, 1]).fit(probs, y)
    assert several.mu_ == several.lam_
    pairs = KFold(3).split(probs)  # a generator, which is no list
    assert DirichletCalibrator(lam=[0.01, 100], cv=pairs).fit(probs, y).lam_ in {0.01, 100}


def test_path_of_other_options_is_fitted_one_by_one():
    """EnsembleCalibrator may compare penalties of different kinds."""
    probs, y = sample(100)
    grid = {"reg": ["odir", "l2"], "lam": [0.1, 1.0]}
    search = EnsembleCalibrator(DirichletCalibrator(), param_grid=grid, cv=3).fit(probs, y)
    assert len(search.cv_results_["params"]) == 4


def test_standard_errors_are_those_of_statsmodels():
    """MNLogit, whose first class is the reference: differences of rows."""
    import statsmodels.api as sm

    probs, y = sample(400)
    fitted = DirichletCalibrator(lam=0).fit(probs, y)
    X = sm.add_constant(np.log(probs), prepend=False)
    peer = sm.MNLogit(y, X).fit(disp=False, method="newton", tol=1e-12)
    theta = np.column_stack(fitted.linear_)
    relative = (theta[1:] - theta[0]).T
    assert relative == pytest.approx(peer.params, abs=1e-6)
    covariance = peer.cov_params().reshape(2, 4, 2, 4)
    rows = np.array([[0, 0], [1, 0], [0, 1]]) - 1 / 3
    variances = np.einsum("ka,aibi,kb->ki", rows, covariance, rows)
    assert fitted.standard_errors_ == pytest.approx(np.sqrt(variances), rel=1e-5)
    coefficients = fitted.coefficients()
    assert [c.name for c in coefficients[2:4]] == ["W[0, 2]", "b[0]"]
    assert coefficients[3].stderr == fitted.standard_errors_[0, 3]


def test_standard_errors_of_constrained_maps_leave_out_what_is_fixed():
    """The slope of a common diagonal has one standard error."""
    options = {"diagonal": "common", "off_diagonal": "zero", "lam": 0}
    errors = DirichletCalibrator(**options).fit(*sample()).standard_errors_
    assert np.isnan(errors[0, 1])
    assert np.ptp(np.diagonal(errors)) < 1e-15
    assert DirichletCalibrator().fit(*sample()).standard_errors_ is None


def test_summary_prints_every_weight_and_epsilon_is_checked():
    probs, y = sample()
    text = str(DirichletCalibrator(lam=0, classes=["a", "b", "c"]).fit(probs, y).summary(rng=0))
    assert "W[a, b]" in text
    assert "std err" in text
    with pytest.raises(InvalidInput, match="epsilon must lie strictly between 0 and 1"):
        DirichletCalibrator().fit(*sample(50)).interpretation_points(0)


@pytest.mark.parametrize("lam", [0, "auto"])
def test_separated_labels_are_bounded_with_a_warning(lam):
    """The gradient vanishes at finite weights, with the paper's penalty."""
    probs = np.random.default_rng(0).dirichlet(np.ones(3), size=50)
    with pytest.warns(DegenerateDataWarning, match="labels are separated.*larger lam"):
        fitted = DirichletCalibrator(lam=lam, diagonal_lam=0).fit(probs, probs.argmax(axis=1))
    assert np.isfinite(fitted.linear_[0]).all()
    assert fitted.gradient_norm_ < 1e-8
    assert fitted.standard_errors_ is None


@pytest.mark.parametrize("diagonal", ["free", "common"])
@pytest.mark.parametrize("seed", range(10))
def test_separated_labels_leave_every_class_a_probability_by_default(seed, diagonal):
    """The diagonal stays small, and no label of other data is impossible."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(5, 0.1), size=400)
    fit, test = probs[:200], np.vstack([probs[200:], np.eye(5)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = DirichletCalibrator(diagonal=diagonal).fit(fit, fit.argmax(axis=1))
    assert np.abs(fitted.linear_[0]).max() < 40
    assert fitted.predict_proba(test).min() > 0


def test_missing_class_gets_no_probability_with_a_warning():
    """Its weights have no minimum; a penalty on all of them gives one."""
    probs, y = sample()
    with pytest.warns(DegenerateDataWarning, match="1 class does not occur"):
        fitted = DirichletCalibrator(diagonal_lam=0).fit(probs, np.minimum(y, 1))
    assert fitted.predict_proba(probs)[:, 2].max() < 1e-3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        DirichletCalibrator(reg="l2", lam=0.01).fit(probs, np.minimum(y, 1))


@pytest.mark.parametrize(("size", "total"), [(1e304, 3e306), (1e306, 1e308), (1e-300, 1e-100)])
def test_standard_errors_with_extreme_weights_are_finite(size, total):
    """Weights count observations, between 1e-100 and 1e308 of them."""
    probs, y = sample()
    plain = DirichletCalibrator(lam=0).fit(probs, y).standard_errors_
    weight = np.full(300, size)
    errors = DirichletCalibrator(lam=0).fit(probs, y, sample_weight=weight).standard_errors_
    expected = plain * np.sqrt(300 / total)
    assert errors == pytest.approx(expected, rel=1e-6)


def test_constant_predictions_become_the_shares_of_the_classes():
    y = np.repeat([0, 1, 2], [10, 20, 30])
    fitted = DirichletCalibrator(mu=0).fit(np.tile([0.2, 0.3, 0.5], (60, 1)), y)
    assert fitted.predict_proba([[0.2, 0.3, 0.5]])[0] == pytest.approx([1 / 6, 1 / 3, 1 / 2])


def test_fit_that_stops_before_the_minimum_says_so(monkeypatch):
    """The gradient that is left is named."""
    monkeypatch.setattr(newton_cg, "STEPS", 2)
    with pytest.warns(DegenerateDataWarning, match="no minimum after 2 Newton steps"):
        DirichletCalibrator(lam=0.0).fit(*sample())


def test_ensemble_passes_on_what_the_maps_of_a_path_say():
    """Separated labels in each fold, fitted along the path of penalties."""
    probs, _ = sample(n=60)
    ensemble = EnsembleCalibrator(DirichletCalibrator(), param_grid={"lam": [0.0]})
    with pytest.warns(DegenerateDataWarning, match="5 of 5 folds: the labels are separated"):
        ensemble.fit(probs, probs.argmax(axis=1))


@pytest.mark.parametrize("start", [1e9, -1e3])
def test_start_where_the_loss_is_flat_is_left(start):
    """A path of penalties can lead there; the fit then starts at the identity after all."""
    probs, y = sample()
    calibrator = DirichletCalibrator(lam=1e-3).fit(probs, y)
    expected = np.column_stack(calibrator.linear_)
    bad = start * np.random.default_rng(0).normal(size=expected.shape)
    calibrator._minimise(calibrator._calibration_set, 1e-3, 1e-3, start=bad)
    assert np.column_stack(calibrator.linear_) == pytest.approx(expected, abs=1e-6)
    assert calibrator.notes() == []


def test_matrix_of_far_more_weights_than_rows_is_refused():
    """With 1000 classes it would take hours; the message names the map that takes seconds."""
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.ones(400), 800), rng.integers(0, 400, 800)
    with pytest.raises(InvalidInput, match="160000 weights and 800 rows; use VectorScaling"):
        DirichletCalibrator(lam=1.0, classes=range(400)).fit(probs, labels)


def test_generative_fit_is_bayes_rule_of_the_likeliest_dirichlets():
    """Weights count rows; scipy finds no better parameters, and its densities give the map."""
    rng = np.random.default_rng(3)
    alpha = np.array([[3, 1, 0.5], [1, 2, 1], [0.3, 0.6, 4]])
    y = rng.choice(3, 400, p=[0.5, 0.2, 0.3])
    probs = np.array([rng.dirichlet(alpha[k]) for k in y])
    weight = rng.integers(1, 4, 400)
    model = DirichletCalibrator(parametrisation="generative").fit(probs, y, sample_weight=weight)
    fitted, share = model.generative_
    np.testing.assert_allclose(share, np.bincount(y, weight) / weight.sum(), rtol=1e-12)
    rows = probs[:5]
    density = np.column_stack([dirichlet.pdf(rows.T, parameters) for parameters in fitted])
    expected = share * density / (share * density).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(rows), expected, rtol=1e-10)
    for k in range(3):
        own = np.repeat(probs[y == k], weight[y == k], axis=0)
        mean = np.log(own).mean(axis=0)
        slope = digamma(fitted[k].sum()) - digamma(fitted[k]) + mean
        np.testing.assert_allclose(slope, 0, atol=1e-10)


def test_generative_fit_of_equal_predictions_and_of_no_label_says_so():
    model = DirichletCalibrator(parametrisation="generative", classes=[0, 1, 2])
    with pytest.warns(DegenerateDataWarning) as found:
        model.fit([[0.5, 0.3, 0.2]] * 4, [0, 0, 1, 0])
    texts = " ".join(str(one.message) for one in found)
    assert "no label is 2: its predictions count as uniform" in texts
    assert "the predictions of class 0 are all equal" in texts
    np.testing.assert_allclose(model.predict_proba([[0.5, 0.3, 0.2]]), [[0.75, 0.25, 0]], atol=1e-3)
