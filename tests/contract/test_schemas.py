"""What holds for the JSON of every command: it has a schema, and follows it."""

import json
import warnings
from contextlib import suppress

import jsonschema
import numpy as np
import pytest

import caltest as ct
from caltest.calibrators import REGISTRY as CALIBRATORS
from caltest.cli.app import run
from caltest.cli.list_ import bundled, kinds
from caltest.errors import NotApplicable
from caltest.htests import REGISTRY as TESTS

QUICK = ("--seed", "1", "--format", "json", "--quiet")


def errors(values):
    """Compare values with the schema that they name."""
    kind = values["schema"].split("/")[1]
    validator = jsonschema.Draft202012Validator(bundled(kind))
    return [error.message for error in validator.iter_errors(values)]


def predictions_of(m, n=60):
    """Return predictions with groups that are calibrated or not."""
    rng = np.random.default_rng(m)
    probs = rng.dirichlet(np.ones(m), n)
    groups = np.array(["x", "y"])[np.arange(n) % 2]
    return ct.Predictions(probs, rng.integers(m, size=n), groups=groups)


@pytest.fixture
def table(tmp_path):
    """Write predictions of two models of three classes to a file."""
    predictions = predictions_of(3)
    columns = {"y": predictions.labels, "ward": predictions.groups}
    columns |= {f"p_{k}": predictions.probs[:, k] for k in range(3)}
    columns |= {f"q_{k}": (predictions.probs[:, k] + 1) / 4 for k in range(3)}
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values()))]  # noqa: B905
    path = tmp_path / "table.csv"
    path.write_text("\n".join(lines))
    return str(path)


def printed(capsys, *words):
    assert run([str(word) for word in words]) == 0
    return json.loads(capsys.readouterr().out)


# ---- schemas ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", kinds())
def test_schema_is_one(kind):
    """It follows draft 2020-12, names itself, and refers to what it holds."""
    schema = bundled(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["title"]
    assert schema["description"].endswith(".")
    version, text = schema["$id"].rpartition(":")[2], json.dumps(schema)
    assert schema["$id"] == f"urn:caltest:{kind}:{version}"
    assert f'"const": "caltest/{kind}/{version}"' in text
    inside = {schema["$id"], *(part.get("$id") for part in schema["$defs"].values())}
    assert {word.split("#")[0] for word in text.split('"') if word.startswith("urn:")} <= inside


# ---- results ------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", TESTS)
@pytest.mark.parametrize("m", [2, 3])
def test_json_of_every_test_follows_its_schema(key, m):
    """Under each null, with the resampled statistics and without."""
    for null in TESTS[key].nulls:
        with warnings.catch_warnings(), suppress(NotApplicable):
            warnings.simplefilter("ignore")
            lens = "strong" if m == 2 else "confidence"
            made = ct.test_calibration(
                predictions_of(m), test=key, lens=lens, null=null, n_resamples=19, rng=1, level=0.1
            )
            assert not errors(json.loads(made.to_json()))
            assert not errors(json.loads(made.to_json(include_null=True)))


@pytest.mark.parametrize("key", [*CALIBRATORS])
def test_json_of_every_map_follows_its_schema(capsys, table, key):
    """Each calibrator with its own options, of three classes."""
    words = ("--label", "y", "--probs", "p_", "--method", key, "--quiet")
    assert not errors(printed(capsys, "calibrate", "fit", table, *words))


@pytest.mark.full
@pytest.mark.parametrize(
    "words",
    [
        ("test", "--test", "skce", "--tolerance", "0.01", "--equivalence"),
        ("test", "--test", "skce,ece", "--lens", "classwise,confidence", "--level", "0.05"),
        ("test", "--by", "ward", "--correction", "none"),
        ("report", "--lens", "confidence", "--test", "ece", "--author", "A"),
        ("report", "--by", "ward", "--recalibrate", "temperature", "--level", "0.05"),
        ("report", "--lens", "confidence", "--test", "ece", "--segments", "ward"),
        ("report", "--test", "ece", "--tolerance", "0.1", "--meta", "limitations=few rows"),
    ],
)
def test_json_of_commands_follows_its_schema(capsys, table, words):
    """The output says which schema it follows, and does."""
    command, *more = words
    more += ("--label", "y", "--probs", "p_", "--n-resamples", "19", *QUICK)
    assert not errors(printed(capsys, command, table, *more))


def test_json_on_forecasts_follows_its_schema():
    """They have no classes, in a report as in the state of a monitor."""
    outcomes = np.random.default_rng(1).normal(size=60)
    forecasts = ct.Forecasts(outcomes, mean=np.zeros(60), scale=1.0)
    report = ct.report(forecasts, n_resamples=19, rng=1)
    for made in (report, ct.monitor().update(forecasts)):
        assert not errors(json.loads(made.to_json()))


# ---- what a schema refuses ----------------------------------------------------------------------


@pytest.mark.parametrize("key", ["schema", "test", "pvalue", "parameters", "level"])
def test_schema_refuses_json_without_a_key(key):
    """Every key is needed, and no other is there."""
    values = json.loads(ct.test_calibration(predictions_of(2), n_resamples=9, rng=1).to_json())
    validator = jsonschema.Draft202012Validator(bundled("htest"))
    assert validator.is_valid(values)
    assert not validator.is_valid({name: value for name, value in values.items() if name != key})
    assert not validator.is_valid(values | {"verdict": "calibrated"})
    assert not validator.is_valid(values | {"pvalue": 1.5})
