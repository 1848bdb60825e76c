"""Sparse variational Gaussian-process classification."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from caltest.checks import check_integer
from caltest.classifiers import label_bound
from caltest.classifiers.base import PRECISION, GPClassifier, in_parts, kernel_of
from caltest.classifiers.label_bound import CHUNK
from caltest.classifiers.rbf import Kernel, inducing_points, rbf
from caltest.numerics.variational import whiten
from caltest.types import Codes, Floats

INDUCING = 200
SHARES = (64, 8)  # of the rows whose kernel is where the fit to all starts: a 64th, an 8th
ROWS_FOR_SHARE = 1000  # rows worth a fit of their own
NODES = 32  # of the Gauss-Hermite quadrature


@dataclass(kw_only=True, eq=False, repr=False)
class VariationalGPClassifier(GPClassifier):
    r"""Sparse variational Gaussian-process classification.

    Two classes have one latent function and the logistic likelihood, more classes have one each,
    with one RBF kernel, and the softmax. The inducing variables have a normal distribution with
    full covariance, whitened; inducing points are fixed. The evidence lower bound

    .. math:: \sum_i E_q \log p(y_i \mid f(x_i)) - KL(q \,\|\, p)

    is maximised by L-BFGS over the kernel, with the best q for each kernel found by steps on its
    natural parameters. From 8000 rows on it starts at the kernel of an eighth of them, from 64,000
    that at the kernel of a 64th. The expectation is Gauss-Hermite quadrature with 32 nodes for two
    classes and, for more, the mean over `n_points` fixed antithetic quasi-random points; in both
    cases the derivatives are exactly those of what is computed.

    Parameters
    ----------
    n_inducing : int, default 200
        Number of inducing points, all distinct rows where there are no more.
    inducing : {"k-means", "random"}, default "k-means"
        Where they lie: at the centres of k-means, or at random rows.
    ard : bool, default False
        Whether each feature has its own length scale.
    max_iter : int, default 100
        Most steps of L-BFGS. Each parameter of the kernel stays within a factor of 1e5 of
        where it starts, which is where the authors' code does.
    n_points : int, default 128
        Points of the expectation of the softmax.
    n_samples : int, default 1024
        Quasi-random points over which the softmax is averaged in a prediction.
    random_state : int, RandomState or None
        The seed of the inducing points.
    n_jobs : int, optional
        Threads, as in joblib: None is one, -1 all cores.
    verbose : bool, default False
        Whether to print the evidence lower bound at each step.

    Attributes
    ----------
    classes_ : (K,) array
        The labels, sorted.
    variance_ : float
        Variance of the kernel.
    length_scale_ : (1,) or (d,) array
        Length scales of the kernel.
    inducing_points_ : (M, d) array
        Inducing points.
    bound_ : float
        The evidence lower bound.
    n_iter_ : int
        Steps of L-BFGS.
    n_samples_fit_ : int
        Number of rows of the fit.
    fit_time_ : float
        Seconds.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : (d,) array
        Names of the features, where a data frame was given.

    References
    ----------
    Hensman, Matthews, Ghahramani (2015), Scalable variational Gaussian process classification.
    Khan, Lin (2017), Conjugate-computation variational inference. Milios et al. (2018),
    Dirichlet-based Gaussian processes for large-scale calibrated classification, section 5.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from caltest.classifiers import VariationalGPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = VariationalGPClassifier(n_inducing=20, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    title = "Sparse variational Gaussian-process classification"
    bound_name = "evidence lower bound"

    n_inducing: int = INDUCING
    n_points: int = 128

    def _fit(self, X: Floats, codes: Codes, rng: np.random.RandomState) -> None:
        self._check_options()
        check_integer(self.n_points, "n_points")
        size = check_integer(self.n_inducing, "n_inducing")
        Z = inducing_points(X, size, self.inducing, rng)
        self.inducing_points_ = Z
        K = len(self.classes_)
        middle = theta = self._start(X, 1.0)
        q = label_bound.start(1 if K == 2 else K, len(Z))
        precision = PRECISION if K == 2 else label_bound.GAIN  # to which the best q is found
        # Samples where there are many rows, whose kernels are close; all.
        order, sizes = rng.permutation(len(X)), [len(X) // share for share in SHARES]
        samples: list[slice | Codes] = [np.sort(order[:s]) for s in sizes if s >= ROWS_FOR_SHARE]
        for rows in [*samples, slice(None)]:
            data = label_bound.Labelled(X[rows], codes[rows], Z, self._expectation(), self.n_jobs)
            ridge = _Ridge(label_bound.prior(data, kernel_of(theta)), q)
            climb = partial(self._climb, ridge)
            found = self._maximise(climb, theta, len(data.X), middle=middle, precision=precision)
            # The last kernel that L-BFGS tried need not be the best.
            self.bound_, theta = ridge.climb(kernel_of(found.theta)), found.theta
            q = ridge.q
        self._end(found)
        self.variance_, self.length_scale_ = ridge.known.kernel
        self._root, self._inducing = ridge.known.L, q

    def _climb(self, ridge: _Ridge, theta: Floats) -> tuple[float, Floats]:
        value = ridge.climb(kernel_of(theta))
        return value, self._slope(label_bound.gradient(ridge.known, ridge.q))

    def _expectation(self) -> label_bound.Expectation:
        K = len(self.classes_)
        if K == 2:
            nodes, weights = label_bound.hermite(NODES)
            return partial(label_bound.bernoulli, nodes=nodes, weights=weights)
        return partial(label_bound.softmax, points=label_bound.antithetic(self.n_points, K))

    def _latent(self, X: Floats) -> tuple[Floats, Floats]:
        def part(X: Floats) -> tuple[Floats, Floats]:
            kernel = rbf(self.inducing_points_, X, self.variance_, self.length_scale_)
            A = whiten(self._root, kernel)
            mean, variance = label_bound.moments(A, self.variance_, self._inducing)
            return mean.T, variance.T

        size = CHUNK // len(self.inducing_points_)
        mean, variance = in_parts(part, (X,), size, self.n_jobs)
        if mean.shape[1] == 1:
            # Of two classes the first latent function is 0.
            zero = np.zeros_like(mean)
            return np.hstack([zero, mean]), np.hstack([zero, variance])
        return mean, variance


@dataclass
class _Ridge:
    """The bound as a function of the kernel, at the best q for it."""

    known: label_bound.Prior
    q: label_bound.Inducing

    def climb(self, kernel: Kernel) -> float:
        """Move to another kernel and return the bound there."""
        self.known = replace(self.known, projections=None)  # before those of the new kernel
        new = label_bound.prior(self.known.data, kernel)
        value, self.q = label_bound.ascend(new, label_bound.carried(self.q, self.known, new))
        self.known = new
        return value
