"""`caltest compare FILE`: calibrators, models, formats, what has no effect."""

import json
import re

import numpy as np
import polars as pl
import pytest

import caltest as package

QUICK = ("--label", "y", "--n-resamples", "19", "--seed", "1")


@pytest.fixture
def models_csv(tmp_path):
    """Write sixty predictions of two models, one of them too sharp."""
    rng = np.random.default_rng(0)
    z = 2 * rng.normal(size=60)
    y = rng.random(60) < 1 / (1 + np.exp(-z))
    columns = {"y": np.where(y, "yes", "no")}
    for name, slope in (("good", 1.0), ("sharp", 3.0)):
        event = 1 / (1 + np.exp(-slope * z))
        columns |= {f"{name}_no": 1 - event, f"{name}_yes": event}
    path = tmp_path / "models.csv"
    pl.DataFrame(columns).write_csv(path)
    return path


def predictions(path, prefix):
    return package.Predictions.read(path, label="y", probs=prefix)


@pytest.mark.full
def test_calibrators_are_those_of_python(caltest, models_csv):
    arguments = ("--probs", "sharp_", "--calibrators", "temperature,platt", "--cv", "3")
    expected = package.compare_calibrators(
        predictions(models_csv, "sharp_"),
        calibrators=["temperature", "platt"],
        cv=3,
        n_resamples=19,
        rng=1,
    )
    assert caltest("compare", models_csv, *QUICK, *arguments) == (0, str(expected), "")


def test_models_are_those_of_python(caltest, models_csv):
    """The names are the prefixes without their last underscore."""
    models = {name: predictions(models_csv, f"{name}_") for name in ("good", "sharp")}
    expected = package.compare_models(models, n_resamples=19, rng=1, reference="sharp")
    arguments = ("--models", "good_,sharp_", "--reference", "sharp_")
    assert caltest("compare", models_csv, *QUICK, *arguments) == (0, str(expected), "")


def test_models_may_come_from_standard_input(caltest, models_csv, stdin):
    """The stream is read once for all models."""
    stdin(models_csv.read_bytes())
    finished = caltest("compare", "-", *QUICK, "--models", "good_", "--models", "sharp_")
    assert finished.status == 0
    assert "good" in finished.out


def test_options_reach_the_tests(caltest, models_csv):
    """Score, tests with their options, lens, correction, level."""
    arguments = ("--models", "good_,sharp_", "--score", "brier", "--test", "ece,ks", "--set")
    more = ("bins=5", "--correction", "none", "--level", "0.1", "--format", "json")
    values = json.loads(caltest("compare", models_csv, *QUICK, *arguments, *more).out)
    assert values["score"] == "Brier score"
    assert [row["test"] for row in values["tests"]["rows"]] == ["ece", "ks"] * 2
    assert (values["correction"], values["level"]) == (None, 0.1)


def test_logits_and_weights_reach_the_calibrators(caltest, tmp_path):
    """As the array of logits beside weighted predictions does."""
    rng = np.random.default_rng(0)
    logits, weight = 3 * rng.normal(size=(60, 3)), rng.integers(1, 4, 60)
    y = (logits / 3 + rng.gumbel(size=(60, 3))).argmax(axis=1)
    columns = {"y": y, "w": weight, **{f"z_{k}": logits[:, k] for k in range(3)}}
    path = tmp_path / "logits.csv"
    pl.DataFrame(columns).write_csv(path)
    weighted = package.Predictions(
        logits, y, sample_weight=weight, from_logits=True, source="logits.csv"
    )
    expected = package.compare_calibrators(
        logits, weighted, calibrators="vector", from_logits=True, n_resamples=19, rng=1
    )
    arguments = ("--probs", "z_", "--logits", "--weight", "w", "--calibrators", "vector")
    assert caltest("compare", path, *QUICK, *arguments).out == str(expected)


@pytest.mark.full
def test_format_is_that_of_the_output(caltest, models_csv, tmp_path):
    for name, start in (("c.md", "Least held-out log loss: "), ("c.csv", "name,calibrator,log lo")):
        output = tmp_path / name
        arguments = ("--probs", "good_", "--calibrators", "platt", "--cv", "2", "-o", output)
        assert caltest("compare", models_csv, *QUICK, *arguments).out == ""
        assert output.read_text(encoding="utf-8").startswith(start)


@pytest.mark.full
def test_commands_that_fit_maps_print_the_same_pvalue(caltest, tmp_path):
    """`compare`, `calibrate fit` and `report` have the one of Python for the same seed."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=(200, 3))
    y = [rng.choice(3, p=row / row.sum()) for row in np.exp(z)]
    path = tmp_path / "logits.csv"
    pl.DataFrame({"y": y, **{f"z_{k}": 2 * z[:, k] for k in range(3)}}).write_csv(path)
    common = (path, "--label", "y", "--logits", "--probs", "z_", "--seed", "3")
    common += ("--n-resamples", "19")
    texts = [
        caltest("compare", *common, "--calibrators", "vector", "--correction", "none").out,
        caltest("calibrate", "fit", *common, "--method", "vector").err,
        caltest("report", *common, "--recalibrate", "vector", "--format", "markdown").out,
    ]
    options = {"from_logits": True, "calibrators": "vector", "n_resamples": 19, "rng": 3}
    expected = package.compare_calibrators(2 * z, y, **options)["vector"].tests[0].pvalue
    for text, digits in zip(texts, (4, 4, 2), strict=True):  # a report has two
        line = next(row for row in text.splitlines() if re.match(r"(\| )?vector +[|0-9]", row))
        assert f" {expected:.{digits}g} " in f"{line} "


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--probs", "good_", "--score", "ece"), "--score must be a proper score"),
        (("--probs", "good_", "--calibrators", "plat"), "did you mean 'platt'"),
        (("--probs", "good_", "--cv", "1"), "--cv must be an integer of at least 2"),
        (("--probs", "good_", "--reference", "a"), "--reference has no effect without --models"),
        (("--models", "good_"), "--models must name at least two; got good_"),
        (("--models", "good_,good_"), "--models must name each model once"),
        (("--models", "good_,sharp_", "--cv", "3"), "--cv has no effect with --models"),
        (("--models", "good_,bad_"), "--models must be columns or their prefixes; got 'bad_'"),
        (("--models", "good_,sharp_", "--reference", "bad"), "--reference must be one of"),
    ],
)
def test_mistake_is_one_line(refused, models_csv, arguments, message):
    """In the words of the command line, with status 2."""
    assert message in refused("compare", models_csv, *QUICK, *arguments)


def test_models_that_forecast_numbers(caltest, tmp_path):
    """The columns of each begin with its prefix; a number is the scale of all."""
    rng = np.random.default_rng(0)
    mean = rng.normal(size=60)
    y = mean + rng.normal(size=60)
    path = tmp_path / "forecasts.csv"
    columns = {"y": y, "a_mu": mean, "a_sd": np.ones(60), "b_mu": 0.5 * mean, "b_sd": np.ones(60)}
    pl.DataFrame(columns).write_csv(path)
    models = {
        name: package.Forecasts(y, mean=columns[f"{name}_mu"], scale=1.0, source=path.name)
        for name in "ab"
    }
    expected = str(package.compare_models(models, n_resamples=19, rng=1))
    for scale in ("sd", "1"):
        columns = ("--mean", "mu", "--scale", scale, "--models", "a_,b_")
        out = caltest("compare", path, *QUICK, *columns).out
        assert out.strip() == expected.strip()
