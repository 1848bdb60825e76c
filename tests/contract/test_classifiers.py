"""What holds for every classifier, and scikit-learn's checks of estimators."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import caltest as ct
from caltest import classifiers
from caltest.classifiers import (
    DirichletGPClassifier,
    GPClassifier,
    GPRegressionClassifier,
    NystroemKRRClassifier,
    VariationalGPClassifier,
)
from caltest.classifiers.base import scale_of
from caltest.errors import InvalidInput

# The checks fit to a few rows, of which none can be held out.
pytestmark = [
    pytest.mark.filterwarnings("ignore::caltest.errors.DegenerateDataWarning"),
    pytest.mark.filterwarnings("ignore:.*still grew after max_iter"),
    pytest.mark.filterwarnings("ignore:.*is the (least|largest) of the values"),
]

EVERY = [
    value
    for name in classifiers.__all__
    if not inspect.isabstract(value := getattr(classifiers, name))
]
every_classifier = pytest.mark.parametrize("classifier", EVERY)
every_number_of_classes = pytest.mark.parametrize("m", [2, 3])


def blobs(m, n=90):
    """Return features and labels of overlapping classes."""
    return make_blobs(n, centers=m, cluster_std=4, random_state=m)


@pytest.mark.cases(20, full=40)
@parametrize_with_checks(
    [DirichletGPClassifier(max_iter=20, n_inducing=10), NystroemKRRClassifier(n_components=20)]
)
def test_classifier_of_each_base_class_passes_every_check(estimator, check):
    """A Gaussian process and a kernel regression pass all of scikit-learn's checks."""
    check(estimator)


@pytest.mark.full
@pytest.mark.cases(0, full=60)
@parametrize_with_checks(
    [
        DirichletGPClassifier(max_iter=20),
        DirichletGPClassifier(alpha=0.01, max_iter=20, n_inducing=10, ard=True),
        GPRegressionClassifier(max_iter=20),
        GPRegressionClassifier(max_iter=20, n_inducing=10, platt=True),
        VariationalGPClassifier(max_iter=5, n_inducing=10),
    ]
)
def test_classifier_passes_every_check(estimator, check):
    """So does every other one, with all of its options."""
    check(estimator)


@every_number_of_classes
@every_classifier
def test_probabilities_sum_to_one_and_are_tested(classifier, m):
    """A fitted classifier is a model for `test_calibration`."""
    X, y = blobs(m)
    model = classifier(random_state=0).fit(X[::2], y[::2])
    probs = model.predict_proba(X[1::2])
    np.testing.assert_allclose(probs.sum(axis=1), 1, rtol=1e-12)
    assert (probs >= 0).all()
    result = ct.test_calibration(model, (X[1::2], y[1::2]), n_resamples=19, rng=0)
    assert 0 < result.pvalue <= 1


@every_classifier
def test_summary_and_progress_are_printed(classifier, capsys):
    """Kernel, sizes and time; a long fit says where it is if asked, and is silent by default."""
    X, y = blobs(2)
    text = str(classifier(random_state=0).fit(X, y).summary())
    for name in ("kernel", "observations (n)", "(M)", "time of the fit", "RBF"):
        assert name in text
    assert capsys.readouterr().out == ""
    classifier(random_state=0, verbose=True).fit(X, y)
    assert classifier.__name__ in capsys.readouterr().out


@every_number_of_classes
@every_classifier
def test_same_seed_gives_the_same_model(classifier, m):
    """And the inputs stay as they are."""
    X, y = blobs(m)
    before = X.copy(), y.copy()
    model = classifier(random_state=3)
    probs = [clone(model).fit(X, y).predict_proba(X) for _ in range(2)]
    np.testing.assert_array_equal(*probs)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


@every_number_of_classes
@every_classifier
def test_names_of_classes_are_labels(classifier, m):
    """They carry no information but their order, nor do those of features; a copy says the same."""
    pd = pytest.importorskip("pandas")
    X, y = blobs(m)
    frame, names = pd.DataFrame(X, columns=["u", "v"]), pd.Series(np.array(["a", "b", "c"])[y])
    plain = classifier(random_state=0).fit(frame, y)
    named = classifier(random_state=0).fit(frame, names)
    named = pickle.loads(pickle.dumps(named))  # noqa: S301 - our own bytes
    np.testing.assert_array_equal(plain.predict_proba(frame), named.predict_proba(frame))
    assert set(named.predict(frame)) <= set("abc")
    assert list(named.feature_names_in_) == ["u", "v"]
    assert 0 < ct.test_calibration(named, (frame, names), n_resamples=19, rng=0).pvalue <= 1


@pytest.mark.parametrize(
    "name", ["constant", "two rows", "duplicates", "far apart", "one of a class"]
)
@every_classifier
def test_degenerate_data_give_probabilities(classifier, name):
    """Numbers in [0, 1], and no warning but one of degenerate data."""
    X, y = blobs(2, 30)
    X, y = {
        "constant": (np.ones_like(X), y),
        "two rows": (np.array([[0.0, 1.0], [2.0, 1.0]]), np.array([0, 1])),
        "duplicates": (np.repeat(X[:5], 6, axis=0), y),
        "far apart": (X * 1e6, (X[:, 0] > 0).astype(int)),
        "one of a class": (X, np.append(np.zeros(29, int), 1)),
    }[name]
    options = {"platt": True} if classifier is GPRegressionClassifier else {}
    probs = classifier(random_state=0, **options).fit(X, y).predict_proba(X)
    assert ((probs >= 0) & (probs <= 1)).all()


@every_number_of_classes
@pytest.mark.parametrize("classifier", [c for c in EVERY if issubclass(c, GPClassifier)])
def test_interval_holds_most_of_the_distribution(classifier, m):
    """Lower ends are not above upper ends, and a wider level gives a wider interval."""
    X, y = blobs(m)
    model = classifier(random_state=0).fit(X, y)
    narrow, wide = (model.predict_proba_interval(X, confidence=level) for level in (0.5, 0.95))
    assert narrow.shape == (len(X), m, 2)
    assert (wide[..., 0] <= narrow[..., 0]).all()
    assert (narrow[..., 0] <= narrow[..., 1]).all()
    assert (narrow[..., 1] <= wide[..., 1]).all()
    assert ((wide >= 0) & (wide <= 1)).all()


@pytest.mark.full
@every_number_of_classes
@pytest.mark.parametrize("classifier", [c for c in EVERY if issubclass(c, GPClassifier)])
def test_threads_change_rounding_only(classifier, m):
    X, y = blobs(m)
    one, two = (
        classifier(n_inducing=15, random_state=0, n_jobs=jobs).fit(X, y).predict_proba(X)
        for jobs in (1, 2)
    )
    np.testing.assert_allclose(one, two, rtol=1e-6, atol=1e-9)


ILLEGAL = [
    (DirichletGPClassifier, {"alpha": 0}, "alpha must be a positive number; got 0"),
    (DirichletGPClassifier, {"alpha": []}, "alpha must name at least one"),
    (DirichletGPClassifier, {"alpha": 1e-320}, r"alpha must lie in \[1e-100, 1e\+06\]; got 1e-320"),
    (DirichletGPClassifier, {"alpha": [0.01, 1e9]}, "alpha must lie in"),
    (DirichletGPClassifier, {"alpha": "grid"}, "alpha that is no number must be 'auto'"),
    (DirichletGPClassifier, {"criterion": "test"}, "criterion must be one of 'leave-one-out'"),
    (DirichletGPClassifier, {"prior_mean": 0}, "prior_mean must be one of 'shares', 'zero'"),
    (DirichletGPClassifier, {"ard": 1}, "ard must be True or False; got 1"),
    (DirichletGPClassifier, {"verbose": "yes"}, "verbose must be True or False; got 'yes'"),
    (GPRegressionClassifier, {"platt": "sigmoid"}, "platt must be one of 'probit', 'isotonic'"),
    (NystroemKRRClassifier, {"platt": None}, "platt must be True or False; got None"),
    (NystroemKRRClassifier, {"verbose": 1}, "verbose must be True or False; got 1"),
    (DirichletGPClassifier, {"inducing": "grid"}, "inducing must be one of"),
    (DirichletGPClassifier, {"n_inducing": 0}, "n_inducing must be an integer of at least 1"),
    (DirichletGPClassifier, {"max_iter": 0.5}, "max_iter must be an integer"),
    (DirichletGPClassifier, {"n_samples": 0}, "n_samples must be an integer"),
    (DirichletGPClassifier, {"n_jobs": 0}, "n_jobs must be None or an integer"),
    (GPRegressionClassifier, {"held_out": 1}, "held_out must lie strictly between 0 and 1"),
    (VariationalGPClassifier, {"n_points": 0}, "n_points must be an integer"),
    (NystroemKRRClassifier, {"n_splits": 1}, "n_splits must be an integer of at least 2"),
    (NystroemKRRClassifier, {"gammas": [-1]}, "gammas must be a positive number"),
    (NystroemKRRClassifier, {"gammas": 0}, "gammas must be a positive number; got 0"),
    (NystroemKRRClassifier, {"alphas": None}, "alphas must be a positive number; got None"),
    (NystroemKRRClassifier, {"alphas": []}, "alphas must name at least one"),
    (NystroemKRRClassifier, {"n_components": 0}, "n_components must be an integer"),
]


@pytest.mark.parametrize(("classifier", "options", "message"), ILLEGAL)
def test_illegal_option_is_refused(classifier, options, message):
    """The message names the option, the rule and the value."""
    X, y = blobs(2)
    options = {"n_inducing": 10} | options if issubclass(classifier, GPClassifier) else options
    with pytest.raises(InvalidInput, match=message):
        classifier(**options).fit(X, y)


@pytest.mark.parametrize("classifier", [c for c in EVERY if issubclass(c, GPClassifier)])
@pytest.mark.filterwarnings("default:.*still grew after max_iter")
def test_fit_that_max_iter_cut_short_warns(classifier):
    """And names the remedy; the warning points at the line that called `fit`."""
    X, y = blobs(2)
    text = "still grew after max_iter=1 steps; pass more"
    with pytest.warns(ConvergenceWarning, match=text) as caught:
        model = classifier(max_iter=1, random_state=0).fit(X, y)
    assert caught[0].filename == __file__
    assert model.n_iter_ == 1


@pytest.mark.parametrize("classifier", [c for c in EVERY if issubclass(c, GPClassifier)])
def test_prediction_in_parts_on_threads_is_the_same(classifier, monkeypatch):
    """To the last bit: each part is a block of rows."""
    X, y = blobs(3)
    for module in ("regressions", "variational_gp"):
        monkeypatch.setattr(f"caltest.classifiers.{module}.CHUNK", 20 * 15)
    model = classifier(n_inducing=15, random_state=0).fit(X, y)
    one = model.predict_latent(X)
    two = model.set_params(n_jobs=2).predict_latent(X)
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("labels", "rule"),
    [
        ([0, 0, 0, 0], "y must have at least two classes; got one class"),
        (["a", "b", 1, 2], "y must be all strings, all integers or all booleans; got 1 at row 2"),
    ],
)
def test_labels_of_one_class_or_of_two_kinds_are_refused(labels, rule):
    X, _ = blobs(2, n=4)
    with pytest.raises(InvalidInput, match=rule):
        DirichletGPClassifier().fit(X, np.array(labels, dtype=object))


@pytest.mark.parametrize("n_inducing", [10, 1000])
@every_classifier
def test_features_may_lie_far_from_zero(classifier, n_inducing):
    """Dates in seconds, say; the features are rounded so that the shift is exact."""
    X, y = blobs(2)
    X = np.round(X * 2**10) / 2**10
    name = "n_inducing" if issubclass(classifier, GPClassifier) else "n_components"
    model = classifier(random_state=0, **{name: n_inducing})
    probs = model.fit(X, y).predict_proba(X)
    moved = model.fit(X + 2**30, y).predict_proba(X + 2**30)
    np.testing.assert_allclose(moved, probs, atol=1e-3)


@every_classifier
def test_constant_features_are_constant_whatever_rounding_leaves(classifier):
    """Nothing is learned but the shares of the classes."""
    _, y = blobs(2)
    probs = [
        classifier(random_state=0).fit(X, y).predict_proba(X)
        for X in (np.zeros((len(y), 2)), np.full((len(y), 2), 1e9 / 3))
    ]
    np.testing.assert_allclose(*probs, atol=1e-9)


def test_scale_of_constant_features_is_one():
    """The mean of thirds is not always a third, and their deviation not 0."""
    thirds = np.full((90, 2), 1e9 / 3)
    assert thirds.std(axis=0).max() > 0
    assert scale_of(thirds) == scale_of(np.zeros((90, 2))) == scale_of(np.eye(2) * 1e-200) == 1
    assert scale_of(np.array([[0.0, 5.0], [2.0, 5.0]])) == pytest.approx(np.sqrt(2) / 2)


@every_classifier
def test_features_whose_squares_overflow_are_refused(classifier):
    """By the fit and by a prediction."""
    X, y = blobs(2)
    model = classifier(random_state=0).fit(X, y)
    rule = r"features must lie within 1e\+150 of 0; got 1e\+200 at row 3; pass them scaled"
    X[3, 1] = -1e200
    for call in (lambda: model.predict_proba(X), lambda: model.fit(X, y)):
        with pytest.raises(InvalidInput, match=rule):
            call()
