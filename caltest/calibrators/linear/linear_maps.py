"""What matrix scaling and Dirichlet calibration share: softmax(W s + b), its fit and forms."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, product
from typing import Any

import numpy as np
from sklearn.base import clone

from caltest.calibrators.base import CalibrationSet, Calibrator, Coefficient
from caltest.calibrators.ensemble import choose
from caltest.calibrators.inputs import SMALLEST_PROBABILITY, Inputs
from caltest.calibrators.linear import parametrisations, softmax_regression
from caltest.checks import check_choice, check_flag, check_jobs, check_level
from caltest.checks.options import check_not_empty
from caltest.errors import invalid, shown
from caltest.numerics.loops import map_threads
from caltest.numerics.softmax import softmax
from caltest.types import Codes, Flags, Floats

LARGEST_SCORE = 1e4  # of the scores that are taken as they are
SMALLEST_TOTAL = 1e-200  # of weights, whose inverse is a penalty
MANY_CLASSES, WEIGHTS_PER_ROW = 300, 100  # beyond both a fit takes hours, and means nothing
Penalty = float | str
Task = tuple[Floats, Codes, Floats, Floats, Floats, Flags]  # X, codes, weight, penalty, start, free


@dataclass(frozen=True, slots=True)
class Solution:
    """What a fit gives.

    Attributes
    ----------
    theta : (m, m + 1) array
        (W, b).
    lam, mu : float
        Penalties.
    norm : float
        Norm of the gradient.
    steps : int
        Newton steps.
    errors : (m, m + 1) array or None
        Standard errors.
    """

    theta: Floats
    lam: float
    mu: float
    norm: float
    steps: int
    errors: Floats | None

    def give(self, calibrator: Any) -> None:
        """Set the fitted attributes of a calibrator."""
        calibrator.weights_ = np.ascontiguousarray(self.theta[:, :-1])
        calibrator.intercept_ = np.ascontiguousarray(self.theta[:, -1])
        calibrator.lam_, calibrator.mu_ = self.lam, self.mu
        calibrator.gradient_norm_, calibrator.n_iter_ = self.norm, self.steps
        calibrator.standard_errors_ = self.errors


@dataclass(kw_only=True, eq=False, repr=False)
class LinearMap(Calibrator):
    """Common parent of `MatrixScaling` and `DirichletCalibrator`, which document the options."""

    reg: str = "odir"
    lam: float | str | Sequence[float] = "auto"
    mu: float | str | Sequence[float] | None = None
    diagonal_lam: float | str = "auto"
    diagonal: str = "free"
    off_diagonal: str = "free"
    intercept: bool = True
    reference_class: bool = False
    clip: float = SMALLEST_PROBABILITY
    cv: object = 5
    random_state: int | None = None
    n_jobs: int | None = None

    @staticmethod
    @abstractmethod
    def _scores_of(inputs: Inputs) -> Floats:
        """Return what W multiplies, (n, m)."""

    def _scores(self, inputs: Inputs) -> Floats:
        return self._scores_of(inputs.clipped(self.clip))

    # ---- fit ------------------------------------------------------------------------------------

    def _fit(self, data: CalibrationSet) -> None:
        pairs = _pairs(self.lam, self.mu)
        jobs = check_jobs(self.n_jobs)
        best = 0
        if len(pairs) > 1:
            grid = [{"lam": lam, "mu": mu} for lam, mu in pairs]
            seed = self.random_state
            best = choose(
                self, data, self.classes_, grid, cv=self.cv, random_state=seed, n_jobs=jobs
            ).best
        self._minimise(data, *pairs[best]).give(self)

    def _fit_path(
        self, data: CalibrationSet, grid: Sequence[Mapping[str, Any]]
    ) -> list[Calibrator]:
        """Fit every setting, strong penalties first, each from the fit before it."""
        models = [clone(self).set_params(**setting) for setting in grid]
        pairs = [_pairs(model.lam, model.mu) for model in models]
        if any(len(p) > 1 for p in pairs) or any(set(s) - {"lam", "mu"} for s in grid):
            return [model.fit_set(data, np.arange(data.inputs.m)) for model in models]
        strength = [tuple(-1.0 if value == "auto" else value for value in p) for (p,) in pairs]
        order = sorted(range(len(models)), key=strength.__getitem__, reverse=True)
        first = None
        for _, row in groupby(order, lambda i: strength[i][0]):
            start, first = first, None
            for i in row:
                # By the model itself, which notes what the data leave undefined.
                solution = models[i]._minimise(data, *pairs[i][0], start=start)  # noqa: SLF001
                solution.give(models[i])
                start = solution.theta
                first = start if first is None else first
        return list(models)

    def _minimise(
        self, data: CalibrationSet, lam: Penalty, mu: Penalty, start: Floats | None = None
    ) -> Solution:
        X, codes, weight, total = self._design(data)
        unit = _unit(X)
        m = data.inputs.m
        free, tied, theta = self._constraints(m)
        _check_enough_rows(len(X), free[:, :m])
        kappa = self._kappa(1 if tied else m, total, lam)
        lam, mu = self._penalties(m, total, lam, mu)
        penalty = np.where(free, self._penalty(m, lam, mu, kappa), 0.0)
        X[:, :m] /= unit[0]
        task = X, codes, weight, penalty / unit**2, theta * unit, free
        # The penalty of the others, and that of "l2", is about 0.
        centre = theta * unit * (np.eye(m, m + 1) if self.reg == "odir" else 0)
        scale = self.diagonal != "fixed"
        options: dict[str, Any] = {"tied": tied, "scale": scale, "centre": centre}
        found = None
        if start is not None:
            # It can lie where the loss is flat: steps overflow, and the line search refuses them.
            with np.errstate(over="ignore", invalid="ignore"):
                found = solve(task, warm=np.where(free, start, theta) * unit, **options)
        if found is None or not found.converged:
            found = solve(task, **options)
        theta, norm, separated, steps, converged = found
        if not converged:
            self._note(f"no minimum after {steps} Newton steps, gradient {norm:.1e}")
        elif separated:
            self._warn_of_separation(codes, m)
        errors = None
        usual = not separated and not penalty.any() and self.off_diagonal != "dropped"
        if usual and theta.size <= softmax_regression.DENSE:
            errors = _errors(theta, X, codes, weight, free, tied=tied) / np.sqrt(total) / unit
        theta = self._gauged(theta / unit, penalty, free)
        return Solution(theta, lam, mu, norm, steps, errors)

    def _design(self, data: CalibrationSet) -> tuple[Floats, Codes, Floats, float]:
        """Return (s, 1), labels, weights that sum to 1, and what they summed to."""
        rows = softmax_regression.logit_rows(data, self._scores)
        X = np.column_stack([rows.logits, np.ones(len(rows.logits))])
        return X, rows.codes, rows.weight, max(rows.total, SMALLEST_TOTAL)

    def _constraints(self, m: int) -> tuple[Flags, bool, Floats]:
        """Return which entries of (W, b) are free, whether the diagonal is one, and the start."""
        diagonal = check_choice(self.diagonal, ("free", "common", "fixed"), "diagonal")
        off = check_choice(self.off_diagonal, ("free", "dropped", "zero"), "off_diagonal")
        free = np.full((m, m + 1), off != "zero")
        np.fill_diagonal(free, diagonal != "fixed")
        free[:, m] = check_flag(self.intercept, "intercept")
        start = np.eye(m, m + 1)
        if check_flag(self.reference_class, "reference_class"):
            check_whole_matrix(diagonal, off)
            start -= start[-1]
            free[-1] = False
        return free, diagonal == "common", start

    def _penalties(self, m: int, total: float, lam: Penalty, mu: Penalty) -> tuple[float, float]:
        """Return lam and mu as numbers; "auto" are those of normal priors, see the classes."""
        odir = check_choice(self.reg, ("odir", "l2"), "reg") == "odir"
        unit = 0.5 / total  # 1 / (2 n sd^2) with sd = 1
        auto = (4 * unit * m**3 * (m - 1), unit * m) if odir else (9 * unit * m, unit)
        return auto[0] if lam == "auto" else float(lam), auto[1] if mu == "auto" else float(mu)

    def _kappa(self, free: int, total: float, lam: Penalty) -> float:
        """Return diagonal_lam as a number; "auto" is that of normal priors beside those of lam."""
        (value,) = check_penalties([self.diagonal_lam], "diagonal_lam")
        if value == "auto":
            return 0.125 * free / total if lam == "auto" and self.reg == "odir" else 0.0
        if value and self.reg == "l2":
            rule = "diagonal_lam must go with reg='odir'"
            raise invalid(rule, shown(value), "leave it out: 'l2' penalises all weights")
        return float(value)

    def _penalty(self, m: int, lam: float, mu: float, kappa: float) -> Floats:
        """Return the second derivatives of the penalty."""
        if self.reg == "l2":
            return np.column_stack([np.full((m, m), 2 * lam), np.full(m, 2 * mu)])
        penalty = np.full((m, m + 1), 2 * lam / (m * (m - 1)))
        np.fill_diagonal(penalty, 2 * kappa / m)
        penalty[:, m] = 2 * mu / m
        return penalty

    def _gauged(self, theta: Floats, penalty: Floats, free: Flags) -> Floats:
        """Choose, of columns that only matter up to a constant, those with the sum of I and 0."""
        m = len(theta)
        any_constant: Flags = np.logical_and(free.all(axis=0), ~penalty.any(axis=0))
        excess = (theta.sum(axis=0) - np.append(np.ones(m), 0.0)) / m
        if self.diagonal == "common":  # then W is determined up to one constant for all of it
            any_constant[:m] = any_constant[:m].all()
            excess[:m] = excess[:m].mean()
        gauged = theta - np.where(any_constant, excess, 0.0)
        if self.off_diagonal == "dropped":
            gauged[:, :m] *= np.eye(m)
        return gauged

    def _warn_of_separation(self, codes: Codes, m: int) -> None:
        missing = m - len(np.unique(codes))
        why = "the labels are separated"
        if missing:
            why = "1 class does not occur" if missing == 1 else f"{missing} classes do not occur"
        text = f"{why}: the log loss has no minimum, and weights are where its gradient vanishes"
        self._note(f"{text}; pass larger lam and mu, or diagonal_lam")

    # ---- the fitted map -------------------------------------------------------------------------

    def _calibrate(self, inputs: Inputs) -> Floats:
        return softmax(self._scores(inputs) @ self.weights_.T, 1.0, self.intercept_)

    @property
    def linear_(self) -> tuple[Floats, Floats]:
        """(W, b) of softmax(W s + b)."""
        return self.weights_, self.intercept_

    @property
    def canonical_(self) -> tuple[Floats, Floats]:
        """(A, c) of softmax(A ln(m q) + ln c): A >= 0 with a zero in every column."""
        return parametrisations.linear_to_canonical(*self._of_log_probs())

    @property
    def generative_(self) -> tuple[Floats, Floats]:
        """(alpha, pi): Dirichlet parameters of the predictions of each class, and its share."""
        return parametrisations.linear_to_generative(*self._of_log_probs())

    def _of_log_probs(self) -> tuple[Floats, Floats]:
        """Return (W, b) where s = ln q; an AttributeError, as of what is not there, otherwise."""
        return self.linear_

    def interpretation_points(self, epsilon: float = 1e-6) -> tuple[Floats, Floats]:
        """Return m + 1 predictions at which the map shows its parameters, and their images.

        Point j < m lies at the middle of the facet where class j is impossible, at the distance
        `epsilon`; there column j of A decides, the classes with the least a_ij win. The last point
        is the centre, which is mapped to c.

        Parameters
        ----------
        epsilon : float, default 1e-6
            Probability of class j at point j.

        Returns
        -------
        (m + 1, m) array, (m + 1, m) array
            The points and their calibrated probabilities.
        """
        self._of_log_probs()
        epsilon = check_level(epsilon, "epsilon")
        points = parametrisations.interpretation_points(len(self.intercept_), epsilon)
        return points, self.calibrate(Inputs(points, from_logits=False))

    def coefficients(self) -> Sequence[Coefficient]:
        names = [str(name) for name in self.classes_.tolist()]
        labels = [[*(f"W[{i}, {j}]" for j in names), f"b[{i}]"] for i in names]
        values = np.column_stack(self.linear_)
        errors = np.full(values.shape, np.nan)
        if self.standard_errors_ is not None:
            errors = self.standard_errors_
        # The columns of W sum to 1 where the likelihood leaves them free, as those of the identity;
        # with a reference class its row is 0, and the identity is not among such (W, b).
        neutral = np.eye(*values.shape)
        return [
            Coefficient(
                label,
                float(value),
                None if np.isnan(error) else float(error),
                None if self.reference_class else float(identity),
            )
            for row in zip(labels, values, errors, neutral, strict=True)
            for label, value, error, identity in zip(*row, strict=True)
        ]


def _pairs(lam: object, mu: object) -> list[tuple[Penalty, Penalty]]:
    """Return the pairs of lam and mu to compare; mu is lam where it is not given."""
    lams = check_penalties(lam, "lam")
    if mu is None:
        return [(value, value) for value in lams]
    return list(product(lams, check_penalties(mu, "mu")))


def solve(task: Task, **options: Any) -> softmax_regression.Minimum:
    """Minimise: where products are small, in one thread of BLAS, which is then the fastest."""
    *_, start, _ = task
    if start.size > softmax_regression.DENSE:
        return softmax_regression.minimise(*task, **options)
    (found,) = map_threads(partial(softmax_regression.minimise, **options), [task], None)
    return found


def _unit(X: Floats) -> Floats:
    """Return units in which large scores have squares: powers of 2, so that no digit is lost."""
    largest = float(np.abs(X).max())
    unit = np.ones(X.shape[1])
    if largest > LARGEST_SCORE:
        unit[:-1] = 2.0 ** np.ceil(np.log2(largest / LARGEST_SCORE))
    return unit


def _errors(
    theta: Floats, X: Floats, codes: Codes, weight: Floats, free: Flags, *, tied: bool
) -> Floats:
    """Return standard errors by the pseudo-inverse of the mean observed information.

    It gives those of the fit whose free constants are chosen as in `_gauged`.
    """
    probs = softmax_regression.value_and_gradient(theta, X, codes, weight, np.zeros_like(theta))[2]
    basis = np.eye(theta.size)[free.ravel()]
    if tied:
        diagonal = np.eye(len(theta), len(theta) + 1).ravel()
        others = basis[basis @ diagonal == 0]
        basis = np.vstack([diagonal / np.linalg.norm(diagonal), others])
    information = basis @ softmax_regression.hessian(probs, X, weight) @ basis.T
    covariance = basis.T @ np.linalg.pinv(information, rcond=1e-12, hermitian=True) @ basis
    errors = np.sqrt(np.maximum(np.diagonal(covariance), 0.0)).reshape(theta.shape)
    return np.where(free, errors, np.nan)


def _check_enough_rows(n: int, free: Flags) -> None:
    """Refuse a matrix of very many weights that few rows determine, which would take hours."""
    m = len(free)
    weights = int(np.count_nonzero(free))
    if m > MANY_CLASSES and weights > WEIGHTS_PER_ROW * n:
        rule = f"with {m} classes a row must stand for at most {WEIGHTS_PER_ROW} weights"
        remedy = "use VectorScaling, which has one for each class"
        raise invalid(rule, f"{weights} weights and {n} rows", remedy)


def check_penalties(value: object, name: str) -> list[float | str]:
    """Check a penalty, a number of at least 0 or "auto", or a sequence of them, as a list."""
    several = isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)
    values: list[Any] = list(value) if several else [value]  # type: ignore[call-overload]
    for item in check_not_empty(values, name):
        number = isinstance(item, int | float | np.integer | np.floating)
        if item != "auto" and not (number and not isinstance(item, bool) and 0 <= item < np.inf):
            rule = f'{name} must be "auto", a number of at least 0, or a sequence of them'
            raise invalid(rule, shown(item), "pass 0 for no penalty")
    return [item if isinstance(item, str) else float(item) for item in values]


def check_whole_matrix(diagonal: str, off_diagonal: str) -> None:
    """Check that a matrix relative to its last row is fitted as a whole."""
    if (diagonal, off_diagonal) != ("free", "free"):
        got = f"diagonal={diagonal!r} and off_diagonal={off_diagonal!r}"
        rule = 'reference_class must go with diagonal="free" and off_diagonal="free"'
        raise invalid(rule, got, "leave one of them out")
