"""What holds for every result and map that is read back: it keeps to its schema, or it works."""

import copy
import functools
import json
import math
import warnings

import jsonschema
import numpy as np
import polars as pl
import pytest

import caltest as ct
from caltest.calibrators import REGISTRY as CALIBRATORS
from caltest.calibrators import Calibrator
from caltest.cli.list_ import bundled
from caltest.errors import InvalidInput
from caltest.results import Result
from caltest.results.table import ARRAYS

BAD = (
    *(None, True, -1, 0, 2, 0.5, -0.5, 1e300, 10**30, 10**400, math.nan, math.inf),
    *("<script>", "nan", "inf", "0.5", "\x00", b"bytes"),
    *([], {}, [[]], [1], {"a": 1}, [None] * 3, {"float": "nan"}, {"dtype": "O", "items": [1]}),
)
PROBS = np.random.default_rng(1).dirichlet([1.0, 1.0], 40)
LABELS = (np.random.default_rng(2).random(40) < PROBS[:, 1]).astype(int)
GROUPS = np.array(["x", "y"])[np.arange(40) % 2]
NEW = np.column_stack([1 - (p := np.linspace(0, 1, 41)), p])
QUICK = {"n_resamples": 19, "rng": 1}
STUDY = {"slope": 0.3, "test": "spiegelhalter", "n_datasets": 20, "rng": 1}


def predictions():
    return ct.Predictions(PROBS, LABELS, groups=GROUPS)


def of_groups():
    """Return the test of very many groups, three of them."""
    shops = pl.DataFrame({"shop": np.tile(np.arange(600), 2), "p": 0.5, "y": [0, 1] * 600})
    asked = {"label": "y", "probs": "p", "by": "shop", "test": "ks", "engine": "cells", "rng": 1}
    made = ct.test_calibration(None, shops, **asked)
    values = made.to_dict()
    few = {name: value[:3] for name, value in values.items() if name in (*ARRAYS, "values")}
    return type(made).from_dict(values | few)


def result_of(**options):
    return ct.test_calibration(predictions(), **options, **QUICK)


MAKERS = {
    "HTest": lambda: result_of(test="ece", level=0.1),
    "HTest, combined": result_of,
    "HTest, tolerance": lambda: result_of(test="ks", tolerance=0.1),
    "HTestTable": lambda: result_of(test=["ece", "ks"]),
    "HTestTable, grades": lambda: ct.test_master_scale([0.01, 0.05], [9, 4], [200, 100]),
    "Interval": lambda: result_of(test="brier").confidence_interval(n_resamples=99),
    "Verdict": lambda: result_of().verdict(),
    "GroupsTest": of_groups,
    "SegmentsTest": lambda: ct.test_segments(predictions(), segments={"ward": GROUPS}, **QUICK),
    "ModelComparison": lambda: ct.compare_models(
        {"a": PROBS, "b": NEW[1:]}, LABELS, test="ece", **QUICK
    ),
    "CalibratorComparison": lambda: ct.compare_calibrators(
        predictions(), calibrators=["identity", "platt"], cv=2, **QUICK
    ),
    "Power": lambda: ct.power(PROBS, n=[20, 30], **STUDY),
    "SampleSize": lambda: ct.sample_size(PROBS, power=0.5, n_max=200, **STUDY),
    "PrecisionSize": lambda: ct.sample_size_for_precision(
        PROBS, ratio_width=0.5, slope_width=0.9, rng=1
    ),
    "MonitoringPlan": lambda: ct.plan_monitoring(
        PROBS, rows_per_day=100, slope=0.5, n_streams=4, rng=1
    ),
    "Monitor": lambda: ct.monitor(groups=["x", "y"]).update(predictions()),
}
COSTLY = ("ensemble", "gp", "spline", "dirichlet", "auto")
LARGE = ("HTest, combined", "HTestTable", "HTestTable, grades", "ModelComparison")  # of many leaves


@functools.cache
def saved_map(key):
    """Return the plain values of a fitted calibrator."""
    kind = CALIBRATORS[key]
    inner = ct.calibrators.IsotonicCalibrator()
    made = (
        kind(inner, cv=2) if key == "ensemble" else kind(inner) if key == "one-vs-rest" else kind()
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.DegenerateDataWarning)
        return made.fit(PROBS, LABELS).to_dict()


def leaves(values, path=()):
    """Return the places of all values: the first and last of an array, the last of many rows."""
    keys = list(values) if isinstance(values, dict) else []
    if isinstance(values, list) and values:
        last = len(values) - 1
        keys = [last] if isinstance(values[last], dict) else sorted({0, last})
    inner = [place for key in keys for place in leaves(values[key], (*path, key))]
    return [path, *inner] if path else inner


def changed(values, path, value):
    """Return a copy in which another value stands in a place."""
    whole = copy.deepcopy(values)
    here = whole
    for key in path[:-1]:
        here = here[key]
    here[path[-1]] = value
    return whole


def works(made):
    """Use all of what was read."""
    str(made), made.to_html(), made.to_markdown(), made.to_latex(), json.dumps(made.to_dict())
    for name in ("summary", "to_csv"):
        str(getattr(made, name, str)())


def applies(made):
    """Apply a map, which must give probabilities, and print it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.DegenerateDataWarning)
        probs = made.predict_proba(NEW)
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    str(made.summary()), repr(made), made.to_json()


def faults(read, use, values, *, under=""):
    """Replace each leaf by each bad value, and return what neither is refused nor works."""
    found = []
    for path in leaves(values):
        if under and path[0] != under:
            continue
        for bad in BAD:
            try:
                use(read(changed(values, path, bad)))
            except InvalidInput as error:
                assert error.got  # noqa: PT017
                assert error.remedy  # noqa: PT017
            except Exception as error:  # noqa: BLE001, what is searched for
                found.append(f"{path} = {bad!r}: {type(error).__name__}: {error}"[:300])
    return found


def test_every_result_is_in_the_contract():
    """What names a schema; the others are what several share."""
    waiting, found = [Result], set()
    while waiting:
        waiting += (some := waiting.pop().__subclasses__())
        found |= {(kind.__name__, bool(kind.schema)) for kind in some}
    named = {name for name, has_schema in found if has_schema}
    assert named <= {name.partition(",")[0] for name in MAKERS}
    assert {name for name, _ in found} - named <= {"Comparison", "FlatTable", "Frame", "Table"}


@pytest.mark.parametrize("name", MAKERS)
def test_result_keeps_to_its_schema_and_is_read_back(name):
    result = MAKERS[name]()
    schema = bundled(result.schema.split("/")[1])
    jsonschema.Draft202012Validator(schema).validate(json.loads(result.to_json()))
    again = type(result).from_json(result.to_json())
    assert again == result or name == "Monitor"  # which goes on, and is no value
    assert str(again) == str(result)
    assert again.to_dict() == result.to_dict()


@pytest.mark.cases(1, full=2)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.full if name in LARGE else ()) for name in MAKERS]
)
def test_result_of_damaged_values_is_refused_or_works(name):
    """With any of 24 bad values in any place."""
    result = MAKERS[name]()
    values = json.loads(json.dumps(result.to_dict()))
    under = "components" if name == "HTest, combined" else ""  # the rest is that of HTest
    assert not faults(type(result).from_dict, works, values, under=under)


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in LARGE])
def test_other_json_is_refused(name):
    """Of another version, of another kind, and what is no object."""
    result = MAKERS[name]()
    kind, version = result.schema.rsplit("/", 1)
    versions = [int(version) + 1, *[int(version) - 1] * (name != "Monitor")]  # which reads earlier
    for schema in (*(f"{kind}/{other}" for other in versions), "caltest/other/1"):
        with pytest.raises(InvalidInput, match=f"{result.schema}; got '{schema}'; "):
            type(result).from_dict(result.to_dict() | {"schema": schema})
    for values in ({}, [], None):
        with pytest.raises(InvalidInput):
            type(result).from_dict(values)
    for text, error in (("{", "JSONDecodeError"), (None, "TypeError")):
        with pytest.raises(InvalidInput, match=f"must be JSON; got {error}"):
            type(result).from_json(text)


@pytest.mark.cases(1, full=3)
@pytest.mark.parametrize(
    "key",
    [pytest.param(key, marks=pytest.mark.full if key in COSTLY else ()) for key in CALIBRATORS],
)
def test_map_of_damaged_values_is_refused_or_works(key):
    values = json.loads(json.dumps(saved_map(key)))
    assert Calibrator.from_dict(values).to_dict() == values
    assert not faults(Calibrator.from_dict, applies, values)
