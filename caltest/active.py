"""Active learning with calibration: labels are bought where a calibrated model is uncertain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import entr
from sklearn.base import clone
from sklearn.utils.validation import check_X_y

from caltest import checks
from caltest.errors import invalid, shown
from caltest.predictions.models import describe
from caltest.types import AnyArray, Floats, Ints

QUERIES = ("entropy", "margin", "uncertainty")


def query_scores(probs: Floats, query: str = "entropy") -> Floats:
    r"""Return how uncertain predictions are, in [0, 1]: labels are bought of the larger ones.

    Parameters
    ----------
    probs : (n, m) array
        Probabilities of the classes.
    query : {"entropy", "margin", "uncertainty"}
        The criterion of the authors' package pycalib: the entropy over that of equal probabilities,
        :math:`-\sum_k p_k \ln p_k / \ln m`, which is the paper's (section 4); one less the margin
        :math:`p_{(1)} - p_{(2)}` of the two largest probabilities, so that, other than there, the
        uncertain rows have the larger values; or one less the confidence, :math:`1 - p_{(1)}`.

    Returns
    -------
    (n,) array
        The values of the criterion.

    Examples
    --------
    >>> query_scores([[0.5, 0.5], [0.75, 0.25]], "margin").tolist()
    [1.0, 0.5]
    """
    checks.check_choice(query, QUERIES, "query")
    probs = checks.check_probs(probs)
    if query == "entropy":
        return np.asarray(entr(probs).sum(axis=1) / np.log(probs.shape[1]))
    second, first = np.sort(probs, axis=1)[:, -2:].T
    return np.asarray(1 - first + second if query == "margin" else 1 - first)


@dataclass(kw_only=True, repr=False)
class ActiveLearner:
    """Pass once through rows and buy the labels of those of which the model is uncertain.

    Batches of rows come in the order given. The label of a row is bought where the criterion of its
    calibrated prediction is above `threshold`, and the model learns from the bought rows of the
    batch: by `partial_fit` where it has that, otherwise it is fitted again to all bought rows. With
    a calibrator, when as many labels have been bought as `points` says, the next
    `calibration` uncertain rows are bought to calibrate, not to learn from, and the calibrator is
    fitted to the predictions of all such rows so far.

    Parameters
    ----------
    model : classifier of scikit-learn
        What learns. A copy is fitted.
    calibrator : Calibrator, optional
        What calibrates its probabilities, such as `GPCalibrator`, which the paper does. By default
        nothing.
    query : {"entropy", "margin", "uncertainty"}
        The criterion; see `query_scores`.
    threshold : float, default 0.5
        Below 1; the paper's is 0.5, that of the authors' program 0.25, and 0 buys all labels but
        those of which the model is certain. Of m classes the uncertainty is 1 - 1 / m at most, so
        that it must be less there.
    start : int, default 1000
        Labels bought before the first query.
    points : sequence of int, default (1000, 2500, 4000)
        Labels bought when calibration rows are bought.
    calibration : int, default 200
        Labels bought for each calibration.
    batch : int, default 250
        Rows looked at together.
    passes : int, default 1
        How often `partial_fit` sees the rows of a batch.

    Attributes
    ----------
    classes_ : (m,) array
        The labels, sorted.
    model_ : classifier
        The fitted copy.
    calibrator_ : Calibrator or None
        Its fitted copy, from the first calibration on.
    seen_, bought_ : int
        Rows looked at, and labels bought.

    Raises
    ------
    InvalidInput
        If an option breaks its rule, the model gives no probabilities, a label is not in `classes`,
        or there are not more rows than `start`.

    References
    ----------
    Wenger, Kjellstroem, Triebel (2020), Non-parametric calibration for classification, AISTATS,
    section 4; `ActiveLearningExperiment` of the authors' package pycalib.

    Examples
    --------
    >>> import caltest as ct
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import SGDClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> options = {"start": 200, "points": [300], "calibration": 100, "threshold": 0.1}
    >>> learner = ct.ActiveLearner(
    ...     model=SGDClassifier(loss="log_loss", alpha=1, random_state=0),
    ...     calibrator=ct.calibrators.TemperatureScaling(), **options)
    >>> for step in learner.steps(X[:1500] / 16, y[:1500]):
    ...     accuracy = (step.predict_proba(X[1500:] / 16).argmax(axis=1) == y[1500:]).mean()
    >>> bool(accuracy > 0.7), learner.seen_, learner.bought_ < 1500
    (True, 1500, True)
    """

    model: Any = field(kw_only=False)
    calibrator: Any = field(default=None, kw_only=False)
    query: str = "entropy"
    threshold: float = 0.5
    start: int = 1000
    points: Sequence[int] = (1000, 2500, 4000)
    calibration: int = 200
    batch: int = 250
    passes: int = 1

    def steps(self, X: object, y: object, *, classes: object = None) -> Iterator[ActiveLearner]:
        """Learn, and yield this learner before each batch, so that it can be evaluated there.

        Parameters
        ----------
        X : (n, d) array
            Features, in the order in which rows come.
        y : (n,) array
            Labels, of which only bought ones are used.
        classes : (m,) array, optional
            All labels there may be, sorted; by default those in y.

        Yields
        ------
        ActiveLearner
            This object. After the last batch it has learnt from that too.
        """
        points = self._checked_points()
        rows, labels = check_X_y(X, y)
        if len(labels) <= self.start:
            got = f"start={self.start} and {len(labels)} rows"
            raise invalid("start must be below the number of rows", got, "pass a smaller start")
        self.classes_ = np.unique(labels if classes is None else np.asarray(classes))
        if self.classes_.size < 2 or not np.isin(labels, self.classes_).all():
            rule = "y must hold two or more classes, all of them in classes"
            raise invalid(
                rule, f"labels {shown(np.unique(labels).tolist())}", "add what is missing"
            )
        most = 1 - 1 / self.classes_.size if self.query == "uncertainty" else 1
        if self.threshold >= most:
            rule = f"threshold must be below {most:.3g}, the largest value of {self.query!r}"
            raise invalid(rule, f"{self.threshold:g}", "pass a smaller one")
        self.model_, self.calibrator_ = clone(self.model, safe=False), None
        self._learnt = self._kept = np.empty(0, dtype=np.int64)
        self._learn(rows, labels, np.arange(self.start))
        self.seen_ = self.bought_ = self.start
        kept: list[Floats] = []
        while self.seen_ < len(labels):
            if points and self.calibrator is not None and self.bought_ >= points[0]:
                points = points[1:]
                chosen = self._uncertain(rows, self.seen_)[: self.calibration]
                if chosen.size:
                    kept.append(self._raw(rows[chosen]))
                    self._kept = np.append(self._kept, chosen)
                    fresh = clone(self.calibrator).set_params(classes=self.classes_.tolist())
                    self.calibrator_ = fresh.fit(np.concatenate(kept), labels[self._kept])
                    self.seen_, self.bought_ = int(chosen[-1]) + 1, self.bought_ + chosen.size
            yield self
            wanted = self._uncertain(rows[: self.seen_ + self.batch], self.seen_)
            self._learn(rows, labels, wanted)
            self.seen_ = min(self.seen_ + self.batch, len(labels))
            self.bought_ += wanted.size

    def _checked_points(self) -> list[int]:
        """Check the options; return the points in ascending order."""
        checks.check_share(self.threshold, "threshold")
        checks.check_choice(self.query, QUERIES, "query")
        for name in ("start", "calibration", "batch", "passes"):
            checks.check_integer(getattr(self, name), name)
        for name, one in (("model", self.model), ("calibrator", self.calibrator)):
            is_one = hasattr(one, "predict_proba") and not isinstance(one, type)
            if not is_one and (name == "model" or one is not None):
                remedy = "pass an estimator that gives probabilities"
                raise invalid(f"{name} must have predict_proba", describe(one), remedy)
        if self.calibrator is not None and getattr(self.calibrator, "from_logits", True):
            rule = "calibrator must be one of caltest.calibrators that takes probabilities"
            remedy = "pass caltest.calibrators.GPCalibrator(), for example"
            raise invalid(rule, describe(self.calibrator), remedy)
        points = np.atleast_1d(self.points).tolist()
        return sorted(checks.check_integer(one, "points") for one in points)

    def _uncertain(self, X: Floats, start: int) -> Ints:
        if start == len(X):
            return np.empty(0, dtype=np.int64)
        scores = query_scores(self.predict_proba(X[start:]), self.query)
        return start + np.flatnonzero(scores > self.threshold)

    def _learn(self, X: Floats, y: AnyArray, rows: Ints) -> None:
        if not rows.size:
            return
        self._learnt = np.append(self._learnt, rows)
        if hasattr(self.model_, "partial_fit"):
            for _ in range(self.passes):
                self.model_.partial_fit(X[rows], y[rows], classes=self.classes_)
        else:
            self.model_.fit(X[self._learnt], y[self._learnt])

    def _raw(self, X: Floats) -> Floats:
        """Return uncalibrated probabilities: 0 of classes not yet seen, rows of zeros uniform."""
        probs = np.zeros((len(X), len(self.classes_)))
        known = np.searchsorted(self.classes_, getattr(self.model_, "classes_", self.classes_))
        probs[:, known] = self.model_.predict_proba(X)
        total = probs.sum(axis=1, keepdims=True)
        return np.where(total > 0, probs / np.where(total > 0, total, 1), 1 / probs.shape[1])

    def predict_proba(self, X: Floats) -> Floats:
        """Return probabilities, calibrated from the first calibration on.

        Parameters
        ----------
        X : (n, d) array
            Features.

        Returns
        -------
        (n, m) array
            Probabilities of `classes_`.
        """
        probs, calibrator = self._raw(X), self.calibrator_
        return probs if calibrator is None else np.asarray(calibrator.predict_proba(probs))
