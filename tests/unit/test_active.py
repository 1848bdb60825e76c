"""Active learning: which labels are bought, and what learns and calibrates from them."""

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import caltest as ct
from caltest.active import QUERIES, query_scores

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 900)
X = RNG.normal(size=(900, 4)) + 0.8 * np.eye(3, 4)[Y]
OPTIONS = {"start": 100, "points": (150, 300), "calibration": 40, "batch": 60}


def test_queries_are_those_of_pycalib_with_the_uncertain_rows_first():
    probs = RNG.dirichlet([1, 1, 1], 50)
    ordered = np.sort(probs, axis=1)
    expected = {
        "entropy": entropy(probs, axis=1) / np.log(3),
        "margin": 1 - (ordered[:, 2] - ordered[:, 1]),
        "uncertainty": 1 - ordered[:, 2],
    }
    assert tuple(expected) == QUERIES
    for query, values in expected.items():
        np.testing.assert_allclose(query_scores(probs, query), values, rtol=1e-12)
    found = query_scores(np.array([[0.25] * 4, [1.0, 0, 0, 0]]))
    np.testing.assert_allclose(found, [1, 0], atol=1e-15)


def test_pass_is_the_plain_loop_over_a_classifier_and_a_calibrator():
    """The protocol of section 4 of Wenger et al. (2020), written out."""
    model, calibrator, kept = GaussianNB(), None, ([], [])
    model.partial_fit(X[:100], Y[:100], classes=[0, 1, 2])

    def predict(rows):
        raw = model.predict_proba(rows)
        return raw if calibrator is None else calibrator.predict_proba(raw)

    at, bought, points, expected = 100, 100, [150, 300], []
    while at < 900:
        if points and bought >= points[0]:
            uncertain = np.flatnonzero(entropy(predict(X[at:]), axis=1) / np.log(3) > 0.5)
            chosen = at + uncertain[:40]
            kept[0].append(model.predict_proba(X[chosen]))
            kept[1].append(Y[chosen])
            calibrator = ct.calibrators.TemperatureScaling(classes=[0, 1, 2])
            calibrator.fit(np.concatenate(kept[0]), np.concatenate(kept[1]))
            at, bought, points = chosen[-1] + 1, bought + 40, points[1:]
        expected.append((at, bought, predict(X[:5])))
        batch = slice(at, at + 60)
        wanted = entropy(predict(X[batch]), axis=1) / np.log(3) > 0.5
        model.partial_fit(X[batch][wanted], Y[batch][wanted])
        at, bought = at + 60, bought + wanted.sum()
    calibrator = ct.calibrators.TemperatureScaling()
    learner = ct.ActiveLearner(model=GaussianNB(), calibrator=calibrator, **OPTIONS)
    found = [(at.seen_, at.bought_, at.predict_proba(X[:5])) for at in learner.steps(X, Y)]
    assert [step[:2] for step in found] == [step[:2] for step in expected]
    for (*_, probs), (*_, plain) in zip(found, expected, strict=True):
        np.testing.assert_allclose(probs, plain, rtol=1e-9)
    assert learner.seen_ == 900


def test_model_without_partial_fit_is_fitted_to_all_that_was_bought():
    """Classes that were not seen have the probability 0."""
    forest = RandomForestClassifier(5, random_state=0)
    learner = ct.ActiveLearner(model=forest, query="margin", **OPTIONS)
    for step in learner.steps(X, Y, classes=[0, 1, 2, 3]):
        assert (step.predict_proba(X[:5])[:, 3] == 0).all()
    assert len(learner.model_.estimators_samples_[0]) == learner.bought_


def test_model_without_probabilities_and_too_few_rows_are_refused():
    """A classifier without them, or its class; as many rows as there are to start with."""
    for model in (LinearSVC(), GaussianNB):
        with pytest.raises(ct.InvalidInput, match="model must have predict_proba; got"):
            list(ct.ActiveLearner(model, **OPTIONS).steps(X, Y))
    with pytest.raises(ct.InvalidInput, match=r"start must be .*; got start=100 and 90 rows"):
        list(ct.ActiveLearner(model=GaussianNB(), **OPTIONS).steps(X[:90], Y[:90]))


def test_threshold_of_zero_buys_every_label_that_is_not_certain():
    learner = ct.ActiveLearner(
        RandomForestClassifier(5, random_state=0), **OPTIONS | {"threshold": 0}
    )
    certain = sum((at.predict_proba(X[at.seen_ :][:60]) == 1).sum() for at in learner.steps(X, Y))
    assert learner.seen_ - learner.bought_ == certain > 0


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"query": "random"}, "query must be one of"),
        ({"points": "all"}, "points must be an integer of at least 1; got 'all'"),
        ({"points": [1.5]}, "points must be an integer"),
        ({"query": "uncertainty", "threshold": 0.7}, r"below 0\.667, the .*; got 0\.7"),
        ({"query": "margin", "threshold": 1}, "below 1, the largest value of .margin.; got 1"),
        ({"threshold": -0.1}, r"threshold must lie in \[0, 1\]"),
        ({"calibrator": "temperature"}, "calibrator must have predict_proba; got 'temperature'"),
        ({"calibrator": GaussianNB()}, "that takes probabilities; got GaussianNB"),
        (
            {"calibrator": ct.calibrators.TemperatureScaling(from_logits=True)},
            "that takes probabilities; got TemperatureScaling",
        ),
    ],
)
def test_careless_options_are_named_before_anything_is_learnt(options, match):
    learner = ct.ActiveLearner(GaussianNB(), **OPTIONS | options)
    with pytest.raises(ct.InvalidInput, match=match):
        next(learner.steps(X, Y))
    assert not hasattr(learner, "model_")


def test_labels_that_are_no_class_and_probabilities_that_are_none_are_named():
    learner = ct.ActiveLearner(GaussianNB(), **OPTIONS)
    with pytest.raises(ct.InvalidInput, match=r"all of them in classes; got labels \[0, 1, 2\]"):
        next(learner.steps(X, Y, classes=[0, 1]))
    with pytest.raises(ct.InvalidInput, match=r"probs must lie in \[0, 1\]"):
        query_scores([[-0.5, 1.5]])


def test_points_are_reached_in_ascending_order():
    def passed(points):
        learner = ct.ActiveLearner(
            GaussianNB(), ct.calibrators.TemperatureScaling(), **OPTIONS | {"points": points}
        )
        return [(at.seen_, at.bought_) for at in learner.steps(X, Y)]

    assert passed([300, 150]) == passed([150, 300])
