"""Pictures of comparisons."""

import json
from pathlib import Path

from caltest.results import CalibratorComparison, ModelComparison

FOLDER = Path(__file__).parents[1] / "comparisons"


def stored(name):
    """Read the values of a comparison."""
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def test_calibrators_look_as_they_did(assert_same_picture):
    """One standard error each way, what is selected filled, an infinite score as a number."""
    result = CalibratorComparison.from_dict(stored("calibrators.json"))
    assert_same_picture(result.plot().figure, "score_differences_calibrators")


def test_models_look_as_they_did(assert_same_picture):
    result = ModelComparison.from_dict(stored("models.json"))
    assert_same_picture(result.plot().figure, "score_differences_models")
