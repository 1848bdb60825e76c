"""What a fitted calibrator prints, draws and saves, and the plain values of its JSON."""

from __future__ import annotations

import functools
import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from scipy.special import ndtr
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from caltest.calibrators.inputs import SMALLEST_PROBABILITY, Inputs
from caltest.checks import check_choice, check_part, listing, load_schema, parse_json
from caltest.errors import InvalidInput, an, invalid, shown
from caltest.htests import test_calibration
from caltest.measures import ece, log_loss
from caltest.predictions import Predictions
from caltest.render import Sheet, number, pvalue
from caltest.results import HTest, Summary
from caltest.results.sheets import pvalue_of

if TYPE_CHECKING:
    from caltest.calibrators.base import CalibrationSet, Calibrator, Coefficient


_SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
Facts = list[tuple[str, str]]
Row = tuple[str, ...]
LEVEL = 0.95
MOST_ROWS = 40  # of coefficients that are printed


# Types of arrays that are written: numbers, booleans, objects, and text of some letters.
KINDS = re.compile(r"[<>|=]?(?:[biufO]\d{0,2}|U(?P<width>\d+))")
MOST_LETTERS = 1000

REGISTRY: dict[str, type[Calibrator]] = {}  # filled by the package, in the order of its lines


class Saved(BaseEstimator, ABC):
    """A fitted map as plain values."""

    key: ClassVar[str]
    schema: ClassVar[str] = "calibration-map"  # whose definitions name the parts of each fitted map
    known: ClassVar[Mapping[str, Any]] = REGISTRY
    fitted_by: ClassVar[str] = "classes_"  # what a fit sets

    @classmethod
    @functools.cache
    def _get_param_names(cls) -> list[str]:
        # scikit-learn reads the signature anew for each clone, which is a tenth of a comparison.
        names: list[str] = super()._get_param_names()
        return names

    @abstractmethod
    def broken(self) -> str:
        """Return why this is no fitted map; empty where it is one."""

    def composition(self) -> str:
        """Return in words what the fitted map consists of, where that differs from fit to fit."""
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Return options and fitted map as plain values that JSON holds without loss.

        Returns
        -------
        dict
            What `from_dict` takes. The calibration set is not in it.
        """
        check_is_fitted(self)
        values: dict[str, Any] = encode(self)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild a fitted calibrator, with the same predictions to the last bit.

        Parameters
        ----------
        values : Mapping
            From `to_dict`, or from JSON.

        Returns
        -------
        Calibrator
            The fitted calibrator.

        Raises
        ------
        InvalidInput
            If the values are not those of such a calibrator.
        """
        try:
            calibrator = decode(values, cls)
        except InvalidInput:
            raise
        except Exception as error:  # values of any type may stand where others belong
            got = f"{type(error).__name__}: {error}"
            raise invalid("values must be those of to_dict", got, "fit the map again") from error
        if not isinstance(calibrator, cls):
            got = an(type(calibrator).__name__)
            remedy = "call from_dict of that class, or of caltest.calibrators"
            raise invalid(f"values must be those of {an(cls.__name__)}", got, remedy)
        # The parts of a fitted map must belong together.
        try:
            with np.errstate(all="ignore"):
                reason = calibrator.broken()
        except Exception as error:  # noqa: BLE001, values of any type may stand where others belong
            reason = f"{type(error).__name__}: {error}"
        if reason:
            raise invalid("state must be that of a fitted map", reason, "fit the map again")
        return calibrator

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON.

        Parameters
        ----------
        indent : int or None, default 2
            As in `json.dumps`.

        Returns
        -------
        str
            JSON without NaN or infinities.
        """
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Rebuild a fitted calibrator from `to_json`.

        Parameters
        ----------
        text : str
            JSON.

        Returns
        -------
        Calibrator
            The fitted calibrator.

        Raises
        ------
        InvalidInput
            If the text is no JSON, or not that of such a calibrator.
        """
        return cls.from_dict(parse_json(text, "text must be JSON", "pass the text of to_json()"))


def summary_of(
    calibrator: Calibrator,
    data: CalibrationSet | Predictions | None,
    *,
    held_out: bool,
    **options: Any,
) -> Summary:
    """Return parameters, and errors of some data before and after; see `Calibrator.summary`."""
    names = calibrator.classes_.tolist()
    facts = [("calibrator", " ".join(repr(calibrator).split()))]
    facts += [("classes (m)", f"{len(names)}: {listing(names)}")]
    if data is not None:
        source = "held out" if held_out else "those of the fit"
        facts += [("observations (n)", f"{data.n}, {source}")]
        held_out |= not calibrator.learns  # no labels have shaped the map
        facts += _before_and_after(calibrator, data, options, held_out=held_out)
    coefficients = calibrator.coefficients()
    if len(coefficients) > MOST_ROWS:
        facts += [("parameters", f"{len(coefficients)}, see the attributes that end with _")]
        coefficients = ()
    header, rows = _table(coefficients)
    # The labels have shaped the map: redrawing them from it is no null distribution of theirs.
    text = "log loss and ECE after are too small on the rows of the fit, which give no p-value"
    notes = [("note", f"{text}; pass data that were held out, or call compare_calibrators")]
    closing = tuple(notes if data is not None and not held_out else ())
    parts: dict[str, Any] = {"facts": tuple(facts), "header": header, "rows": rows}
    return Summary(Sheet(title=calibrator.title, **parts, closing=closing, listing=True))


def encode(value: object) -> Any:
    """Turn a value into plain ones; arrays keep their type and shape, floats every digit."""
    if isinstance(value, Saved):
        options = {name: encode(item) for name, item in value.get_params(deep=False).items()}
        # The schema names the parts of a fitted map.
        key = check_choice(value.key, value.known, "key")
        parts = load_schema(value.schema)["$defs"][key]["properties"]
        kept = [name for name in parts if hasattr(value, value.fitted_by) and hasattr(value, name)]
        state = {name: encode(getattr(value, name)) for name in kept}
        return {"calibrator": value.key, "options": options, "state": state}
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, np.ndarray):
        items = [encode(item) for item in value.ravel().tolist()]
        return {"dtype": value.dtype.str, "shape": list(value.shape), "items": items}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, Mapping):
        return {"mapping": [[encode(key), encode(item)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    remedy = "use numbers, text and calibrators, or pickle the calibrator"
    raise invalid("an option that is saved must be a plain value", shown(value), remedy)


def decode(value: Any, kinds: type[Saved]) -> Any:
    """Turn what `encode` gave back into the value; maps are of some kinds."""
    if isinstance(value, list):
        return [decode(item, kinds) for item in value]
    if not isinstance(value, Mapping):
        return value
    if "calibrator" in value:
        return _calibrator(value, kinds)
    if "dtype" in value:
        items = [decode(item, kinds) for item in value["items"]]
        return _array(items, value["dtype"]).reshape(value["shape"])
    if "float" in value:
        return _SPECIAL[value["float"]]
    if "mapping" in value:
        return {decode(key, kinds): decode(item, kinds) for key, item in value["mapping"]}
    raise _not_saved(value)


def _array(items: list[Any], dtype: object) -> np.ndarray[Any, Any]:
    """Make an array of a type that `encode` writes, and of no more memory than its items need."""
    kind = KINDS.fullmatch(str(dtype))
    longest = max((len(item) for item in items if isinstance(item, str)), default=0)
    if kind is None or int(kind["width"] or 0) > max(longest, MOST_LETTERS):
        remedy = "pass what to_dict or to_json gave"
        raise invalid("dtype must be of numbers, booleans or text", shown(dtype), remedy)
    return np.array(items, dtype=str(dtype))


def _calibrator(values: Mapping[str, Any], kinds: type[Saved]) -> Any:
    if not {"options", "state"} <= values.keys():
        raise _not_saved(values)
    key, options, state = values["calibrator"], values["options"], values["state"]
    kind = kinds.known[check_choice(key, kinds.known, "calibrator")]
    if not set(options) <= set(kind._get_param_names()):  # noqa: SLF001, scikit-learn's
        raise _not_saved(options)
    check_part(options, kinds.schema, "options", name=f"options of {key}")
    if state:  # one that is not empty is whole: a part of a map must not be applied
        check_part(state, kinds.schema, key, name=f"state of {key}")
    calibrator = kind(**{name: decode(value, kinds) for name, value in options.items()})
    for name, value in state.items():
        setattr(calibrator, name, decode(value, kinds))
    return calibrator


def _not_saved(values: Mapping[str, Any]) -> Exception:
    got = f"the keys {shown(sorted(map(str, values)))}"
    return invalid("values must be those of to_dict", got, "pass what to_dict or to_json gave")


def _before_and_after(
    calibrator: Calibrator,
    data: CalibrationSet | Predictions,
    options: Mapping[str, Any],
    *,
    held_out: bool,
) -> Facts:
    """Log loss, ECE and the default test, of the inputs and of the calibrated probabilities.

    The rows of the fit have no p-value after it.
    """
    if isinstance(data, Predictions):
        given, inputs = data, Inputs(data.probs, from_logits=False)
    else:
        inputs, classes = data.inputs, np.arange(data.inputs.m)
        given = Predictions(inputs.probs, data.codes, sample_weight=data.weight, classes=classes)
    pair = [given, given.with_predicted(calibrator.calibrate(inputs))]
    losses = [number(float(log_loss(p, eps=SMALLEST_PROBABILITY))) for p in pair]
    errors = [number(round(float(ece(p, lens="confidence")), 12)) for p in pair]
    tested = pair if held_out else pair[:1]
    tests = [cast("HTest", test_calibration(None, p, **options)) for p in tested]
    first = tests[0]
    how = f"B = {options['n_resamples']}, seed = {options['rng']}"
    test = ("test", f"{first.test}, lens: {first.lens}, {first.null}, {how}")
    lines = {"log loss": losses, "ECE (confidence)": errors}
    rows = [(name, f"{before} before, {after} after") for name, (before, after) in lines.items()]
    values = zip(map(pvalue_of, tests), ("before", "after"), strict=False)
    return [*rows, test, ("p-value", ", ".join(f"{value} {when}" for value, when in values))]


def _table(coefficients: Sequence[Coefficient]) -> tuple[Row, tuple[Row, ...]]:
    """The columns of statsmodels, where the likelihood gives standard errors.

    H0 is the value of the map that changes nothing: a temperature or slope of 1, not 0.
    """
    fitted = [coefficient for coefficient in coefficients if coefficient.stderr is not None]
    tested = any(coefficient.neutral is not None for coefficient in fitted)
    low, high = (1 - LEVEL) / 2, (1 + LEVEL) / 2
    tests: Row = ("H0", "z", "P>|z|") if tested else ()
    more: Row = ("std err", *tests, f"[{low:g}", f"{high:g}]") if fitted else ()
    rows = []
    for one in coefficients:
        cells: Row = ("",) * len(more)
        if one.stderr is not None:
            test: Row = ("",) * len(tests)  # blank where the parameter has no neutral value
            if one.neutral is not None and one.stderr != 0:
                z = (one.value - one.neutral) / one.stderr
                test = (number(one.neutral), number(z), pvalue(float(2 * ndtr(-abs(z)))))
            ends = one.interval(LEVEL) or (math.nan, math.nan)
            cells = (number(one.stderr), *test, number(ends[0]), number(ends[1]))
        rows.append((one.name, number(one.value), *cells))
    return ("", "coef", *more), tuple(rows)
