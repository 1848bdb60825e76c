"""What holds for every public name of caltest."""

import re
from pathlib import Path

import pytest

import caltest


@pytest.mark.parametrize("name", caltest.__all__)
def test_name_resolves_and_is_listed(name):
    """Every name of __all__ is an attribute and shows in dir()."""
    assert hasattr(caltest, name)
    assert name in dir(caltest)


def test_names_are_unique():
    assert len(caltest.__all__) == len(set(caltest.__all__))


def test_unknown_name_is_an_attribute_error():
    """A name that does not exist fails as that of any module does."""
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = caltest.no_such_name


@pytest.mark.parametrize("name", [name for name in caltest.__all__ if name.startswith("test_")])
def test_public_test_is_not_collected_by_pytest(name):
    """A test module that imports `test_calibration` gets no test from it."""
    assert getattr(caltest, name).__test__ is False


def test_name_of_a_class_has_one_meaning():
    """A reader who meets a class in another folder need not ask which one it is."""
    stand_in: dict[str, list[str]] = {}
    folder = Path(caltest.__file__).parent
    for file in folder.rglob("*.py"):
        for name in re.findall(r"^class (\w+)", file.read_text("utf-8"), re.MULTILINE):
            stand_in.setdefault(name, []).append(file.relative_to(folder).as_posix())
    # Public in both places: a lens and a confidence interval, a measure's fit and a strategy.
    public = {"Interval", "Recalibration"}
    assert {name: at for name, at in stand_in.items() if len(at) > 1 and name not in public} == {}
