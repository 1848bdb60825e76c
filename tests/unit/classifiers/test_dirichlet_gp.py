"""Dirichlet-based Gaussian-process classification."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons

from caltest.classifiers import DirichletGPClassifier
from caltest.classifiers.dirichlet_gp import GRID
from caltest.classifiers.regressions import size_of
from caltest.measures import log_loss

X, Y = make_blobs(200, centers=3, cluster_std=3, random_state=1)

at_the_end = pytest.mark.filterwarnings("ignore:.*is the (least|largest) of the values")
cut_short = pytest.mark.filterwarnings("ignore:.*still grew after max_iter")


@at_the_end
def test_alpha_by_training_loss_is_the_papers():
    """Of its grid, the value of the least log loss on the training data."""
    grid = (0.1, 0.01, 0.001, 0.0001)
    options = {"n_inducing": 20, "random_state": 0}
    model = DirichletGPClassifier(alpha=grid, criterion="training", **options).fit(X, Y)
    losses = []
    for alpha in grid:
        one = DirichletGPClassifier(alpha=alpha, **options).fit(X, Y)
        losses.append(log_loss(one.predict_proba(X), Y))
    assert model.alpha_ == grid[int(np.argmin(losses))]
    assert log_loss(model.predict_proba(X), Y) == pytest.approx(min(losses), rel=1e-9)
    assert model.criterion_loss_ == pytest.approx(min(losses), rel=1e-9)


def test_auto_ends_where_neither_neighbour_is_better():
    """And its fit is that of the value alone."""
    auto = DirichletGPClassifier(n_inducing=20, random_state=0).fit(X, Y)
    at = GRID.index(auto.alpha_)
    near = DirichletGPClassifier(alpha=GRID[at - 1 : at + 2], n_inducing=20, random_state=0)
    near.fit(X, Y)
    assert near.alpha_ == auto.alpha_
    assert near.criterion_loss_ == auto.criterion_loss_
    alone = DirichletGPClassifier(alpha=auto.alpha_, n_inducing=20, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(alone.predict_proba(X), auto.predict_proba(X))
    assert np.isnan(alone.criterion_loss_)


@pytest.mark.full
def test_auto_generalises_where_the_training_loss_does_not():
    """300 rows of two moons with noise."""
    features, labels = make_moons(3000, noise=0.35, random_state=0)
    losses = {}
    for criterion, alpha in {"leave-one-out": "auto", "training": (0.01, 0.0001)}.items():
        model = DirichletGPClassifier(alpha=alpha, criterion=criterion, max_iter=30)
        probs = model.fit(features[:300], labels[:300]).predict_proba(features[300:])
        losses[criterion] = log_loss(probs, labels[300:])
    assert losses["leave-one-out"] < losses["training"] - 0.1


def test_end_of_a_grid_is_warned_of():
    """The best lies beyond it, or may."""
    with pytest.warns(UserWarning, match=r"alpha=1, the best by leave-one-out, is the least"):
        DirichletGPClassifier(alpha=[1, 10, 100], n_inducing=10, random_state=0).fit(X, Y)


def test_alpha_is_printed_with_its_loss_if_asked(capsys):
    """So that a grid can be followed."""
    DirichletGPClassifier(alpha=[0.1, 0.01], verbose=True).fit(X, Y)
    text = capsys.readouterr().out
    assert "alpha 0.1, log loss by leave-one-out" in text
    assert "alpha 0.01, log loss by leave-one-out" in text


@pytest.mark.parametrize("inducing", ["k-means", "random"])
def test_many_inducing_points_are_almost_exact(inducing):
    """100 of 200 rows; the bound is below the log marginal likelihood, and not by much."""
    exact = DirichletGPClassifier(alpha=0.01).fit(X, Y)
    sparse = DirichletGPClassifier(
        alpha=0.01, n_inducing=100, inducing=inducing, random_state=0
    ).fit(X, Y)
    assert exact.bound_ - 1 < sparse.bound_ <= exact.bound_ + 1e-3
    np.testing.assert_allclose(sparse.predict_proba(X), exact.predict_proba(X), atol=0.02)


def test_length_scale_of_a_feature_without_information_is_the_longest():
    rng = np.random.default_rng(0)
    features = np.column_stack([X, rng.normal(scale=X.std(), size=len(X))])
    scales = DirichletGPClassifier(ard=True).fit(features, Y).length_scale_
    assert scales.shape == (3,)
    assert scales[2] > scales[:2].max()


def test_classifier_far_from_the_data_gives_the_shares_of_the_classes():
    """The prior, on average over a wide latent distribution, in the order of the shares."""
    labels = np.repeat([0, 1, 2], [20, 60, 120])
    probs = DirichletGPClassifier().fit(X, labels).predict_proba([[1e6, 1e6]])
    assert (np.diff(probs[0]) > 0).all()


@cut_short
def test_summary_tells_too_few_steps_many_length_scales_and_the_exact_criterion():
    """Without inducing points it is no bound."""
    text = str(DirichletGPClassifier(max_iter=1).fit(X, Y).summary())
    assert "1, all that max_iter allows" in text
    assert any(line.startswith("log marginal likelihood:") for line in text.splitlines())
    assert "max_iter allows" not in str(DirichletGPClassifier().fit(X, Y).summary())
    features = np.random.default_rng(0).normal(size=(len(X), 8))
    text = str(DirichletGPClassifier(ard=True, max_iter=2).fit(features, Y).summary())
    assert ", of 8 features" in text


@pytest.mark.parametrize("alpha", [1e-100, 1e6])
@pytest.mark.parametrize("n_inducing", [None, 5])
def test_ends_of_the_range_of_alpha_give_probabilities(alpha, n_inducing):
    """With rows that are the same and labels that are not."""
    rows = np.repeat(X[:20], 10, axis=0)
    model = DirichletGPClassifier(alpha=alpha, n_inducing=n_inducing, random_state=0)
    np.testing.assert_allclose(model.fit(rows, Y).predict_proba(rows).sum(axis=1), 1)


@pytest.mark.parametrize(
    ("n", "K", "size"),
    [
        (1000, 2, None),
        (1001, 2, 500),
        (1000, 16, None),
        (1000, 17, 500),
        (500, 67, None),
        (1000, 1000, 129),
        (129, 1000, None),
    ],
)
def test_default_size_falls_with_the_number_of_classes(n, K, size):
    """Each class has a matrix of that size, and memory is bounded."""
    assert size_of(None, n, K) == size
    assert size_of(700, 1000, K) == 700
    assert size_of(700, 700, K) is None
