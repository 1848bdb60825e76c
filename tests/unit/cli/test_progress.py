"""The progress bar shows on a terminal only, and for long work only."""

import io
import time
from contextlib import redirect_stderr

import pytest

from caltest.cli import output


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """No delay, and a terminal that can draw."""
    monkeypatch.setattr(output, "DELAY", 0.0)
    monkeypatch.setenv("TERM", "xterm")


def test_bar_shows_for_long_work():
    """Work that outlasts the delay shows the bar with its word."""
    with redirect_stderr(Terminal()) as terminal, output.progress_bar("testing") as update:
        time.sleep(0.2)
        update(1, 2)
        time.sleep(0.2)
    assert "testing" in terminal.getvalue()
    assert "50%" in terminal.getvalue()


def test_bar_shows_rows_per_second():
    with redirect_stderr(Terminal()) as terminal, output.progress_bar("testing") as update:
        for done in (100_000, 200_000, 300_000):
            update(done, 1_000_000)
            time.sleep(0.2)
    assert "rows/s" in terminal.getvalue()


@pytest.mark.parametrize(("delay", "quiet"), [(60.0, False), (0.0, True)])
def test_bar_does_not_show_for_short_work_or_where_quiet(monkeypatch, delay, quiet):
    """Work under a second leaves no trace."""
    monkeypatch.setattr(output, "DELAY", delay)
    with redirect_stderr(Terminal()) as terminal, output.progress_bar("a", quiet=quiet) as update:
        time.sleep(0.1)
        update(1, 2)
    assert not terminal.getvalue().strip()


def test_bar_does_not_show_in_a_pipe(capsys):
    """What is not a terminal gets nothing."""
    with output.progress_bar("testing") as update:
        time.sleep(0.1)
        update(1, 2)
    assert capsys.readouterr() == ("", "")


def test_bar_goes_away_on_an_error():
    """The error is not swallowed, and no thread goes on drawing."""

    def fail_in_the_middle():
        with output.progress_bar("testing"):
            time.sleep(0.1)
            raise KeyError("lost")

    with redirect_stderr(Terminal()) as terminal, pytest.raises(KeyError, match="lost"):
        fail_in_the_middle()
    size = len(terminal.getvalue())
    time.sleep(0.2)
    assert len(terminal.getvalue()) == size > 0
