"""Kernel ridge regression on labels with Nyström features."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lstsq
from sklearn.kernel_approximation import Nystroem

from caltest.checks import check_flag, check_integer
from caltest.classifiers import base
from caltest.numerics.loops import blocks
from caltest.types import Codes, Floats, Ints

CHUNK = 2**20  # entries of the features in a block
SPREADS = (0.125, 0.25, 0.5, 1.0, 2.0)  # length scales to choose from, in that of the other models
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)


@dataclass(kw_only=True, eq=False, repr=False)
class NystroemKRRClassifier(base.KernelClassifier):
    r"""Kernel ridge regression on labels with Nyström features and Platt scaling.

    The features are those of scikit-learn's `Nystroem` for the kernel
    :math:`\exp(-\gamma |x - z|^2)`; the targets are the labels, 1 for the class and 0 for the
    others, less their means; the weights minimise the sum of squared errors and the penalty
    :math:`\alpha |W|^2`. The mean squared error across folds chooses :math:`\gamma` and
    :math:`\alpha`. With `platt`, a sigmoid of the score of each class (of the second of two) is
    fitted to the scores that rows have in the regression on the other folds, and the rows are
    divided by their sums; without, scores are cut off at 0 and divided by their sums. There is no
    posterior, and so no interval of the probabilities.

    Parameters
    ----------
    n_components : int, default 500
        Number of Nyström features, at most that of the rows.
    gammas : float or sequence of float, optional
        Values of :math:`\gamma` to choose from, positive. By default :math:`1 / (2 s^2)` for
        length scales s of 1/8 to 2 times the mean standard deviation of the features times the
        root of their number.
    alphas : float or sequence of float, default (1e-4, 1e-3, 1e-2, 1e-1, 1, 10)
        Values of :math:`\alpha` to choose from, positive.
    n_splits : int, default 5
        Number of folds, at least 2; at most that of the rows is taken.
    platt : bool, default True
        Whether to apply Platt scaling.
    random_state : int, RandomState or None
        The seed of the rows behind the features, and of the folds.
    verbose : bool, default False
        Whether to print the error of each :math:`\gamma`.

    Attributes
    ----------
    classes_ : (K,) array
        The labels, sorted.
    gamma_, alpha_ : float
        The values that were chosen.
    error_ : float
        Mean squared error across folds, summed over classes.
    n_components_ : int
        Number of features.
    slopes_, intercepts_ : (K,) or (1,) array or None
        Of the sigmoids; None without Platt scaling.
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
    Milios, Camoriano, Michiardi, Rosasco, Filippone (2018), Dirichlet-based Gaussian processes for
    large-scale calibrated classification, sections 3 and 5. Platt (1999), Probabilistic outputs
    for support vector machines.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from caltest.classifiers import NystroemKRRClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NystroemKRRClassifier(n_components=30, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    title = "Nyström kernel ridge regression on labels"

    n_components: int = 500
    gammas: float | Sequence[float] | None = None
    alphas: float | Sequence[float] = PENALTIES
    n_splits: int = 5
    platt: bool = True

    def _fit(self, X: Floats, codes: Codes, rng: np.random.RandomState) -> None:
        check_flag(self.platt, "platt")
        check_flag(self.verbose, "verbose")
        # Distances, of which the kernel is made, keep their digits about the mean.
        self._mean = X.mean(axis=0)
        X = X - self._mean
        usual = [1 / (2 * (spread * base.scale_of(X)) ** 2) for spread in SPREADS]
        gammas = usual if self.gammas is None else base.grid_of(self.gammas, "gammas")
        n_splits = min(check_integer(self.n_splits, "n_splits", minimum=2), len(X))
        folds = rng.permutation(len(X)) % n_splits
        self._share = np.bincount(codes) / len(codes)
        targets = np.eye(len(self.classes_))[codes] - self._share
        self.n_components_ = min(check_integer(self.n_components, "n_components"), len(X))
        rows = int(rng.randint(2**31 - 1))  # the same behind the features of all gammas
        choices = [self._choice(X, targets, folds, gamma, rows) for gamma in gammas]
        self.error_, self.gamma_, self.alpha_, self._map, sums = min(choices, key=itemgetter(0))
        self._weights = sums.weights(self.alpha_)
        scores = self._scores_across(X, folds, sums) if self.platt else None
        self._sigmoids = None if scores is None else base.fit_sigmoids(scores, codes)
        found = {} if self._sigmoids is None else self._sigmoids.keywords
        self.slopes_, self.intercepts_ = found.get("slopes"), found.get("intercepts")

    def _choice(
        self, X: Floats, targets: Floats, folds: Ints, gamma: float, rows: int
    ) -> tuple[float, float, float, Nystroem, FoldSums]:
        """Return the least error, gamma and the penalty that has it, the features and the sums."""
        penalties = base.grid_of(self.alphas, "alphas")
        found = Nystroem(gamma=gamma, n_components=self.n_components_, random_state=rows).fit(X)
        sums = FoldSums(int(folds.max()) + 1, self.n_components_, targets.shape[1])
        for block in self._blocks(X):
            sums.add(found.transform(X[block]), targets[block], folds[block])
        errors = [sums.error(penalty) / len(X) for penalty in penalties]
        best = int(np.argmin(errors))
        penalty, error = penalties[best], errors[best]
        self._print_progress(f"gamma {gamma:.4g}, alpha {penalty:.4g}: error {error:.6g}")
        return error, gamma, penalty, found, sums

    def _scores_across(self, X: Floats, folds: Ints, sums: FoldSums) -> Floats:
        """Return the score of each row in the regression on the other folds."""
        count = len(sums.grams)
        weights = np.array([sums.weights(self.alpha_, fold) for fold in range(count)])
        scores = np.empty((len(X), len(self._share)))
        for block in self._blocks(X):
            features = self._map.transform(X[block])
            for fold in range(count):
                rows = folds[block] == fold
                scores[block][rows] = features[rows] @ weights[fold]
        return scores + self._share

    def _blocks(self, X: Floats) -> Iterator[slice]:
        return blocks(len(X), max(1, CHUNK // self.n_components_))

    def _probabilities(self, X: Floats) -> Floats:
        X = X - self._mean
        parts = [self._map.transform(X[block]) @ self._weights for block in self._blocks(X)]
        scores = np.concatenate(parts) + self._share
        sigmoids = self._sigmoids
        return base.normalised(np.maximum(scores, 0)) if sigmoids is None else sigmoids(scores)

    def _facts(self) -> dict[str, object]:
        return {
            "Nyström features (M)": self.n_components_,
            "kernel": "RBF",
            "gamma": self.gamma_,
            "alpha": self.alpha_,
            "Platt scaling": "across folds" if self.platt else "no",
            "error across folds": self.error_,
        }


class FoldSums:
    """Sums over the rows of F folds, to which blocks of rows are added.

    Attributes
    ----------
    grams : (F, M, M) array
        Features times features.
    products : (F, M, K) array
        Features times targets.
    squares : (F,) array
        Squares of the targets.
    """

    def __init__(self, F: int, M: int, K: int) -> None:
        self.grams, self.products = np.zeros((F, M, M)), np.zeros((F, M, K))
        self.squares = np.zeros(F)

    def add(self, features: Floats, targets: Floats, folds: Ints) -> None:
        """Add rows; features are (n, M), targets (n, K), folds (n,)."""
        for fold in range(len(self.grams)):
            rows = folds == fold
            part = features[rows]
            self.grams[fold] += part.T @ part
            self.products[fold] += part.T @ targets[rows]
            self.squares[fold] += np.sum(targets[rows] ** 2)

    def weights(self, penalty: float, without: int | None = None) -> Floats:
        """Minimise |Y - Phi W|^2 + penalty |W|^2 by W, (M, K), without one of the folds."""
        gram, product = self.grams.sum(axis=0), self.products.sum(axis=0)
        if without is not None:
            gram, product = gram - self.grams[without], product - self.products[without]
        gram[np.diag_indices_from(gram)] += penalty
        try:
            found: Floats = cho_solve(cho_factor(gram, lower=True), product)
        except np.linalg.LinAlgError:
            # The penalty is less than the rounding errors: the least weights of those that fit.
            found = lstsq(gram, product)[0]
        return found

    def error(self, penalty: float) -> float:
        """Return the squared errors in each fold of the regression on the others, summed."""
        total = 0.0
        for fold in range(len(self.grams)):
            W = self.weights(penalty, without=fold)
            total += self.squares[fold] - 2 * np.vdot(W, self.products[fold])
            total += np.vdot(W, self.grams[fold] @ W)
        return float(total)
