"""The check against the shipped schemas: as that of jsonschema, and what it says."""

import copy
import json

import jsonschema
import numpy as np
import pytest

import caltest as ct
from caltest.calibrators import REGISTRY
from caltest.checks import check_schema, load_schema
from caltest.cli.list_ import bundled
from caltest.errors import InvalidInput
from caltest.results import HTest, HTestTable

ODD = [None, True, -1, 2, 0.5, 1e300, "x", "nan", "", [], {}, [[]], [1, "a"], {"a": 1}]


def table(**options):
    """Return two tests, one of them with components."""
    rng = np.random.default_rng(1)
    p = rng.random(60)
    tests = ["ece", "combined"]
    return ct.test_calibration(p, rng.random(60) < p, test=tests, n_resamples=9, rng=1, **options)


@pytest.mark.full
def test_schema_is_kept_where_jsonschema_says_so():
    """Whatever stands in one place of a table of tests, or is missing there."""
    rng = np.random.default_rng(2)
    whole = json.loads(table().to_json())
    validator = jsonschema.Draft202012Validator(bundled("htest-table"))
    for _ in range(150):
        values = here = copy.deepcopy(whole)
        parent, key = None, None
        while isinstance(here, (dict, list)) and here and (parent is None or rng.random() < 0.8):
            keys = (
                [k for k in here if k != "schema"] if isinstance(here, dict) else range(len(here))
            )
            parent, key = here, keys[rng.integers(len(keys))]
            here = parent[key]
        if rng.random() < 0.2:
            del parent[key]
        else:
            parent[key] = ODD[rng.integers(len(ODD))]
        if key == "schema":
            continue  # it may be missing, and then jsonschema would say so
        try:
            check_schema(values, HTestTable.schema)
            ours = True
        except InvalidInput as error:
            if "must have the shape" in str(error):
                continue  # of lengths that belong together jsonschema knows nothing
            ours = False
        assert ours == validator.is_valid(values), (key, parent)


def test_message_names_the_place_the_rule_and_the_value():
    values = table().to_dict()
    values["rows"][1]["components"]["rows"][0]["pvalue"] = 1.5
    where = r"values\.rows\[1\]\.components\.rows\[0\]\.pvalue must be at most 1; got 1\.5; pass"
    with pytest.raises(InvalidInput, match=where):
        HTestTable.from_dict(values)
    values = table().to_dict()
    with pytest.raises(
        InvalidInput, match=r"values.adjusted must have the shape r, r = 2; got \[1\]"
    ):
        HTestTable.from_dict(values | {"adjusted": values["adjusted"][:1]})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": "<script>"}, "values.n must be of the type integer; got '<script>'"),
        ({"n": True}, "values.n must be of the type integer; got True"),
        ({"pvalue": float("nan")}, "values.pvalue must be of the type number; got nan"),
        ({"verdict": "fine"}, "values must have no key 'verdict'"),
        ({"alternative": "both"}, "values.alternative must be one of"),
    ],
)
def test_test_of_wrong_values_is_refused(change, message):
    """It was accepted, and failed in print."""
    values = table().rows[0].to_dict()
    with pytest.raises(InvalidInput, match=message):
        HTest.from_dict(values | change)


def test_values_nested_without_end_are_refused():
    deep = {}
    for _ in range(100_000):
        deep = {"a": deep}
    values = table().rows[0].to_dict() | {"parameters": deep}
    with pytest.raises(InvalidInput, match="values must not be nested so deep"):
        HTest.from_dict(values)


@pytest.mark.parametrize("key", REGISTRY)
def test_schema_has_the_parts_of_each_map(key):
    state = load_schema("calibration-map")["$defs"][key]
    assert list(state["properties"])[:3] == ["classes_", "n_features_in_", "feature_names_in_"]
    optional = {"feature_names_in_", *(("temperature_", "smoothing_") if key == "gp" else ())}
    assert set(state["properties"]) - optional == set(state["required"])


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"items": [0.9, 0.1, 0.5]}, "x_.items must be sorted"),
        ({"items": [0.1, float("nan"), 0.9]}, r"x_.items\[1\] must be of the type number; got nan"),
        ({"items": [0.1, 0.9], "shape": [2]}, "y_ must have the shape k, k = 2; got"),
        ({"items": [0.1, 0.5, True]}, r"x_.items\[2\] must be of the type number; got True"),
    ],
)
def test_knots_of_a_map_are_sorted_finite_and_as_many_as_its_values(state, message):
    made = ct.calibrators.IsotonicCalibrator().fit([0.1, 0.5, 0.9], [0, 0, 1])
    values = made.to_dict()
    values["state"]["x_"] |= state
    with pytest.raises(InvalidInput, match=f"state of isotonic.{message}"):
        type(made).from_dict(values)
