"""Planning commands: where predictions come from, what is true, sizes, mistakes."""

import json

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta, dirichlet

import caltest as package

QUICK = ("--n-datasets", "20", "--seed", "1")
Z = (*QUICK, "--test", "spiegelhalter", "--null", "asymptotic")


def test_result_is_that_of_python(caltest):
    expected = package.power(beta(2, 5), n=[30, 60], temperature=2, n_datasets=20, rng=1)
    finished = caltest("power", "--beta", "2,5", "--temperature", "2", "--n", "30,60", *QUICK)
    assert finished == (0, str(expected), "")


def test_sample_size_is_that_of_python(caltest):
    options = {"test": "spiegelhalter", "null": "asymptotic", "n_datasets": 20, "rng": 1}
    expected = package.sample_size(beta(2, 5), slope=0.4, power=0.7, **options)
    finished = caltest("sample-size", "--beta", "2,5", "--slope", "0.4", "--power", "0.7", *Z)
    assert finished == (0, str(expected), "")


def test_widths_are_those_of_python(caltest):
    """With its defaults; where a width is given, the others are left out."""
    given = ("--slope-width", "0.3", "--noise", "0.1")
    for options, words in (
        ({}, ()),
        ({"ratio_width": None, "slope_width": 0.3, "noise": 0.1}, given),
    ):
        expected = package.sample_size_for_precision(beta(2, 5), **options, rng=1)
        finished = caltest("precision", "--beta", "2,5", *words, "--seed", "1")
        assert finished == (0, str(expected), "")


@pytest.mark.full
def test_rows_of_a_file_need_no_label(caltest, predictions_csv):
    """The file is resampled; its column of labels plays no part, wherever it is called."""
    arguments = ("power", predictions_csv, "--noise", "0.5", "--n", "20", *QUICK)
    finished = caltest(*arguments)
    assert "predictions.csv, 8 rows drawn with replacement, m = 3" in finished.out
    assert caltest(*arguments, "--label", "y", "--probs", "p_") == finished


def test_weights_of_a_file_are_the_chances_of_its_rows(caltest, tmp_path):
    """A row of weight 0 is never drawn."""
    path = tmp_path / "a.csv"
    path.write_text("risk,w\n0.9,0\n0.2,3\n")
    arguments = ("--probs", "risk", "--weight", "w", "--ratio", "0.5", "--n", "20", *QUICK)
    assert "mean risk:        0.2, true event rate 0.4" in caltest("power", path, *arguments).out


def test_lens_may_name_a_class_of_the_columns(caltest, predictions_csv):
    """What follows the prefix is the class."""
    arguments = ("--noise", "0.5", "--n", "20", "--lens", "classwise[bee]", *QUICK)
    assert "lens: classwise[bee]" in caltest("power", predictions_csv, *arguments).out


def test_several_tests_and_classes_of_a_distribution(caltest):
    """Tests are joined by commas, intercepts too."""
    expected = package.power(
        dirichlet([1, 2, 3]),
        n=20,
        slope=0.8,
        intercept=[0, 0.5, 1],
        test=["ece", "brier"],
        bins=3,
        n_datasets=20,
        rng=1,
    )
    arguments = ("--slope", "0.8", "--intercept", "0,0.5,1", "--test", "ece,brier")
    options = ("--n", "20", "--set", "bins=3", "--format", "json")
    finished = caltest("power", "--dirichlet", "1,2,3", *arguments, *options, *QUICK)
    assert json.loads(finished.out) == {"schema": "caltest/power/1"} | expected.to_dict()


@pytest.mark.full
def test_fitted_map_may_be_the_truth(caltest, tmp_path):
    """What `caltest calibrate fit` wrote is taken for true."""
    from caltest.calibrators import TemperatureScaling

    data = package.datasets.generative_model("M2", n=100, m=2, alpha=1, rng=1)
    fitted = TemperatureScaling().fit(data.probs, data.labels)
    path = tmp_path / "map.json"
    path.write_text(fitted.to_json())
    arguments = ("--beta", "2,5", "--n", "50", *QUICK, "--format", "json")
    by_map = json.loads(caltest("power", *arguments, "--map", path).out)
    by_value = json.loads(caltest("power", *arguments, "--temperature", fitted.temperature_).out)
    assert by_map["setting"]["effect"] == pytest.approx(by_value["setting"]["effect"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("power --n 30", "one of FILE, --beta, --dirichlet must be given; got none"),
        ("power --beta 2,5 --dirichlet 1,1 --n 30", "got --beta and --dirichlet"),
        ("power --beta 2,5", "Missing option '--n'"),
        ("power --beta 2,5 --n", "Option '--n' requires an argument"),
        ("power --beta 2 --n 30", "--beta must have 2 parameters; got 1"),
        ("power --dirichlet 2 --n 30", "--dirichlet must have at least 2 parameters"),
        ("power --beta 2,x --n 30", "--beta must be positive numbers joined by commas; got '2,x'"),
        ("power --beta 2,-1 --n 30", "--beta must be positive numbers joined by commas"),
        ("power --beta 2,5 --n 1,,3", "--n must be numbers joined by commas; got '1,,3'; write"),
        ("power --beta 2,5 --n 30.5", "--n must be whole numbers"),
        ("power --beta 2,5 --n 0", "--n must be an integer of at least 1"),
        ("power --beta 2,5 --n 30 --weight w", "--weight has no effect without FILE; got 'w'"),
        ("power --beta 2,5 --n 30 --logits", "--logits has no effect without FILE; got True"),
        ("power --beta 2,5 --n 30 --ratio -1", "--ratio must be a positive number"),
        ("power --beta 2,5 --n 30 --ratio 2 --slope 1", "got --slope and --intercept and --ratio"),
        ("power --beta 2,5 --n 30 --lens classwise", "--lens must not be a family"),
        ("power --beta 2,5 --n 30 --set bins=3", "--set for the default test must be one of"),
        ("power nothing.csv --n 30", "nothing.csv"),
        ("power --dirichlet 1,1,1 --n 30 --ratio 2", "--ratio is about the event of two classes"),
        ("sample-size --beta 2,5", "caltest sample-size must have a truth that differs"),
        ("sample-size --beta 2,5", "pass --temperature, --slope, --intercept, --ratio, --noise"),
        ("sample-size --beta 2,5 --power 80 --slope 0.5", "--power must lie strictly between 0"),
        ("sample-size --beta 2,5 --slope 0.9 --n-max 30", "raise --n-max"),
        ("sample-size --beta 2,5 --slope 0.9 --n-max 2", "--n-max must be above --n-min"),
        ("sample-size --beta 2,5 --slope 0.9 --test ece,ks", "got 2 tests; run it once for each"),
        (
            "power --beta 2,5 --power 0.8",
            "no option --power; it belongs to caltest sample-size. Try",
        ),
        (
            "power --beta 2,5 --n-max 500",
            "no option --n-max; it belongs to caltest sample-size. Try",
        ),
        (
            "power --beta 2,5 --ratio-width 0.2 --slope-width 0.2",
            "belongs to caltest precision. Try",
        ),
        (
            "sample-size --beta 2,5 --n 100",
            "no option --n; it belongs to caltest power. Try caltest",
        ),
        ("precision --dirichlet 1,1", "caltest precision has no option --dirichlet; it belongs to"),
        ("precision", "one of FILE, --beta must be given; got none"),
        ("precision --beta 2,5 --ratio-width 0", "--ratio-width must be a positive number"),
        ("precision --beta 2,5 --level 0.05", "caltest precision has no option --level. Try"),
    ],
)
def test_bad_input_is_one_line(refused, line, message):
    """Status 2, nothing on stdout, one line on stderr that names the mistake."""
    command, *arguments = line.split()
    quick = ("--seed", "1") if command == "precision" else QUICK
    assert message in refused(command, *quick, *arguments)


def test_three_classes_have_no_width(refused, predictions_csv):
    assert "and there are 3; name the column of one class by --probs\n" in refused(
        "precision", predictions_csv
    )


@pytest.mark.full
def test_studies_of_forecasts_are_those_of_python(caltest, tmp_path):
    """Columns of a file, with outcomes or without; the drift of a plan too."""
    mean, path = np.linspace(0.0, 3.0, 40), tmp_path / "forecasts.csv"
    pl.DataFrame({"mu": mean, "sd": np.full(40, 0.5)}).write_csv(path)
    rows = package.Forecasts(mean, mean=mean, scale=0.5, source=path.name)
    columns = (path, "--mean", "mu", "--scale", "sd")
    expected = package.power(rows, n=30, spread=1.5, n_datasets=20, rng=1)
    assert caltest("power", *columns, "--spread", "1.5", "--n", "30", *QUICK).out == str(expected)
    watched = {"rows_per_day": 100.0, "n_streams": 3, "rng": 1}
    asked = ("--rows-per-day", "100", "--n-streams", "3", "--seed", "1", "--shift", "0.5,1")
    plan = package.plan_monitoring(rows, shift=[0.5, 1.0], **watched)
    assert caltest("plan-monitoring", *columns, *asked).out == str(plan)
    usual = package.plan_monitoring(rows, **watched)
    assert [row.drift.split()[3] for row in usual.rows] == ["1.1", "1.2", "1.5", "2"]
    assert plan.rows[1].rows < plan.rows[0].rows
    widths = package.sample_size_for_precision(rows, spread=1.2, rng=1)
    asked = ("--spread", "1.2", "--seed", "1")
    assert caltest("precision", *columns, *asked) == (0, str(widths), "")
    coverage = caltest("precision", *columns, *asked, "--coverage-width", "0.05", "--format", "csv")
    assert coverage.out.splitlines()[1].startswith("coverage of 90 % intervals,0.829")
    assert coverage.out.count("\n") == 2
    wrong = caltest("precision", *columns, "--ratio-width", "0.3")
    assert wrong.err.startswith("caltest: --ratio-width has no effect on forecasts")
    for columns, message in (
        (("--members", "m"), "--label must be one of 'mu', 'sd'; got None"),
        (("--mean", "m", "--scale", "sd"), "--mean must be one of 'mu', 'sd'; got 'm'"),
    ):
        assert caltest("precision", path, *columns).err.startswith(f"caltest: {message}")
