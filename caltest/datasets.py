"""Simulated predictions whose calibration is known, and models of real data for the demo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from caltest import checks
from caltest.errors import invalid
from caltest.predictions import Predictions
from caltest.types import Floats, Ints

if TYPE_CHECKING:
    from collections.abc import Mapping


__all__ = ["DigitsModels", "digits_models", "generative_model"]

# The share pi of labels that ignore the prediction, and whether they are all of class 0 (beta =
# e_1) or uniform (beta = (1/m, ..., 1/m)).
_MODELS = {"M1": (0.0, False), "M2": (0.5, True), "M3": (1.0, False)}


def generative_model(
    name: str = "M1",
    n: int = 250,
    m: int = 10,
    *,
    alpha: float = 0.1,
    pi: float | None = None,
    rng: object = None,
) -> Predictions:
    r"""Predictions and labels from the models M1, M2 and M3 of Widmann et al. (2019).

    The predictions are :math:`g \sim Dir(\alpha, \ldots, \alpha)`. A label is drawn from
    :math:`\beta` with probability :math:`\pi` and from its own prediction otherwise:

    - M1, :math:`\pi = 0`: calibrated.
    - M2, :math:`\pi = 1/2`, :math:`\beta = e_1`: half of the labels are the first class.
    - M3, :math:`\pi = 1`, :math:`\beta = (1/m, \ldots, 1/m)`: labels ignore the predictions.

    Parameters
    ----------
    name : {"M1", "M2", "M3"}, default "M1"
        The model.
    n : int, default 250
        Number of observations, at least 1.
    m : int, default 10
        Number of classes, at least 2.
    alpha : float, default 0.1
        Concentration of the Dirichlet distribution, positive. Small values push the predictions
        towards the corners of the simplex; 1 spreads them uniformly.
    pi : float, optional
        Share of the labels that ignore the prediction, in [0, 1]; by default that of the paper.
        M1 allows only 0.
    rng : None, int, Generator or SeedSequence
        The seed.

    Returns
    -------
    Predictions
        The simulated predictions and labels; its source names the model.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), Calibration tests in multi-class classification: A
    unifying framework, section 7 and appendix J.

    Examples
    --------
    >>> generative_model("M3", n=500, m=3, rng=1).probs.shape
    (500, 3)
    """
    default, only_first = _MODELS[checks.check_choice(name, _MODELS, "name")]
    n, m = checks.check_integer(n, "n"), checks.check_integer(m, "m", minimum=2)
    share = default if pi is None else checks.check_share(pi, "pi")
    if name == "M1" and share:
        raise invalid("pi must be 0 for M1, the calibrated model", repr(pi), "use M2 or M3")
    generator = checks.check_generator(rng)
    probs = generator.dirichlet(np.full(m, checks.check_positive(alpha, "alpha")), size=n)
    ignored = generator.random(n) < share
    others = np.zeros(n, dtype=np.int64) if only_first else generator.integers(m, size=n)
    source = f"{name}(m = {m}, alpha = {alpha:g}, pi = {share:g})"
    rows = Predictions(probs, np.zeros(n, np.int64), classes=np.arange(m), source=source)
    return rows.relabelled(np.where(ignored, others, rows.simulate(generator).labels))


@dataclass(frozen=True, slots=True)
class DigitsModels:
    """Classifiers fitted to one half of scikit-learn's digits, and the other half to test them.

    Attributes
    ----------
    models : Mapping of str to classifier
        The fitted classifiers by name.
    X : (n, 64) array
        Pixels of the held-out digits, in 0 to 16.
    y : (n,) array
        The held-out digits, 0 to 9.

    Examples
    --------
    >>> from caltest.datasets import digits_models
    >>> list(digits_models(rng=0).models)
    ['naive Bayes', 'random forest', 'logistic regression', 'forest + temperature']
    """

    models: Mapping[str, Any]
    X: Floats
    y: Ints


def digits_models(rng: object = None) -> DigitsModels:
    """Fit four classifiers to scikit-learn's digits.

    The fourth is the random forest recalibrated by scikit-learn's temperature scaling
    (`CalibratedClassifierCV(method="temperature")`) on folds of the same half.

    Parameters
    ----------
    rng : None, int, Generator or SeedSequence
        The seed of the split, of the forests and of the folds.

    Returns
    -------
    DigitsModels
        The fitted classifiers, and the half of the digits that they have not seen.

    Examples
    --------
    >>> digits = digits_models(rng=0)
    >>> digits.X.shape
    (899, 64)
    """
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    # scikit-learn takes seeds of 32 bits.
    seed = checks.check_seed(rng) % 2**32
    pixels, digits = load_digits(return_X_y=True)
    halves = {"test_size": 0.5, "stratify": digits, "random_state": seed}
    X, X_test, y, y_test = train_test_split(pixels, digits, **halves)
    forest = RandomForestClassifier(random_state=seed)
    recalibrated = CalibratedClassifierCV(forest, method="temperature", ensemble=False)
    models = {
        "naive Bayes": GaussianNB(),
        "random forest": forest,
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "forest + temperature": recalibrated,
    }
    for model in models.values():
        model.fit(X, y)
    return DigitsModels(models, X_test, y_test)
