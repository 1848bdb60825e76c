"""What all kernel classifiers do, and probabilities from their latent functions."""

from __future__ import annotations

import math
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_ndtr, ndtr, ndtri, softmax
from scipy.stats import qmc
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import IsotonicRegression
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data

from caltest import checks
from caltest.classifiers.rbf import RBFParameters
from caltest.errors import invalid, shown
from caltest.numerics.logistic import fit_logistic
from caltest.numerics.loops import map_threads, njit, one_blas_thread
from caltest.render import Sheet, number
from caltest.results import Summary
from caltest.types import AnyArray, Codes, Flags, Floats, Ints

ROUNDING = 1e-12  # of scores: a smaller spread, relative to the largest, is none


def of_sigmoids(
    scores: Floats, slopes: Floats, intercepts: Floats, curve: Callable[[Floats], Floats] = expit
) -> Floats:
    """Return probabilities, (..., K), of scores, (..., K), by a sigmoid for each class.

    Parameters
    ----------
    scores : (..., K) array
        Scores.
    slopes, intercepts : (K,) or (1,) array
        Of P(class) = curve(slope score + intercept), before rows are divided by their sums; of two
        classes those of the second.
    curve : callable
        The logistic function, or the distribution function of the standard normal.
    """
    return rows_of_events(curve(slopes * scores[..., -len(slopes) :] + intercepts))


def of_isotonic(scores: Floats, fits: Sequence[IsotonicRegression]) -> Floats:
    """Return probabilities, (..., K), of scores, (..., K), by a regression for each class."""
    pairs = zip(fits, np.moveaxis(scores[..., -len(fits) :], -1, 0), strict=True)
    events = [fit.predict(one.ravel()).reshape(one.shape) for fit, one in pairs]
    return rows_of_events(np.stack(events, axis=-1))


def rows_of_events(events: Floats) -> Floats:
    """Turn probabilities of the classes, or of the second of two alone, into rows of sum 1."""
    if events.shape[-1] == 1:
        return np.concatenate([1 - events, events], axis=-1)
    return normalised(events)


def fit_sigmoids(scores: Floats, codes: Ints, *, probit: bool = False) -> partial[Floats]:
    """Fit them to scores, (n, K), of rows that the classifier was not fitted on."""
    fits = [fit_sigmoid(*pair, probit=probit) for pair in _events(scores, codes)]
    slopes, intercepts = np.array(fits).T
    curve = ndtr if probit else expit
    return partial(of_sigmoids, slopes=slopes, intercepts=intercepts, curve=curve)


def fit_isotonic(scores: Floats, codes: Ints) -> partial[Floats]:
    """Fit isotonic regressions to scores, (n, K), of rows the classifier was not fitted on."""
    pairs = _events(scores, codes)
    fits = [IsotonicRegression(out_of_bounds="clip").fit(*pair) for pair in pairs]
    return partial(of_isotonic, fits=fits)


def _events(scores: Floats, codes: Ints) -> list[tuple[Floats, Flags]]:
    K = scores.shape[1]
    return [(scores[:, k], codes == k) for k in ([1] if K == 2 else range(K))]


def fit_sigmoid(scores: Floats, event: Flags, *, probit: bool = False) -> tuple[float, float]:
    """Return slope and intercept of P(event) = expit(slope score + intercept).

    The targets are (N+ + 1) / (N+ + 2) and 1 / (N- + 2), so that the fit is finite where the
    scores separate the labels (Platt 1999, section 2.2). The slope of scores that are constant, to
    rounding, is 0.

    Parameters
    ----------
    scores : (n,) array
        Any real numbers.
    event : (n,) array of bool
        Labels.
    probit : bool
        Whether the normal distribution function takes the place of the logistic one.
    """
    n, positive = len(event), event.sum()
    targets = np.where(event, (positive + 1) / (positive + 2), 1 / (n - positive + 2))
    centre, spread = scores.mean(), scores.std()
    if spread <= ROUNDING * np.abs(scores).max(initial=0.0):
        spread = 0.0
    z = (scores - centre) / spread if spread > 0 else np.zeros(n)
    design = np.stack([z, np.ones(n)])
    if probit:
        start, exact = np.zeros(2), {"gtol": 1e-10}
        beta = minimize(_probit_loss, start, (design, targets), "BFGS", jac=True, options=exact).x
    else:
        beta, _ = fit_logistic(design, targets, np.full(n, 1 / n), np.zeros(2))
    slope = float(beta[0] / spread) if spread > 0 else 0.0
    return slope, float(beta[1] - slope * centre)


def _probit_loss(beta: Floats, design: Floats, targets: Floats) -> tuple[float, Floats]:
    """Return the mean log loss of Phi(beta' design), which is convex, and its gradient."""
    eta = beta @ design
    logs, share = log_ndtr([eta, -eta]), np.array([targets, 1 - targets]) / targets.size
    ratios = np.exp(-eta * eta / 2 - logs) / math.sqrt(2 * math.pi)  # of the density and Phi
    pull = share * ratios
    return -float(np.vdot(share, logs)), design @ (pull[1] - pull[0])


def normalised(shares: Floats) -> Floats:
    """Divide by the sums over the last axis; where all are 0, the classes are equally probable."""
    total = shares.sum(axis=-1, keepdims=True)
    out: Floats = np.full_like(shares, 1 / shares.shape[-1])
    np.divide(shares, total, out=out, where=total > 0)
    return out


CHUNK = 256  # rows at a time


Columns = tuple[Floats, ...]
HELD = 2**20  # samples of latent values that are held at a time


def normal_samples(S: int, K: int, rng: np.random.Generator) -> Floats:
    """Return S points of K standard normal variables, (S, K), evenly spread (scrambled Sobol).

    The same points serve all rows, so that predictions are smooth and do not depend on what else
    is predicted.
    """
    power = int(np.ceil(np.log2(S)))
    uniform = qmc.Sobol(K, seed=rng).random_base2(power)[:S]
    return np.asarray(ndtri(np.clip(uniform, 2.0**-40, 1 - 2.0**-40)))


def in_parts(
    function: Callable[..., Columns], rows: Sequence[Floats], size: int, n_jobs: int | None
) -> list[Floats]:
    """Compute arrays for some rows at a time, of one array or of several."""
    size = max(1, size)
    starts = range(0, len(rows[0]), size)
    tasks = [tuple(array[start : start + size] for array in rows) for start in starts]
    parts = list(map_threads(function, tasks, n_jobs))
    return [np.concatenate(columns) for columns in zip(*parts, strict=True)]


def softmax_means(mean: Floats, deviation: Floats, samples: Floats, n_jobs: int | None) -> Floats:
    """Return the mean of the softmax of N(mean, deviation^2), row by row, (n, K)."""
    return in_parts(partial(_means, samples=samples), (mean, deviation), CHUNK, n_jobs)[0]


@njit()
def _means(mean: Floats, deviation: Floats, samples: Floats) -> tuple[Floats]:
    (n, K), S = mean.shape, samples.shape[0]
    out, f = np.zeros((n, K)), np.empty(K)
    for i in range(n):
        for s in range(S):
            top = -np.inf
            for k in range(K):
                f[k] = mean[i, k] + deviation[i, k] * samples[s, k]
                top = max(top, f[k])
            total = 0.0
            for k in range(K):
                f[k] = np.exp(f[k] - top)
                total += f[k]
            for k in range(K):
                out[i, k] += f[k] / total
        out[i] /= S
    return (out,)


# ---- What the classifiers share: labels, features, the optimiser, the print ---------------------

Objective = Callable[[Floats], tuple[float, Floats]]

PLACEMENTS = ("k-means", "random")
REACH = float(np.log(1e5))  # a kernel parameter stays within this factor of where it starts
LARGEST_FEATURE = 1e150  # feature; the squares of larger ones overflow
PRECISION = 1e-7  # of the bound per row, where a step that gains less ends its maximisation
LISTED = 6  # length scales that the summary lists


@dataclass(frozen=True)
class Maximum:
    """Where L-BFGS ended, what it reached there, and whether it ended before `max_iter` steps."""

    theta: Floats
    value: float
    steps: int
    converged: bool


def kernel_of(theta: Floats) -> RBFParameters:
    """Return the kernel of the logarithms of variance and length scales."""
    return RBFParameters(float(np.exp(theta[0])), np.exp(theta[1:]))


@dataclass(kw_only=True, eq=False, repr=False)
class KernelClassifier(ClassifierMixin, BaseEstimator, ABC):
    """A classifier with an RBF kernel.

    Subclasses check their options and fit in `_fit`, and give probabilities in `_probabilities`.
    """

    title: ClassVar[str]
    random_state: Any = None
    verbose: bool = False

    @abstractmethod
    def _fit(self, X: Floats, codes: Codes, rng: np.random.RandomState) -> None:
        """Check the options and set the attributes that end with an underscore."""

    @abstractmethod
    def _probabilities(self, X: Floats) -> Floats:
        """Return the probabilities of the classes, (n, K)."""

    @abstractmethod
    def _facts(self) -> dict[str, object]:
        """Return kernel, hyper-parameters and criterion of the fit, for the summary."""

    def fit(self, X: object, y: object) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Features of similar scale, such as those that scikit-learn's StandardScaler gives.
        y : array_like of shape (n,)
            Labels of at least two classes.

        Returns
        -------
        KernelClassifier
            The classifier itself.

        Raises
        ------
        ValueError
            If the features or labels break scikit-learn's rules, a feature is beyond 1e150, or an
            option breaks its own rule.
        """
        values, labels = validate_data(self, X, y, dtype=np.float64)
        _check_size(values)
        labels = checks.label_values(labels, "y")
        check_classification_targets(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            rule, remedy = "y must have at least two classes", "pass labels of two or more"
            raise invalid(rule, "one class", remedy)
        start = time.perf_counter()
        # n_jobs gives the threads: those of BLAS wait for each other on a busy machine.
        with one_blas_thread():
            self._fit(values, codes.astype(np.int64), check_random_state(self.random_state))
        self.n_samples_fit_ = len(values)
        self.fit_time_ = time.perf_counter() - start
        return self

    def predict_proba(self, X: object) -> Floats:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Features.

        Returns
        -------
        (n, K) array
            Rows sum to 1.
        """
        values = self._features(X)
        with one_blas_thread():
            return self._probabilities(values)

    def predict(self, X: object) -> AnyArray:
        """Return the most probable class.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Features.

        Returns
        -------
        (n,) array
            Labels.
        """
        probs = self.predict_proba(X)
        return np.asarray(self.classes_[probs.argmax(axis=1)])

    def summary(self) -> Summary:
        """Return kernel, hyper-parameters, bound, sizes and time of the fit, for printing.

        Returns
        -------
        Summary
            It prints as text, Markdown, HTML and LaTeX.
        """
        check_is_fitted(self)
        facts = {
            "classifier": " ".join(repr(self).split()),
            "classes (K)": len(self.classes_),
            "observations (n)": self.n_samples_fit_,
            "features (d)": self.n_features_in_,
            **self._facts(),
            "time of the fit": f"{self.fit_time_:.3g} s",
        }
        lines = tuple((name, number(value)) for name, value in facts.items())
        return Summary(Sheet(title=self.title, facts=lines, listing=True))

    def _print_progress(self, line: str) -> None:
        """Print how far the fit is, if `verbose`."""
        if self.verbose:
            print(f"{type(self).__name__}: {line}", flush=True)  # noqa: T201 - asked for

    def _features(self, X: object) -> Floats:
        check_is_fitted(self)
        values: Floats = validate_data(self, X, dtype=np.float64, reset=False)
        _check_size(values)
        return values


@dataclass(kw_only=True, eq=False, repr=False)
class GPClassifier(KernelClassifier):
    """A classifier with K latent Gaussian processes that share a kernel.

    Subclasses give mean and variance of the latent functions in `_latent`. The probabilities are
    the mean of their softmax, unless a subclass says otherwise.
    """

    bound_name = "bound of the log marginal likelihood"  # with inducing points
    n_inducing: int | None = None
    inducing: str = "k-means"
    ard: bool = False
    max_iter: int = 100
    n_samples: int = 1024
    n_jobs: int | None = None
    inducing_points_: Any = field(init=False)  # an array, or None where the posterior is exact

    @abstractmethod
    def _latent(self, X: Floats) -> tuple[Floats, Floats]:
        """Return the posterior mean and variance of the latent functions, each (n, K)."""

    def predict_latent(self, X: object) -> tuple[Floats, Floats]:
        """Return mean and variance of the latent functions.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Features.

        Returns
        -------
        mean : (n, K) array
            Means of the normal posterior of the latent functions.
        variance : (n, K) array
            Their variances, without noise.
        """
        values = self._features(X)
        with one_blas_thread():
            return self._latent(values)

    def predict_proba_interval(self, X: object, *, confidence: float = 0.95) -> Floats:
        """Return where the probabilities lie with probability `confidence` under the posterior.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Features.
        confidence : float, default 0.95
            In (0, 1).

        Returns
        -------
        (n, K, 2) array
            The quantiles (1 - confidence) / 2 and (1 + confidence) / 2 for each class.
        """
        tail = (1 - checks.check_confidence(confidence)) / 2
        values = self._features(X)
        points = self._points()

        def part(mean: Floats, deviation: Floats) -> tuple[Floats]:
            probs = self._of_latent(mean[:, None] + deviation[:, None] * points)
            return (np.moveaxis(np.quantile(probs, [tail, 1 - tail], axis=1), 0, -1),)

        with one_blas_thread():
            mean, variance = self._latent(values)
            return in_parts(part, (mean, np.sqrt(variance)), HELD // points.size, self.n_jobs)[0]

    def _probabilities(self, X: Floats) -> Floats:
        mean, variance = self._latent(X)
        return softmax_means(mean, np.sqrt(variance), self._points(), self.n_jobs)

    def _of_latent(self, f: Floats) -> Floats:
        """Return the probabilities that go with latent values, (..., K)."""
        return np.asarray(softmax(f, axis=-1))

    def _points(self) -> Floats:
        # A seed of its own: predicting twice gives the same, and does not advance random_state.
        return normal_samples(self.n_samples, len(self.classes_), np.random.default_rng(0))

    def _check_options(self) -> None:
        checks.check_choice(self.inducing, PLACEMENTS, "inducing")
        checks.check_optional_integer(self.n_inducing, "n_inducing")
        checks.check_integer(self.max_iter, "max_iter")
        checks.check_integer(self.n_samples, "n_samples")
        checks.check_flag(self.ard, "ard")
        checks.check_flag(self.verbose, "verbose")
        checks.check_jobs(self.n_jobs)

    # ---- the fit of the kernel ------------------------------------------------------------------

    def _start(self, X: Floats, variance: float) -> Floats:
        """Return log variance and log length scales to start from, those of the authors' code."""
        return np.log([variance, *[scale_of(X)] * (X.shape[1] if self.ard else 1)])

    def _slope(self, gradient: Floats) -> Floats:
        """Return the derivatives by log variance and log length scales, from `kernel_gradient`."""
        return gradient if self.ard else np.array([gradient[0], gradient[1:].sum()])

    def _maximise(
        self,
        objective: Objective,
        start: Floats,
        n: int,
        *,
        middle: Floats | None = None,
        precision: float = PRECISION,
    ) -> Maximum:
        """Maximise a sum over n rows by L-BFGS, within bounds about the start or the middle."""
        steps, last, name = 0, 0.0, self._name_of_bound()

        def negative(theta: Floats) -> tuple[float, Floats]:
            nonlocal last
            last, gradient = objective(theta)
            return -last / n, -gradient / n

        def report(_: Floats) -> None:
            nonlocal steps
            steps += 1
            self._print_progress(f"step {steps}, {name} of {n} rows {last:.8g}")

        bounds = [(x - REACH, x + REACH) for x in (start if middle is None else middle)]
        limits = {"maxiter": self.max_iter, "ftol": precision, "gtol": precision}
        how: dict[str, Any] = {"jac": True, "method": "L-BFGS-B", "bounds": bounds}
        done = minimize(negative, start, options=limits, callback=report, **how)
        converged = bool(done.success) or done.nit < self.max_iter
        return Maximum(done.x, float(-done.fun * n), int(done.nit), converged)

    def _end(self, found: Maximum) -> None:
        """Keep the number of steps, and warn where more of them would lead higher."""
        self.n_iter_ = found.steps
        if not found.converged:
            text = f"the {self._name_of_bound()} still grew after max_iter={self.max_iter} steps"
            warnings.warn(f"{text}; pass more", ConvergenceWarning, stacklevel=4)

    def _facts(self) -> dict[str, object]:
        points = self.inducing_points_
        limit = ", all that max_iter allows" if self.n_iter_ >= self.max_iter else ""
        return {
            "inducing points (M)": "none, exact" if points is None else len(points),
            "kernel": "RBF" + (", one length scale per feature" if self.ard else ""),
            "variance": self.variance_,
            "length scale": _listed(self.length_scale_),
            **self._more_facts(),
            self._name_of_bound(): self.bound_,
            "steps": f"{self.n_iter_}{limit}",
        }

    def _name_of_bound(self) -> str:
        """Return what is maximised; `inducing_points_` is set."""
        exact = self.inducing_points_ is None
        return "log marginal likelihood" if exact else self.bound_name

    def _more_facts(self) -> dict[str, object]:
        """Return what else the summary shows."""
        return {}


def scale_of(X: Floats) -> float:
    """Return the mean deviation of the features times the root of their number.

    It is 1 where all features are constant: what rounding leaves is no deviation.
    """
    rounding = 8 * np.finfo(np.float64).eps * np.abs(X).max(axis=0)
    deviations = np.std(X, axis=0)
    scale = float(np.mean(np.where(deviations > rounding, deviations, 0)) * np.sqrt(X.shape[1]))
    return scale if scale > 1 / LARGEST_FEATURE else 1.0


def grid_of(values: object, name: str) -> list[float]:
    """Return the positive numbers of an option that takes one or several."""
    grid: list[object] = np.atleast_1d(np.asarray(values, dtype=object)).tolist()
    return [checks.check_positive(value, name) for value in checks.check_not_empty(grid, name)]


def _check_size(X: Floats) -> None:
    beyond = np.abs(X).max(axis=1) > LARGEST_FEATURE
    if beyond.any():
        row = int(beyond.argmax())
        got = f"{shown(float(np.abs(X[row]).max()))} at row {row}"
        raise invalid(f"features must lie within {LARGEST_FEATURE:g} of 0", got, "pass them scaled")


def _listed(scales: Floats) -> str:
    if len(scales) <= LISTED:
        return ", ".join(number(float(scale)) for scale in scales)
    low, high = number(float(scales.min())), number(float(scales.max()))
    return f"{low} to {high}, of {len(scales)} features"
