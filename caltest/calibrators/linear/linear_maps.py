"""What matrix scaling and Dirichlet calibration share: softmax(W s + b), its fit and forms."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, product, repeat
from typing import Any

import numpy as np
from scipy import special
from sklearn.base import clone

from caltest import checks
from caltest.calibrators.base import CalibrationSet, Calibrator, Coefficient
from caltest.calibrators.ensemble import Setting, check_folds, choose
from caltest.calibrators.inputs import SMALLEST_PROBABILITY, Inputs
from caltest.calibrators.linear import softmax_regression
from caltest.errors import invalid, shown
from caltest.numerics.softmax import softmax
from caltest.types import Codes, Flags, Floats

LARGEST_SCORE = 1e4  # of the scores that are taken as they are
SMALLEST_TOTAL = 1e-100  # of weights, whose inverse is a penalty: its square must be a number
MANY_CLASSES, WEIGHTS_PER_ROW = 300, 100  # beyond both a fit takes hours, and means nothing
Penalty = float | str
Pair = tuple[Floats, Floats]


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

    @abstractmethod
    def _scores(self, inputs: Inputs) -> Floats:
        """Return what W multiplies, (n, m)."""

    # ---- fit ------------------------------------------------------------------------------------

    def _fit(self, data: CalibrationSet) -> None:
        pairs = _pairs(self.lam, self.mu)
        seed, best = checks.check_random_state(self.random_state), 0
        folds_and_jobs = check_folds(self.cv), seed, checks.check_jobs(self.n_jobs)
        if len(pairs) > 1:
            grid = [{"lam": lam, "mu": mu} for lam, mu in pairs]
            # Those that are compared have no folds of their own, which need not be clonable.
            one = type(self)(**self.get_params(deep=False) | {"cv": 2})
            best, _, _ = choose(one, data, self.classes_, grid, *folds_and_jobs)
        self._minimise(data, *pairs[best])

    def _fit_path(self, data: CalibrationSet, grid: Sequence[Setting]) -> list[Calibrator]:
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
                models[i]._minimise(data, *pairs[i][0], start=start)  # noqa: SLF001
                start = np.column_stack(models[i].linear_)
                first = start if first is None else first
        return list(models)

    def _minimise(
        self, data: CalibrationSet, lam: Penalty, mu: Penalty, start: Floats | None = None
    ) -> None:
        X, codes, weight, total = self._design(data)
        m = data.inputs.m
        free, tied, theta = self._constraints(m)
        weights = int(np.count_nonzero(free[:, :m]))
        if m > MANY_CLASSES and weights > WEIGHTS_PER_ROW * len(X):  # it would take hours
            rule = f"with {m} classes a row must stand for at most {WEIGHTS_PER_ROW} weights"
            remedy = "use VectorScaling, which has one for each class"
            raise invalid(rule, f"{weights} weights and {len(X)} rows", remedy)
        lam, mu, penalty = self._penalties(lam, mu, free, total, tied=tied)
        # Units in which large scores have squares: powers of 2, so that no digit is lost.
        largest, unit = float(np.abs(X).max()), np.ones(m + 1)
        if largest > LARGEST_SCORE:
            unit[:-1] = 2.0 ** np.ceil(np.log2(largest / LARGEST_SCORE))
        X[:, :m] /= unit[0]
        # The penalty of the others, and that of "l2", is about 0.
        centre = theta * unit * (np.eye(m, m + 1) if self.reg == "odir" else 0)
        entries = penalty / unit**2, theta * unit, free, tied, self.diagonal != "fixed", centre
        task, found = softmax_regression.Problem(X, codes, weight, *entries), None
        if start is not None:
            # It can lie where the loss is flat: steps overflow, and the line search refuses them.
            with np.errstate(over="ignore", invalid="ignore"):
                found = softmax_regression.minimise(task, np.where(free, start, theta) * unit)
        if found is None or not found.converged:
            found = softmax_regression.minimise(task)
        theta, norm, separated, steps, converged = found
        if not converged:
            self._note(f"no minimum after {steps} Newton steps, gradient {norm:.1e}")
        elif separated:
            missing = m - len(np.unique(codes))
            why = "1 class does not occur" if missing == 1 else f"{missing} classes do not occur"
            text = "the log loss has no minimum, and weights are where its gradient vanishes"
            remedy = "pass larger lam and mu, or diagonal_lam"
            self._note(f"{why if missing else 'the labels are separated'}: {text}; {remedy}")
        errors = None
        usual = not separated and not penalty.any() and self.off_diagonal != "dropped"
        if usual and theta.size <= softmax_regression.DENSE:
            errors = _errors(task, theta) / np.sqrt(total) / unit
        theta = self._gauged(theta / unit, penalty, free)
        self._keep(theta, lam, mu, norm, steps, errors)

    def _keep(
        self, theta: Floats, lam: float, mu: float, norm: float, steps: int, errors: Floats | None
    ) -> None:
        self.weights_ = np.ascontiguousarray(theta[:, :-1])
        self.intercept_ = np.ascontiguousarray(theta[:, -1])
        self.lam_, self.mu_, self.gradient_norm_, self.n_iter_ = lam, mu, norm, steps
        self.standard_errors_ = errors

    def _design(self, data: CalibrationSet) -> tuple[Floats, Codes, Floats, float]:
        """Return (s, 1), labels, weights that sum to 1, and what they summed to."""
        rows = softmax_regression.logit_rows(data, self._scores)
        X = np.column_stack([rows.logits, np.ones(len(rows.logits))])
        return X, rows.codes, rows.weight, max(rows.total, SMALLEST_TOTAL)

    def _constraints(self, m: int) -> tuple[Flags, bool, Floats]:
        """Return which entries of (W, b) are free, whether the diagonal is one, and the start."""
        diagonal = checks.check_choice(self.diagonal, ("free", "common", "fixed"), "diagonal")
        off = checks.check_choice(self.off_diagonal, ("free", "dropped", "zero"), "off_diagonal")
        free = np.full((m, m + 1), off != "zero")
        np.fill_diagonal(free, diagonal != "fixed")
        free[:, m] = checks.check_flag(self.intercept, "intercept")
        start = np.eye(m, m + 1)
        if checks.check_flag(self.reference_class, "reference_class"):
            if (diagonal, off) != ("free", "free"):
                got = f"diagonal={diagonal!r} and off_diagonal={off!r}"
                rule = 'reference_class must go with diagonal="free" and off_diagonal="free"'
                raise invalid(rule, got, "leave one of them out")
            start -= start[-1]
            free[-1] = False
        return free, diagonal == "common", start

    def _penalties(
        self, lam: Penalty, mu: Penalty, free: Flags, total: float, *, tied: bool
    ) -> tuple[float, float, Floats]:
        """Return lam and mu as numbers, and the second derivatives of the penalty.

        "auto" are those of normal priors, see the classes.
        """
        m = len(free)
        (kappa,) = check_penalties([self.diagonal_lam], "diagonal_lam")
        odir = checks.check_choice(self.reg, ("odir", "l2"), "reg") == "odir"
        if kappa == "auto":
            kappa = 0.125 * (1 if tied else m) / total if lam == "auto" and odir else 0.0
        if kappa and not odir:
            rule = "diagonal_lam must go with reg='odir'"
            raise invalid(rule, shown(kappa), "leave it out: 'l2' penalises all weights")
        unit = 0.5 / total  # 1 / (2 n sd^2) with sd = 1
        auto = (4 * unit * m**3 * (m - 1), unit * m) if odir else (9 * unit * m, unit)
        given = zip((lam, mu), auto, strict=True)
        lam, mu = (usual if value == "auto" else float(value) for value, usual in given)
        penalty = np.full((m, m + 1), 2 * lam / (m * (m - 1)) if odir else 2 * lam)
        penalty[:, m] = 2 * mu / m if odir else 2 * mu
        if odir:
            np.fill_diagonal(penalty, 2 * float(kappa) / m)
        return lam, mu, np.where(free, penalty, 0.0)

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

    # ---- the fitted map -------------------------------------------------------------------------

    def _calibrate(self, inputs: Inputs) -> Floats:
        return softmax(self._scores(inputs) @ self.weights_.T, 1.0, self.intercept_)

    @property
    def linear_(self) -> Pair:
        """(W, b) of softmax(W s + b)."""
        return self.weights_, self.intercept_

    @property
    def canonical_(self) -> Pair:
        """(A, c) of softmax(A ln(m q) + ln c): A >= 0 with a zero in every column."""
        return linear_to_canonical(*self._of_log_probs())

    @property
    def generative_(self) -> Pair:
        """(alpha, pi): Dirichlet parameters of the predictions of each class, and its share."""
        return linear_to_generative(*self._of_log_probs())

    def _of_log_probs(self) -> Pair:
        """Return (W, b) where s = ln q; an AttributeError, as of what is not there, otherwise."""
        return self.linear_

    def interpretation_points(self, epsilon: float = 1e-6) -> Pair:
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
        epsilon = checks.check_level(epsilon, "epsilon")
        points = interpretation_points(len(self.intercept_), epsilon)
        return points, self.calibrate(Inputs(points, from_logits=False))

    def coefficients(self) -> Sequence[Coefficient]:
        names = [str(name) for name in self.classes_.tolist()]
        labels = [label for i in names for label in (*(f"W[{i}, {j}]" for j in names), f"b[{i}]")]
        values = np.column_stack(self.linear_)
        errors = np.full(values.shape, np.nan)
        if self.standard_errors_ is not None:
            errors = self.standard_errors_
        known = [None if np.isnan(e) else e for e in errors.ravel().tolist()]
        # The columns of W sum to 1 where the likelihood leaves them free, as those of the identity;
        # with a reference class its row is 0, and the identity is not among such (W, b).
        neutral = repeat(None) if self.reference_class else np.eye(*values.shape).ravel().tolist()
        return list(map(Coefficient, labels, values.ravel().tolist(), known, neutral))


def _pairs(lam: object, mu: object) -> list[tuple[Penalty, Penalty]]:
    """Return the pairs of lam and mu to compare; mu is lam where it is not given."""
    lams = check_penalties(lam, "lam")
    if mu is None:
        return [(value, value) for value in lams]
    return list(product(lams, check_penalties(mu, "mu")))


def _errors(task: softmax_regression.Problem, theta: Floats) -> Floats:
    """Return standard errors by the pseudo-inverse of the mean observed information.

    It gives those of the fit whose free constants are chosen as in `_gauged`.
    """
    basis = np.eye(theta.size)[task.free.ravel()]
    if task.tied:
        diagonal = np.eye(len(theta), len(theta) + 1).ravel()
        others = basis[basis @ diagonal == 0]
        basis = np.vstack([diagonal / np.linalg.norm(diagonal), others])
    H = softmax_regression.hessian(task.at(theta)[2], task.X, task.weight)
    information = basis @ H @ basis.T
    covariance = basis.T @ np.linalg.pinv(information, rcond=1e-12, hermitian=True) @ basis
    errors = np.sqrt(np.maximum(np.diagonal(covariance), 0.0)).reshape(theta.shape)
    return np.where(task.free, errors, np.nan)


def check_penalties(value: object, name: str) -> list[float | str]:
    """Check a penalty, a number of at least 0 or "auto", or a sequence of them, as a list."""
    several = isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0)
    values: list[Any] = list(value) if several else [value]  # type: ignore[call-overload]
    for item in checks.check_not_empty(values, name):
        number = isinstance(item, int | float | np.integer | np.floating)
        legal = number and not isinstance(item, bool) and 0 <= item < np.inf
        if not legal and not (isinstance(item, str) and item == "auto"):
            rule = f'{name} must be "auto", a number of at least 0, or a sequence of them'
            raise invalid(rule, shown(item), "pass 0 for no penalty")
    return [item if isinstance(item, str) else float(item) for item in values]


# ---- the three forms of a Dirichlet calibration map, Kull et al. 2019, section 3 and theorem 1 ---
#
# - linear: softmax(W ln q + b); W and b are determined up to one constant per column.
# - canonical: softmax(A ln(k q) + ln c), with A >= 0, a zero in every column of A, and c on the
#   simplex. It is unique, and c is what the uniform prediction is mapped to.
# - generative: predictions of class i are Dirichlet(alpha_i), and the classes have the shares pi;
#   the map is the posterior probability. Adding constants to columns of alpha changes pi and not
#   the map, so every map has parameters alpha > 0; here alpha = A + 1.


def linear_to_canonical(W: Floats, b: Floats) -> Pair:
    """Turn (W, b) into (A, c), proof of theorem 1.

    Parameters
    ----------
    W : (k, k) array
        Weights of ln q.
    b : (k,) array
        Intercepts.

    Returns
    -------
    (k, k) array, (k,) array
        A, whose columns have the minimum 0, and c, which sums to 1.

    Examples
    --------
    >>> import numpy as np
    >>> A, c = linear_to_canonical(np.array([[2.0, -1.0], [1.0, 0.5]]), np.zeros(2))
    >>> A.tolist(), c.round(3).tolist()
    ([[1.0, 0.0], [0.0, 1.5]], [0.586, 0.414])
    """
    return W - W.min(axis=0), special.softmax(b - W.sum(axis=1) * np.log(len(b)))


def linear_to_generative(W: Floats, b: Floats, least: Floats | float = 1.0) -> Pair:
    """Turn (W, b) into (alpha, pi) with the smallest alpha that is at least 1.

    Parameters
    ----------
    W : (k, k) array
        Weights of ln q.
    b : (k,) array
        Intercepts.
    least : float or (k,) array, default 1.0
        The least alpha in each column.

    Returns
    -------
    (k, k) array, (k,) array
        alpha, in row i the Dirichlet parameters of class i, and pi, the shares of the classes. A
        share below 1e-308 becomes 0.

    Examples
    --------
    >>> import numpy as np
    >>> alpha, pi = linear_to_generative(np.eye(2), np.zeros(2))
    >>> alpha.tolist(), pi.tolist()
    ([[2.0, 1.0], [1.0, 2.0]], [0.5, 0.5])
    """
    alpha = W - W.min(axis=0) + least
    return alpha, special.softmax(b + _log_beta(alpha))


def generative_to_linear(alpha: Floats, pi: Floats) -> Pair:
    """Turn (alpha, pi) into (W, b) with W = alpha - 1.

    Parameters
    ----------
    alpha : (k, k) array
        In row i the Dirichlet parameters of class i, above 0.
    pi : (k,) array
        Shares of the classes; zeros become intercepts of minus infinity.

    Returns
    -------
    (k, k) array, (k,) array
        W and b.

    Examples
    --------
    >>> import numpy as np
    >>> W, b = generative_to_linear(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([0.5, 0.5]))
    >>> W.tolist(), np.exp(b).round(12).tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0])
    """
    with np.errstate(divide="ignore"):
        return alpha - 1, np.log(pi) - _log_beta(alpha)


def interpretation_points(k: int, epsilon: float) -> Floats:
    """Return the predictions at which the canonical form can be read, Kull et al., section 3.

    Near the middle of a facet, where class j has the probability epsilon and the others are equal,
    the map is proportional to epsilon ** a_ij up to a bounded factor, so that column j of A alone
    decides; the centre is mapped to c.

    Parameters
    ----------
    k : int
        Number of classes.
    epsilon : float
        How near.

    Returns
    -------
    (k + 1, k) array
        The points of the k facets, and the centre.
    """
    points = np.full((k + 1, k), (1 - epsilon) / (k - 1))
    np.fill_diagonal(points, epsilon)
    points[k] = 1 / k
    return points


def _log_beta(alpha: Floats) -> Floats:
    """Return ln B(alpha_i) of each row, the constant of a Dirichlet density."""
    return np.asarray(special.gammaln(alpha).sum(axis=1) - special.gammaln(alpha.sum(axis=1)))
