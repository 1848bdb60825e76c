"""Mixtures of maps: ensemble temperature scaling, and automatic calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from caltest.calibrators.base import CalibrationSet, Calibrator, Coefficient
from caltest.calibrators.ensemble import choose, folds, for_classes, observed
from caltest.calibrators.inputs import Inputs
from caltest.calibrators.linear.scaling import LogitMap
from caltest.calibrators.linear.softmax_regression import logit_rows
from caltest.calibrators.output import REGISTRY
from caltest.checks import check_instance, check_jobs, check_not_empty
from caltest.numerics.newton import backtrack
from caltest.numerics.softmax import softmax
from caltest.types import Floats

STEPS = 100
ENOUGH = 1e-15  # of the decrease that a step promises
RIDGE = 1e-13  # of the curvature: of parts that agree, none has a weight of its own


class EnsembleTemperatureScaling(LogitMap):
    r"""Ensemble temperature scaling: a mixture of scaled, unscaled and uniform predictions.

    .. math:: \hat p = w_1 \,\mathrm{softmax}(z / T) + w_2 \,\mathrm{softmax}(z) + w_3 / m,
        \qquad w \ge 0, \quad w_1 + w_2 + w_3 = 1,

    where z are the logits, or the logarithms of the probabilities, and T is the temperature of
    `TemperatureScaling`. Given T, the weighted mean log loss is convex in the weights, and its
    minimum is found to the last digits by Newton steps within :math:`w \ge 0`. The order of the
    classes of a prediction does not change, and neither does its most probable class.

    Parameters
    ----------
    clip : float, default 2.2e-16
        In (0, 0.1]; smaller probabilities are raised to it before their logarithm is taken. Logits
        are not clipped.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.

    Attributes
    ----------
    temperature_ : float
        T.
    weights_ : (3,) array
        Weights of the scaled, the unscaled and the uniform predictions.

    Notes
    -----
    The authors' program fits T and the weights to the Brier score by default, and to the log loss
    as an option.

    References
    ----------
    Zhang, Kailkhura, Han (2020), Mix-n-Match: ensemble and compositional methods for uncertainty
    calibration in deep learning, ICML, section 3.2.

    Examples
    --------
    >>> from caltest.calibrators import EnsembleTemperatureScaling
    >>> probs = [[0.9, 0.1]] * 10 + [[0.5, 0.5]] * 2
    >>> calibrator = EnsembleTemperatureScaling().fit(probs, [0] * 7 + [1] * 3 + [0, 1])
    >>> calibrator.predict_proba([[0.9, 0.1]]).round(6)
    array([[0.7, 0.3]])
    """

    key, title = "ensemble-temperature", "Ensemble temperature scaling"

    def _fit(self, data: CalibrationSet) -> None:
        self.temperature_ = self._temperature(data)
        rows = logit_rows(data, self._logits)
        own = np.arange(len(rows.codes)), rows.codes
        parts = np.column_stack([part[own] for part in self._parts(rows.logits)])
        self.weights_ = mixture_weights(parts, rows.weight)

    def _parts(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        return softmax(z, 1 / self.temperature_), softmax(z, 1.0), np.full(z.shape, 1 / z.shape[1])

    def _calibrate(self, inputs: Inputs) -> Floats:
        scaled, unscaled, uniform = self._parts(self._logits(inputs))
        w = self.weights_
        return np.asarray(w[0] * scaled + w[1] * unscaled + w[2] * uniform)

    def coefficients(self) -> Sequence[Coefficient]:
        names = ("temperature", "w[scaled]", "w[unscaled]", "w[uniform]")
        return tuple(map(Coefficient, names, [self.temperature_, *self.weights_.tolist()]))


def mixture_weights(parts: Floats, weight: Floats) -> Floats:
    r"""Return the w >= 0 with sum 1 that minimises the mean of -log(parts w).

    The sum need not be constrained: where the mean of -log(parts w) plus the sum of w is least, it
    is 1. Its gradient is 1 - B'r, its second derivatives B'B, with the rows of B those of
    r parts / (parts w) and r the roots of the row weights; since B w = r, each Newton step goes to
    the least squares solution for w >= 0 (Kim et al. 2020, A fast algorithm for maximum likelihood
    estimation of mixture proportions using sequential quadratic programming, section 3).

    Parameters
    ----------
    parts : (n, k) array
        Probabilities of what was observed, in each row one that is positive.
    weight : (n,) array
        Weights that sum to 1.

    Returns
    -------
    (k,) array
        The weights of the parts.
    """
    k = parts.shape[1]
    w, root = np.full(k, 1 / k), np.sqrt(weight)

    def at(length: float, start: Floats, step: Floats) -> tuple[float]:
        moved = start + length * step
        with np.errstate(divide="ignore"):
            return (float(moved.sum() - weight @ np.log(parts @ moved)),)

    value = at(0.0, w, w)[0]
    for _ in range(STEPS):
        B = parts * (root / (parts @ w))[:, None]
        gradient, H = 1 - root @ B, B.T @ B
        R = cholesky(H + RIDGE * np.trace(H) * np.eye(k))
        step = nnls(R, solve_triangular(R, H @ w - gradient, trans="T"))[0] - w
        slope = float(gradient @ step)
        found = backtrack(partial(at, start=w, step=step), value, slope)
        if found is None:
            break
        w, value = w + found[0] * step, found[1][0]
        if slope > -ENOUGH:
            break
    return np.asarray(w / w.sum())


# ---- Automatic calibration: several maps, mixed as held-out labels prefer -----------------------

PRIOR = 0.3  # of a row that only one map predicts, for each map
MOST_CLASSES = 50  # from these on m (m + 1) parameters are many
MOST_ROWS = 20_000  # of a kernel
FEWEST_ROWS = 500  # of a curve that a verdict names: of 200 it harmed (study "What helps")
# In a mixture these are better than the defaults, by the study "Calibration maps".
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "structured-matrix": {"off_diagonal_lam": 0.3},
    "dirichlet": {"reg": "l2"},
}


def nested_maps(m: int) -> tuple[str, ...]:
    """Return keys of maps of which each holds those before it that it can."""
    if m == 2:
        return "temperature", "platt", "beta"
    full = ("structured-matrix", "dirichlet") if m < MOST_CLASSES else ()
    return "temperature", "structured-vector", *full


def free_maps(n: int, m: int) -> tuple[str, ...]:
    """Return the keys of maps that may bend: quadratic, and a kernel or, of many rows, steps."""
    if n < MOST_ROWS:
        return ("quadratic", "kernel") if m < MOST_CLASSES else ("quadratic",)
    return ("quadratic", "venn-abers") if m > 2 else ("quadratic",)


def mixed_maps(n: int, m: int) -> tuple[str, ...]:
    """Return the keys of what is mixed by default, and compared: nested maps, and others."""
    more = ("venn-abers",) if m == 2 else () if m < MOST_CLASSES else ("structured-matrix",)
    return *nested_maps(m), *more, *free_maps(n, m)


def quick_maps(n: int, m: int) -> tuple[str, ...]:
    """Return the keys of these that a verdict has time for, and rows: of few the nested ones."""
    return mixed_maps(MOST_ROWS, m) if m == 2 and n >= FEWEST_ROWS else nested_maps(m)


@dataclass(kw_only=True, eq=False, repr=False)
class AutoCalibrator(Calibrator):
    r"""Automatic calibration: a mixture of maps, with the weights that held-out labels prefer.

    .. math:: \hat\mu(q) = \sum_j w_j \hat\mu_j(q), \qquad w = \operatorname{argmax}_w
        \sum_i \log \sum_j w_j \hat\mu_j^{-f(i)}(p_i)_{y_i} + 0.3 \sum_j \log w_j,

    where :math:`\hat\mu_j^{-f}` is map j fitted without fold f, and :math:`\hat\mu_j` that of all
    rows, which alone chooses the bandwidth of a kernel. The last sum is 0.3 of a row for each map
    that only this one predicts: few rows leave each map a weight, many those that predict best. A
    mixture of maps that are right in different places predicts better than each; over the models of
    the study "Calibration maps" it has the least mean rank. By default the free maps of several
    classes, quadratic and kernel or Venn-Abers, have no weight unless the mixture with them has a
    smaller held-out log loss than that without, by more than one standard error.

    Parameters
    ----------
    calibrators : sequence of Calibrator, optional
        Maps that are not fitted; those of two classes are put into `OneVsRest` where there are
        more. By default temperature and quadratic scaling with, for two classes, Platt, beta,
        Venn-Abers and kernel maps, and for more structured vector and matrix scaling, this with
        `off_diagonal_lam=0.3`, and, below 50 classes, Dirichlet maps with `reg="l2"` and kernels.
        From 20,000 rows on there are no kernels, and of several classes Venn-Abers maps instead.
    cv : int, splitter or iterable, default 10
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
    array([[0.61, 0.11, 0.28]])
    """

    key, title = "auto", "Automatic calibration"

    calibrators: Sequence[Calibrator] | None = None
    cv: object = 10
    n_jobs: int | None = None

    def _fit(self, data: CalibrationSet) -> None:
        n, m = data.counted.n, data.inputs.m
        maps = [REGISTRY[key](**OPTIONS.get(key, {})) for key in mixed_maps(n, m)]
        few = len(maps) - (len(free_maps(n, m)) if m > 2 else 0)
        if self.calibrators is not None:
            is_list = isinstance(self.calibrators, list | tuple)
            given: Any = self.calibrators if is_list else [self.calibrators]
            maps = check_not_empty(list(given), "calibrators")
            for one in maps:
                check_instance(one, Calibrator, "calibrators", "pass a list of calibrators")
            few = len(maps)
        maps = [self._passed_on(for_classes(one, m)) for one in maps]
        pairs = folds(data.inputs.values, data.codes, data.weight, self.cv, 0)
        jobs, names = check_jobs(self.n_jobs), self.classes_
        self.calibrators_ = [one.fit_set(data, names) for one in maps]
        settled = [one.settled() for one in maps]
        choices = [choose(one, data, names, [{}], cv=pairs, n_jobs=jobs) for one in settled]
        tested = [data.rows(rows) for _, rows in pairs]
        seen = [np.concatenate(list(map(observed, models, tested))) for _, _, models in choices]
        weight = np.ones(data.n) if data.weight is None else data.weight
        weight = np.concatenate([weight[rows] for _, rows in pairs])
        parts = np.column_stack(seen)
        self.weights_ = _weights(parts, weight)
        if few < len(maps):
            simple = np.pad(_weights(parts[:, :few], weight), (0, len(maps) - few))
            gain, share = np.log(parts @ self.weights_ / (parts @ simple)), weight / weight.sum()
            mean = share @ gain
            if mean <= np.sqrt(np.square(share) @ np.square(gain - mean)):
                self.weights_ = simple
        self._note(*dict.fromkeys(text for one in maps for text in one.notes()))

    def _calibrate(self, inputs: Inputs) -> Floats:
        both = zip(self.weights_.tolist(), self.calibrators_, strict=True)
        return np.asarray(sum(weight * one.calibrate(inputs) for weight, one in both if weight))

    def _keys(self) -> list[str]:
        return [vars(one).get("calibrator", one).key for one in self.calibrators_]

    def coefficients(self) -> Sequence[Coefficient]:
        names = [f"w[{key}]" for key in self._keys()]
        return tuple(map(Coefficient, names, self.weights_.tolist()))

    def composition(self) -> str:
        parts = sorted(zip(self.weights_.tolist(), self._keys(), strict=True), reverse=True)
        used = ", ".join(f"{weight:.2f} {key}" for weight, key in parts if weight)
        return f"a mixture of {used}"


def _weights(parts: Floats, weight: Floats) -> Floats:
    """Return the weights of maps by what they predict of held-out labels, and the prior."""
    k = parts.shape[1]
    weight = np.concatenate([weight, np.full(k, PRIOR)])
    return mixture_weights(np.vstack([parts, np.eye(k)]), weight / weight.sum())
