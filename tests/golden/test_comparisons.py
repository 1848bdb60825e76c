"""Whole printed texts of comparisons, one file for each; the values are those of the JSON files."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from caltest.results import CalibratorComparison, ModelComparison

FOLDER = Path(__file__).parent / "comparisons"


def stored(name):
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


CALIBRATORS = CalibratorComparison.from_dict(stored("calibrators.json"))
SEVERAL = CalibratorComparison.from_dict(stored("calibrators_tests.json"))
MODELS = ModelComparison.from_dict(stored("models.json"))

PRINTS = {
    "calibrators.txt": CALIBRATORS.__str__,
    "calibrators_level.txt": replace(CALIBRATORS, level=0.05).__str__,
    "calibrators_summary.txt": CALIBRATORS.summary().__str__,
    "calibrators_tests.txt": SEVERAL.__str__,
    "calibrators.md": CALIBRATORS.to_markdown,
    "calibrators.tex": CALIBRATORS.to_latex,
    "calibrators.csv": CALIBRATORS.to_csv,
    "models.txt": MODELS.__str__,
    "models_level.txt": replace(MODELS, level=0.05).__str__,
    "models_summary.txt": MODELS.summary().__str__,
    "models.html": MODELS.to_html,
    "models.csv": MODELS.to_csv,
}
VALUES = {"calibrators.json", "calibrators_tests.json", "models.json"}


@pytest.mark.parametrize("name", PRINTS)
def test_comparison_prints_as_stored(name):
    """The whole text is that of the stored file, to the character."""
    assert PRINTS[name]() == (FOLDER / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in PRINTS if name.endswith(".txt")])
def test_comparison_fits_a_terminal(name):
    """No line is wider than 80 columns."""
    assert max(map(len, PRINTS[name]().expandtabs().splitlines())) <= 80


def test_every_stored_print_is_compared():
    """No stored file is left behind when a print goes."""
    assert {path.name for path in FOLDER.iterdir()} == {*PRINTS, *VALUES}


def test_name_stays_whole_where_there_is_room():
    """Beside five numbers and their codes there are 18 places; nothing is kept free for blanks."""
    name = "forest, calibrated"
    rows = (replace(MODELS.rows[0], name=name), *MODELS.rows[1:])
    tests = replace(
        MODELS.tests,
        rows=tuple(
            replace(test, data_name=name) if test.data_name == MODELS.rows[0].name else test
            for test in MODELS.tests.rows
        ),
    )
    printed = str(replace(MODELS, rows=rows, tests=tests, reference=name, best=name))
    assert f"\n{name} " in printed
