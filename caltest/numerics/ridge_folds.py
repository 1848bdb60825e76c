"""Ridge regression with several penalties, across folds, from sums over the rows of each fold."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, lstsq

Floats = NDArray[np.float64]


@dataclass
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

    grams: Floats
    products: Floats
    squares: Floats

    def add(self, features: Floats, targets: Floats, folds: NDArray[np.int64]) -> None:
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


def no_sums(F: int, M: int, K: int) -> FoldSums:
    """Return the sums of no rows."""
    return FoldSums(np.zeros((F, M, M)), np.zeros((F, M, K)), np.zeros(F))
