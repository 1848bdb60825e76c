"""Fixtures of the command line's tests."""

from __future__ import annotations

import io
from typing import NamedTuple

import pytest

from caltest.cli.app import run

ROWS = """\
y,p_ant,p_bee,p_cat,ward
ant,0.7,0.2,0.1,A
bee,0.1,0.8,0.1,A
cat,0.2,0.2,0.6,B
ant,0.5,0.3,0.2,B
bee,0.3,0.4,0.3,A
cat,0.1,0.3,0.6,B
ant,0.6,0.2,0.2,A
bee,0.2,0.7,0.1,B
"""


class Finished(NamedTuple):
    """What a run of the command line left."""

    status: int
    out: str
    err: str


@pytest.fixture
def caltest(capsys):
    """Run `caltest` with the arguments and return what it left."""

    def call(*arguments):
        status = run([str(argument) for argument in arguments])
        return Finished(status, *capsys.readouterr())

    return call


@pytest.fixture
def refused(caltest):
    """Run `caltest`, which must end with status 2 and one line on standard error; return it."""

    def call(*arguments):
        status, out, err = caltest(*arguments)
        assert (status, out, err[:9], err.count("\n")) == (2, "", "caltest: ", 1)
        return err

    return call


@pytest.fixture
def stdin(monkeypatch):
    """Put bytes on standard input."""

    def put(content):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content), encoding="utf-8"))

    return put


@pytest.fixture
def predictions_csv(tmp_path):
    """Write eight predictions of three classes in two groups to a file."""
    path = tmp_path / "predictions.csv"
    path.write_text(ROWS, encoding="utf-8")
    return path


@pytest.fixture
def wrong_csv(tmp_path):
    """Write forty predictions, all confident and all wrong, to a file."""
    path = tmp_path / "wrong.csv"
    path.write_text("y,p_a,p_b\n" + "a,0.01,0.99\nb,0.98,0.02\n" * 20, encoding="utf-8")
    return path
