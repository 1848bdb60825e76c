"""Exit statuses, errors in one line, and the ways to start the program."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest
import typer

import caltest as package
from caltest.cli import app, main
from caltest.errors import DegenerateDataWarning, InvalidInput, NotApplicable


def test_version_is_that_of_the_package(caltest):
    """--version prints one line."""
    assert caltest("--version") == (0, f"caltest {package.__version__}\n", "")


def test_no_command_prints_the_help(caltest):
    """The name alone shows the commands and is no error."""
    finished = caltest()
    assert (finished.status, finished.err) == (0, "")
    for command in ("demo", "test", "list"):
        assert command in finished.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tset"], "No such command 'tset'"),
        (["test", "x.csv"], "Missing option '--label'"),
        (["test", "--label", "y"], "Missing argument"),
        (["test", "x.csv", "--label", "y", "--lense", "strong"], "No such option"),
        (["test", "x.csv", "--label", "y", "--level", "five"], "Invalid value for '--level'"),
        (["test", "x.csv", "--label", "y", "--fail"], "--fail needs a significance level"),
        (["list", "lens"], "KIND must be one of 'tests', 'measures', 'nulls', 'lenses'"),
    ],
)
def test_usage_error_is_one_line(caltest, arguments, message):
    """Wrong usage exits with 2, one line on stderr and nothing on stdout."""
    finished = caltest(*arguments)
    assert (finished.status, finished.out) == (2, "")
    assert finished.err.startswith("caltest: ")
    assert message in finished.err
    assert finished.err.count("\n") == 1


@pytest.mark.parametrize("error", [InvalidInput, NotApplicable])
def test_error_of_the_user_is_one_line(caltest, monkeypatch, error):
    """What the package raises about its input exits with 2 and no traceback."""

    def fail(*_arguments, **_options):
        raise error("first line\n  second line")

    monkeypatch.setattr(app, "app", fail)
    assert caltest("list") == (2, "", "caltest: first line second line\n")


def test_error_of_the_system_is_one_line(caltest, predictions_csv):
    """A file that cannot be written exits with 2 and names the file."""
    arguments = ("--label", "y", "--n-resamples", "9", "-o", "/dev/full")
    finished = caltest("test", predictions_csv, *arguments)
    if finished.status == 0:
        pytest.skip("this system has no full device")
    assert (finished.status, finished.out) == (2, "")
    assert finished.err.count("\n") == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, typer.Abort])
def test_interruption_is_one_line(caltest, monkeypatch, error):
    """Control-C exits with 130, as shells expect."""

    def fail(*_arguments, **_options):
        raise error

    monkeypatch.setattr(app, "app", fail)
    assert caltest("list") == (130, "", "caltest: interrupted\n")


def test_warning_is_one_line(caltest, monkeypatch):
    """A warning shows its message without the place in the code."""

    def warn(*_arguments, **_options):
        warnings.simplefilter("always")
        warnings.warn("all predictions are equal", DegenerateDataWarning, stacklevel=1)

    monkeypatch.setattr(app, "app", warn)
    assert caltest("list") == (0, "", "caltest: warning: all predictions are equal\n")


def test_main_leaves_with_the_status():
    """The entry point of the installed script exits the process."""
    with pytest.raises(SystemExit, match="2"):
        main(["nothing-of-that-name"])


def test_package_runs_as_a_module():
    """`python -m caltest` is `caltest`."""
    command = [sys.executable, "-m", "caltest", "--version"]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    assert finished.stdout == f"caltest {package.__version__}\n"


def test_start_loads_nothing_heavy():
    """The help appears without SciPy, scikit-learn, numba or a data frame library."""
    code = (
        "import sys; from caltest.cli.app import run; run(['--help']); "
        "heavy = {'scipy', 'sklearn', 'numba', 'pandas', 'polars', 'matplotlib', 'statsmodels'}; "
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    command = [sys.executable, "-c", code]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stderr) == (0, "")
