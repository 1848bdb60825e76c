"""`--set KEY=VALUE`: options of tests and calibrators, read from text.

A dot leads into an option that is an object: `kernel=matern32` and `kernel.metric=logit`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import Any

from caltest.checks import check_choice, not_a_choice
from caltest.cli import completion, options
from caltest.errors import invalid, shown

Settings = dict[str, dict[str, object]]

WORDS = {"none": None, "null": None, "true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True, kw_only=True)
class ChosenTests:
    """The tests, their null and their options."""

    test: options.Keys = None
    null: str | None = None
    set_: options.Keys = None

    def asked(self, segments: str | None = None) -> dict[str, Any]:
        """Return the arguments of `test_calibration`; of segments `--set` gives their options."""
        from caltest.htests.run import SEGMENT_OPTIONS

        settings = parse(self.set_)
        if segments is None:
            chosen = test_options(settings, options.split_keys(self.test))
        else:
            chosen = _values(settings, SEGMENT_OPTIONS, "--segments")
        return {"test": options.one_or_many(self.test), "null": self.null, **chosen}


def parse(values: Sequence[str] | None) -> Settings:
    """Read `--set` values; options of an object stand beside it under their own names.

    A key may have dots, and hyphens stand for underscores.

    Examples
    --------
    >>> parse(["bins=10", "kernel=gaussian", "kernel.bandwidth=0.2"])
    {'bins': {'': 10}, 'kernel': {'': 'gaussian', 'bandwidth': 0.2}}
    """
    flat: dict[str, object] = {}
    for text in values or ():
        key, sign, value = text.partition("=")
        key = key.strip().replace("-", "_")
        if not sign or not all(part.isidentifier() for part in key.split(".")):
            raise invalid("--set must be KEY=VALUE", shown(text), "write it as in --set bins=10")
        if key in flat:
            raise invalid("--set must give an option one value", f"{key} twice", "leave one out")
        flat[key] = parse_value(value.strip())
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
        with suppress(ValueError):
            return kind(text)
    return text


def test_options(settings: Settings, tests: Collection[str]) -> dict[str, Any]:
    """Return the options of `test_calibration` that the settings stand for."""
    from caltest.htests import DEFAULT, INSTEAD, REGISTRY

    keys = [check_choice(key, REGISTRY, "--test") for key in tests or (DEFAULT, INSTEAD)]
    known = sorted({name for key in keys for name in REGISTRY[key].options})
    chosen = " and ".join(f"--test {key}" for key in tests) or "the default test"
    return _values(settings, known, chosen)


def _values(settings: Settings, known: Collection[str], chosen: str) -> dict[str, Any]:
    """Return the values of options, each of which what was chosen must take."""
    check_known_settings(settings, known, chosen)
    return {name: _value(name, parts) for name, parts in settings.items()}


def _value(name: str, parts: Mapping[str, object]) -> object:
    if name == "kernel" and parts.get("", "") is not None:
        from caltest.kernels import REGISTRY

        key = check_choice(parts.get("", "exponential"), REGISTRY, "--set kernel")
        own: dict[str, Any] = {part: value for part, value in parts.items() if part}
        check_known_settings(own, [field.name for field in fields(REGISTRY[key])], f"kernel={key}")
        return REGISTRY[key](**own)
    if name == "calibrator":
        return _inner(parts)
    if name == "param_grid" and "" not in parts:
        return {part: v if isinstance(v, list) else [v] for part, v in parts.items()}
    for part in filter(None, parts):
        rule, got = f"{name} has no options of its own", shown(f"--set {name}.{part}")
        raise invalid(rule, got, f"write --set {name}=VALUE")
    return parts[""]


def calibrator(
    method: str,
    settings: Settings,
    *,
    seed: int | None = None,
    n_jobs: int | None = None,
    option: str = "--method",
    kinds: Any = None,
) -> Any:
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
    kinds : dict, optional
        In the place of `caltest.calibrators.REGISTRY`.

    Returns
    -------
    Calibrator or ForecastCalibrator
        Not fitted.

    Raises
    ------
    InvalidInput
        If the method is unknown or has no such option.
    """
    from caltest.calibrators import REGISTRY

    known_maps = kinds or REGISTRY
    kind = known_maps[check_choice(method, known_maps, option)]
    names = kind._get_param_names()  # noqa: SLF001, scikit-learn's list of the options
    known = [name for name in names if name not in completion.OF_THE_COMMAND]
    chosen = f"--method {method}" if option == "--method" else f"calibrator={method}"
    values = _values(settings, known, chosen)
    if "calibrator" in known and "calibrator" not in values:
        values["calibrator"] = _inner({"": "temperature" if "cv" in known else "isotonic"})
    given = {"random_state": seed, "n_jobs": n_jobs}
    values |= {name: value for name, value in given.items() if name in names}
    return kind(**values)


def _inner(parts: Mapping[str, object]) -> object:
    own = _nested({part: value for part, value in parts.items() if part})
    return calibrator(str(parts.get("", "isotonic")), own, option="--set calibrator")


def check_known_settings(names: Collection[str], known: Collection[str], chosen: str) -> None:
    """Check that each option is one that what was chosen takes."""
    for name in names:
        if not known:
            rule = f"--set has no meaning for {chosen}, which takes no options"
            raise invalid(rule, shown(name), "leave it out")
        if name not in known:
            raise not_a_choice(name, known, f"--set for {chosen}")
