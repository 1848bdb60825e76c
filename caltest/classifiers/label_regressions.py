"""Classification by regression: Gaussian processes on labels or pseudo-observations, and ridge."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import itemgetter

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lstsq
from sklearn.kernel_approximation import Nystroem

from caltest.checks import check_choice, check_flag, check_integer, check_level
from caltest.classifiers import base, regressions
from caltest.errors import DegenerateDataWarning, invalid, shown
from caltest.types import Codes, Floats, Ints

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


# ---- Dirichlet-based Gaussian-process classification (Milios et al. 2018) ------------------------


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
        check_choice(values, ("auto",), "alpha")
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


# ---- Kernel ridge regression on labels with Nyström features -------------------------------------


CHUNK = 2**20  # entries of the features in a block
SPREADS = (0.125, 0.25, 0.5, 1.0, 2.0)  # length scales to choose from, in that of the other models
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)


@dataclass(kw_only=True, eq=False, repr=False)
class NystroemKRRClassifier(base.KernelClassifier):
    r"""Kernel ridge regression on labels with Nyström features and Platt scaling.

    The features are those of scikit-learn's `Nystroem` for the kernel
    :math:`\exp(-\gamma |x - z|^2)`; the targets are the labels, 1 for the class and 0 for the
    others, less their means; the weights minimise the sum of squared errors and the penalty
    :math:`\alpha |W|^2`. The mean squared error across folds chooses :math:`\gamma` and
    :math:`\alpha`. With `platt`, a sigmoid of the score of each class (of the second of two) is
    fitted to the scores that rows have in the regression on the other folds, and the rows are
    divided by their sums; without, scores are cut off at 0 and divided by their sums. There is no
    posterior, and so no interval of the probabilities.

    Parameters
    ----------
    n_components : int, default 500
        Number of Nyström features, at most that of the rows.
    gammas : float or sequence of float, optional
        Values of :math:`\gamma` to choose from, positive. By default :math:`1 / (2 s^2)` for
        length scales s of 1/8 to 2 times the mean standard deviation of the features times the
        root of their number.
    alphas : float or sequence of float, default (1e-4, 1e-3, 1e-2, 1e-1, 1, 10)
        Values of :math:`\alpha` to choose from, positive.
    n_splits : int, default 5
        Number of folds, at least 2; at most that of the rows is taken.
    platt : bool, default True
        Whether to apply Platt scaling.
    random_state : int, RandomState or None
        The seed of the rows behind the features, and of the folds.
    verbose : bool, default False
        Whether to print the error of each :math:`\gamma`.

    Attributes
    ----------
    classes_ : (K,) array
        The labels, sorted.
    gamma_, alpha_ : float
        The values that were chosen.
    error_ : float
        Mean squared error across folds, summed over classes.
    n_components_ : int
        Number of features.
    slopes_, intercepts_ : (K,) or (1,) array or None
        Of the sigmoids; None without Platt scaling.
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
    large-scale calibrated classification, sections 3 and 5. Platt (1999), Probabilistic outputs
    for support vector machines.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from caltest.classifiers import NystroemKRRClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NystroemKRRClassifier(n_components=30, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    title = "Nyström kernel ridge regression on labels"

    n_components: int = 500
    gammas: float | Sequence[float] | None = None
    alphas: float | Sequence[float] = PENALTIES
    n_splits: int = 5
    platt: bool = True

    def _fit(self, X: Floats, codes: Codes, rng: np.random.RandomState) -> None:
        check_flag(self.platt, "platt")
        check_flag(self.verbose, "verbose")
        # Distances, of which the kernel is made, keep their digits about the mean.
        self._mean = X.mean(axis=0)
        X = X - self._mean
        usual = [1 / (2 * (spread * base.scale_of(X)) ** 2) for spread in SPREADS]
        gammas = usual if self.gammas is None else base.grid_of(self.gammas, "gammas")
        n_splits = min(check_integer(self.n_splits, "n_splits", minimum=2), len(X))
        folds = rng.permutation(len(X)) % n_splits
        self._share = np.bincount(codes) / len(codes)
        targets = np.eye(len(self.classes_))[codes] - self._share
        self.n_components_ = min(check_integer(self.n_components, "n_components"), len(X))
        rows = int(rng.randint(2**31 - 1))  # the same behind the features of all gammas
        choices = [self._choice(X, targets, folds, gamma, rows) for gamma in gammas]
        self.error_, self.gamma_, self.alpha_, self._map, sums = min(choices, key=itemgetter(0))
        self._weights = sums.weights(self.alpha_)
        scores = self._scores_across(X, folds, sums) if self.platt else None
        self._sigmoids = None if scores is None else base.fit_sigmoids(scores, codes)
        found = {} if self._sigmoids is None else self._sigmoids.keywords
        self.slopes_, self.intercepts_ = found.get("slopes"), found.get("intercepts")

    def _choice(
        self, X: Floats, targets: Floats, folds: Ints, gamma: float, rows: int
    ) -> tuple[float, float, float, Nystroem, FoldSums]:
        """Return the least error, gamma and the penalty that has it, the features and the sums."""
        penalties = base.grid_of(self.alphas, "alphas")
        found = Nystroem(gamma=gamma, n_components=self.n_components_, random_state=rows).fit(X)
        sums = FoldSums(int(folds.max()) + 1, self.n_components_, targets.shape[1])
        for block in self._blocks(X):
            sums.add(found.transform(X[block]), targets[block], folds[block])
        errors = [sums.error(penalty) / len(X) for penalty in penalties]
        best = int(np.argmin(errors))
        penalty, error = penalties[best], errors[best]
        self._print_progress(f"gamma {gamma:.4g}, alpha {penalty:.4g}: error {error:.6g}")
        return error, gamma, penalty, found, sums

    def _scores_across(self, X: Floats, folds: Ints, sums: FoldSums) -> Floats:
        """Return the score of each row in the regression on the other folds."""
        count = len(sums.grams)
        weights = np.array([sums.weights(self.alpha_, fold) for fold in range(count)])
        scores = np.empty((len(X), len(self._share)))
        for block in self._blocks(X):
            features = self._map.transform(X[block])
            for fold in range(count):
                rows = folds[block] == fold
                scores[block][rows] = features[rows] @ weights[fold]
        return scores + self._share

    def _blocks(self, X: Floats) -> Iterator[slice]:
        size = max(1, CHUNK // self.n_components_)
        for start in range(0, len(X), size):
            yield slice(start, start + size)

    def _probabilities(self, X: Floats) -> Floats:
        X = X - self._mean
        parts = [self._map.transform(X[block]) @ self._weights for block in self._blocks(X)]
        scores = np.concatenate(parts) + self._share
        sigmoids = self._sigmoids
        return base.normalised(np.maximum(scores, 0)) if sigmoids is None else sigmoids(scores)

    def _facts(self) -> dict[str, object]:
        return {
            "Nyström features (M)": self.n_components_,
            "kernel": "RBF",
            "gamma": self.gamma_,
            "alpha": self.alpha_,
            "Platt scaling": "across folds" if self.platt else "no",
            "error across folds": self.error_,
        }


class FoldSums:
    """Sums over the rows of F folds, to which blocks of rows are added.

    Attributes
    ----------
    grams : (F, M, M) array
        Features times features.
    products : (F, M, K) array
        Features times targets.
    squares : (F,) array
        Squares of the targets.
    """

    def __init__(self, F: int, M: int, K: int) -> None:
        self.grams, self.products = np.zeros((F, M, M)), np.zeros((F, M, K))
        self.squares = np.zeros(F)

    def add(self, features: Floats, targets: Floats, folds: Ints) -> None:
        """Add rows; features are (n, M), targets (n, K), folds (n,)."""
        for fold in range(len(self.grams)):
            rows = folds == fold
            part = features[rows]
            self.grams[fold] += part.T @ part
            self.products[fold] += part.T @ targets[rows]
            self.squares[fold] += np.sum(targets[rows] ** 2)

    def weights(self, penalty: float, without: int | None = None) -> Floats:
        """Minimise |Y - Phi W|^2 + penalty |W|^2 by W, (M, K), without one of the folds."""
        gram, product = self.grams.sum(axis=0), self.products.sum(axis=0)
        if without is not None:
            gram, product = gram - self.grams[without], product - self.products[without]
        gram[np.diag_indices_from(gram)] += penalty
        try:
            found: Floats = cho_solve(cho_factor(gram, lower=True), product)
        except np.linalg.LinAlgError:
            # The penalty is less than the rounding errors: the least weights of those that fit.
            found = lstsq(gram, product)[0]
        return found

    def error(self, penalty: float) -> float:
        """Return the squared errors in each fold of the regression on the others, summed."""
        total = 0.0
        for fold in range(len(self.grams)):
            W = self.weights(penalty, without=fold)
            total += self.squares[fold] - 2 * np.vdot(W, self.products[fold])
            total += np.vdot(W, self.grams[fold] @ W)
        return float(total)
