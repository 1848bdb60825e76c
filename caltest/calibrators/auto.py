"""Automatic calibration: several maps, mixed as held-out labels prefer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from caltest.calibrators.base import BinaryCalibrator, CalibrationSet, Calibrator, Coefficient
from caltest.calibrators.ensemble import OneVsRest, choose, folds, observed
from caltest.calibrators.inputs import Inputs
from caltest.calibrators.linear.ensemble_temperature import mixture_weights
from caltest.calibrators.output import REGISTRY
from caltest.checks import check_jobs, check_not_empty
from caltest.types import Floats

OF_TWO = ("temperature", "platt", "quadratic", "beta", "venn-abers", "kernel")
OF_MANY = ("temperature", "quadratic", "structured-vector", "structured-matrix")  # classes
OF_SEVERAL = (*OF_MANY, "dirichlet", "kernel")
PRIOR = 0.3  # of a row that only one map predicts, for each map
MOST_CLASSES, MOST_ROWS = 50, 20_000  # of several classes, and of a kernel


@dataclass(kw_only=True, eq=False, repr=False)
class AutoCalibrator(Calibrator):
    r"""Automatic calibration: a mixture of maps, with the weights that held-out labels prefer.

    .. math:: \hat\mu(q) = \sum_j w_j \hat\mu_j(q), \qquad w = \operatorname{argmax}_w
        \sum_i \log \sum_j w_j \hat\mu_j^{-f(i)}(p_i)_{y_i} + 0.3 \sum_j \log w_j,

    where :math:`\hat\mu_j^{-f}` is map j fitted without fold f, and :math:`\hat\mu_j` that of all
    rows. The last sum is 0.3 of a row for each map that only this one predicts: few rows leave each
    map a weight, many those that predict best. A mixture of maps that are right in
    different places predicts better than each; over the models of the study "Calibration maps" it
    has the least mean rank.

    Parameters
    ----------
    calibrators : sequence of Calibrator, optional
        Maps that are not fitted; those of two classes are put into `OneVsRest` where there are
        more. By default temperature and quadratic scaling with, for two classes, Platt, beta,
        Venn-Abers and kernel maps, and for more structured vector and matrix scaling and, below 50
        classes, Dirichlet and kernel maps. From 20,000 rows on there are no kernels.
    cv : int, splitter or iterable, default 5
        As in `EnsembleCalibrator`; rows are shuffled, always in the same way, before they are dealt
        to a number of folds.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.
    n_jobs : int, optional
        Threads over maps and folds, as in joblib.

    Attributes
    ----------
    calibrators_ : list of Calibrator
        The maps, fitted to all rows.
    weights_ : (k,) array
        Their weights, with sum 1.

    References
    ----------
    Wolpert (1992), Stacked generalization, Neural Networks 5; Smyth, Wolpert (1999), Linearly
    combining density estimators via stacking, Machine Learning 36.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=300, m=3, rng=1)
    >>> calibrator = ct.calibrators.AutoCalibrator().fit(data)
    >>> len(calibrator.calibrators_)
    6
    >>> calibrator.predict_proba([[0.2, 0.3, 0.5]]).round(2)
    array([[0.62, 0.11, 0.28]])
    """

    key: ClassVar[str] = "auto"
    title: ClassVar[str] = "Automatic calibration"

    calibrators: Sequence[Calibrator] | None = None
    cv: object = 5
    n_jobs: int | None = None

    def _fit(self, data: CalibrationSet) -> None:
        n, m = data.inputs.values.shape
        keys = OF_TWO if m == 2 else OF_SEVERAL if m < MOST_CLASSES else OF_MANY
        maps = [REGISTRY[key]() for key in keys if key != "kernel" or n < MOST_ROWS]
        if self.calibrators is not None:
            maps = check_not_empty(list(self.calibrators), "calibrators")
        several = [m > 2 and isinstance(one, BinaryCalibrator) for one in maps]
        maps = [OneVsRest(one) if wrap else one for wrap, one in zip(several, maps, strict=True)]
        maps = [self._passed_on(one) for one in maps]
        pairs = folds(data.inputs.values, data.codes, data.weight, self.cv, 0)
        jobs, names = check_jobs(self.n_jobs), self.classes_
        choices = [choose(one, data, names, [{}], cv=pairs, n_jobs=jobs) for one in maps]
        tested = [data.rows(rows) for _, rows in pairs]
        seen = [np.concatenate(list(map(observed, one.models, tested))) for one in choices]
        weight = np.ones(n) if data.weight is None else data.weight
        weight = np.concatenate([*(weight[rows] for _, rows in pairs), np.full(len(maps), PRIOR)])
        parts = np.vstack([np.column_stack(seen), np.eye(len(maps))])
        self.weights_ = mixture_weights(parts, weight / weight.sum())
        self.calibrators_ = [one.fit_set(data, self.classes_) for one in maps]
        for text in dict.fromkeys(text for one in maps for text in one.notes()):
            self._note(text)

    def _calibrate(self, inputs: Inputs) -> Floats:
        parts = [one.calibrate(inputs) for one in self.calibrators_]
        mixture: Floats = np.tensordot(self.weights_, parts, 1)
        return mixture

    def coefficients(self) -> Sequence[Coefficient]:
        names = [f"w[{vars(one).get('calibrator', one).key}]" for one in self.calibrators_]
        return tuple(map(Coefficient, names, self.weights_.tolist()))
