"""Ridge regression across folds."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from caltest.classifiers.nystroem_krr import FoldSums

pytestmark = pytest.mark.loops

RNG = np.random.default_rng(0)
PHI, Y, FOLDS = RNG.normal(size=(30, 4)), RNG.normal(size=(30, 2)), np.arange(30) % 3


def sums():
    found = FoldSums(3, 4, 2)
    for rows in (slice(0, 11), slice(11, None)):
        found.add(PHI[rows], Y[rows], FOLDS[rows])
    return found


def test_error_is_that_of_rows_left_out():
    total = 0.0
    for fold in range(3):
        rest = fold != FOLDS
        model = Ridge(alpha=0.3, fit_intercept=False).fit(PHI[rest], Y[rest])
        total += np.sum((Y[~rest] - model.predict(PHI[~rest])) ** 2)
    assert sums().error(0.3) == pytest.approx(total, rel=1e-9)
