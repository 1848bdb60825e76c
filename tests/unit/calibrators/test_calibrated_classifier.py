"""A classifier of scikit-learn together with a calibration map."""

import pickle

import joblib
import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from caltest import InvalidInput
from caltest import test_calibration as calibration_test
from caltest.calibrators import CalibratedClassifier, Identity, PlattScaling, TemperatureScaling

X, Y = make_classification(
    n_samples=150, n_features=6, n_informative=4, n_classes=3, random_state=0
)
X2, Y2 = X[Y < 2], Y[Y < 2]
NAMES = np.array(["ant", "bee", "cat"])
pytestmark = pytest.mark.filterwarnings("ignore::caltest.errors.DegenerateDataWarning")


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("wrap", [FrozenEstimator, lambda fitted: fitted])
def test_fitted_classifier_is_calibrated_as_it_is(wrap, ensemble):
    """With FrozenEstimator or cv="prefit"; a class may be missing in the calibration set."""
    bayes = GaussianNB().fit(X[:70], NAMES[Y[:70]])
    rows = 70 + np.flatnonzero(Y[70:] < 2)
    model = CalibratedClassifier(wrap(bayes), Identity(), cv="prefit", ensemble=ensemble)
    model.fit(X[rows], NAMES[Y[rows]])
    np.testing.assert_array_equal(model.predict_proba(X), bayes.predict_proba(X))
    assert model.classes_.tolist() == NAMES.tolist()
    assert model.estimators_[0].predict(X[:1]) == bayes.predict(X[:1])


def test_fitted_classifier_is_asked_for():
    for cv in ("prefit", 5):
        with pytest.raises(NotFittedError):
            CalibratedClassifier(FrozenEstimator(GaussianNB()), Identity(), cv=cv).fit(X, Y)


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize(
    ("method", "calibrator", "rtol"),
    [
        ("sigmoid", PlattScaling(smooth_targets=True), 1e-4),
        ("temperature", TemperatureScaling(), 1e-4),
    ],
)
def test_calibrated_classifier_agrees_with_scikit_learn(method, calibrator, rtol, ensemble):
    """On decision values of two classes, as far as scikit-learn's optimiser goes."""
    svc = LinearSVC(random_state=0)
    peer = CalibratedClassifierCV(svc, method=method, cv=4, ensemble=ensemble).fit(X2, Y2)
    ours = CalibratedClassifier(svc, calibrator, cv=4, ensemble=ensemble).fit(X2, Y2)
    np.testing.assert_allclose(ours.predict_proba(X2), peer.predict_proba(X2), rtol=rtol)


@pytest.mark.parametrize("estimator", [GaussianNB(), LinearSVC(random_state=0)], ids=repr)
def test_class_that_a_fold_lacks_has_probability_zero_there(estimator):
    """Its column is there all the same, also where log odds are one-dimensional."""
    rows = np.append(np.flatnonzero(Y != 1)[:60], np.flatnonzero(Y == 1)[:1])
    every = np.arange(61)
    model = CalibratedClassifier(estimator, Identity(), cv=[(every[:-1], every), (every, every)])
    model.fit(X[rows], NAMES[Y[rows]])
    assert [len(own.classes_) for own in model.estimators_] == [2, 3]
    probs = model.predict_proba(X)
    np.testing.assert_allclose(probs.sum(axis=1), 1, rtol=1e-12)
    first = CalibratedClassifier(FrozenEstimator(model.estimators_[0]), Identity())
    two = first.fit(X[rows[:-1]], NAMES[Y[rows[:-1]]]).predict_proba(X)
    second = CalibratedClassifier(FrozenEstimator(model.estimators_[1]), Identity())
    three = second.fit(X[rows], NAMES[Y[rows]]).predict_proba(X)
    np.testing.assert_allclose(2 * probs - three, np.insert(two, 1, 0, axis=1), atol=1e-12)


@pytest.mark.parametrize("ensemble", [True, False])
def test_rows_of_weight_zero_are_left_out_of_the_classifier_too(ensemble):
    """Even of one that takes no weights, with a warning that they are those of the map."""
    weight = np.where(np.arange(150) % 5 == 0, 0.0, 1.0)
    kept = weight > 0
    model = CalibratedClassifier(
        KNeighborsClassifier(), TemperatureScaling(), cv=3, ensemble=ensemble
    )
    expected = clone(model).fit(X[kept], Y[kept]).predict_proba(X)
    with pytest.warns(UserWarning, match=r"KNeighborsClassifier.fit takes no sample_weight"):
        model.fit(X, Y, sample_weight=weight)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9)


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier that remembers what its `fit` was given."""

    def fit(self, X, y, sample_weight=None, extra=None):
        self.classes_, self.weight_, self.extra_ = np.unique(y), sample_weight, extra
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


def test_sample_weight_reaches_classifier_and_map():
    """The rows of the training part each, without metadata routing."""
    weight, extra = np.arange(1.0, 151), np.arange(150)
    model = CalibratedClassifier(Recorder(), Identity(), cv=KFold(3))
    model.fit(X, Y, sample_weight=weight, extra=extra)
    for own, (train, _) in zip(model.estimators_, KFold(3).split(X), strict=True):
        np.testing.assert_array_equal(own.weight_, weight[train])
        np.testing.assert_array_equal(own.extra_, extra[train])


@pytest.mark.parametrize("asked", [True, False])
def test_metadata_go_where_they_are_requested(asked):
    """With metadata routing: weights to the classifier that asks, groups to the splitter."""
    weight, groups = np.arange(1.0, 151), np.arange(150) // 30
    with sklearn.config_context(enable_metadata_routing=True):
        recorder = Recorder().set_fit_request(sample_weight=asked)
        splitter = GroupKFold(5).set_split_request(groups=True)
        model = CalibratedClassifier(recorder, Identity(), cv=splitter)
        model.fit(X, Y, sample_weight=weight, groups=groups)
        pairs = list(GroupKFold(5).split(X, Y, groups))
        for own, (train, _) in zip(model.estimators_, pairs, strict=True):
            expected = weight[train] if asked else None
            np.testing.assert_array_equal(own.weight_, expected)
        assert CalibratedClassifier().fit(X, Y, sample_weight=weight).n_features_in_ == 6
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            CalibratedClassifier(recorder, Identity()).set_fit_request(sample_weight=True),
        )
        assert pipeline.fit(X, Y, sample_weight=weight).predict(X).shape == (150,)


def test_sparse_features_are_passed_on():
    model = CalibratedClassifier(LogisticRegression(), Identity(), cv=2)
    expected = clone(model).fit(X, Y).predict_proba(X)
    probs = model.fit(sparse.csr_array(X), Y).predict_proba(sparse.csr_array(X))
    np.testing.assert_allclose(probs, expected, atol=1e-4)


def test_calibrated_classifier_can_be_searched_tested_and_saved(tmp_path):
    """GridSearchCV over the calibrator, pipelines, test_calibration, pickle and joblib."""
    model = CalibratedClassifier(make_pipeline(StandardScaler(), GaussianNB()), PlattScaling())
    grid = {"calibrator": [PlattScaling(), Identity()], "ensemble": [True, False], "cv": [2]}
    search = GridSearchCV(model, grid, scoring="neg_log_loss", cv=2, error_score="raise")
    best = search.fit(X, Y).best_estimator_
    nested = GridSearchCV(model, {"calibrator__from_logits": [False]}, cv=2, error_score="raise")
    assert nested.fit(X, Y).best_params_ == {"calibrator__from_logits": False}
    assert cross_val_score(model, X, Y, cv=2, error_score="raise").mean() > 0.5
    assert 0 < calibration_test(best, (X, Y), n_resamples=9, rng=0).pvalue <= 1
    joblib.dump(best, tmp_path / "model.joblib")
    for again in (joblib.load(tmp_path / "model.joblib"), pickle.loads(pickle.dumps(best))):  # noqa: S301, our own
        np.testing.assert_array_equal(again.predict_proba(X), best.predict_proba(X))


def test_calibrated_classifier_does_not_depend_on_n_jobs():
    """Folds in threads give the same models."""
    expected = CalibratedClassifier(DecisionTreeClassifier(random_state=0)).fit(X, Y)
    model = CalibratedClassifier(DecisionTreeClassifier(random_state=0), n_jobs=2)
    with joblib.parallel_config(backend="threading"):
        model.fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_seed_shuffles_the_folds():
    """The same seed gives the same model."""
    probs = [
        CalibratedClassifier(GaussianNB(), random_state=seed).fit(X, Y).predict_proba(X)[0, 0]
        for seed in (None, 1, 1, 2)
    ]
    assert probs[1] == probs[2]
    assert len(set(probs)) == 3


class Silent(ClassifierMixin, BaseEstimator):
    """A classifier that predicts labels alone."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self


class Odd(Recorder):
    """A classifier with a column too few."""

    def predict_proba(self, X):
        return super().predict_proba(X)[:, :-1]


BAD = {
    "no-predictions": (Silent(), Identity(), r"estimator must have predict_proba"),
    "columns": (Odd(), Identity(), r"predict_proba of the estimator must give one column per"),
    "calibrator-class": (GaussianNB(), Identity, r"got the class Identity; add parentheses"),
    "pairwise": (
        FrozenEstimator(SVC(decision_function_shape="ovo").fit(np.eye(4), np.arange(4))),
        Identity(),
        r"decision_function of the estimator must give one column per class; got shape \(4, 6\)",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_unfit_parts_are_refused(case):
    estimator, calibrator, message = BAD[case]
    X, y = (np.eye(4), np.arange(4)) if case == "pairwise" else (globals()["X"], Y)
    with pytest.raises(InvalidInput, match=message):
        CalibratedClassifier(estimator, calibrator, cv=2).fit(X, y)


def test_text_that_is_no_way_to_split_and_no_features_are_refused():
    with pytest.raises(InvalidInput, match=r"cv must be .* 2, folds or 'prefit'; got '5'"):
        CalibratedClassifier(GaussianNB(), cv="5").fit(X, Y)
    with pytest.raises(InvalidInput, match="X must be given; got None; pass the features"):
        CalibratedClassifier().fit(None, Y)


@pytest.mark.parametrize("steps", [(), (StandardScaler(),)], ids=["alone", "pipeline"])
def test_three_pairs_are_no_three_classes(steps):
    """As many columns, of which none is the score of a class."""
    estimator = make_pipeline(*steps, SVC(decision_function_shape="ovo"))
    with pytest.raises(InvalidInput, match="one column per class; got one per pair; pass decision"):
        CalibratedClassifier(estimator).fit(*load_iris(return_X_y=True))


def test_two_members_of_a_class_are_enough():
    """They are in different folds, so that each classifier is fitted to one of them."""
    y = np.arange(len(X)) < 2
    fitted = CalibratedClassifier(LogisticRegression(), PlattScaling(), cv=3).fit(X, y)
    assert len(fitted.estimators_) == 3
