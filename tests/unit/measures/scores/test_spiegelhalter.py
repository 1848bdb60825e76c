"""Spiegelhalter's z: sign, several classes, predictions without variance."""

import numpy as np
import pytest

from caltest import DegenerateDataWarning, InvalidInput, NotApplicable, Predictions
from caltest.measures import le_cessie_van_houwelingen, spiegelhalter_z
from caltest.measures.scores.spiegelhalter import LeCessieVanHouwelingen, SpiegelhalterZ


@pytest.mark.parametrize("m", [2, 3, 7, 10])
def test_uniform_predictions_have_no_variance(m):
    """All labels have the same score: z is 0 with a warning, not noise over noise."""
    probs, labels = np.full((20, m), 1 / m), np.arange(20) % m
    with pytest.warns(DegenerateDataWarning, match="no variance under calibration"):
        assert spiegelhalter_z(probs, labels) == 0.0


def test_limit_law_needs_a_variance_and_keeps_a_small_tail():
    data = Predictions([0.0, 0.5, 1.0], [0, 1, 1])
    with pytest.raises(NotApplicable, match=r"no variance under calibration.*null='exact'"):
        SpiegelhalterZ().limit(data)
    data = Predictions(np.full(100_000, 0.999), np.arange(100_000) % 2)
    assert SpiegelhalterZ().limit(data).pvalue == np.finfo(float).tiny


# ---- the unweighted sum of squares --------------------------------------------------------------

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
P = 1 / (1 + np.exp(-X @ [1.0, -0.5] - 0.3))
Y = (RNG.random(200) < P).astype(int)


def test_external_form_is_spiegelhalters_z():
    weighted = Predictions(P, Y, sample_weight=RNG.random(200))
    for data in (Predictions(P, Y), weighted):
        assert le_cessie_van_houwelingen(data) == pytest.approx(spiegelhalter_z(data), rel=1e-12)


def test_internal_form_is_that_of_rms():
    """lm.wfit(cbind(1, X), 1 - 2 p, p (1 - p)), the root of the weighted sum of its residuals."""
    v, d, Z = P * (1 - P), 1 - 2 * P, np.column_stack((np.ones(200), X))
    gamma = np.linalg.solve(Z.T @ (v[:, None] * Z), Z.T @ (v * d))
    sd = np.sqrt(v @ (d - Z @ gamma) ** 2)
    z = (((Y - P) ** 2).sum() - v.sum()) / sd
    found = le_cessie_van_houwelingen(P, Y, internal=True, design=X)
    assert found == pytest.approx(z, rel=1e-10)


def test_features_of_the_internal_form():
    """Log odds stand for a single one; certain predictions have no part in the variance."""
    p = 1 / (1 + np.exp(-0.3 - 2 * X[:, 0]))
    by_default = le_cessie_van_houwelingen(p, Y, internal=True)
    given = le_cessie_van_houwelingen(p, Y, internal=True, design=X[:, 0])
    assert by_default == pytest.approx(given, rel=1e-9)
    longer = np.append(P, [0.0, 1.0]), np.append(Y, [0, 1])
    expected = le_cessie_van_houwelingen(P, Y, internal=True)
    assert le_cessie_van_houwelingen(*longer, internal=True) == pytest.approx(expected, rel=1e-9)


def test_constant_predictions_leave_no_variance():
    """A model with an intercept alone fits the sum of squares exactly."""
    data = Predictions(np.full(8, 0.25), np.arange(8) % 4 == 0)
    measure = LeCessieVanHouwelingen(internal=True)
    with pytest.raises(NotApplicable, match="no variance under the model; use internal=False"):
        measure.limit(data)
    with pytest.warns(DegenerateDataWarning, match="no variance under the model"):
        assert le_cessie_van_houwelingen(data, internal=True) == 0


def test_design_that_does_not_fit_is_refused():
    """It must be that of the predictions, and one that is not asked for has no effect."""
    with pytest.raises(InvalidInput, match="design must have one row per row of probs; got 199"):
        le_cessie_van_houwelingen(P, Y, internal=True, design=X[1:])
    with pytest.raises(InvalidInput, match="design has no effect without internal=True"):
        le_cessie_van_houwelingen(P, Y, design=X)
