"""Maps with two or three parameters, linear in the log odds: Platt, quadratic and beta."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from caltest.calibrators.base import BinaryCalibrator, Coefficient
from caltest.calibrators.inputs import LOG_SMALLEST_PROBABILITY, SMALLEST_PROBABILITY, Inputs
from caltest.checks import check_choice, check_finite, check_flag
from caltest.numerics.logistic import fit_logistic, penalised_loss
from caltest.numerics.sorted_scores import shares
from caltest.types import Flags, Floats

RIDGE = 1e-8  # on slopes per standard deviation, where the likelihood has no maximum
SAME = 1e-10  # relative standard deviation, or 1 - r^2, that counts as none
FAR = 1e6  # distance from most scores, in units of their range, that counts as no further
SAMPLE = 4096  # rows that tell where most scores lie, and most often that nothing separates them


@dataclass(frozen=True)
class LogOddsFit:
    """Estimates of slopes and an intercept.

    Attributes
    ----------
    coef : (k,) array
        Slopes of the features, in their own units.
    intercept : float
        The intercept; 0 where there is none.
    stderr : (k,) or (k + 1,) array or None
        Standard errors of the slopes, then of the intercept where there is one; None where the
        likelihood has no maximum.
    loss : callable
        Returns the mean loss, with the penalty where there is one.
    """

    coef: Floats
    intercept: float
    stderr: Floats | None
    loss: Callable[[], float]


class LogOddsModel:
    """A model whose log odds are linear in features.

    Parameters
    ----------
    features : (k, n) array
        One or two rows, one for each feature.
    weight : (n,) array or None
        Positive weights.
    intercept : bool
        Whether there is one. Without it the log odds are 0 where the features are.
    """

    def __init__(self, features: Floats, weight: Floats | None, *, intercept: bool) -> None:
        self.k, n = features.shape
        self.intercept = intercept
        self.share, self.total = shares(weight, n)
        self.X = np.empty((self.k + intercept, n))
        self.X[self.k :] = 1
        self.mean = features @ self.share if intercept else np.zeros(self.k)
        self.scale = np.empty(self.k)
        for j, z in enumerate(self.X[: self.k]):
            np.subtract(features[j], self.mean[j], out=z)
            self.scale[j] = np.sqrt(np.einsum("i,i,i", z, z, self.share))
            np.divide(z, self.scale[j] or 1.0, out=z)

    @property
    def is_determined(self) -> bool:
        """Whether no feature is constant (0 where there is no intercept) and no two agree."""
        if (self.scale <= SAME * np.abs(self.mean)).any():
            return False
        return self.k == 1 or 1 - float(self.X[0] * self.X[1] @ self.share) ** 2 > SAME

    def fit(self, targets: Floats, *, separated: bool) -> LogOddsFit:
        """Fit to targets in [0, 1].

        Parameters
        ----------
        targets : (n,) array
            Labels, or probabilities of them.
        separated : bool
            Whether the likelihood has no maximum. Slopes per standard deviation then have the
            penalty 1e-8 slope^2 / 2 on the mean loss. That of no slopes is at most log 2, so that
            their squares sum to at most 2e8 log 2, and each is at most 1.2e4.

        Returns
        -------
        LogOddsFit
            Estimates and their standard errors.
        """
        k = self.k
        ridge = np.zeros(len(self.X))
        ridge[:k] = RIDGE * separated
        beta, hessian = fit_logistic(self.X, targets, self.share, ridge)
        # To the units of the features: coef = beta / scale, intercept = beta_0 - mean'coef.
        units = np.eye(len(self.X))
        units[:k, :k] = np.diag(1 / self.scale)
        if self.intercept:
            units[k, :k] = -self.mean / self.scale
        coef = units @ beta
        stderr = None
        if not separated:
            # The information of the total log likelihood, that of the weights as counts. Weights of
            # very different size leave none, or none that can be inverted.
            with suppress(np.linalg.LinAlgError), np.errstate(all="ignore"):
                variance = np.diag(units @ np.linalg.inv(hessian) @ units.T / self.total)
                usable = (np.isfinite(variance) & (variance > 0)).all()
                stderr = np.sqrt(variance) if usable else None
        loss = partial(penalised_loss, self.X, targets, self.share, ridge, beta)
        return LogOddsFit(coef[:k], float(coef[k]) if self.intercept else 0.0, stderr, loss)


def fit_constant(targets: Floats, weight: Floats | None, *, intercept: bool = True) -> LogOddsFit:
    """Fit the same log odds to all rows; those of one class alone are 36.04 or -36.04.

    Parameters
    ----------
    targets : (n,) array
        In [0, 1].
    weight : (n,) array or None
        Positive weights.
    intercept : bool
        Whether there is one; otherwise the log odds are 0.

    Returns
    -------
    LogOddsFit
        No slopes.
    """
    share, total = shares(weight, len(targets))
    rate, rest = float(share @ targets), float(share @ (1 - targets))
    value, stderr = 0.0, None
    if intercept:
        with np.errstate(divide="ignore"):
            log_odds = np.log(rate) - np.log(rest)
        value = float(np.clip(log_odds, LOG_SMALLEST_PROBABILITY, -LOG_SMALLEST_PROBABILITY))
        information = total * rate * rest
        if 0 < information < np.inf:
            stderr = np.array([1 / np.sqrt(information)])
    loss = float(np.logaddexp(0, value)) - rate * value
    return LogOddsFit(np.empty(0), value, stderr, lambda: loss)


def fit_intercept(
    slope: float, score: Floats, targets: Floats, weight: Floats | None
) -> LogOddsFit:
    """Fit the intercept of log odds whose slope is given, to targets of which not all are equal.

    Parameters
    ----------
    slope : float
        Of the score.
    score, targets : (n,) array
        The score, and labels or probabilities of them.
    weight : (n,) array or None
        Positive weights.

    Returns
    -------
    LogOddsFit
        The slope as it is given, with the standard error of the intercept alone.
    """
    share, total = shares(weight, len(targets))
    fixed = slope * score
    ends = LOG_SMALLEST_PROBABILITY - fixed.max(), -LOG_SMALLEST_PROBABILITY - fixed.min()
    value = float(brentq(lambda b: float(share @ (expit(fixed + b) - targets)), *ends, xtol=1e-12))
    fixed += value
    information = total * float(share @ (expit(fixed) * expit(-fixed)))
    stderr = np.array([1 / np.sqrt(information)]) if 0 < information < np.inf else None
    loss = float(share @ (np.logaddexp(0, fixed) - targets * fixed))
    return LogOddsFit(np.array([slope]), value, stderr, lambda: loss)


def within_reach(score: Floats) -> Floats:
    """Bring scores that are 1e6 or more away from most others to that distance.

    Such a row has probability 0 or 1 wherever it stands, but the others would all be equal in units
    of its distance. Most others are those between the deciles; their range counts as 1 at least.
    """
    low, high = np.quantile(score[:: max(1, score.size // SAMPLE)], [0.1, 0.9])
    reach = FAR * max(high - low, 1.0)
    if score.min() >= low - reach and score.max() <= high + reach:
        return score
    return np.clip(score, low - reach, high + reach)


def is_increasing(score: Floats, event: Flags, pivot: float | None = None) -> bool:
    """Tell whether no event has a lower score than another row; the pivot lies in between."""
    # A part of the rows first: what does not separate them does not separate all.
    if score.size > SAMPLE and not is_increasing(score[:SAMPLE], event[:SAMPLE], pivot):
        return False
    highest = score.max(where=~event, initial=-np.inf)
    lowest = score.min(where=event, initial=np.inf)
    return bool(highest <= lowest if pivot is None else highest <= pivot <= lowest)


def is_interval(score: Floats, event: Flags, pivot: float | None = None) -> bool:
    """Tell whether one class fills an interval of scores; the pivot is one of its ends."""
    if score.size > SAMPLE and not is_interval(score[:SAMPLE], event[:SAMPLE], pivot):
        return False
    for members in (~event, event):
        ends = [score.min(where=members, initial=np.inf), score.max(where=members, initial=-np.inf)]
        if pivot is not None:
            if ends[0] < pivot < ends[1]:
                continue
            ends.append(pivot)
        if not (~members & (min(ends) < score) & (score < max(ends))).any():
            return True
    return False


SCALES = ("log-odds", "probability")


@dataclass(kw_only=True, eq=False, repr=False)
class LogOddsMap(BinaryCalibrator):
    """Common parent of the maps that are linear in features of the log odds."""

    clip: float = SMALLEST_PROBABILITY

    @abstractmethod
    def _log_odds(self, inputs: Inputs) -> Floats:
        """Return the log odds of the event, (n,), from clipped inputs."""

    def _event(self, inputs: Inputs) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):  # to log odds of inf, the probability 1
            return np.asarray(expit(self._log_odds(inputs.clipped(self.clip))))


@dataclass(kw_only=True, eq=False, repr=False)
class PlattScaling(LogOddsMap):
    r"""Platt scaling: logistic regression on a score of the prediction.

    .. math:: P(Y = 1) = \frac{1}{1 + \exp(-(\alpha f + \beta))}

    The slope and intercept maximise the likelihood. The order of the predictions is kept where the
    slope is positive, and turned around where it is negative: then the score speaks against the
    event.

    Parameters
    ----------
    scale : {"log-odds", "probability"}, default "log-odds"
        What f is. Platt's own is the output of a support vector machine: pass such scores with
        `from_logits=True`, where log odds are taken as they are. scikit-learn's "sigmoid"
        takes whatever the classifier gives, so that "probability" is what it does with
        `predict_proba`.
    smooth_targets : bool, default False
        Fit to (N_1 + 1) / (N_1 + 2) where the event occurred and 1 / (N_0 + 2) where not, with N_1
        and N_0 the numbers of such rows (the sums of their weights), as Platt does against
        overfitting, and scikit-learn too.
    slope : float, optional
        A slope to be kept: 1 moves all log odds by the same number, "recalibration in the large".
        By default it is fitted.
    clip : float, default 2.2e-16
        In (0, 0.1]; smaller probabilities of either class are raised to it before their log odds
        are taken. Logits are not clipped.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.

    Attributes
    ----------
    slope_, intercept_ : float
        The parameters. Without smoothing: where all labels, or all scores and no slope is given,
        are equal, the slope is 0 and the map is the share of events, within
        [2.2e-16, 1 - 2.2e-16]; where a threshold separates the classes the likelihood has no
        maximum, and the mean loss is minimised plus 1e-8 (slope sd)^2 / 2, with sd the standard
        deviation of the scores, so that the slope is at most 1.2e4 / sd.
        In the fit, log odds that are 1e6 times the range of the middle 80 % of them, or 1e6 where
        that range is below 1, away from those, count as no further.
    standard_errors_ : dict
        Those of "slope" and "intercept", from the observed information, with sample weights as
        counts; None where the likelihood has no maximum, and of a slope that is given.

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines, Advances in Large Margin
    Classifiers, section 2 (with the opposite signs), 2.2 for the targets; Lin, Lin, Weng (2007), A
    note on Platt's probabilistic outputs for support vector machines, Machine Learning 68.

    Examples
    --------
    >>> from caltest.calibrators import PlattScaling
    >>> platt = PlattScaling().fit([0.1, 0.4, 0.6, 0.8, 0.7, 0.3], [0, 1, 0, 1, 1, 0])
    >>> round(platt.slope_, 4), round(platt.intercept_, 4)
    (1.6175, 0.0771)
    >>> platt.predict_proba([0.9]).round(4)
    array([[0.0258, 0.9742]])
    """

    key, title = "platt", "Platt scaling"

    scale: str = "log-odds"
    smooth_targets: bool = False
    slope: float | None = None

    def _fit_event(self, inputs: Inputs, event: Flags, weight: Floats | None) -> None:
        check_choice(self.scale, SCALES, "scale")
        smooth = check_flag(self.smooth_targets, "smooth_targets")
        score = self._score(inputs.clipped(self.clip))
        if self.scale == "log-odds":
            score = within_reach(score)
        targets = _smoothed(event, weight) if smooth else event.astype(np.float64)
        fit = self._best(score, event, targets, weight)
        self.slope_, self.intercept_ = (*fit.coef.tolist(), 0.0)[0], fit.intercept
        self.standard_errors_: dict[str, float | None] = {"slope": None, "intercept": None}
        if fit.stderr is not None:
            names = ("slope", "intercept")[-fit.stderr.size :]
            self.standard_errors_ |= dict(zip(names, fit.stderr.tolist(), strict=True))

    def _best(
        self, score: Floats, event: Flags, targets: Floats, weight: Floats | None
    ) -> LogOddsFit:
        if targets.min() == targets.max():
            return fit_constant(targets, weight)
        if self.slope is not None:
            return fit_intercept(check_finite(self.slope, "slope"), score, targets, weight)
        model = LogOddsModel(score[np.newaxis], weight, intercept=True)
        if not model.is_determined:
            self._note("all scores are equal: the slope is set to 0")
            return fit_constant(targets, weight)
        either = is_increasing(score, event) or is_increasing(score, ~event)
        separated = either and not self.smooth_targets
        if separated:
            text = "the slope is infinite and set to its limit"
            self._note(f"the scores separate the classes: {text}")
        return model.fit(targets, separated=separated)

    def _score(self, inputs: Inputs) -> Floats:
        return inputs.log_odds if self.scale == "log-odds" else inputs.event

    def _log_odds(self, inputs: Inputs) -> Floats:
        return np.asarray(self.slope_ * self._score(inputs) + self.intercept_)

    def coefficients(self) -> Sequence[Coefficient]:
        errors = self.standard_errors_
        # On the scale of probabilities no slope and intercept are the identity.
        neutral = (1.0, 0.0) if self.scale == "log-odds" else (None, None)
        slope = Coefficient("slope", self.slope_, errors["slope"], neutral[0])
        return [slope, Coefficient("intercept", self.intercept_, errors["intercept"], neutral[1])]


def _smoothed(event: Flags, weight: Floats | None) -> Floats:
    """Return Platt's targets; huge weights leave them inside of (0, 1) too."""
    if weight is None:
        events, others = float(event.sum()), float((~event).sum())
    else:
        largest = float(weight.max())  # so that no sum overflows
        events = largest * float((weight[event] / largest).sum())
        others = largest * float((weight[~event] / largest).sum())
    low, high = 1 / (others + 2), 1 - 1 / (events + 2)
    return np.where(event, min(high, 1 - SMALLEST_PROBABILITY), max(low, SMALLEST_PROBABILITY))


# ---- Quadratic scaling, Berta et al. 2025 ------------------------------------------------------

NAMES = ("intercept", "slope", "quadratic")


class QuadraticScaling(LogOddsMap):
    r"""Quadratic scaling: logistic regression on the log odds and their square.

    .. math:: \ln \frac{\mu(p)}{1 - \mu(p)} = \beta_0 + \beta_1 s + \beta_2 s^2,
        \qquad s = \ln \frac{p}{1 - p}

    The parameters maximise the likelihood. It is the map that is right where the log odds of either
    class are normal, with variances that may differ; of equal ones :math:`\beta_2 = 0`, as in
    `PlattScaling`. A map with :math:`\beta_2 \ne 0` turns the order of predictions around beyond
    :math:`s = -\beta_1 / 2 \beta_2`, which may lie within the data.

    Parameters
    ----------
    clip : float, default 2.2e-16
        In (0, 0.1]; smaller probabilities of either class are raised to it before their log odds
        are taken. Logits are not clipped.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.

    Attributes
    ----------
    intercept_, slope_, quadratic_ : float
        The parameters. Where all labels or all predictions are equal, slope and quadratic are 0 and
        the map is the share of events; where the predictions take two values, the quadratic is 0.
        Where an interval separates the classes, the mean loss is minimised plus 1e-8 / 2 times the
        sum of squares of the slopes per standard deviation of their features.
    standard_errors_ : dict
        Those of "intercept", "slope" and "quadratic", from the observed information, with sample
        weights as counts; None where a parameter is set to 0 or the likelihood has no maximum.

    References
    ----------
    Berta, Holzmueller, Jordan, Bach (2025), Structured matrix scaling for multi-class calibration,
    arXiv 2511.03685, which calls it quadratic scaling.

    Examples
    --------
    >>> from caltest.calibrators import QuadraticScaling
    >>> p, y = [0.1, 0.4, 0.6, 0.8, 0.7, 0.3, 0.9], [0, 1, 0, 1, 1, 0, 1]
    >>> quadratic = QuadraticScaling().fit(p, y)
    >>> quadratic.predict_proba([0.4, 0.8])[:, 1].round(4)
    array([0.3437, 0.9286])
    """

    key, title = "quadratic", "Quadratic scaling"

    def _fit_event(self, inputs: Inputs, event: Flags, weight: Floats | None) -> None:
        score = within_reach(inputs.clipped(self.clip).log_odds)
        fit = self._best(score, event, weight)
        values = [fit.intercept, *fit.coef.tolist(), 0.0, 0.0]
        self.intercept_, self.slope_, self.quadratic_ = values[:3]
        self.standard_errors_: dict[str, float | None] = dict.fromkeys(NAMES)
        if fit.stderr is not None:
            errors = np.roll(fit.stderr, 1).tolist()
            self.standard_errors_ |= dict(zip(NAMES, errors, strict=False))

    def _best(self, score: Floats, event: Flags, weight: Floats | None) -> LogOddsFit:
        targets = event.astype(np.float64)
        if event.min() == event.max():
            return fit_constant(targets, weight)
        model = LogOddsModel(np.stack([score, score**2]), weight, intercept=True)
        if model.is_determined:
            separated = is_interval(score, event)
        else:
            model = LogOddsModel(score[np.newaxis], weight, intercept=True)
            if not model.is_determined:
                self._note("all predictions are equal: slope and quadratic are set to 0")
                return fit_constant(targets, weight)
            self._note("the predictions take too few values: the quadratic is set to 0")
            separated = is_increasing(score, event) or is_increasing(score, ~event)
        if separated:
            text = "the slopes are infinite and set to their limits"
            self._note(f"the predictions separate the classes: {text}")
        return model.fit(targets, separated=separated)

    def _log_odds(self, inputs: Inputs) -> Floats:
        s = inputs.log_odds
        return np.asarray(self.intercept_ + (self.slope_ + self.quadratic_ * s) * s)

    def coefficients(self) -> Sequence[Coefficient]:
        values = (self.intercept_, self.slope_, self.quadratic_)
        errors = [self.standard_errors_[name] for name in NAMES]
        return list(map(Coefficient, NAMES, values, errors, (0.0, 1.0, 0.0)))


# ---- Beta calibration, Kull, Silva Filho and Flach 2017 -----------------------------------------

Face = tuple[str, ...]  # the parameters that are not 0; "ab" is a = b
Features = dict[str, Floats]
Fitted = tuple[Face, LogOddsFit]
PARAMETERS = ("abm", "am", "ab")
FARTHEST = 800.0  # log odds whose probability has no logarithm


@dataclass(kw_only=True, eq=False, repr=False)
class BetaCalibrator(LogOddsMap):
    r"""Beta calibration: the maps between densities that are both of the beta family.

    .. math:: \ln \frac{\mu(p)}{1 - \mu(p)} = a \ln p - b \ln(1 - p) + c, \qquad a, b \ge 0

    It bends the ends of the unit interval independently, and has the identity in the family:
    a = b = 1, c = 0. The parameters maximise the likelihood; where its maximum has a negative a or
    b, the maximum under the constraint is taken, which lies on one of its faces.

    Parameters
    ----------
    parameters : {"abm", "am", "ab"}, default "abm"
        All three; a = b, which is logistic regression on the log odds; or m = 1/2, which keeps the
        probability 1/2 where it is: c = (a - b) ln 2.
    constrained : bool, default True
        Whether a and b must not be negative. Without this the map may turn the order of predictions
        around, as that of the betacal package for "am" and "ab".
    clip : float, default 2.2e-16
        In (0, 0.1]; smaller probabilities of either class are raised to it before their logarithm
        is taken. Logits are not clipped.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.

    Attributes
    ----------
    a_, b_, c_ : float
        The parameters. Where all labels or all predictions are equal, a = b = 0 and the map is the
        share of events (1/2 for "ab" if all predictions are 1/2). Where the predictions take too
        few values to tell a and b apart, a = b. Where the likelihood has no maximum since an
        admissible map separates the classes, the mean loss is minimised plus 1e-8 / 2 times the
        sum of squares of the slopes per standard deviation of their features, so that each of
        these is at most 1.2e4.
    m_ : float or None
        Where the map is 1/2: 0 or 1 where it is above or below everywhere, None where `c_` is free
        and a or b is negative, so that this may be nowhere or at two places.
    standard_errors_ : dict
        Those of "a", "b" and "c", from the observed information, with sample weights as counts;
        None for what is 0 by the constraint, c of "ab", and where the likelihood has no maximum.

    Notes
    -----
    In the fit, logarithms that are 1e6 times the range of the middle 80 % of them, or 1e6 where
    that range is below 1, away from those, count as no further. betacal refits without a if a is
    negative and without b otherwise; this is not the best admissible map where a and b change
    roles.

    References
    ----------
    Kull, Silva Filho and Flach (2017), Beta calibration: a well-founded and easily implemented
    improvement on logistic calibration for binary classifiers, AISTATS, PMLR 54.

    Examples
    --------
    >>> from caltest.calibrators import BetaCalibrator
    >>> p, y = [0.1, 0.4, 0.6, 0.8, 0.7, 0.3, 0.9], [0, 1, 0, 1, 1, 0, 1]
    >>> beta = BetaCalibrator(parameters="am").fit(p, y)
    >>> round(beta.a_, 4), round(beta.b_, 4), round(beta.m_, 4)
    (1.6971, 1.6971, 0.4854)
    """

    key, title = "beta", "Beta calibration"

    parameters: str = "abm"
    constrained: bool = True

    def _fit_event(self, inputs: Inputs, event: Flags, weight: Floats | None) -> None:
        check_choice(self.parameters, PARAMETERS, "parameters")
        check_flag(self.constrained, "constrained")
        logs = inputs.clipped(self.clip).log_probs
        centre = 0.0 if self._has_intercept else math.log(2)
        a, b = within_reach(logs[:, 1]) + centre, within_reach(-logs[:, 0]) - centre
        features = {"a": a, "b": b, "ab": a + b}
        face, fit = self._best(features, event, weight)
        values = dict.fromkeys("ab", 0.0)
        for names, value in zip(face, fit.coef.tolist(), strict=True):
            values |= dict.fromkeys(names, value)
        self.a_, self.b_ = values["a"], values["b"]
        self.c_ = fit.intercept + (self.a_ - self.b_) * centre
        self.m_ = self._midpoint()
        self.standard_errors_: dict[str, float | None] = dict.fromkeys("abc")
        if fit.stderr is not None:
            parts = (*face, "c") if self._has_intercept else face
            for part, error in zip(parts, fit.stderr.tolist(), strict=True):
                self.standard_errors_ |= dict.fromkeys(part, error)

    @property
    def _has_intercept(self) -> bool:
        return self.parameters != "ab"

    def _best(self, features: Features, event: Flags, weight: Floats | None) -> Fitted:
        """Return the best admissible parameters.

        The loss is convex, so that a constrained minimum is the free minimum of the face it lies
        in: that of all parameters if it is admissible, and otherwise the best of the others.
        """
        targets = event.astype(np.float64)
        constant: Fitted = (), fit_constant(targets, weight, intercept=self._has_intercept)
        face, model = self._determined(features, event, weight)
        if model is None:
            return constant
        score = features["ab"]
        separated = unbounded = self._has_none(face, score, event)
        if self.constrained:
            separated = is_increasing(score, event, self._pivot)
        if separated:
            text = "a and b are infinite and set to their limits"
            self._note(f"the predictions separate the classes: {text}")
        # A face without a minimum, where there is one, leads to maps that are not admissible.
        if separated or not unbounded:
            fit = model.fit(targets, separated=separated)
            if not self.constrained or (fit.coef >= 0).all():
                return face, fit
        found = [constant]
        for side in [(name,) for name in face if len(face) > 1]:
            if separated or not self._has_none(side, score, event):
                fit = self._model(side, features, weight).fit(targets, separated=separated)
                found += [(side, fit)] if fit.coef[0] >= 0 else []
        return min(found, key=lambda item: item[1].loss())

    def _model(self, face: Face, features: Features, weight: Floats | None) -> LogOddsModel:
        rows = np.stack([features[name] for name in face])
        return LogOddsModel(rows, weight, intercept=self._has_intercept)

    def _determined(
        self, features: Features, event: Flags, weight: Floats | None
    ) -> tuple[Face, LogOddsModel | None]:
        """Return the parameters that the data can tell apart."""
        if self._has_intercept and event.min() == event.max():
            return (), None
        if self.parameters != "am":
            model = self._model(("a", "b"), features, weight)
            if model.is_determined:
                return ("a", "b"), model
        model = self._model(("ab",), features, weight)
        if not model.is_determined:
            self._note("all predictions are equal: a and b are set to 0")
            return (), None
        if self.parameters != "am":
            self._note("the predictions take too few values to tell a and b apart: a = b")
        return ("ab",), model

    def _has_none(self, face: Face, score: Floats, event: Flags) -> bool:
        """Tell whether the likelihood has no maximum without the constraint.

        A map with one slope separates by a threshold, one with two slopes by an interval.
        """
        if len(face) == 2:
            return is_interval(score, event, self._pivot)
        return is_increasing(score, event, self._pivot) or is_increasing(score, ~event, self._pivot)

    @property
    def _pivot(self) -> float | None:
        """Log odds that the map leaves at 0."""
        return None if self._has_intercept else 0.0

    def _midpoint(self) -> float | None:
        """Solve a ln m - b ln(1 - m) + c = 0."""
        if not self._has_intercept:
            return 0.5
        a, b, c = self.a_, self.b_, self.c_
        if min(a, b) < 0:
            return None

        def log_odds(s: float) -> float:
            return -a * float(np.logaddexp(0, -s)) + b * float(np.logaddexp(0, s)) + c

        if a == b == c == 0:
            return 0.5
        if log_odds(-FARTHEST) >= 0 or log_odds(FARTHEST) <= 0:
            return 0.0 if log_odds(0) > 0 else 1.0
        return float(expit(brentq(log_odds, -FARTHEST, FARTHEST, xtol=1e-14, rtol=1e-15)))

    def _log_odds(self, inputs: Inputs) -> Floats:
        logs = inputs.log_probs
        return np.asarray(self.a_ * logs[:, 1] - self.b_ * logs[:, 0] + self.c_)

    def coefficients(self) -> Sequence[Coefficient]:
        errors, scale = self.standard_errors_, "positive" if self.constrained else ""
        a = Coefficient("a", self.a_, errors["a"], 1.0, scale=scale)
        b = Coefficient("b", self.b_, errors["b"], 1.0, scale=scale)
        return [a, b, Coefficient("c", self.c_, errors["c"], 0.0)][: 2 + self._has_intercept]
