"""Generated calls, valid and broken: each ends in a result or in an error of caltest.

A failure prints the seed and the call; `python tests/fuzz/fuzz_driver.py SEED` runs it again. What
is found becomes a test beside its subject.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

# A folder of several modules, which importlib mode does not find.
sys.path.insert(0, str(Path(__file__).parent))

import fuzz_plots
from fuzz_driver import Fault, run_case
from fuzz_kinds import KINDS
from fuzz_subjects import SUBJECTS

import caltest as ct

QUICK = 200
FULL = 320
SLOW = 20_000
BLOCK = 40  # cases in a test


def blocks(first: int, last: int) -> list[range]:
    """Split seeds into the blocks of the tests."""
    return [range(start, min(start + BLOCK, last)) for start in range(first, last, BLOCK)]


def shown(seeds: range) -> str:
    """Name a block."""
    return f"{seeds.start}-{seeds.stop - 1}"


@pytest.mark.parametrize("seeds", blocks(0, QUICK), ids=shown)
def test_fuzz_each_call_ends_in_a_result_or_an_error_of_caltest(seeds):
    """No other exception, hang, warning, changed input, file left or NaN without a note."""
    _run(seeds)


@pytest.mark.full
@pytest.mark.parametrize("seeds", blocks(QUICK, FULL), ids=shown)
def test_fuzz_more_calls(seeds):
    _run(seeds)


@pytest.mark.full
@pytest.mark.parametrize("subject", SUBJECTS)
def test_fuzz_each_subject(subject):
    """Those that are rarely drawn too."""
    _run(range(20_000, 20_010), subject)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", blocks(FULL, SLOW), ids=shown)
def test_fuzz_most_calls(seeds):
    """So do 20,000, in about a quarter of an hour of one core."""
    _run(seeds)


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_fuzz_each_call_with_hostile_weights_paths_states_and_lenses_ends_so(kind):
    """Of a file the rows that it has are counted; a state that is refused stays as it is."""
    _run(range(BLOCK // 2), kind)


@pytest.mark.slow
@pytest.mark.parametrize("seeds", blocks(BLOCK // 2, 4 * BLOCK), ids=shown)
@pytest.mark.parametrize("kind", KINDS)
def test_fuzz_more_calls_with_hostile_weights_paths_states_and_lenses(kind, seeds):
    _run(seeds, kind)


def test_fuzz_draws_every_plot():
    """A new function of `caltest.plots` has a source of what it draws."""
    assert set(fuzz_plots.SOURCES) == {
        name for name in dir(ct.plots) if callable(getattr(ct.plots, name))
    }


def _run(seeds: range, subject: str | None = None) -> None:
    faults = []
    for seed in seeds:
        try:
            run_case(seed, subject)
        except Fault as fault:
            faults.append(str(fault))
    assert not faults, "\n\n".join(faults)
