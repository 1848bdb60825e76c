"""The pages of the tests show the rows that the studies have, and a test without rows is found."""

import importlib.util
import re
import runpy
import sys
from pathlib import Path

import pytest

import caltest as ct
from caltest.htests import REGISTRY as EVERY_TEST

REGISTRY = {key: test for key, test in EVERY_TEST.items() if test.measure.of is not ct.Forecasts}

DOCS = Path(__file__).parents[2] / "docs"

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the pages are in the repository only")


@pytest.fixture(scope="module")
def study_rows():
    """The module that reads the tables; it needs no Sphinx."""
    spec = importlib.util.spec_from_file_location("_study_rows", DOCS / "_ext/_study_rows.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("key", REGISTRY)
def test_study_has_rows_of_every_test_and_null(key, study_rows):
    """Both numbers of classes are there, and each null that the test takes."""
    text = (DOCS / study_rows.RATES).read_text(encoding="utf-8")
    cells = [line.split(" | ") for line in study_rows.rate_lines(key, text)[2:]]
    assert {row[0] for row in cells} == {"| 2", "| 10"}
    assert {row[1] for row in cells} == set(REGISTRY[key].nulls)


def test_study_rates_are_those_of_the_page(study_rows):
    """Three rates share a cell, in the order of n."""
    text = (DOCS / study_rows.RATES).read_text(encoding="utf-8")
    [line] = [line for line in text.splitlines() if line.startswith("| brier | consistency | ")][:1]
    rates = [cell.strip() for cell in line.split("|")[4:-1]]
    [row] = [
        row for row in study_rows.rate_lines("brier", text) if row.startswith("| 2 | consistency")
    ]
    assert [cell.strip() for cell in row.split("|")[4:-1]] == [
        study_rows.BETWEEN.join(rates[i : i + 3]) for i in range(0, 12, 3)
    ]


def test_study_columns_of_a_test_keep_what_they_are_of(study_rows):
    """The grades of the second study have their own columns, no other test's."""
    [(_, table)] = study_rows.column_tables(
        "jeffreys", (DOCS / study_rows.GRADES).read_text(encoding="utf-8")
    )
    assert table[0] == "| correlation | n | PD | expected | Jeffreys |"
    assert len({line.count("|") for line in table}) == 1


@pytest.mark.parametrize("key", ["skce", "skce-linear", "skce-block", "debiased-ece", "ks"])
def test_study_has_rows_of_every_test_with_a_tolerance(key, study_rows):
    """Every model of the study is there once, with the rates of both n."""
    text = (DOCS / study_rows.TOLERANCE).read_text(encoding="utf-8")
    table = study_rows.tolerance_lines(key, text)
    wanted = [line for line in text.splitlines() if re.match(rf"\| {key}(,| \|)", line)]
    assert len(table) - 2 == len(wanted) / 2
    assert all(line.count(study_rows.BETWEEN) == 4 for line in table[2:])


def test_study_without_rows_is_an_error(study_rows):
    """A test that no study has run must not have an empty section."""
    with pytest.raises(ValueError, match="no study has a row of the test 'unheard-of'"):
        study_rows.section_lines("unheard-of", DOCS)


@pytest.mark.full
@pytest.mark.parametrize("study", sorted((DOCS / "studies").glob("*.py")), ids=lambda f: f.stem)
def test_study_finds_what_it_imports(study, monkeypatch):
    """Studies run on request only: names that moved are noticed here."""
    monkeypatch.syspath_prepend(study.parent)
    runpy.run_path(str(study), run_name="study")
