"""Every number in the migration tables comes out of our call beside it.

A row of a table is "their call | ours | number". The numbers are those of the package that the page
is about, run as the page says; the code in the second cell is run after the Python of the page.
A header "number on icu" or "number on niamey Logistic" takes p and y from the folder of data sets.
"""

from __future__ import annotations

import contextlib
import functools
import io
import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest

PAGES = Path(__file__).parents[2] / "docs" / "migration"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")


def rows(page):
    """Yield (header of the number, code, number) of each row that has all three."""
    header = ""
    for line in (PAGES / f"{page}.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("|") or len(cells) != 3:
            continue
        if cells[2].startswith("number"):
            header = cells[2]
        elif NUMBER.fullmatch(cells[2]) and cells[1].startswith("`"):
            yield header, cells[1].strip("`"), cells[2]


def names_of(page):
    """Run the Python of a page and return the names that it leaves."""
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for code in PYTHON.findall((PAGES / f"{page}.md").read_text(encoding="utf-8")):
            exec(code, names)  # noqa: S102 - the page is ours
    return names


@functools.cache
def left_by(page):
    """Return the names of a page that no test changes."""
    return names_of(page)


def compare(page, kind, names):
    """Run the code of the rows of one kind; return their number."""
    compared = [(code, number) for header, code, number in rows(page) if header == kind]
    for code, number in compared:
        digits = 0.51 * 10.0 ** Decimal(number).as_tuple().exponent
        expected = pytest.approx(float(number), abs=max(digits, 1e-12 * abs(float(number))))
        assert eval(code, names) == expected, code  # noqa: S307 - the page is ours
    return len(compared)


SELF_CONTAINED = {
    "index": 30,
    "netcal": 12,
    "mapie": 9,
    "calibrationerrors_jl": 7,
    "resourceselection": 8,
    "rms": 11,
    "givitir": 5,
    "reliabilitydiag": 7,
}


@pytest.mark.parametrize("page", SELF_CONTAINED)
def test_numbers_of_a_page_are_ours(page):
    assert compare(page, "number", left_by(page)) == SELF_CONTAINED[page]


@pytest.mark.parametrize(("page", "count"), [("rms", 9), ("givitir", 6), ("resourceselection", 3)])
def test_numbers_on_patients_are_those_of_r(page, count, icu):
    names = names_of(page)
    names |= {"p": icu.probs[:, 1], "y": icu.labels}
    assert compare(page, "number on icu", names) == count


@pytest.mark.parametrize(("forecast", "count"), [("Logistic", 5), ("ENS", 3)])
def test_numbers_on_rain_are_those_of_r(forecast, count, data_dir):
    table = pl.read_csv(data_dir / "forecasts" / "niamey_precip_2016.csv.gz")
    names = names_of("reliabilitydiag")
    names |= {"p": table[forecast].to_numpy(), "y": table["obs"].to_numpy()}
    assert compare("reliabilitydiag", f"number on niamey {forecast}", names) == count


@pytest.mark.parametrize("seed", [1, 123])
def test_random_numbers_are_those_of_r(seed):
    """The first of `runif` after `set.seed`, as R prints them."""
    expected = {1: [0.2655087, 0.3721239, 0.5728534], 123: [0.2875775, 0.7883051, 0.4089769]}[seed]
    for page in ("rms", "resourceselection"):
        assert left_by(page)["runif"](seed)(3) == pytest.approx(expected, abs=5e-8)


def test_examples_of_r_are_made_in_python(reference_dir):
    """The data sets of both documentation examples as R made them."""
    names = left_by("rms")
    p, y = np.loadtxt(reference_dir / "valprob_doc_example.csv", delimiter=",", skiprows=1).T
    np.testing.assert_allclose(names["p"], p, atol=5e-8)  # R's fit stops at 2e-8
    np.testing.assert_array_equal(names["y"], y)
    names = left_by("resourceselection")
    y, fitted = np.loadtxt(reference_dir / "hoslem_doc_example.csv", delimiter=",", skiprows=1).T
    np.testing.assert_array_equal(names["y"], y)
    np.testing.assert_allclose(names["p"], fitted, rtol=1e-8)
