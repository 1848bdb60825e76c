"""`level` is a significance level; intervals and bands have `confidence`."""

import importlib
import inspect
import re

import numpy as np
import pytest

import caltest as ct
from caltest.measures import expected_observed_interval, smooth_curve

MODULES = (
    *("", ".measures", ".plots", ".calibrators", ".classifiers", ".testing", ".results"),
    *(".planning", ".comparison", ".integrations"),
)
RNG = np.random.default_rng(1)
P = RNG.beta(2, 3, 200)
Y = (RNG.random(200) < P).astype(int)
RESULT = ct.test_calibration(P, Y, test="brier", n_resamples=99, rng=1)


def callables():
    """Yield the public functions, and the methods of public classes, with their names."""
    for module in (importlib.import_module(f"caltest{name}") for name in MODULES):
        for name in getattr(module, "__all__", dir(module)):
            found = getattr(module, name, None)
            if inspect.isclass(found) and found.__module__.startswith("caltest"):
                members = vars(found).items()
                yield from ((f"{name}.{k}", v) for k, v in members if inspect.isfunction(v))
            elif inspect.isfunction(found):
                yield name, found


PUBLIC = {name: found for name, found in callables() if not name.rpartition(".")[2].startswith("_")}
# What `HTest.confidence_interval` asks of a measure, and of what a result holds.
OWN = {"Measure.cell_interval", "Evidence.interval"}


def test_level_is_a_significance_level(case):
    """Its text says so, or refers to a function whose does; no default is that of an interval."""
    for name in PUBLIC:
        with case(name):
            check_levels(name)


def check_levels(name):
    found = inspect.signature(PUBLIC[name]).parameters
    if "level" in found and name not in OWN:
        assert found["level"].default in {None, 0.01, 0.05}
        text = inspect.getdoc(PUBLIC[name])
        own = re.search(r"^[\w, ]*\blevel\b[\w, ]* : .*\n((?: .*\n?)+)", text, re.MULTILINE)
        said = ("ignificance level", "As in", "As for", "alarm", "of the monitor")
        assert any(words in own.group(0) for words in (*said, "as for", "As in `compare"))
    if "confidence" in found:
        assert found["confidence"].default in {None, 0.9, 0.95, (0.8, 0.95)}
        assert "level" not in found or name == "sample_size_for_precision"


def test_level_of_an_interval_is_refused():
    """It was the confidence once, and is that of a test."""
    with pytest.raises(TypeError, match="unexpected keyword argument 'level'"):
        RESULT.confidence_interval(level=0.9)


@pytest.mark.parametrize(
    "ask",
    [
        lambda **given: expected_observed_interval(P, Y, **given),
        lambda **given: smooth_curve(P, Y, **given),
        lambda **given: ct.plots.reliability_diagram(P, Y, **given),
        lambda **given: RESULT.confidence_interval(*given.values()),
        lambda **given: ct.monitor().update(P, Y).confidence_sequence(**given),
    ],
)
def test_confidence_of_5_percent_is_refused(ask):
    """It is a significance level, whatever it is called."""
    with pytest.raises(ct.InvalidInput, match=r"confidence must lie in \[0.5, 1\).*pass 0.95"):
        ask(confidence=0.05)
