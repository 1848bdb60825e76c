"""Exit statuses, errors in one line, and the ways to start the program."""

import contextlib
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import typer

import caltest as package
from caltest.cli import app, main
from caltest.errors import DegenerateDataWarning
from caltest.lazy import Later


@pytest.mark.parametrize(
    ("group", "commands"),
    [
        ((), "demo test report calibrate compare power sample-size precision list schema"),
        (("calibrate",), "fit apply"),
    ],
)
def test_no_command_prints_the_help(caltest, group, commands):
    """The name of the program or of a group alone shows the commands and is no error."""
    finished = caltest(*group)
    assert (finished.status, finished.err) == (0, "")
    for command in commands.split():
        # Old releases of Typer take PY_COLORS=0 for a wish for colours.
        assert f" {command} " in re.sub(r"\x1b\[[\d;]*m", "", finished.out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tset"], "No such command 'tset'"),
        (["calibrate", "fit", "x.csv"], "Missing option '--method'"),
        (["test", "--label", "y"], "Missing argument"),
        (["test", "x.csv", "--label", "y", "--lense", "strong"], "No such option"),
        (["test", "x.csv", "--label", "y", "--cv", "5"], "it belongs to caltest compare. Try"),
        (["list", "--probs", "p_"], "caltest list has no option --probs. Try caltest list --help"),
        (["test", "x.csv", "--label", "y", "--level", "five"], "Invalid value for '--level'"),
        (["test", "x.csv", "--label", "y", "--fail"], "--fail needs a significance level"),
        (["list", "jeffreys"], "got 'jeffreys'; caltest list tests jeffreys shows it"),
        (["list", "lens"], "KIND must be one of 'tests', 'measures', 'nulls', 'lenses', 'kernels'"),
    ],
)
def test_usage_error_is_one_line(refused, arguments, message):
    """Wrong usage exits with 2, one line on stderr and nothing on stdout."""
    assert message in refused(*arguments)


def test_error_of_the_system_is_one_line(caltest, predictions_csv):
    """A file that cannot be written exits with 2 and names the file."""
    arguments = ("--label", "y", "--n-resamples", "9", "-o", "/dev/full")
    finished = caltest("test", predictions_csv, *arguments)
    if finished.status == 0:
        pytest.skip("this system has no full device")
    assert (finished.status, finished.out) == (2, "")
    assert finished.err.count("\n") == 1


@pytest.mark.parametrize("error", [KeyError("p"), RecursionError, EOFError, BaseException("panic")])
def test_exception_is_one_line_and_a_status_of_its_own(caltest, monkeypatch, error):
    """Whatever nobody expected exits with 70, never with the 1 that says rejected."""

    def fail(*_arguments, **_options):
        raise error

    monkeypatch.setattr("caltest.cli.list_.write_text", fail)
    finished = caltest("list")
    name = getattr(error, "__name__", type(error).__name__)
    assert (finished.status, finished.out) == (70, "")
    assert finished.err.strip().startswith(f"caltest: unexpected {name}")
    assert finished.err.strip().count("\n") == 0
    monkeypatch.setenv("CALTEST_TRACEBACK", "1")
    assert "Traceback (most recent call last)" in caltest("list").err


FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")


@pytest.mark.full
@FULL
@pytest.mark.parametrize(
    ("words", "streams", "status"),
    [
        (["list"], {"stdout": "/dev/full"}, 2),
        (["--help"], {"stdout": "/dev/full"}, 2),
        (["test", "no.csv", "--label", "y"], {"stderr": "/dev/full"}, 2),
    ],
)
def test_full_stream_is_bad_input(words, streams, status):
    """A stream that takes no more is told where that is possible, and has no status of its own."""
    with contextlib.ExitStack() as stack:
        given = {name: stack.enter_context(Path(path).open("w")) for name, path in streams.items()}
        finished = subprocess.run([sys.executable, "-m", "caltest", *words], check=False, **given)
    assert finished.returncode == status


@pytest.mark.full
@pytest.mark.skipif(os.name != "posix", reason="the words are of a shell")
def test_closed_stderr_is_no_bug():
    """As a job that closes its standard error has it; Python then has no such stream."""
    words = ["sh", "-c", 'exec "$0" -m caltest test no.csv --label y 2>&-', sys.executable]
    assert subprocess.run(words, check=False).returncode == 2


@pytest.mark.full
def test_broken_installation_is_no_rejection(tmp_path):
    """Where a package that caltest needs cannot be imported, the status is 70 too."""
    (tmp_path / "typer.py").write_text("raise ImportError('no typer')")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    words = [sys.executable, "-m", "caltest", "list"]
    finished = subprocess.run(words, capture_output=True, env=environment, check=False)
    assert finished.returncode == 70
    assert finished.stderr == b"caltest: this installation is broken: no typer\n"


@pytest.mark.full
@pytest.mark.parametrize("command", [["list"], ["schema", "report"]])
def test_closed_pipe_is_no_error(command):
    """Where `| head` has read enough, the status is the shell's own and nothing is said."""
    reader, writer = os.pipe()
    os.close(reader)
    words = [sys.executable, "-m", "caltest", *command]
    finished = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (finished.returncode, finished.stderr) == (141, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals of this kind")
def test_interrupted_program_says_so():
    """Control-C in the middle of the work is one line and status 130."""
    code = (
        "import os, signal, sys; from caltest.cli import app; "
        "import caltest.cli.list_ as demo; "
        # What a shell starts in the background ignores Control-C.
        "signal.signal(signal.SIGINT, signal.default_int_handler); "
        "stop = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT); "
        "demo.progress_bar = stop; sys.exit(app.run(['demo']))"
    )
    words = [sys.executable, "-c", code]
    finished = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stdout) == (130, "")
    assert finished.stderr.strip() == "caltest: interrupted"


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("error", "cause", "finished"),
    [
        (KeyboardInterrupt, None, (130, "", "caltest: interrupted")),
        (typer.Abort, None, (130, "", "caltest: interrupted")),
        (SystemError, KeyboardInterrupt(), (130, "", "caltest: interrupted")),
        (SystemError, ValueError("axes"), (70, "", "caltest: unexpected ValueError: axes; please")),
    ],
)
def test_interruption_is_one_line(caltest, monkeypatch, error, cause, finished):
    """Control-C exits with 130, as shells expect; numba raises a SystemError from what it was."""

    def fail(*_arguments, **_options):
        raise error from cause

    monkeypatch.setattr(app, "app", fail)
    status, out, err = caltest("list")
    assert (status, out, err[: len(finished[2])]) == finished
    assert err.count("\n") == 1


def test_lack_of_memory_is_one_line(caltest, monkeypatch):
    monkeypatch.setattr(app, "app", lambda *_arguments, **_options: np.empty(10**17))
    finished = caltest("list")
    assert finished.status == 2
    assert finished.err.startswith("caltest: not enough memory: ")
    assert finished.err.count("\n") == 1


def test_warning_is_one_line(caltest, monkeypatch):
    """A warning shows its message without the place in the code."""

    def warn(*_arguments, **_options):
        warnings.simplefilter("always")
        warnings.warn("all predictions are equal", DegenerateDataWarning, stacklevel=1)

    monkeypatch.setattr(app, "app", warn)
    assert caltest("list") == (0, "", "caltest: warning: all predictions are equal\n")


def test_main_leaves_with_the_status():
    with pytest.raises(SystemExit, match="2"):
        main(["nothing-of-that-name"])


def test_package_runs_as_a_module():
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


def test_module_is_imported_when_something_of_it_is_asked_for(monkeypatch):
    """The module takes the place of what stood for it, which goes on to answer."""
    later = Later("colorsys")
    monkeypatch.setitem(sys.modules, "colorsys", later)
    assert later.rgb_to_hsv is sys.modules["colorsys"].rgb_to_hsv
    assert later is not sys.modules["colorsys"]
    with pytest.raises(AttributeError, match="'colorsys' has no attribute 'hue'"):
        later.hue  # noqa: B018 - asked for
