"""`--set KEY=VALUE`: options of tests and calibrators, read from text.

A dot leads into an option that is an object: `kernel=matern32` and `kernel.metric=logit`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from caltest.validation import (
    check_choice,
    check_known_settings,
    check_no_parts,
    check_setting,
    check_setting_once,
)

if TYPE_CHECKING:
    from caltest.calibrators import Calibrator

Settings = dict[str, dict[str, object]]

WORDS: Mapping[str, object] = {
    "none": None,
    "null": None,
    "true": True,
    "yes": True,
    "false": False,
    "no": False,
}
# What other options of the command line stand for.
OF_THE_COMMAND = ("from_logits", "classes", "random_state", "n_jobs")


def parse(values: Sequence[str] | None) -> Settings:
    """Read `--set` values; options of an object stand beside it under their own names.

    Examples
    --------
    >>> parse(["bins=10", "kernel=gaussian", "kernel.bandwidth=0.2"])
    {'bins': {'': 10}, 'kernel': {'': 'gaussian', 'bandwidth': 0.2}}
    """
    flat: dict[str, object] = {}
    for text in values or ():
        key, value = check_setting(text)
        check_setting_once(key, flat)
        flat[key] = parse_value(value)
    return _nested(flat)


def _nested(flat: Mapping[str, object]) -> Settings:
    """Split the keys at their first dot; what stands before none is under the empty key."""
    settings: Settings = {}
    for key, value in flat.items():
        name, _, part = key.partition(".")
        settings.setdefault(name, {})[part] = value
    return settings


def parse_value(text: str) -> object:
    """Read a number, true, false, none, text, or a list of them joined by commas.

    Examples
    --------
    >>> parse_value("0.5"), parse_value("none"), parse_value("odir"), parse_value("0.1,1,10")
    (0.5, None, 'odir', [0.1, 1, 10])
    """
    if re.fullmatch(r"'[^']*'|\"[^\"]*\"", text):
        return text[1:-1]
    if "," in text:
        return [parse_value(part.strip()) for part in text.split(",") if part.strip()]
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def test_options(settings: Settings, tests: Collection[str]) -> dict[str, Any]:
    """Return the options of `test_calibration` that the settings stand for."""
    from caltest.htests import REGISTRY

    keys = [check_choice(key, REGISTRY, "--test") for key in tests]
    known = sorted({name for key in keys for name in REGISTRY[key].options})
    chosen = " and ".join(f"--test {key}" for key in keys)
    check_known_settings(settings, known, chosen)
    return {name: _value(name, parts) for name, parts in settings.items()}


def _value(name: str, parts: Mapping[str, object]) -> object:
    if name == "kernel":
        return _kernel(parts)
    check_no_parts(name, parts)
    return parts[""]


def _kernel(parts: Mapping[str, object]) -> object:
    from caltest.kernels import REGISTRY

    key = parts.get("", "exponential")
    if key is None:
        check_no_parts("kernel", parts)
        return None
    kernel = REGISTRY[check_choice(key, REGISTRY, "--set kernel")]
    own = {part: value for part, value in parts.items() if part}
    check_known_settings(own, [field.name for field in fields(kernel)], f"kernel={key}")
    return kernel(**own)  # type: ignore[arg-type]


def calibrator(
    method: str,
    settings: Settings,
    *,
    seed: int | None = None,
    n_jobs: int | None = None,
    option: str = "--method",
) -> Calibrator:
    """Return the calibrator with its options; the one inside of another has the key `calibrator`.

    Parameters
    ----------
    method : str
        A key of `caltest.calibrators.REGISTRY`.
    settings : dict
        From `parse`.
    seed, n_jobs : int, optional
        For those that draw random numbers or run threads.
    option : str
        What named the method, for messages.

    Returns
    -------
    Calibrator
        Not fitted.

    Raises
    ------
    InvalidInput
        If the method is unknown or has no such option.
    """
    from caltest.calibrators import REGISTRY

    kind = REGISTRY[check_choice(method, REGISTRY, option)]
    names = kind._get_param_names()  # noqa: SLF001, scikit-learn's list of the options
    known = [name for name in names if name not in OF_THE_COMMAND]
    chosen = f"--method {method}" if option == "--method" else f"calibrator={method}"
    check_known_settings(settings, known, chosen)
    options: dict[str, Any] = {name: _option(name, parts) for name, parts in settings.items()}
    if "calibrator" in known and "calibrator" not in options:
        options["calibrator"] = _inner({"": "temperature" if "cv" in known else "isotonic"})
    given = {"random_state": seed, "n_jobs": n_jobs}
    options |= {name: value for name, value in given.items() if name in names}
    return kind(**options)


def _option(name: str, parts: Mapping[str, object]) -> Any:
    if name == "calibrator":
        return _inner(parts)
    if name == "param_grid" and "" not in parts:
        return {part: _as_list(value) for part, value in parts.items()}
    check_no_parts(name, parts)
    return parts[""]


def _inner(parts: Mapping[str, object]) -> object:
    own = _nested({part: value for part, value in parts.items() if part})
    return calibrator(str(parts.get("", "isotonic")), own, option="--set calibrator")


def _as_list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else [value]
