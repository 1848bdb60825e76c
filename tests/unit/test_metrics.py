"""Scorers in scikit-learn's own tools, and `score` in its order of arguments."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, get_scorer, log_loss, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate

import caltest as ct
from caltest import InvalidInput

X, CODES = make_classification(300, 5, n_informative=3, n_classes=3, random_state=1)
Y = np.array(["ant", "bee", "cat"])[CODES]
MODEL = LogisticRegression(C=0.1)


def test_cross_val_score_is_that_of_scikit_learn():
    """For its proper scores; three classes with names."""
    found = cross_val_score(MODEL, X, Y, scoring=ct.metrics.get_scorer("neg_log_loss"), cv=3)
    np.testing.assert_allclose(found, cross_val_score(MODEL, X, Y, scoring="neg_log_loss", cv=3))


@pytest.mark.parametrize("name", ct.metrics.get_scorer_names())
def test_scorer_is_the_measure_with_its_sign(name):
    fitted = MODEL.fit(X, CODES > 0)
    data = ct.Predictions.from_model(fitted, X, CODES > 0)
    scorer = ct.metrics.get_scorer(name)
    function = getattr(ct.measures, ct.measures.REGISTRY[scorer.measure].function_name())
    assert scorer(fitted, X, CODES > 0) == scorer.sign * function(data)
    assert scorer.proper == (scorer.measure in {"log-loss", "brier", "spherical"})


def test_weights_are_routed_as_to_the_scorers_of_scikit_learn():
    """By a request, or by another name; without one they are refused."""
    with pytest.raises(ct.NotApplicable, match="enable_metadata_routing=True"):
        ct.metrics.get_scorer("neg_brier").set_score_request(sample_weight=True)
    w = np.random.default_rng(1).random(300)
    with config_context(enable_metadata_routing=True):
        model = clone(MODEL).set_fit_request(sample_weight=True)
        own = get_scorer("neg_log_loss").set_score_request(sample_weight=True)
        expected = cross_val_score(model, X, Y, scoring=own, params={"sample_weight": w})
        unset = ct.metrics.get_scorer("neg_log_loss")
        with pytest.raises(UnsetMetadataPassedError, match="set_score_request"):
            cross_val_score(model, X, Y, scoring=unset, params={"sample_weight": w})
        for name, request in {"sample_weight": True, "mass": "mass"}.items():
            scorer = ct.metrics.get_scorer("neg_log_loss")
            assert scorer.set_score_request(sample_weight=request) is scorer
            params = {"sample_weight": w, name: w}
            found = cross_validate(model, X, Y, scoring={"loss": scorer}, params=params)
            np.testing.assert_allclose(found["test_loss"], expected)


def test_several_scores_are_searched_at_once_and_one_selects():
    """`refit` names a proper score; errors stand beside it."""
    scorers = ct.metrics.get_scorers("neg_log_loss", "neg_ece", lens="confidence")
    search = GridSearchCV(MODEL, {"C": [1e-4, 1.0]}, scoring=scorers, refit="neg_log_loss", cv=3)
    search.fit(X, Y)
    assert search.best_params_ == {"C": 1.0}
    assert (search.cv_results_["mean_test_neg_ece"] <= 0).all()
    assert search.cv_results_["mean_test_neg_log_loss"].argmax() == 1


def test_search_by_one_score_takes_the_best():
    """And as `best_score_` what scikit-learn's own gives."""
    found = GridSearchCV(
        MODEL, {"C": [1e-4, 1.0]}, scoring=ct.metrics.get_scorer("neg_log_loss"), cv=3
    ).fit(X, Y)
    own = GridSearchCV(MODEL, {"C": [1e-4, 1.0]}, scoring="neg_log_loss", cv=3).fit(X, Y)
    assert found.best_score_ == pytest.approx(own.best_score_)


def test_fold_may_lack_a_class():
    """The columns are those of the estimator."""
    fitted = MODEL.fit(X, Y)
    rows = Y != "bee"
    found = ct.metrics.get_scorer("neg_log_loss")(fitted, X[rows], Y[rows])
    own = log_loss(Y[rows], fitted.predict_proba(X[rows]), labels=fitted.classes_)
    assert found == pytest.approx(-own)


@pytest.mark.full
def test_folds_run_in_parallel():
    """A scorer is pickled, and the default set is scored."""
    found = cross_validate(
        MODEL, X, Y, scoring=ct.metrics.get_scorers(lens="strong"), cv=KFold(2), n_jobs=2
    )
    assert {"test_neg_brier", "test_spherical", "test_neg_classwise_ece"} <= set(found)
    scorer = ct.metrics.get_scorer("neg_ece", lens="confidence")
    assert pickle.loads(pickle.dumps(scorer)) == scorer  # noqa: S301, written just now


@pytest.mark.parametrize("binary", [True, False])
def test_make_scorer_takes_score(binary):
    """One column of two classes, all of more."""
    scorer = make_scorer(
        ct.metrics.score, response_method="predict_proba", greater_is_better=False, measure="brier"
    )
    y = CODES > 0 if binary else Y
    fitted = clone(MODEL).fit(X, y)
    p = fitted.predict_proba(X)
    own = brier_score_loss(y, p[:, 1] if binary else p)
    assert scorer(fitted, X, y) == pytest.approx(-own)


def test_weights_are_used_and_unknown_names_refused():
    fitted = MODEL.fit(X, Y)
    scorer, w = ct.metrics.get_scorer("neg_brier"), np.arange(300) % 3
    rows = np.repeat(np.arange(300), w)
    assert scorer(fitted, X, Y, sample_weight=w) == pytest.approx(scorer(fitted, X[rows], Y[rows]))
    with pytest.raises(InvalidInput, match="did you mean 'neg_ece'"):
        ct.metrics.get_scorer("neg_eec")
    with pytest.raises(InvalidInput, match="measure must be one of"):
        ct.metrics.score([0, 1], [0.2, 0.8], measure="cox")


def test_scorer_of_an_unknown_name_is_refused_at_once():
    """Not by a KeyError once it scores."""
    with pytest.raises(InvalidInput, match="name must be one of 'neg_log_loss'"):
        ct.metrics.Scorer("neg_foo")
