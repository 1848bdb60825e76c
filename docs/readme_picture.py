"""Draw the picture of the README and of the first page: a model before and after calibration.

    python -P docs/readme_picture.py

writes `docs/_static/readme.svg`.
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
    """Reliability diagrams of a random forest, and of it after temperature scaling."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    X_cal, X_new, y_cal, y_new = train_test_split(X_test, y_test, test_size=0.5, random_state=0)
    forest = RandomForestClassifier(max_depth=6, random_state=0).fit(X_train, y_train)
    scaling = TemperatureScaling().fit(forest.predict_proba(X_cal), y_cal)
    probs = forest.predict_proba(X_new)

    figure = Figure(figsize=(8, 4.2), layout="constrained", facecolor="white")
    both = figure.subplots(1, 2)
    shown = {"a random forest": probs, "after temperature scaling": scaling.predict_proba(probs)}
    for axes, (title, predicted) in zip(both, shown.items(), strict=True):
        pvalue = ct.test_calibration(predicted, y_new, lens="confidence", rng=20).pvalue
        ct.plots.reliability_diagram(
            predicted,
            y_new,
            lens="confidence",
            bins=10,
            scale="probability",
            histogram=False,
            numbers=False,
            ax=axes,
        )
        axes.set_title(f"{title}: p = {pvalue:.2g}", loc="left", size=14)
        axes.get_legend().remove()
    lines, names = both[0].get_legend_handles_labels()
    figure.legend(
        lines,
        names,
        loc="outside lower center",
        ncols=5,
        frameon=False,
        fontsize=9.5,
        columnspacing=1.2,
    )
    return figure


if __name__ == "__main__":
    # The same bytes in every run of one matplotlib: no date, and names of clips from a fixed salt.
    with mpl.rc_context({"svg.hashsalt": "caltest", "svg.fonttype": "path", "font.size": 13}):
        draw().savefig(FILE, metadata={"Date": None}, bbox_inches="tight", pad_inches=0.15)
