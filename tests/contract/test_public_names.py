"""What holds for every public name of caltest."""

import re
from pathlib import Path

import pytest

import caltest


def test_names_resolve_and_are_listed():
    """Of __all__, once each; a test module that imports `test_calibration` gets no test from it."""
    assert set(caltest.__all__) <= set(dir(caltest))
    assert len(caltest.__all__) == len(set(caltest.__all__))
    for name in caltest.__all__:
        value = getattr(caltest, name)
        assert value.__test__ is False if name.startswith("test_") else hasattr(caltest, name)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = caltest.no_such_name


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
