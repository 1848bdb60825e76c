"""Calibrators and CalibratedClassifier under the checks that scikit-learn has for estimators.

Its checks pass features of any kind. As logits (`from_logits=True`) a calibrator takes most of
them. Probabilities lie on the simplex; there a subclass for the test asks a Gaussian naive Bayes
classifier of the features for them, so that all from `fit` to pickling runs on probabilities.
"""

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks
from threadpoolctl import threadpool_limits

from caltest.calibrators import (
    REGISTRY,
    BinaryCalibrator,
    CalibratedClassifier,
    Identity,
    OneVsRest,
)
from caltest.calibrators.base import check_labels_given
from caltest.calibrators.calibrated_classifier import check_several_classes
from caltest.calibrators.inputs import Inputs

# The data of some checks are degenerate on purpose, and calibrators say so.
pytestmark = [
    pytest.mark.filterwarnings("ignore::caltest.errors.DegenerateDataWarning"),
    pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning:sklearn.naive_bayes"),
]

NO_NUMBERS = "objects that are no numbers raise InvalidInput, a ValueError, and not TypeError"
COLUMNS = "it has more classes than X has columns, and a column is that of a class"
NO_CLASSIFIER = "the data are features: no column of X is the logit of a class"
FAIL_WITH_LOGITS = {
    "check_estimators_overwrite_params": COLUMNS,
    "check_estimators_fit_returns_self": COLUMNS,
    "check_readonly_memmap_input": COLUMNS,
    "check_classifiers_classes": COLUMNS,
    "check_classifiers_train": NO_CLASSIFIER,
    "check_dtype_object": NO_NUMBERS,
}
FAIL_WITHOUT_INTERCEPT = {
    "check_classifiers_one_label": "without an intercept one class need not become the prediction"
}
WITH_INTERCEPT = {"vector", "structured-vector", "matrix", "dirichlet", "structured-matrix"}
FAIL_WITH_PROBABILITIES = {
    "check_dtype_object": NO_NUMBERS,
    "check_fit1d": "one dimension holds the probability of class 1 of two",
}

STEPS = "the map jumps at the scores it was fitted to, and repeated rows round them differently"
FAIL_WITH_STEPS = {
    "check_sample_weight_equivalence_on_dense_data": STEPS,
    "check_sample_weight_equivalence_on_sparse_data": STEPS,
}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Products of small matrices, as in logistic regression, are slow in threads that wait."""
    with threadpool_limits(1):
        yield


def with_checks(quick, others, failing, tier=pytest.mark.full):
    """Return `parametrize_with_checks`, where the checks of the others are in another tier."""
    mark = parametrize_with_checks([*quick, *others], expected_failed_checks=failing).mark
    names, cases = mark.args
    return pytest.mark.parametrize(
        names, [in_tier(case, quick, tier) for case in cases], **mark.kwargs
    )


def in_tier(case, quick, tier):
    """Mark the case of an estimator that is not among those of the quick tier."""
    values, marks = getattr(case, "values", case), getattr(case, "marks", ())
    if any(values[0] is estimator for estimator in quick):
        return case
    return pytest.param(*values, marks=[*marks, tier])


# The first calibrator of each base class; one that does nothing stands for no other.
QUICK = {
    REGISTRY[key].__bases__[0]: key for key in reversed(REGISTRY) if key != "identity"
}.values()
OTHERS = [key for key in REGISTRY if key not in QUICK]


def options(key):
    """Options without which a calibrator cannot be made."""
    return {"calibrator": Identity()} if key in {"one-vs-rest", "ensemble"} else {}


def of_logits(key):
    """Return a calibrator of logits, one of two classes inside of OneVsRest."""
    if issubclass(REGISTRY[key], BinaryCalibrator):
        return OneVsRest(REGISTRY[key](), from_logits=True)
    return REGISTRY[key](**options(key), from_logits=True)


def behind_naive_bayes(key):
    """Return a calibrator that takes features, of a class that can be pickled."""
    parent = REGISTRY[key]

    def _read_set(self, X, y, sample_weight):
        labels = check_labels_given(y)
        values = self._read_values(X, reset=True, from_logits=True)
        self.classifier_ = GaussianNB().fit(values, labels, sample_weight)
        check_several_classes(self.classifier_.classes_)
        return parent._read_set(self, X, y, sample_weight)

    def _read_inputs(self, X, *, reset):
        values = self._read_values(X, reset=reset, from_logits=True)
        return Inputs(self.classifier_.predict_proba(values), from_logits=False)

    def tags_of_features(self):
        tags = parent.__sklearn_tags__(self)
        tags.input_tags.positive_only = False
        return tags

    name = f"{parent.__name__}BehindNaiveBayes"
    body = {"_read_set": _read_set, "_read_inputs": _read_inputs, "__module__": __name__}
    body["__sklearn_tags__"] = tags_of_features
    globals()[name] = type(name, (parent,), body)
    return globals()[name](**options(key))


def fail_with_logits(estimator):
    """Return the checks that a calibrator of logits fails."""
    with_intercept = estimator.key in WITH_INTERCEPT
    return FAIL_WITH_LOGITS | ({} if with_intercept else FAIL_WITHOUT_INTERCEPT)


# Logits are read by the base classes: every map has all checks behind naive Bayes, below.
@pytest.mark.cases(40, full=60)
@with_checks(
    [of_logits(key) for key in QUICK],
    [of_logits(key) for key in OTHERS],
    fail_with_logits,
    pytest.mark.slow,
)
def test_calibrator_of_logits_passes_check(estimator, check):
    """A calibrator of logits passes scikit-learn's checks, but for those that are listed."""
    check(estimator)


@pytest.mark.cases(40, full=150)
@with_checks(
    [behind_naive_bayes(key) for key in QUICK],
    [behind_naive_bayes(key) for key in OTHERS],
    lambda _: FAIL_WITH_PROBABILITIES,
)
def test_calibrator_of_probabilities_passes_check(estimator, check):
    """A calibrator of probabilities passes scikit-learn's checks, but for those that are listed."""
    check(estimator)


@pytest.mark.cases(20, full=30)
@with_checks(
    [CalibratedClassifier()],
    [
        CalibratedClassifier(GaussianNB(), Identity(), ensemble=False),
        CalibratedClassifier(LogisticRegression(), Identity(from_logits=True), cv=3),
    ],
    lambda _: {},
)
def test_calibrated_classifier_passes_every_check(estimator, check):
    """A classifier with a calibration map passes all of scikit-learn's checks."""
    check(estimator)


@pytest.mark.slow
@pytest.mark.parametrize("key", REGISTRY)
def test_calibrated_classifier_of_every_calibrator_passes_every_check(key):
    """Logistic regression with each of the maps."""
    estimator = CalibratedClassifier(LogisticRegression(), REGISTRY[key](**options(key)), cv=2)
    failing = FAIL_WITH_STEPS if key in ("venn-abers", "auto") else None
    check_estimator(estimator, expected_failed_checks=failing, on_skip=None)
