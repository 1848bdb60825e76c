"""A statistic of the user's own: a function of (probs, labels), or a metric of scikit-learn."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable, invalid, shown
from caltest.measures.base import Measure
from caltest.measures.bound import RowStatistic
from caltest.measures.fits import fitted
from caltest.numerics.labels import resample_keys
from caltest.predictions import Predictions
from caltest.types import Floats, Ints, Labels
from caltest.units import RowUnits

__all__ = ["from_callable", "from_metric"]

Metric = Callable[..., float]
ALTERNATIVES = ("greater", "two-sided")
FEW = 8  # redrawn labels whose statistics say how large a term is, which ties are measured by
OF_LABELS_FIRST = ("y_true", "y", "labels", "target", "targets")  # names of a first argument


@dataclass(frozen=True, kw_only=True)
class OwnMeasure(Measure):
    """A function of probabilities and labels; see `from_callable`."""

    key, title = "own", "statistic of the user's own"
    tests: ClassVar[dict[str, dict[str, object]]] = {}
    no_interval: ClassVar[str] = "may be biased, as most errors are, so that no interval is sure"
    compute: Callable[..., float]
    name: str
    sided: str = "greater"

    def __post_init__(self) -> None:
        own = {"key": self.name, "title": self.name, "alternative": self.sided}
        for name, value in own.items():  # those of an instance, where others have those of a class
            object.__setattr__(self, name, value)

    @property
    def symbol(self) -> str:
        return self.name

    needs_rows: ClassVar[str] = "it is a function of the label of each"
    intervals: ClassVar[tuple[str, ...]] = ()

    interval_instead: ClassVar[str] = "a test that has an interval, such as test='debiased-ece'"

    def calibrated_value(self, predictions: Predictions) -> float | None:
        return None

    def bind(self, predictions: Predictions) -> RowStatistic:
        weight, given = predictions.sample_weight, dict[str, Any]()
        if weight is not None:
            if "sample_weight" not in parameters_of(self.compute):
                reason = f"{self.name} has no parameter sample_weight, and the rows have weights"
                raise NotApplicable(reason, "give the function one, or leave the weights out")
            given = {"sample_weight": weight}

        def values(labels: Labels) -> Floats:
            return np.array([self._value(predictions, row, given) for row in labels])

        bound = RowStatistic(fitted(RowUnits(predictions), values))
        sizes = np.abs([bound.value(), *bound.values(bound.redraw(resample_keys(0, FEW)))])
        bound.scale = float(sizes[np.isfinite(sizes)].max(initial=0.0)) or 1.0
        return bound

    def _value(self, predictions: Predictions, row: Labels, given: dict[str, Any]) -> float:
        """Return the value of the function for labels (n,), which may be wrong in many ways."""
        labels, name = row.astype(np.int64), self.name
        try:
            found = self.compute(predictions.probs, labels, **given)
        except Exception as error:
            which = "observed" if np.array_equal(labels, predictions.labels) else "redrawn"
            codes = f"{which} labels as codes 0..{predictions.m - 1}"
            error.add_note(
                f"caltest called {name} with probabilities {predictions.probs.shape} and {codes}"
            )
            raise
        value = np.asarray(found)
        if value.size != 1 or value.dtype.kind not in "fiub" or math.isnan(float(value.item())):
            rule = f"{name} must return a number that is not NaN, for any labels"
            remedy = "let it return a float also where a class is not among the labels"
            raise invalid(rule, shown(found), remedy)
        return float(value.item())


def is_function(value: object) -> bool:
    """Tell whether a value can be called and is neither a class nor a measure."""
    return callable(value) and not isinstance(value, Measure | type)


def measure_of(test: Any) -> Any:
    """Return the measure of a function of the user's own; whatever else may be a test as it is."""
    return from_callable(test) if is_function(test) else test


def parameters_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the parameters of a function; none where Python does not know them."""
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return ()


def from_callable(
    function: Callable[..., float], *, name: str | None = None, alternative: str = "greater"
) -> OwnMeasure:
    r"""Make a test of a function of your own, with an exact p-value.

    Labels are redrawn from the predictions and the function computed for each:
    :math:`p = (1 + \#\{T^* \ge T\}) / (1 + B)`, which is valid at every sample size and for every
    function. `test_calibration(test=function)` is the same with the defaults below.

    Parameters
    ----------
    function : callable
        `function(probs, labels)` with the (n, m) probabilities under the lens, read-only, and the
        (n,) labels as codes 0..m-1 returns a number. One with a parameter `sample_weight` gets the
        (n,) weights where rows have them.
    name : str, optional
        What it is called in print, unlike other tests of a call; by default its own name.
    alternative : {"greater", "two-sided"}, default "greater"
        Which values speak against calibration: large ones, as of an error, or small ones too, as of
        a score.

    Returns
    -------
    Measure
        What `test=` takes, with every lens, `by=`, and in a list with other tests.

    Raises
    ------
    InvalidInput
        If the function is no callable of (probs, labels), or returns no number.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), Calibration tests in multi-class classification, appendix
    D, for labels redrawn from the predictions.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> def largest_gap(probs, labels):
    ...     observed = np.eye(probs.shape[1])[labels]
    ...     return abs((observed - probs).mean(axis=0)).max()
    >>> predictions = ct.datasets.generative_model("M1", n=100, m=3, rng=1)
    >>> result = ct.test_calibration(None, predictions, test=largest_gap, rng=1)
    >>> bool(result.statistic == largest_gap(predictions.probs, predictions.labels))
    True
    """
    takes_two = is_function(function)
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        takes_two = False
    except ValueError:  # of a builtin there is none
        pass
    if not takes_two:
        rule = "function must be a function of (probs, labels)"
        raise invalid(rule, shown(function), "pass one, def f(probs, labels, sample_weight=None)")
    first = next(iter(parameters_of(function)), "")
    if first in OF_LABELS_FIRST:
        raise invalid(
            "function must take the probabilities first, then the labels",
            f"one whose first parameter is {first!r}",
            "wrap metrics of (y_true, y_prob) with ct.measures.from_metric",
        )
    checks.check_choice(alternative, ALTERNATIVES, "alternative")
    return OwnMeasure(compute=function, name=name or name_of(function), sided=alternative)


def from_metric(
    metric: Metric, *, name: str | None = None, alternative: str = "two-sided", **options: Any
) -> OwnMeasure:
    """Make a test of a metric of scikit-learn, with an exact p-value.

    Parameters
    ----------
    metric : callable
        `metric(y_true, y_prob)`, such as `brier_score_loss`: of two classes it gets P(Y = 1), (n,),
        of more the (n, m) probabilities. One with parameters `labels` and `sample_weight` gets all
        classes, and the weights where rows have them.
    name : str, optional
        What it is called in print, unlike other tests of a call; by default its own name.
    alternative : {"two-sided", "greater"}, default "two-sided"
        Which values speak against calibration. Scores of a calibrated model have a mean above 0 and
        may be off on both sides of it.
    **options
        Further arguments of the metric.

    Returns
    -------
    Measure
        What `test=` takes.

    Raises
    ------
    InvalidInput
        If the metric is no callable, or returns no number.

    Examples
    --------
    >>> import caltest as ct
    >>> from sklearn.metrics import brier_score_loss
    >>> data = ct.datasets.generative_model("M1", n=200, m=2, rng=1)
    >>> brier = ct.measures.from_metric(brier_score_loss)
    >>> own = ct.test_calibration(None, data, test=brier, rng=1)
    >>> own.pvalue == ct.test_calibration(None, data, test="brier", rng=1).pvalue
    True
    """
    if not is_function(metric):
        rule = "metric must be a function of (y_true, y_prob)"
        raise invalid(rule, shown(metric), "pass one, such as sklearn.metrics.brier_score_loss")
    checks.check_choice(alternative, ALTERNATIVES, "alternative")
    function = partial(_of_metric, metric, options)
    if "sample_weight" in parameters_of(metric):
        function = partial(_of_weighted_metric, metric, options)
    return OwnMeasure(compute=function, name=name or name_of(metric), sided=alternative)


def _of_metric(metric: Metric, options: dict[str, Any], probs: Floats, labels: Ints) -> float:
    m = probs.shape[1]
    every = {"labels": np.arange(m)} if "labels" in parameters_of(metric) else {}
    return metric(labels, probs[:, 1] if m == 2 else probs, **{**every, **options})


def _of_weighted_metric(
    metric: Metric, options: dict[str, Any], probs: Floats, labels: Ints, sample_weight: Any = None
) -> float:
    return _of_metric(metric, {"sample_weight": sample_weight, **options}, probs, labels)


def name_of(function: Callable[..., Any]) -> str:
    """Return what a function is called."""
    while isinstance(function, partial):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    return "own statistic" if name == "<lambda>" else name
