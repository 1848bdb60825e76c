"""Gaussian process calibration, Wenger et al. 2020."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri, softmax
from sklearn.utils.validation import check_is_fitted

from caltest import checks
from caltest.calibrators.base import CalibrationSet, Calibrator, Coefficient
from caltest.calibrators.gp import elbo, fit, optimize, process
from caltest.calibrators.inputs import SMALLEST_PROBABILITY, Inputs
from caltest.drawing import draw
from caltest.errors import invalid
from caltest.numerics.softmax import inverse_temperature, smoothed_logs
from caltest.numerics.sorted_scores import shares
from caltest.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SATURATED = 0.999  # probability; beyond, differences of the log odds are none of the scores
MOST_SATURATED = 0.3  # of the rows
INFERENCES = ("auto", "gauss-hermite", "monte-carlo", "mean")
MATERIAL_FALL = 1e-3  # of the latent mean, in log odds


@dataclass(kw_only=True, eq=False, repr=False)
class GPCalibrator(Calibrator):
    r"""Gaussian process calibration: the softmax of a latent function of each class's score.

    One function f serves all classes, so that the number of parameters does not grow with m:

    .. math:: v(z)_j = E \frac{e^{f(z_j)}}{\sum_k e^{f(z_k)}}, \quad f \sim GP(\mu, k), \quad
        k(z, z') = \theta c(|z - z'| / \ell) + s 1[\text{same latent variable}].

    The correlation c is that of `kernel`, by default :math:`e^{-d^2 / 2}` as in the paper.

    The prior mean is log z for probabilities and z for logits: a priori the map is the identity.
    The posterior is approximated by q(u) = N(L m, L S L') at inducing inputs, where L L' is the
    prior covariance of u, by maximising the evidence lower bound over m, S, the inducing inputs and
    the kernel; inducing inputs stay in their order. There the expected log likelihood is the
    paper's expansion of the second order (equation 7), with all covariances within a row.

    Weights count rows, up to 1e20. No prediction depends on other rows: all share their draws.

    Parameters
    ----------
    n_inducing : int, default 10
        Inducing inputs, by k-means on the pooled scores to begin with; no more than there are
        distinct scores.
    scores : {"auto", "probabilities"}, default "auto"
        What stands for z where probabilities are given: they themselves, as in the paper, or where
        more than 30 % of the rows have one above 0.999, so that sure and very sure predictions
        have the same z, the centred logarithms of probabilities at their best temperature, mixed
        with a share of 1 / (n + 1) of the uniform ones, if their evidence lower bound is greater.
    kernel : {"rbf", "matern52", "matern32"}, default "rbf"
        How smooth f is: c(d) is the squared exponential, :math:`(1 + a + a^2 / 3) e^{-a}` with
        :math:`a = \sqrt 5 d`, of a function with two derivatives, or :math:`(1 + a) e^{-a}` with
        :math:`a = \sqrt 3 d`, of one with a single derivative. A fit with these two, Matern
        kernels, visits all pairs of classes: of 100, an evaluation takes three times as long.
    mean_function : {"identity", "zero"} or callable, default "identity"
        The prior mean of f: that of the identity map, log z or z of logits (section 3), or zero, a
        priori a map to the uniform prediction. With zero the kernel alone carries the map: raise
        `variance_bounds` where scores are logits. A function takes an array of scores, the
        probabilities or logits that were given, and returns an array of the same shape; such a
        map is saved by pickle, not as JSON.
    covariance : {"full", "diagonal"}, default "full"
        Whether the covariances of the latent variables within a row count. The paper's software
        takes the variances alone.
    expectation : {"taylor", "monte-carlo"}, default "taylor"
        Equation 7, or the mean over `n_samples` draws of the latent function, which is slow and
        there to check it.
    inference : {"auto", "gauss-hermite", "monte-carlo", "mean"}, default "auto"
        How probabilities are predicted: the mean softmax by quadrature (two classes only) or over
        `n_samples` draws; or the softmax of the latent mean. "auto" is quadrature for two classes
        and draws for more.
    n_samples : int, default 100
        Draws.
    monotone : bool, default False
        Replace the latent mean by the nearest increasing function, if it is not one. With
        inference="mean" the order of the classes then never changes.
    length_scale_bounds : (float, float), optional
        Interval for l, in units of the range of the scores, from 1e-3; by default (0.01, 10).
    variance_bounds : (float, float), optional
        Interval for theta; by default (1e-4, 5), and for logits up to their squared range.
    noise_bounds : (float, float), optional
        Interval for s; by default (1e-5, 1). It is at least 1e-10 times the end of that for theta.
    batch_size : int, optional
        Rows of a mini-batch, for data so large that a pass over them is slow. The fit to one batch
        is then refined by Adam over random others, `max_iter` of them, which ends near the kernel
        of the batch, with a bound some nats below that of a fit to all rows.
    max_iter : int, default 300
        Iterations of L-BFGS at most; steps of Adam.
    tol : float, default 1e-6
        L-BFGS ends when the bound per row changes by less than this share of itself.
    random_state : None, int, Generator or SeedSequence, default 0
        The seed of the draws and batches.
    n_jobs : int, optional
        Threads, as in joblib.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.

    Attributes
    ----------
    inducing_inputs_ : (M,) array
        In the units of the scores.
    positions_ : (M,) array
        The same in units of the range of the scores, from 0 to 1.
    mean_ : (M,) array
        m, in whitened units.
    root_ : (M, M) array
        Lower triangular root of S.
    variance_, length_scale_, noise_ : float
        Theta, l and s.
    scale_ : float
        l in units of the range of the scores.
    bound_ : float
        The evidence lower bound.
    n_iter_ : int
        Iterations.
    n_evaluations_ : int
        Kernels and inducing inputs for which the bound was maximised by L-BFGS, each by some
        Newton steps.
    score_range_ : (2,) array
        The range of the scores of the fit.
    temperature_, smoothing_ : float
        Of the logarithms, where they are the scores, temperature and share of the uniform
        probabilities; `summary` prints the temperature.
    logarithmic_ : bool
        Whether the scores are logits or logarithms.
    seed_ : int
        The seed of the draws.
    places_, shares_ : (G,) arrays
        Where the scores are, by calibrated probability, on a grid in units of their range.
    knots_, heights_ : arrays
        The increasing latent mean, by the prior mean; empty where it is as fitted.

    Raises
    ------
    InvalidInput
        If an option breaks its rule, or inference is "gauss-hermite" with three classes or more.

    Warns
    -----
    DegenerateDataWarning
        If the latent mean falls on the range of the scores: the order of classes may change. If
        `max_iter` iterations were not enough. If the scores are to be probabilities, of which more
        than 30 % of the rows have one above 0.999: they are nearly equal whatever the log odds are.

    References
    ----------
    Wenger, Kjellstroem, Triebel (2020), Non-parametric calibration for classification, AISTATS,
    section 3; Hensman, Matthews, Ghahramani (2015), Scalable variational Gaussian process
    classification, AISTATS.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", 200, 3, rng=0)
    >>> calibrator = ct.calibrators.GPCalibrator().fit(data)
    >>> calibrator.predict_proba([[0.5, 0.3, 0.2]]).round(1)
    array([[0.5, 0.3, 0.2]])
    >>> mean, lower, upper = calibrator.latent([0.1, 0.5])  # log z, were it the identity
    """

    key, title = "gp", "Gaussian process calibration"

    n_inducing: int = 10
    scores: str = "auto"
    kernel: str = "rbf"
    mean_function: str | Callable[[Floats], object] = "identity"
    covariance: str = "full"
    expectation: str = "taylor"
    inference: str = "auto"
    n_samples: int = 100
    monotone: bool = False
    length_scale_bounds: optimize.Interval | None = None
    variance_bounds: optimize.Interval | None = None
    noise_bounds: optimize.Interval | None = None
    batch_size: int | None = None
    max_iter: int = 300
    tol: float = 1e-6
    random_state: object = 0
    n_jobs: int | None = None

    # ---- fit ------------------------------------------------------------------------------------

    def _fit(self, data: CalibrationSet) -> None:
        self._check(data.inputs.m)
        self.seed_ = checks.check_seed(self.random_state, "random_state")
        self._without_temperature()
        scores, units = fit.scores_of(data)
        fitted = self._maximise(scores, units)
        saturated = 0.0 if self.from_logits else _saturated(scores, units)
        if saturated and self.scores == "auto" and not callable(self.mean_function):
            z, (share, total) = data.inputs.logits, shares(data.weight, data.inputs.n)
            beta, _ = inverse_temperature(z[share > 0], data.codes[share > 0], share[share > 0])
            self.temperature_, self.smoothing_ = 1 / beta, 1 / (total + 1)
            tempered = CalibrationSet(self._scored(data.inputs), data.codes, data.weight)
            others, units_of_others = fit.scores_of(tempered)
            other = self._maximise(others, units_of_others)
            if other.value > fitted.value:
                fitted, scores, units = other, others, units_of_others
            else:
                self._without_temperature()
        elif saturated and self.scores == "probabilities":
            text = f"{saturated:.0%} of the rows have a probability above {SATURATED}, where the "
            same = "scores of sure and very sure predictions are the same"
            self._note(f"{text}{same}; pass scores='auto'")
        self.score_range_ = np.array([units.low, units.high])
        if not fitted.converged:
            self._note(fit.unfinished(fitted, self.max_iter))
        q = fitted.q
        self.positions_, self.mean_, self.root_ = q.Z, q.m, q.C
        self.variance_, self.scale_, self.noise_ = q.variance, q.scale, q.noise
        self.bound_, self.n_iter_ = fitted.value, max(1, fitted.n_iter)
        self.n_evaluations_ = fitted.evaluations
        known = elbo.bound(replace(self._of_mean(scores, units), full=True), q)
        self.places_, self.shares_ = known.at.x, known.density / known.density.sum()
        self._look_for_falls(scores)

    def _without_temperature(self) -> None:
        for name in ("temperature_", "smoothing_"):
            self.__dict__.pop(name, None)

    def _scored(self, inputs: Inputs) -> Inputs:
        """Return what the scores are taken from: the inputs, or centred logarithms of them."""
        if not hasattr(self, "temperature_"):
            return inputs
        z = smoothed_logs(inputs.logits, 1 / self.temperature_, self.smoothing_)
        return Inputs(z - z.mean(axis=1, keepdims=True), from_logits=True)

    @property
    def logarithmic_(self) -> bool:
        """Whether the scores are logits or logarithms of probabilities."""
        return self.from_logits or hasattr(self, "temperature_")

    def _check(self, m: int) -> None:
        checks.check_integer(self.n_inducing, "n_inducing")
        checks.check_choice(self.scores, ("auto", "probabilities"), "scores")
        checks.check_choice(self.kernel, tuple(process.KERNELS), "kernel")
        if not callable(self.mean_function):
            checks.check_choice(self.mean_function, ("identity", "zero"), "mean_function")
        checks.check_choice(self.covariance, ("full", "diagonal"), "covariance")
        checks.check_choice(self.expectation, ("taylor", "monte-carlo"), "expectation")
        checks.check_choice(self.inference, INFERENCES, "inference")
        if self.inference == "gauss-hermite" and m != 2:
            rule, got = "inference='gauss-hermite' needs two classes", f"{m} columns of probs"
            raise invalid(rule, got, "pass 'auto' or 'monte-carlo'")
        checks.check_integer(self.n_samples, "n_samples", 2)
        checks.check_flag(self.monotone, "monotone")
        checks.check_integer(self.max_iter, "max_iter")
        checks.check_positive(self.tol, "tol")
        checks.check_optional_integer(self.batch_size, "batch_size")
        checks.check_jobs(self.n_jobs)

    def _of_mean(self, scores: elbo.GPScores, units: fit.ScoreRange) -> elbo.GPScores:
        """Return the scores with the prior mean and the covariances that the options name."""
        prior = self._prior_mean(units.scores(scores.z), scores.prior)
        return replace(scores, prior=prior, full=self.covariance == "full", n_jobs=self.n_jobs)

    def _prior_mean(self, z: Floats, identity: Floats) -> Floats:
        """Return the prior mean at scores z, of their shape, from that of the identity map."""
        if not callable(self.mean_function):
            return (self.mean_function == "identity") * identity
        mean = checks.as_numbers(self.mean_function(z), "what mean_function returns").astype(
            "float64"
        )
        if mean.shape != z.shape or not np.isfinite(mean).all():
            got = f"{np.sum(~np.isfinite(mean))} that are not finite and the shape {mean.shape}"
            rule = f"mean_function must return finite numbers in the shape of z, {z.shape}"
            raise invalid(rule, got, "pass a function that goes element by element")
        return mean

    def _maximise(self, scores: elbo.GPScores, units: fit.ScoreRange) -> optimize.FittedGP:
        """Fit the process, with the prior mean of the option."""
        scores, limits = self._of_mean(scores, units), self._limits(units.extent)
        # The prior at the inducing inputs by k-means.
        weight = np.repeat(scores.weight, scores.z.shape[1])
        Z = fit.line_kmeans(scores.z.ravel(), weight, self.n_inducing)
        boxes = zip(fit.START, (limits.variance, limits.scale, limits.noise), strict=True)
        theta, scale, noise = (float(np.clip(x, *box)) for x, box in boxes)
        if self.logarithmic_:
            theta = float(
                np.clip((units.extent / fit.USUAL_LOGITS) ** 2, theta, limits.variance[1])
            )
        which, M = process.KERNELS[self.kernel], Z.size
        start = process.LatentPosterior(np.zeros(M), np.eye(M), Z, theta, scale, noise, which)
        # Equation 7 first; then draws and mini-batches, where these are asked for.
        rng, (n, K) = np.random.default_rng(self.seed_), scores.z.shape
        size = n if self.batch_size is None else min(n, self.batch_size)
        batch = scores if size == n else scores.rows(np.sort(rng.permutation(n)[:size]))
        fitted = optimize.maximise(batch, start, limits)
        paths = None
        if self.expectation == "monte-carlo":
            ratio = (scores.high - scores.low) / limits.scale[0]
            paths = process.random_paths(K, M, self.n_samples, ratio, rng, which)
        if size < n:
            return optimize.maximise_batches(scores, fitted.q, limits, paths, size, rng)
        if paths is None:
            return fitted
        return optimize.maximise_drawn(scores, fitted.q, limits, paths)

    def _limits(self, extent: float) -> optimize.FitLimits:
        """Check the intervals, that of the length scale in units of the range.

        The default for the variance of logits goes by their range, of length `extent`.
        """
        variance, scale, (least, most) = fit.VARIANCE, fit.SCALE, fit.NOISE
        if self.variance_bounds is not None:
            variance = fit.check_interval(self.variance_bounds, "variance_bounds")
        elif self.logarithmic_:
            variance = variance[0], max(variance[1], min(extent, fit.MOST_LOGITS) ** 2)
        if self.length_scale_bounds is not None:
            given, name = self.length_scale_bounds, "length_scale_bounds"
            scale = fit.check_interval(given, name, least=fit.LEAST_SCALE)
        if self.noise_bounds is not None:
            least, most = fit.check_interval(self.noise_bounds, "noise_bounds")
        floor = fit.LEAST_NOISE * variance[1]
        noise = max(least, floor), max(most, 10 * floor)
        return optimize.FitLimits(variance, scale, noise, self.max_iter, self.tol)

    def _look_for_falls(self, scores: elbo.GPScores) -> None:
        """Warn of a latent mean that falls between scores of the fit, or make it rise."""
        self.knots_ = self.heights_ = np.empty(0)
        ends = self._units.scores(np.array(self._span())) if self.monotone else self.score_range_
        t = fit.knots(*self._prior(ends).tolist(), logarithmic=not self.logarithmic_)
        z = t if self.logarithmic_ else np.exp(t)
        heights = self._mean(z, t)
        peak = np.maximum.accumulate(heights)
        last = int(np.argmax(peak - heights))
        first, fall = int(np.argmax(heights[: last + 1])), float(peak[last] - heights[last])
        if self.monotone and fall > 0:
            weight = np.repeat(scores.weight, scores.z.shape[1])
            self.heights_ = fit.projected(t, heights, scores.prior.ravel(), weight)
            self.knots_ = t
        elif fall > MATERIAL_FALL:
            text = f"the latent mean falls by {fall:.2g} from score {z[first]:.4g} to {z[last]:.4g}"
            order = "the order of classes, and with it the accuracy, may change"
            self._note(f"{text}: {order}; pass monotone=True")

    # ---- predict --------------------------------------------------------------------------------

    @property
    def _latent(self) -> process.LatentPosterior:
        kernel = (self.variance_, self.scale_, self.noise_, process.KERNELS[self.kernel])
        return process.LatentPosterior(self.mean_, self.root_, self.positions_, *kernel)

    @property
    def _units(self) -> fit.ScoreRange:
        return fit.ScoreRange(*self.score_range_.tolist())

    @property
    def inducing_inputs_(self) -> Floats:
        """Inducing inputs, in the units of the scores."""
        return self._units.scores(self.positions_)

    @property
    def length_scale_(self) -> float:
        """The kernel's length scale, in the units of the scores."""
        return self._units.extent * self.scale_

    def _span(self) -> tuple[float, float]:
        """Return where the data say something, in units of their range; beyond, f is as there."""
        low, high = self._units.of(self.score_range_)
        reach = process.KERNELS[self.kernel].reach * self.scale_
        ends = np.array([-np.inf, np.inf] if self.logarithmic_ else [0.0, 1.0])
        least, most = self._units.of(ends)
        return max(float(low) - reach, float(least)), min(float(high) + reach, float(most))

    def _prior(self, z: Floats) -> Floats:
        return z if self.logarithmic_ else np.log(np.maximum(z, SMALLEST_PROBABILITY))

    def _mean(self, z: Floats, prior: Floats) -> Floats:
        """Return the latent mean, of the shape of z."""
        if self.knots_.size:
            # Beyond the knots the line is as steep as the prior mean.
            inside = np.clip(prior, self.knots_[0], self.knots_[-1])
            return np.interp(inside, self.knots_, self.heights_) + (prior - inside)
        u = self._units.of(z.ravel())
        mean = self._prior_mean(z, prior)
        return mean + fit.latent_mean(self._latent, u).reshape(z.shape)

    def _calibrate(self, inputs: Inputs) -> Floats:
        self._check(inputs.m)
        z, prior = fit.places_of(self._scored(inputs))
        mean = self._mean(z, prior)
        automatic = "gauss-hermite" if inputs.m == 2 else "monte-carlo"
        inference = automatic if self.inference == "auto" else self.inference
        full = self.covariance == "full"
        if inference == "mean":
            return np.asarray(softmax(mean, axis=1))
        if inference == "gauss-hermite":
            event = fit.gauss_hermite(self._latent, self._units.of(z), mean, full=full)
            return np.column_stack([1 - event, event])
        rng = np.random.default_rng(self.seed_)
        within, places = self._span(), self._units.of(z)
        numbers = within, places, mean, self.n_samples, rng
        return fit.mean_softmax(self._latent, *numbers, full=full, n_jobs=self.n_jobs)

    def latent(self, z: object, *, confidence: float = 0.95) -> fit.LatentFunction:
        """Return the latent function at given scores, with a pointwise band.

        The softmax does not see a constant that is added to f, and no data can tell it. Here f is
        less the mean of f - mu over the scores of the fit, each weighted by its calibrated
        probability: the identity map has the mean mu (log z, or z of logits), and the band shows
        what the data leave open.

        Parameters
        ----------
        z : (P,) array
            Scores: probabilities, or logits if `logarithmic_`.
        confidence : float, default 0.95
            Probability of the band, under the approximate posterior and with the noise.

        Returns
        -------
        LatentFunction
            mean, lower and upper, each (P,).
        """
        check_is_fitted(self)
        places = check_scores(z, probabilities=not self.logarithmic_)
        quantile, q = float(ndtri((1 + checks.check_confidence(confidence)) / 2)), self._latent
        mean = self._mean(places, self._prior(places))
        mean -= self.shares_ @ fit.latent_mean(q, self.places_)
        at = self._units.of(places)
        variance = fit.centred_variance(q, at, self.places_, self.shares_)
        half = quantile * np.sqrt(variance)
        return fit.LatentFunction(mean, mean - half, mean + half)

    def plot_latent(self, *, confidence: float = 0.95, ax: Axes | None = None) -> Axes:
        """Plot the latent function with its band, beside that of the identity map.

        Parameters
        ----------
        confidence : float, default 0.95
            Probability of the band.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure. Logarithms have no lower end, so that of
            probabilities the plot starts at 1/500 of the largest.

        Returns
        -------
        matplotlib.axes.Axes
            With the inducing inputs as ticks at its foot.
        """
        return draw("calibration_map.latent_function", self, confidence=confidence, ax=ax)

    def coefficients(self) -> Sequence[Coefficient]:
        values = {
            "log scores, temperature": getattr(self, "temperature_", None),
            "kernel variance": self.variance_,
            "length scale": self.length_scale_,
            "noise variance": self.noise_,
            "evidence lower bound": self.bound_,
            "inducing inputs": self.positions_.size,
            "evaluations of the fit": self.n_evaluations_,
        }
        known = {name: value for name, value in values.items() if value is not None}
        return [Coefficient(name, float(value)) for name, value in known.items()]


def _saturated(scores: elbo.GPScores, units: fit.ScoreRange) -> float:
    """Return the share of rows with nearly the same score, or 0 where it is small.

    Probabilities that are all 0 and 1 have no better logarithms.
    """
    saturated = scores.z.max(axis=1) * units.extent + units.low > SATURATED
    share = float(scores.weight @ saturated / scores.weight.sum())
    apart = share > MOST_SATURATED and np.ptp(scores.prior[saturated].min(axis=1)) > 1
    return share if apart else 0.0


def check_scores(values: object, *, probabilities: bool) -> Floats:
    """Check scores in one dimension: probabilities in [0, 1], or finite logits."""
    array = checks.as_numbers(values, "z")
    if array.ndim != 1:
        raise invalid("z must have one dimension", f"shape {array.shape}", "pass .ravel()")
    scores = array.astype("float64")
    low, high = (0.0, 1.0) if probabilities else (-1.7e308, 1.7e308)
    rule = "z must lie in [0, 1]" if probabilities else "z must be finite"
    remedy = "pass values in the units of the inputs"
    checks.check_all((scores >= low) & (scores <= high), scores, rule, remedy)
    return checks.read_only(scores)


# ---- What is fitted to, and the checks of intervals ----------------------------------------------
