"""What a calibrator is: a scikit-learn estimator whose features are probabilities."""

from __future__ import annotations

import math
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, TransformerMixin, clone
from sklearn.utils.validation import _check_feature_names, _check_n_features, check_is_fitted

from caltest import checks
from caltest.calibrators.inputs import Inputs
from caltest.calibrators.output import Saved, summary_of
from caltest.drawing import draw
from caltest.errors import DegenerateDataWarning, invalid
from caltest.numerics.sorted_scores import moderate_weight
from caltest.predictions import Predictions
from caltest.predictions.tables import classes_in_order, classes_of_columns
from caltest.results import Summary
from caltest.types import AnyArray, Codes, Flags, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CLOSE = 1e-6  # to 1, the sum of the probabilities of a map that was read
LARGEST_WEIGHT = 1e300  # of a row: sums of weighted losses are finite


def check_labels_given(y: object) -> AnyArray:
    """Check that there are labels; a column of them becomes one dimension, with a warning."""
    if y is None:
        # The last words are those that scikit-learn's own checks look for.
        remedy = "pass the labels: a calibrator requires y to be passed, but the target y is None"
        raise invalid("y must be given", "None", remedy)
    given = checks.as_array(y, "y")
    if given.dtype.kind == "c":
        remedy = "pass integers or strings: Complex data not supported"  # scikit-learn's words
        raise invalid("y must be labels", f"dtype {given.dtype}", remedy)
    values = checks.label_values(given, "y")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argwhere(~np.isfinite(values))[0, 0])
        got = f"{values[row].max():.8g} at row {row}"
        if np.isnan(values[row]).any():
            raise checks.missing("y", got)
        raise invalid("y must be finite", got, "drop or correct that row")
    if given.ndim == 2 and given.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        # The first words are those that scikit-learn's own checks look for.
        text = "A column-vector y was passed when a 1d array was expected; pass .ravel()"
        warnings.warn(text, DataConversionWarning, stacklevel=4)
    return values


def check_row_weights(weights: object, n: int) -> Floats | None:
    """Check weights of rows, where there are any, and scale those whose sums might overflow."""
    if weights is None:
        return None
    return moderate_weight(checks.check_weights(weights, n), LARGEST_WEIGHT)


def _label_at_end(column: object, labels: Iterable[object]) -> object:
    """Return the longest label that the name of a column ends in, in letters of any case."""
    ends = {one: rf"(^|[\W_]){re.escape(str(one))}$" for one in labels}
    found = [one for one, end in ends.items() if re.search(end, str(column), re.IGNORECASE)]
    return max(found, key=lambda one: len(str(one)), default=None)


@dataclass(frozen=True, slots=True)
class CalibrationSet:
    """What a calibrator was fitted on.

    Attributes
    ----------
    inputs : Inputs
        Probabilities or logits.
    codes : (n,) array of int64
        Column of each label.
    weight : (n,) array or None
        Sample weights.
    """

    inputs: Inputs
    codes: Codes
    weight: Floats | None

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.inputs.values)

    @property
    def from_logits(self) -> bool:
        """Whether the inputs are logits."""
        return self.inputs.from_logits

    @property
    def counted(self) -> CalibrationSet:
        """The rows that have weight."""
        if self.weight is None or (self.weight > 0).all():
            return self
        return self.rows(self.weight > 0)

    def rows(self, rows: AnyArray) -> CalibrationSet:
        """Take some of the rows, given by indices or a mask."""
        weight = None if self.weight is None else self.weight[rows]
        return CalibrationSet(self.inputs.rows(rows), self.codes[rows], weight)

    def against_rest(self, k: int) -> CalibrationSet:
        """Return class k against all others: two classes, k the second of them."""
        codes = (self.codes == k).astype(np.int64)
        return CalibrationSet(self.inputs.against_rest(k), codes, self.weight)


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A fitted parameter, with its standard error where the likelihood gives one.

    Attributes
    ----------
    name : str
        As it prints.
    value : float
        The estimate.
    stderr : float or None
        None where the likelihood has no maximum, or the parameter is not fitted by it.
    neutral : float or None
        The value in the map that changes nothing, which z tests; None where the parameter has no
        such value.
    n : float or None
        The number of rows of which a share is the parameter: its interval is Wilson's then.
    scale : {"", "log", "positive"}
        Of the interval: logarithmic for parameters that are positive, cut off at 0 for those that
        may be 0; else as the parameter stands.
    """

    name: str
    value: float
    stderr: float | None = None
    neutral: float | None = None
    n: float | None = None
    scale: str = ""

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        r"""Return an interval that stays in the range of the parameter; None without an error.

        Of a share v of n rows Wilson's, :math:`(v + z^2 / 2n \pm z \sqrt{v (1 - v) / n + z^2 /
        4 n^2}) / (1 + z^2 / n)`; on a logarithmic scale :math:`v \exp(\pm z s / v)`; else
        :math:`v \pm z s`.

        References
        ----------
        Wilson (1927), Probable inference, the law of succession, and statistical inference, JASA
        22; Brown, Cai, DasGupta (2001), Interval estimation for a binomial proportion, Statistical
        Science 16.
        """
        from scipy.special import ndtri

        if self.stderr is None:
            return None
        z, v = float(ndtri((1 + level) / 2)), self.value
        if self.n is not None:
            half = z * math.sqrt(v * (1 - v) / self.n + (z / self.n) ** 2 / 4)
            middle, size = v + z * z / self.n / 2, 1 + z * z / self.n
            return max(0.0, (middle - half) / size), min(1.0, (middle + half) / size)
        if self.scale == "log":
            factor = math.exp(min(z * self.stderr / v, 700.0))
            return v / factor, v * factor
        low, high = v - z * self.stderr, v + z * self.stderr
        return (max(0.0, low) if self.scale == "positive" else low), high


@dataclass(kw_only=True, eq=False, repr=False)
class Calibrator(ClassifierMixin, TransformerMixin, Saved, ABC):
    """A calibration map: probabilities in, calibrated probabilities out.

    Subclasses store their options in `__init__`, check them and fit in `_fit`, and map in
    `_calibrate`; what makes the fitted map stands in `caltest/schemas/calibration-map.json`.

    Parameters
    ----------
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.

    Attributes
    ----------
    classes_ : (m,) array
        Names of the classes in the order of the columns.
    n_features_in_ : int
        Number of columns, m.
    feature_names_in_ : (m,) array
        Names of the columns, where a data frame was given.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    learns: ClassVar[bool] = True  # whether labels shape the map

    from_logits: bool = False
    classes: Sequence[Any] | None = None

    @abstractmethod
    def _fit(self, data: CalibrationSet) -> None:
        """Check the options and set the attributes that end with an underscore."""

    @abstractmethod
    def _calibrate(self, inputs: Inputs) -> Floats:
        """Return the calibrated probabilities, (n, m)."""

    def coefficients(self) -> Sequence[Coefficient]:
        """Return the fitted parameters, with standard errors where the likelihood gives them.

        Returns
        -------
        sequence of Coefficient
            What `summary` prints; empty where the map has no parameters.
        """
        return ()

    def summary(
        self,
        X: object = None,
        y: object = None,
        *,
        n_resamples: int = 999,
        rng: object = None,
        n_jobs: int | None = None,
    ) -> Summary:
        """Return what a model-validation file needs: parameters, and errors before and after.

        Parameters
        ----------
        X, y : array_like, optional
            Held-out predictions and their labels, on which log loss, ECE and the default test are
            computed, by the weights and clusters of Predictions. By default the calibration set,
            where log loss and ECE after the fit are optimistic, and a p-value stands only before
            it: `compare_calibrators` has that of rows out of fold.
        n_resamples : int, default 999
            Resamples of the exact test.
        rng : None, int, Generator or SeedSequence
            The seed of the test.
        n_jobs : int, optional
            Number of threads of the test.

        Returns
        -------
        Summary
            It prints as text, Markdown, HTML and LaTeX.
        """
        check_is_fitted(self)
        held_out = X is not None
        checks.check_unused("without X", y=None if held_out else y)
        data = self._read_held_out(X, y) if held_out else getattr(self, "_calibration_set", None)
        options = {"n_resamples": n_resamples, "rng": checks.check_seed(rng), "n_jobs": n_jobs}
        return summary_of(self, data, held_out=held_out, **options)

    def plot(self, kind: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the fitted map.

        Parameters
        ----------
        kind : {"map", "simplex", "parameters", "latent"}, optional
            Which function of `caltest.plots` draws: `calibration_map`, `simplex_map`,
            `parameter_heatmap` or `latent_function`. By default the latent function of
            `GPCalibrator`; for three classes the simplex; for more the parameters of
            `DirichletCalibrator` and `MatrixScaling`; otherwise, and for `SplineCalibrator`, the
            map.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        NotApplicable
            If the calibrator has no such picture.
        """
        return draw("htests.plot_calibrator", self, kind, ax)

    def broken(self) -> str:
        m = len(self.classes_)
        out = self.calibrate(Inputs(np.full((2, m), 1.0 / m), from_logits=False))
        total = np.asarray(out, dtype=float).reshape(2, m).sum(axis=1)
        if self.n_features_in_ != m:
            return f"{m} classes for {self.n_features_in_} columns"
        apart = np.abs(total - 1).max() < CLOSE
        return "" if apart else f"probabilities that sum to {total[0]}"

    # ---- for other calibrators, which have checked inputs ---------------------------------------

    def settled(self) -> Calibrator:
        """Return a clone that takes over what the fit searched for at great cost."""
        found: Calibrator = clone(self)
        return found

    def fit_set(self, data: CalibrationSet, classes: AnyArray) -> Self:
        """Fit to what was checked before.

        Parameters
        ----------
        data : CalibrationSet
            Inputs, codes and weights.
        classes : (m,) array
            Names of the classes.

        Returns
        -------
        Calibrator
            The calibrator itself.
        """
        self.classes_ = classes
        self.n_features_in_ = data.inputs.m
        self.notes()
        self._fit(data)
        return self

    def _note(self, *texts: str) -> None:
        """Note what the data leave undefined; `fit`, or the calibrator around this, warns of it."""
        self.__dict__.setdefault("_notes", []).extend(texts)

    def notes(self) -> list[str]:
        """Hand over what the last `fit_set` noted, once.

        Warnings are left to the thread that called `fit`: there they point at the line of the user
        and can name the class or the fold.

        Returns
        -------
        list of str
            Texts of a DegenerateDataWarning.
        """
        notes: list[str] = self.__dict__.pop("_notes", [])
        return notes

    def calibrate(self, inputs: Inputs) -> Floats:
        """Map what was checked before.

        Parameters
        ----------
        inputs : Inputs
            Probabilities or logits.

        Returns
        -------
        (n, m) array
            Calibrated probabilities.
        """
        # Rounding errors may carry a probability of 1 beyond it.
        return np.clip(self._calibrate(inputs), 0.0, 1.0)

    def probe(self, inputs: Inputs) -> Floats:
        """Return numbers by which the maps of two folds are told apart."""
        return self.calibrate(inputs)

    def _passed_on(self, calibrator: Calibrator) -> Calibrator:
        """Return a clone of the calibrator inside of this one; its inputs are those of this one."""
        inner: Calibrator = clone(checks.check_calibrator(calibrator, Calibrator))
        inner.set_params(from_logits=self.from_logits, classes=None)
        return inner

    # ---- fit and predict ------------------------------------------------------------------------

    def fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Fit the map to predictions that come with labels.

        Parameters
        ----------
        X : array_like of shape (n, m) or (n,), data frame or Predictions
            Probabilities that a model gave for data it was not fitted on, rows summing to 1; in
            one dimension, of the second of two classes. Logits if `from_logits`.
        y : array_like of shape (n,)
            Labels; only Predictions have their own.
        sample_weight : array_like of shape (n,), optional
            Weights of the rows, finite and not negative.

        Returns
        -------
        Calibrator
            The calibrator itself.

        Raises
        ------
        InvalidInput
            If an argument or an option breaks its rule.
        """
        data = self._read_set(X, y, sample_weight)
        self.notes()
        self._fit(data)
        for text in self.notes():
            warnings.warn(text, DegenerateDataWarning, stacklevel=2)
        self._calibration_set = X if isinstance(X, Predictions) else data
        return self

    def predict_proba(self, X: object) -> Floats:
        """Return calibrated probabilities.

        Parameters
        ----------
        X : array_like of shape (n, m) or (n,), or Predictions
            Probabilities, or logits if `from_logits`, as in `fit`.

        Returns
        -------
        (n, m) array
            Rows sum to 1.
        """
        check_is_fitted(self)
        return self.calibrate(self._read_inputs(X, reset=False))

    def predict(self, X: object) -> AnyArray:
        """Return the most probable class, the first of several.

        Parameters
        ----------
        X : array_like of shape (n, m) or (n,), or Predictions
            Probabilities, or logits if `from_logits`, as in `fit`.

        Returns
        -------
        (n,) array
            Names of classes.
        """
        probs = self.predict_proba(X)
        return np.asarray(self.classes_[probs.argmax(axis=1)])

    def transform(self, X: object) -> Floats:
        """Return calibrated probabilities, so that maps can follow each other in a pipeline.

        A map that gets an array takes its columns for the sorted labels: where a table named them
        in another order, call `set_output(transform="pandas")`, so that the names go along.

        Parameters
        ----------
        X : array_like of shape (n, m) or (n,), or Predictions
            Probabilities, or logits if `from_logits`, as in `fit`.

        Returns
        -------
        (n, m) array
            What `predict_proba` returns.
        """
        return self.predict_proba(X)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the names of the columns of `transform`: those of the classes.

        Parameters
        ----------
        input_features : ignored
            scikit-learn passes it.

        Returns
        -------
        (m,) array of str
            "temperature_cat", ...
        """
        check_is_fitted(self)
        return np.array([f"{self.key}_{name}" for name in self.classes_.tolist()], dtype=object)

    def _read_set(self, X: object, y: object, sample_weight: object) -> CalibrationSet:
        if isinstance(X, Predictions):
            checks.check_unused("where X is a Predictions", y=y, sample_weight=sample_weight)
            inputs = self._read_inputs(X, reset=True)
            self.classes_ = X.classes
            self._warn_of_one_class(X.labels, X.sample_weight)
            return CalibrationSet(inputs, X.labels, X.sample_weight)
        checks.suspect_index(y=y, X=X, sample_weight=sample_weight)
        labels = check_labels_given(y)
        checks.check_not_swapped(checks.as_array(X, "probs"), labels)
        inputs = self._read_inputs(X, reset=True)
        if inputs.from_logits:
            checks.suspect_logits(checks.as_array(X, "logits"))
        if self.classes is None and labels.dtype.kind == "f" and labels.ndim == 1:
            good = ~np.isfinite(labels) | (labels == np.floor(labels))
            rule = "y must be labels of classes, not continuous numbers"
            checks.check_all(good, labels, rule, "pass integers or strings")
        named = classes_of_columns(X, labels) if labels.ndim == 1 else None
        classes = classes_in_order(self.classes, named)
        if self.classes is None:
            classes = self._names(named, labels, inputs.m)
        codes, self.classes_ = checks.check_labels(labels, inputs.n, inputs.m, classes, name="y")
        if classes is None and labels.ndim == 1 and self.classes_.dtype.kind in "iu":
            checks.check_not_numbered_from_one(inputs.probs, codes, "y")
        weight = check_row_weights(sample_weight, inputs.n)
        self._warn_of_one_class(codes, weight)
        return CalibrationSet(inputs, codes, weight)

    def _names(self, names: Sequence[object] | None, y: AnyArray, m: int) -> object:
        """Return the names of columns that are labels, and otherwise the sorted labels."""
        if names is not None:
            # Where some text names a column and some does not, the latter is an error.
            labels, is_text = set(y.tolist()), y.dtype.kind == "U"
            if labels <= set(names) or (is_text and not labels.isdisjoint(names)):
                return names
            # As "temperature_cat", which another map of a pipeline gives, or "CAT".
            ends = [_label_at_end(name, labels) for name in names]
            if len(ends) == len(labels) and set(ends) == labels:
                return ends
        # Without a table the sorted labels, where they name each column, as scikit-learn does.
        are_numbers = y.ndim == 1 and y.size and y.dtype.kind in "iuf"
        if not are_numbers or not (y.min() < 0 or y.max() >= m):
            return None
        distinct = np.unique(y)
        return distinct if len(distinct) == m else None

    def _warn_of_one_class(self, codes: Codes, weight: Floats | None) -> None:
        counted = codes if weight is None else codes[weight > 0]
        if (counted == counted[0]).all():
            name = self.classes_.tolist()[counted[0]]
            text = f"every label is {name!r}: one class is not enough to fit a calibration map"
            warnings.warn(text, DegenerateDataWarning, stacklevel=4)

    def _read_inputs(self, X: object, *, reset: bool) -> Inputs:
        known = isinstance(X, Predictions)
        if isinstance(X, Predictions):
            checks.check_unused("where X is a Predictions", from_logits=self.from_logits or None)
            self._check_classes(X.classes, reset=reset)
            X = X.probs
        from_logits = checks.check_flag(self.from_logits, "from_logits")
        if reset or not known:  # Predictions have names of classes, and columns none
            _check_feature_names(self, X, reset=reset)
        values = self._read_values(X, reset=reset, from_logits=from_logits)
        return Inputs(values, from_logits=from_logits)

    def _check_classes(self, found: AnyArray, *, reset: bool) -> None:
        """Check that the classes of Predictions are those asked for, and in the order of a fit."""
        if reset and self.classes is None:
            return
        named = checks.check_classes(self.classes, len(found)) if reset else self.classes_
        wanted, own = named.tolist(), found.tolist()
        if own != wanted and (reset or {*own} == {*wanted}):
            rule = f"the classes of X must be {checks.listing(wanted)}, in this order"
            raise invalid(rule, checks.listing(own), "reorder its columns, or leave classes= out")

    def _read_values(self, X: object, *, reset: bool, from_logits: bool) -> Floats:
        name = "logits" if from_logits else "probs"
        array = checks.as_array(X, name)
        if not reset:
            m = self.n_features_in_
            rule, got = f"{name} must have {m} columns, as in fit", f"shape {array.shape}"
            if array.ndim == 1 and m != 2:
                raise invalid(rule, got, "Reshape your data: one row per prediction")
            if array.ndim == 2 and (k := array.shape[1]) != m:
                # In the words that scikit-learn's own checks look for.
                own = f"X has {k} features, but {type(self).__name__} is expecting {m} features"
                raise invalid(rule, got, f"pass those of all classes: {own} as input")
        if array.ndim == 2 and (k := array.shape[1]) < 2:
            # In the words that scikit-learn's own checks look for.
            got = f"{k} feature(s) (shape={array.shape}) while a minimum of 2 is required"
            remedy = "pass that of class 1 of two as one dimension, .ravel()"
            raise invalid(f"{name} must have one column per class", got, remedy)
        values = checks.check_logits(array) if from_logits else checks.check_probs(array)
        _check_n_features(self, values, reset=reset)
        return values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = not self.from_logits
        return tags

    def _read_held_out(self, X: object, y: object) -> CalibrationSet | Predictions:
        inputs = self._read_inputs(X, reset=False)
        if isinstance(X, Predictions):
            checks.check_unused("where X is a Predictions", y=y)
            y = X.classes[X.labels]
        labels = check_labels_given(y)
        codes, _ = checks.check_labels(labels, inputs.n, inputs.m, self.classes_, name="y")
        return X if isinstance(X, Predictions) else CalibrationSet(inputs, codes, None)

    def __getstate__(self) -> Any:
        """Leave the calibration set out of pickles: the map does not need it."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_calibration_set"}


class Identity(Calibrator):
    """The identity map: what an uncalibrated model is in a comparison of calibrators.

    With `from_logits=True` it is the softmax.

    Parameters
    ----------
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.

    Examples
    --------
    >>> from caltest.calibrators import Identity
    >>> Identity().fit([[0.2, 0.8], [0.6, 0.4]], ["no", "yes"]).predict([[0.3, 0.7]])
    array(['yes'], dtype='<U3')
    """

    key, title = "identity", "Identity"
    learns: ClassVar[bool] = False

    def _fit(self, data: CalibrationSet) -> None:
        """Nothing is fitted."""

    def _calibrate(self, inputs: Inputs) -> Floats:
        return inputs.probs


class BinaryCalibrator(Calibrator):
    """A calibration map for two classes; `OneVsRest` makes one for more of it.

    Subclasses fit in `_fit_event` and map the probability of the second class in `_event`.
    """

    @abstractmethod
    def _fit_event(self, inputs: Inputs, event: Flags, weight: Floats | None) -> None:
        """Check the options and fit to rows that have weight; an event is the second class."""

    @abstractmethod
    def _event(self, inputs: Inputs) -> Floats:
        """Return the calibrated probability of the second class, (n,)."""

    def _fit(self, data: CalibrationSet) -> None:
        if data.inputs.m != 2:
            # The last words are those that scikit-learn's own checks look for.
            name, got = type(self).__name__, f"{data.inputs.m} columns of probs"
            remedy = f"pass OneVsRest({name}()): Only binary classification is supported."
            raise invalid(f"{name} must have two classes", got, remedy)
        data = data.counted
        self._fit_event(data.inputs, data.codes == 1, data.weight)

    def _calibrate(self, inputs: Inputs) -> Floats:
        event = self._event(inputs)
        return np.column_stack([1 - event, event])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
