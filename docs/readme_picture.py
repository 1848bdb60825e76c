"""Draw the README's picture: what the model promises, and how chance looks.

    python -P docs/readme_picture.py

writes `docs/_static/readme.svg` from the model and the test of the README.
"""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import caltest as ct
from caltest.calibrators import TemperatureScaling

FILE = Path(__file__).parent / "_static" / "readme.svg"


def draw() -> Figure:
    """Reliability diagrams before and after temperature scaling, and the null of the first test."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    X_cal, X_new, y_cal, y_new = train_test_split(X_test, y_test, test_size=0.5, random_state=0)
    forest = RandomForestClassifier(max_depth=6, random_state=0).fit(X_train, y_train)
    scaling = TemperatureScaling().fit(forest.predict_proba(X_cal), y_cal)
    options = {"lens": "confidence", "rng": 20}
    before = ct.test_calibration(forest, (X_new, y_new), **options)
    after = ct.test_calibration(scaling, (forest.predict_proba(X_new), y_new), **options)

    figure = Figure(figsize=(12, 3.7), layout="constrained", facecolor="white")
    left, middle, right = figure.subplots(1, 3, width_ratios=[1, 1, 1.3])
    for axes, result, title in (
        (left, before, "a random forest"),
        (middle, after, "after temperature scaling"),
    ):
        result.plot("reliability", ax=axes, histogram=False).set_title(title, loc="left")
    ece = ct.test_calibration(forest, (X_new, y_new), test="ece", bins=10, **options)
    ece.plot("null", ax=right).set_title("ECE of the forest, and by chance", loc="left")
    figure.get_layout_engine().set(w_pad=0.15, h_pad=0.12)
    return figure


if __name__ == "__main__":
    # The same bytes in every run of one matplotlib: no date, and names of clips from a fixed salt.
    with mpl.rc_context({"svg.hashsalt": "caltest", "svg.fonttype": "path"}):
        draw().savefig(FILE, metadata={"Date": None})
