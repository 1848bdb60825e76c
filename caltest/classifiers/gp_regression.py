"""Classification by Gaussian-process regression on the labels."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np

from caltest.checks import check_choice, check_flag, check_level
from caltest.classifiers import base, regressions
from caltest.errors import DegenerateDataWarning
from caltest.types import Codes, Floats

SCALINGS = {"probit": "probit scaling", "isotonic": "isotonic regression"}


@dataclass(kw_only=True, eq=False, repr=False)
class GPRegressionClassifier(regressions.RegressionsClassifier):
    r"""Least squares on labels by Gaussian processes, with or without Platt scaling.

    The labels, 1 for the class and 0 for the others, less their means are the targets of K
    regressions with one RBF kernel and one learned variance of the noise. The posterior means,
    negative ones set to 0 and divided by their sum, are taken for probabilities. With `platt`, a
    sigmoid of the posterior mean of each class (of the second of two) is fitted to rows that were
    held out of the regression, with Platt's targets, and the rows are divided by their sums; or a
    probit, :math:`\Phi(a f + b)`, or an isotonic regression takes the place of the sigmoid.

    Parameters
    ----------
    platt : bool, "probit" or "isotonic", default False
        Whether to apply Platt scaling (section 3), with the standard normal distribution function
        in place of the logistic one, as the authors' code can too (there by default without an
        intercept), or isotonic regression, the paper's other way to calibrate (section 2).
    held_out : float, default 0.2
        Share of the rows of each class that it is fitted on, in (0, 1).
    n_inducing : int, optional
        Number of inducing points; the posterior is exact where it is not less than that of the
        rows. By default it is exact up to 1000 rows, and has 500 inducing points beyond; with K
        above 16 classes the former, and above 67 both, are at most the root of 2^24 / K, so that
        memory is bounded.
    inducing : {"k-means", "random"}, default "k-means"
        Where they lie: at the centres of k-means, or at random rows.
    ard : bool, default False
        Whether each feature has its own length scale.
    max_iter : int, default 100
        Most steps of L-BFGS. Each parameter of the kernel stays within a factor of 1e5 of
        where it starts, at the spread of the labels and of the features.
    n_samples : int, default 1024
        Quasi-random points of which `predict_proba_interval` takes the quantiles.
    random_state : int, RandomState or None
        The seed of the inducing points and of what is held out.
    n_jobs : int, optional
        Threads, as in joblib: None is one, -1 all cores.
    verbose : bool, default False
        Whether to print the evidence lower bound at each step.

    Attributes
    ----------
    classes_ : (K,) array
        The labels, sorted.
    variance_ : float
        Variance of the kernel.
    length_scale_ : (1,) or (d,) array
        Length scales of the kernel.
    noise_ : float
        Variance of the noise.
    slopes_, intercepts_ : (K,) or (1,) array or None
        Of the sigmoids or probits; None without them.
    inducing_points_ : (M, d) array or None
        None where the posterior is exact.
    bound_ : float
        Log marginal likelihood of the labels as numbers, summed over classes; its collapsed bound
        where there are inducing points.
    n_iter_ : int
        Steps of L-BFGS.
    n_samples_fit_ : int
        Number of rows of the fit.
    fit_time_ : float
        Seconds.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : (d,) array
        Names of the features, where a data frame was given.

    Warns
    -----
    DegenerateDataWarning
        If the classes have so few rows that none can be held out; Platt scaling is then fitted to
        the rows of the regression.

    References
    ----------
    Milios, Camoriano, Michiardi, Rosasco, Filippone (2018), Dirichlet-based Gaussian processes for
    large-scale calibrated classification, sections 3 and 5. Platt (1999), Probabilistic outputs
    for support vector machines.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from caltest.classifiers import GPRegressionClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GPRegressionClassifier(platt=True, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    title = "Gaussian-process regression on labels"

    platt: bool | str = False
    held_out: float = 0.2

    def _fit(self, X: Floats, codes: Codes, rng: np.random.RandomState) -> None:
        self._check_options()
        if isinstance(self.platt, str):
            check_choice(self.platt, ("probit", "isotonic"), "platt")
        else:
            check_flag(self.platt, "platt")
        share = check_level(self.held_out, "held_out")
        held = _held_out(codes, share, rng) if self.platt else np.zeros(len(codes), dtype=bool)
        self._end(self._fit_regressions(X[~held], codes[~held], rng))
        self._scaled: partial[Floats] | None = None
        self.slopes_ = self.intercepts_ = None
        if self.platt:
            self._n_held_out = int(held.sum())
            held = held if held.any() else ~held
            scores = self._latent(X[held])[0]
            if self.platt == "isotonic":
                self._scaled = base.fit_isotonic(scores, codes[held])
                return
            found = base.fit_sigmoids(scores, codes[held], probit=self.platt == "probit")
            self._scaled = found
            self.slopes_, self.intercepts_ = (found.keywords[of] for of in ("slopes", "intercepts"))

    def _fit_regressions(self, X: Floats, codes: Codes, rng: np.random.RandomState) -> base.Maximum:
        counts = np.bincount(codes)
        bound_to = self._regressions(X, codes, rng)

        def objective(theta: Floats) -> tuple[float, Floats]:
            targets = regressions.label_targets(float(np.exp(theta[0])), counts)
            found = bound_to.evidence(targets, base.kernel_of(theta[1:]))
            return found.value, np.concatenate([[found.log_noise], self._slope(found.kernel)])

        shares = counts / len(codes)
        spread = float((shares * (1 - shares)).mean())  # the mean variance of a label
        start = np.concatenate([[np.log(spread)], self._start(X, spread)])
        found = self._maximise(objective, start, len(X))
        theta, self.bound_ = found.theta, found.value
        self.noise_, kernel = float(np.exp(theta[0])), base.kernel_of(theta[1:])
        self.variance_, self.length_scale_ = kernel
        targets = regressions.label_targets(self.noise_, counts)
        self._centre = targets.centre
        self._posterior = bound_to.posterior(targets, kernel)
        return found

    def _probabilities(self, X: Floats) -> Floats:
        return self._of_latent(self._latent(X)[0])

    def _of_latent(self, f: Floats) -> Floats:
        if self._scaled is not None:
            return self._scaled(f)
        return base.normalised(np.maximum(f, 0))

    def _points(self) -> Floats:
        points = super()._points()
        if points.shape[1] == 2:
            # The two regressions are one: their labels sum to 1.
            points[:, 0] = -points[:, 1]
        return points

    def _more_facts(self) -> dict[str, object]:
        name, scaling = SCALINGS.get(str(self.platt), "Platt scaling"), "no"
        if self.platt:
            held = self._n_held_out
            scaling = f"on {held} rows held out" if held else "on the rows of the regression"
        return {"noise": self.noise_, name: scaling}


def _held_out(codes: Codes, share: float, rng: np.random.RandomState) -> np.ndarray:
    """Mark rows at random, the same share of each class, and never all of one."""
    held = np.zeros(len(codes), dtype=bool)
    for code, count in enumerate(np.bincount(codes)):
        size = min(int(share * count + 0.5), count - 1)
        held[rng.permutation(np.flatnonzero(codes == code))[:size]] = True
    if not held.any():
        text = "no row is held out, since the classes have too few; Platt scaling is fitted to the "
        warnings.warn(f"{text}rows of the regression", DegenerateDataWarning, stacklevel=4)
    return held
