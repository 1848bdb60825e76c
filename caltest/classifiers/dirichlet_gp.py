"""Dirichlet-based Gaussian-process classification (Milios et al. 2018)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from caltest.checks import check_choice
from caltest.classifiers import base, regressions
from caltest.errors import invalid, shown
from caltest.types import Codes, Floats

SMALLEST_VARIANCE = float(np.finfo(np.float64).tiny)
GRID = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6)  # of "auto"
START = GRID.index(0.01)
CRITERIA = ("leave-one-out", "training")
LEAST_ALPHA, LARGEST_ALPHA = 1e-100, 1e6  # alpha; beyond them noises of 0 or without end


@dataclass(kw_only=True, eq=False, repr=False)
class DirichletGPClassifier(regressions.RegressionsClassifier):
    r"""Gaussian-process classification by regression on Dirichlet pseudo-observations.

    A label of class k is seen as Dirichlet parameters :math:`1 + \alpha_\epsilon` for k and
    :math:`\alpha_\epsilon` for the others. The Gamma variable behind a parameter :math:`\alpha` is
    replaced by the log-normal with its mean and variance, which gives the target
    :math:`\tilde y = \log \alpha - \tilde\sigma^2 / 2` with the noise
    :math:`\tilde\sigma^2 = \log(1 / \alpha + 1)` (equation 5). Then K heteroskedastic regressions
    with one RBF kernel have closed forms, and the softmax of their posteriors gives the
    probabilities of the classes. The prior means are by default constants, as in the authors' code:
    they differ as the logs of the observed shares of the classes.

    Parameters
    ----------
    alpha : "auto", float or sequence of float, default "auto"
        :math:`\alpha_\epsilon`, in [1e-100, 1e6]. Of several values, the best by `criterion` is
        taken, and each takes a fit. "auto" goes from 0.01 by factors of about 3, within
        [1e-6, 1], as long as the criterion improves; four or five fits are usual.
    criterion : {"leave-one-out", "training"}, default "leave-one-out"
        The mean log loss by which alpha is chosen: that of each row's label given all other rows,
        which has a closed form for each kernel, or that of the training data, as the paper
        proposes. With up to about 1000 rows the latter takes an alpha that is far too small: the
        paper's grid is ``alpha=(0.1, 0.01, 0.001, 0.0001)``.
    prior_mean : {"shares", "zero"}
        The prior means: those of the authors' code, see above, or zero, as in the paper's text
        (section 4.2). Far from the data the classes then have equal probabilities; and alpha
        decides how far the targets are from the prior.
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
        where it starts, which is where the authors' code does.
    n_samples : int, default 1024
        Quasi-random points over which the softmax is averaged.
    random_state : int, RandomState or None
        The seed of the inducing points.
    n_jobs : int, optional
        Threads, as in joblib: None is one, -1 all cores.
    verbose : bool, default False
        Whether to print the evidence lower bound at each step.

    Attributes
    ----------
    classes_ : (K,) array
        The labels, sorted.
    alpha_ : float
        The value that was taken.
    criterion_loss_ : float
        The mean log loss by which it was taken, NaN where one value was given.
    variance_ : float
        Variance of the kernel.
    length_scale_ : (1,) or (d,) array
        Length scales of the kernel.
    inducing_points_ : (M, d) array or None
        None where the posterior is exact.
    bound_ : float
        Log marginal likelihood of the pseudo-observations, summed over classes; its collapsed
        bound where there are inducing points.
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

    References
    ----------
    Milios, Camoriano, Michiardi, Rosasco, Filippone (2018), Dirichlet-based Gaussian processes for
    large-scale calibrated classification, sections 4 and 5. Titsias (2009), Variational learning
    of inducing variables in sparse Gaussian processes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from caltest.classifiers import DirichletGPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DirichletGPClassifier().fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    title = "Dirichlet-based Gaussian-process classification"

    alpha: str | float | Sequence[float] = "auto"
    criterion: str = "leave-one-out"
    prior_mean: str = "shares"

    def _fit(self, X: Floats, codes: Codes, rng: np.random.RandomState) -> None:
        self._check_options()
        check_choice(self.criterion, CRITERIA, "criterion")
        check_choice(self.prior_mean, ("shares", "zero"), "prior_mean")
        alphas = _alphas(self.alpha)
        bound_to = self._regressions(X, codes, rng)

        counts = np.bincount(codes)

        @cache
        def fit(alpha: float) -> tuple[float, regressions.Targets, base.Maximum]:
            """Return the loss of the criterion, the targets, and the best parameters."""
            targets = regressions.pseudo_targets(alpha, counts, zero=self.prior_mean == "zero")

            def objective(theta: Floats) -> tuple[float, Floats]:
                found = bound_to.evidence(targets, base.kernel_of(theta))
                return found.value, self._slope(found.kernel)

            found = self._maximise(objective, self._start(X, _variance_of(targets, counts)), len(X))
            if len(alphas) == 1:
                return np.nan, targets, found
            latent = bound_to.posterior(targets, base.kernel_of(found.theta))
            loss = self._loss(latent, targets, X, codes)
            self._print_progress(f"alpha {alpha:g}, log loss by {self.criterion} {loss:.6g}")
            return loss, targets, found

        self.alpha_ = _best(alphas, lambda alpha: fit(alpha)[0], walk=isinstance(self.alpha, str))
        self.criterion_loss_, targets, found = fit(self.alpha_)
        self.bound_, kernel = found.value, base.kernel_of(found.theta)
        self.variance_, self.length_scale_ = kernel
        self._end(found)
        self._centre = targets.centre
        self._posterior = bound_to.posterior(targets, kernel)
        # None is the best where the shares of the classes, whose log loss is their entropy, are.
        shares = counts / len(X)
        if self.criterion_loss_ < float(-shares @ np.log(shares)):
            _warn_at_end(self.alpha_, alphas, self.criterion)

    def _loss(
        self, latent: regressions.Latent, targets: regressions.Targets, X: Floats, codes: Codes
    ) -> float:
        """Return the log loss of the labels, each given the other rows or all of them."""
        if self.criterion == "training":
            mean, variance = latent(X, self.n_jobs)
        else:
            mean, variance = latent.without_own(X, codes, targets, self.n_jobs)
        mean = mean + targets.centre
        probs = base.softmax_means(mean, np.sqrt(variance), self._points(), self.n_jobs)
        observed = probs[np.arange(len(X)), codes]
        return float(-np.log(np.maximum(observed, SMALLEST_VARIANCE)).mean())

    def _more_facts(self) -> dict[str, object]:
        if np.isnan(self.criterion_loss_):
            return {"alpha": self.alpha_}
        return {"alpha": self.alpha_, f"log loss by {self.criterion}": self.criterion_loss_}


def _alphas(values: object) -> list[float]:
    if isinstance(values, str):
        check_choice(values, ("auto",), "alpha that is no number")
        return list(GRID)
    alphas = base.grid_of(values, "alpha")
    for alpha in alphas:
        if not LEAST_ALPHA <= alpha <= LARGEST_ALPHA:
            rule = f"alpha must lie in [{LEAST_ALPHA:g}, {LARGEST_ALPHA:g}]"
            raise invalid(rule, shown(alpha), "pass 0.01, or several values from 1e-4 to 0.1")
    return alphas


def _best(alphas: list[float], loss: Callable[[float], float], *, walk: bool) -> float:
    """Return the value of least loss or, by a walk, one whose neighbours have no less."""
    if not walk:
        return min(alphas, key=loss)
    last, at = -1, START
    while at != last:
        last = at
        at = min(range(max(at - 1, 0), min(at + 2, len(alphas))), key=lambda i: loss(alphas[i]))
    return alphas[at]


def _warn_at_end(alpha: float, alphas: list[float], criterion: str) -> None:
    """Warn where the best of three values or more is the least or the largest of them."""
    if len(alphas) < 3 or alpha not in (min(alphas), max(alphas)):
        return
    where = "largest" if alpha == max(alphas) else "least"
    text = f"alpha={alpha:g}, the best by {criterion}, is the {where} of the values that were tried"
    other = "a list that goes beyond" if criterion == CRITERIA[0] else "criterion='leave-one-out'"
    warnings.warn(f"{text}; one beyond may be better: pass {other}", UserWarning, stacklevel=4)


def _variance_of(targets: regressions.Targets, counts: Codes) -> float:
    """Return the variance of all targets, where the authors' code starts."""
    share = counts / counts.sum()
    mean = share * targets.on + (1 - share) * targets.off
    within = share * (1 - share) * (targets.on - targets.off) ** 2
    return float(within.mean() + mean.var())
