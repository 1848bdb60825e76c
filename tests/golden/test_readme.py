"""The README prints what its code prints."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

README = Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def blocks():
    """Fenced blocks of the README: (language, content)."""
    return BLOCK.findall(README.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def ran(blocks):
    """Names that the README's Python leaves, and pairs of printed and promised text."""
    names: dict[str, object] = {}
    pairs = []
    for (language, code), (_, promised) in itertools.pairwise(blocks):
        if language == "python":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(code, names)  # noqa: S102 - the README is ours
            pairs.append((printed.getvalue(), promised))
    return names, pairs


def stripped(text):
    """Lines without blanks at their ends, and without empty lines around them."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def test_python_blocks_print_what_follows_them(ran):
    """Each Python block is followed by its whole output."""
    _, pairs = ran
    assert pairs
    for printed, promised in pairs:
        assert stripped(printed) == stripped(promised)


def test_console_blocks_print_what_follows_them(blocks, ran, tmp_path):
    """The command on predictions.csv prints what the README shows."""
    names, _ = ran
    probs = names["model"].predict_proba(names["X_test"])
    columns = {"digit": names["y_test"]} | {f"p_{k}": probs[:, k] for k in range(10)}
    pl.DataFrame({name: np.asarray(value) for name, value in columns.items()}).write_csv(
        tmp_path / "predictions.csv"
    )
    consoles = [content for language, content in blocks if language == "console"]
    assert consoles
    for content in consoles:
        command, promised = re.match(r"\$ caltest (.*)\n((?s:.*))", content).groups()
        done = subprocess.run(
            [sys.executable, "-m", "caltest", *shlex.split(command)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
        assert stripped(done.stdout + done.stderr) == stripped(promised)
