"""`caltest power`: where predictions come from, what is true, sizes, mistakes."""

from __future__ import annotations

import json

import pytest
from scipy.stats import beta, dirichlet

import caltest as package

QUICK = ("--n-datasets", "20", "--seed", "1")
Z = (*QUICK, "--test", "spiegelhalter", "--null", "asymptotic")


def test_result_is_that_of_python(caltest):
    """The command line prints what `power` returns."""
    expected = package.power(beta(2, 5), n=[30, 60], temperature=2, n_datasets=20, rng=1)
    finished = caltest("power", "--beta", "2,5", "--temperature", "2", "--n", "30,60", *QUICK)
    assert finished == (0, str(expected), "")


def test_sample_size_is_that_of_python(caltest):
    """With --power instead of --n it prints what `sample_size` returns."""
    options = {"test": "spiegelhalter", "null": "asymptotic", "n_datasets": 20, "rng": 1}
    expected = package.sample_size(beta(2, 5), slope=0.4, power=0.7, **options)
    finished = caltest("power", "--beta", "2,5", "--slope", "0.4", "--power", "0.7", *Z)
    assert finished == (0, str(expected), "")


def test_widths_are_those_of_python(caltest):
    """A width takes the place of --n; what is left out is not asked for."""
    expected = package.sample_size_for_precision(
        beta(2, 5), ratio_width=None, slope_width=0.3, noise=0.1, rng=1
    )
    arguments = ("--slope-width", "0.3", "--noise", "0.1", "--seed", "1")
    assert caltest("power", "--beta", "2,5", *arguments) == (0, str(expected), "")


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


def test_several_tests_and_classes_of_a_law(caltest):
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


@pytest.mark.parametrize("suffix", [".txt", ".json", ".md", ".csv", ".html", ".tex"])
def test_output_goes_to_a_file_in_the_format_of_its_suffix(caltest, tmp_path, suffix):
    """Powers and numbers of rows have every format."""
    path = tmp_path / f"result{suffix}"
    seed = ("--seed", "1")
    for what in (("--n", "30", *Z), ("--power", "0.7", *Z), ("--slope-width", "0.2", *seed)):
        arguments = ("power", "--beta", "2,5", "--slope", "0.3", *what)
        assert caltest(*arguments, "-o", path) == (0, "", "")
        names = {".txt": "text", ".md": "markdown", ".tex": "latex"}
        form = names.get(suffix, suffix[1:])
        assert path.read_text() == caltest(*arguments, "--format", form).out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--n 30", "one of FILE, --beta, --dirichlet must be given; got none"),
        ("--beta 2,5 --dirichlet 1,1 --n 30", "got --beta and --dirichlet"),
        ("--beta 2,5", "one of --n, --power, a width must be given; got none"),
        ("--beta 2,5 --n 30 --ratio-width 0.2", "got --n and a width"),
        ("--beta 2,5 --n 30 --power 0.8", "got --n and --power"),
        ("--beta 2 --n 30", "--beta must have 2 parameters; got 1"),
        ("--dirichlet 2 --n 30", "--dirichlet must have at least 2 parameters"),
        ("--beta 2,x --n 30", "--beta must be positive numbers joined by commas; got '2,x'"),
        ("--beta 2,5 --n 1,,3", "--n must be numbers joined by commas; got '1,,3'; write 100,200,"),
        ("--beta 2,5 --n 30 --n-max 90", "--n-max has no effect where --n is given; got 90"),
        ("--beta 2,5 --n 30 --weight w", "--weight has no effect without FILE; got 'w'"),
        ("--beta 2,5 --n 30 --logits", "--logits has no effect without FILE; got True"),
        ("--beta 2,-1 --n 30", "--beta must be positive numbers joined by commas"),
        ("--beta 2,5 --n 30.5", "--n must be whole numbers"),
        ("--beta 2,5 --n 0", "--n must be an integer of at least 1"),
        ("--beta 2,5 --power 0.8", "pass --temperature, --slope, --intercept, --ratio, --noise"),
        ("--beta 2,5 --power 80 --slope 0.5", "--power must lie strictly between 0 and 1"),
        ("--beta 2,5 --n 30 --ratio -1", "--ratio must be a positive number"),
        ("--beta 2,5 --n 30 --ratio 2 --slope 1", "got slope and intercept and ratio"),
        ("--beta 2,5 --n 30 --lens classwise", "--lens must not be a family"),
        ("--beta 2,5 --n 30 --set bins=3", "--set for --test skce must be one of"),
        ("--beta 2,5 --power 0.8 --slope 0.9 --n-max 30", "raise --n-max"),
        ("--beta 2,5 --power 0.8 --slope 0.9 --n-max 2", "--n-max must be above n_min"),
        ("nothing.csv --n 30", "nothing.csv"),
    ],
)
def test_bad_input_is_one_line(caltest, arguments, message):
    """Status 2, nothing on stdout, one line on stderr that names the mistake."""
    finished = caltest("power", *arguments.split(), *QUICK)
    assert (finished.status, finished.out) == (2, "")
    assert message in finished.err
    assert finished.err.startswith("caltest: ")
    assert finished.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--ratio-width 0", "--ratio-width must be a positive number"),
        ("--ratio-width 0.2 --test ece", "--test has no effect where a width is asked for"),
        ("--ratio-width 0.2 --lens nonsense", "--lens has no effect where a width is asked for"),
        ("--slope-width 0.2 --level 0.05", "--level has no effect where a width is asked for"),
        ("--slope-width 0.2 --n-datasets 9", "--n-datasets has no effect where a width is asked"),
        ("--slope-width 0.2 --equivalence", "--equivalence has no effect where a width is asked"),
    ],
)
def test_width_takes_no_option_of_a_test(caltest, arguments, message):
    """What would have no effect is refused, a default that was typed too."""
    finished = caltest("power", "--beta", "2,5", *arguments.split())
    assert (finished.status, finished.out) == (2, "")
    assert message in finished.err
