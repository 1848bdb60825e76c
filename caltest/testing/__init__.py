"""Calibration inside tests: assertions, a pytest plugin, and strategies for Hypothesis.

pytest loads `caltest.testing.plugin` in every session, so nothing here imports more than the
package itself before it is used.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from caltest.testing import strategies as strategies
    from caltest.testing.assertions import TooFewRowsWarning, assert_calibrated, assert_within
    from caltest.testing.calibrator_checks import check_calibrator
    from caltest.testing.htest_checks import check_lens, check_model, check_test

__all__ = [
    "TooFewRowsWarning",
    "assert_calibrated",
    "assert_within",
    "check_calibrator",
    "check_lens",
    "check_model",
    "check_test",
    "strategies",
]

_NAMES = {
    **dict.fromkeys(("TooFewRowsWarning", "assert_calibrated", "assert_within"), "assertions"),
    "check_calibrator": "calibrator_checks",
    **dict.fromkeys(("check_lens", "check_model", "check_test"), "htest_checks"),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'caltest.testing' has no attribute {name!r}")
    try:
        module = importlib.import_module(f"caltest.testing.{_NAMES.get(name, name)}")
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        message = f"ct.testing.{name} needs Hypothesis: pip install 'caltest[hypothesis]'"
        raise ModuleNotFoundError(message, name="hypothesis") from error
    value = globals()[name] = getattr(module, name) if name in _NAMES else module
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
