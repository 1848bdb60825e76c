"""What holds for the options that functions take together, and are described once."""

import inspect

import numpy as np
import pytest

import caltest
from caltest import InvalidInput
from caltest.htests import REGISTRY
from caltest.htests.run import SEGMENT_OPTIONS, CalibrationOptions
from caltest.predictions.options import Reading

PLANS = ("power", "sample_size", "sample_size_for_precision", "plan_monitoring")
MOST = {"test_calibration": 16, **dict.fromkeys(PLANS, 12)}


def test_options_of_calibration_tests_are_those_of_data_and_measures():
    """An editor offers what the tests in the registry take, and nothing else."""
    of_measures = {name for test in REGISTRY.values() for name in test.options}
    known = {*Reading.__annotations__, *of_measures, *SEGMENT_OPTIONS}
    assert set(CalibrationOptions.__annotations__) == known


@pytest.mark.parametrize("name", MOST)
def test_signature_is_short(name):
    """What many functions take is not repeated in the signature of each."""
    assert len(inspect.signature(getattr(caltest, name)).parameters) <= MOST[name]


@pytest.mark.parametrize(
    ("name", "near"),
    [("lable", "label"), ("renormalise", "renormalize"), ("component", "components")],
)
def test_misspelt_option_names_the_near_one(name, near):
    """Data options and options of the test are known by name, though they go through `**`."""
    with pytest.raises(InvalidInput, match=f"got '{name}'; did you mean {near}=\\?"):
        caltest.test_calibration(np.full(9, 0.5), np.arange(9) % 2, **{name: 1})


@pytest.mark.parametrize("name", ["sample_size_for_precision", "plan_monitoring", "report"])
def test_option_that_a_function_has_not_is_a_type_error(name):
    """Python's own error, with the near miss."""
    own = {"rows_per_day": 9} if name == "plan_monitoring" else {}
    with pytest.raises(
        TypeError, match=f"{name}.. got an unexpected .* 'labels'; did you mean lab"
    ):
        getattr(caltest, name)(np.full(9, 0.5), labels="y", **own)
