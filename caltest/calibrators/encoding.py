"""Options and fitted maps as plain values that JSON holds without loss, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from caltest.errors import invalid, shown

_SPECIAL = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def encode(value: object) -> Any:
    """Turn a value into plain ones; arrays keep their type and shape, floats every digit."""
    from caltest.calibrators.base import Calibrator

    if isinstance(value, Calibrator):
        return value.to_dict() if hasattr(value, "classes_") else _options(value)
    if isinstance(value, np.ndarray | np.generic):
        return _encode_array(value)
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


def _encode_array(value: np.ndarray[Any, Any] | np.generic) -> Any:
    if isinstance(value, np.generic):
        return encode(value.item())
    items = [encode(item) for item in value.ravel().tolist()]
    return {"dtype": value.dtype.str, "shape": list(value.shape), "items": items}


def decode(value: Any) -> Any:
    """Turn what `encode` gave back into the value."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, Mapping):
        return value
    if "calibrator" in value:
        return _calibrator(value)
    if "dtype" in value:
        items = [decode(item) for item in value["items"]]
        return np.array(items, dtype=value["dtype"]).reshape(value["shape"])
    if "float" in value:
        return _SPECIAL[value["float"]]
    if "mapping" in value:
        return {decode(key): decode(item) for key, item in value["mapping"]}
    raise _not_saved(value)


def _options(calibrator: Any) -> dict[str, Any]:
    """Return an estimator that is not fitted, such as the one inside of `OneVsRest`."""
    options = {name: encode(value) for name, value in calibrator.get_params(deep=False).items()}
    return {"calibrator": calibrator.key, "options": options, "state": {}}


def _calibrator(values: Mapping[str, Any]) -> Any:
    from caltest.calibrators import REGISTRY
    from caltest.validation import check_choice

    if not {"options", "state"} <= values.keys():
        raise _not_saved(values)
    kind = REGISTRY[check_choice(values["calibrator"], REGISTRY, "calibrator")]
    options, state = values["options"], values["state"]
    known = {"classes_", "n_features_in_", "feature_names_in_", *kind._state}  # noqa: SLF001, ours
    # A state that is not empty is whole: a part of a map must not be applied.
    whole = known - {"feature_names_in_"} <= set(state) <= known
    if not set(options) <= set(kind._get_param_names()) or (state and not whole):  # noqa: SLF001
        raise _not_saved({**options, **state})
    calibrator = kind(**{name: decode(value) for name, value in options.items()})
    for name, value in state.items():
        setattr(calibrator, name, decode(value))
    return calibrator


def _not_saved(values: Mapping[str, Any]) -> Exception:
    got = f"the keys {shown(sorted(map(str, values)))}"
    return invalid("values must be those of to_dict", got, "pass what to_dict or to_json gave")
