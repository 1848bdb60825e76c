"""`caltest demo`: real models on real digits, tested before the reader's eyes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from caltest import render
from caltest.cli.options import grouped
from caltest.cli.output import choose_format, progress_bar, write_text

if TYPE_CHECKING:
    from caltest.predictions import Predictions
    from caltest.results import HTest, HTestTable

READING = """\
A small p-value means that labels like these would be rare if the probabilities
were right. The first model in full:
"""

NEXT = """\
Your own predictions next: a file with one row per observation, a column with
the label and one column of probabilities per class, say y, p_cat, p_dog, ...

    caltest test predictions.csv --label y --probs p_
    caltest test predictions.csv --label y --probs p_ --lens classwise
    caltest test --help
    caltest list

or a fitted model in Python:

    import caltest as ct
    print(ct.test_calibration(model, (X_test, y_test)))
"""


class Row(NamedTuple):
    """One model of the demo and its tests."""

    name: str
    accuracy: float
    strong: HTest
    confidence: HTest
    classwise: HTestTable


@grouped
def demo(
    *,
    rng: int | None = 1,
    n_resamples: int = 999,
    n_jobs: int | None = None,
    output: Path | None = None,
    quiet: bool = False,
) -> None:
    """Test four scikit-learn classifiers on handwritten digits that they have not seen."""
    choose_format(None, output)
    with progress_bar("training and testing", quiet=quiet) as progress:
        from caltest import Predictions
        from caltest.datasets import digits_models

        digits = digits_models(rng=rng)
        rows = []
        for name, model in digits.models.items():
            predictions = Predictions.from_model(model, digits.X, digits.y)
            rows.append(_row(name, predictions, n_resamples=n_resamples, rng=rng, n_jobs=n_jobs))
            progress(len(rows), len(digits.models))
    shown = f"{render.text(_sheet(rows))}\n{READING}\n{rows[0].strong}\n{NEXT}"
    write_text(shown, output=output)


def _row(name: str, predictions: Predictions, **draws: Any) -> Row:
    from caltest import test_calibration

    def tested(lens: str) -> object:
        return test_calibration(None, predictions, lens=lens, **draws)

    right = predictions.probs.argmax(axis=1) == predictions.labels
    return Row(
        name,
        accuracy=float(right.mean()),
        strong=cast("HTest", tested("strong")),
        confidence=cast("HTest", tested("confidence")),
        classwise=cast("HTestTable", tested("classwise")),
    )


def _sheet(rows: list[Row]) -> render.Sheet:
    """One line per model: the p-values under the three lenses."""
    first, n_classwise = rows[0].strong, len(rows[0].classwise)
    return render.Sheet(
        title="Are these models calibrated? P-values under three lenses",
        facts=(
            ("data", f"scikit-learn's digits, {first.n} held out, {first.m} classes"),
            ("test", first.method),
            ("null", f"{first.null_text}, B = {first.n_resamples}"),
            ("strong", "all probabilities of a prediction at once"),
            ("confidence", "the probability of the predicted class"),
            ("classwise", f"each class by itself; least of {n_classwise} adjusted p-values"),
            ("temperature", "what fits the labels best; above 1 the model is too sure"),
        ),
        header=("model", "accuracy", "strong", "confidence", "classwise", "temperature"),
        rows=tuple(_cells(row) for row in rows),
        legend=render.LEGEND,
        listing=True,
    )


def _cells(row: Row) -> tuple[str, ...]:
    pvalues = (row.strong.pvalue, row.confidence.pvalue, float(row.classwise.adjusted.min()))
    # The codes take three places, so that the p-values of a column stay aligned.
    cells = [f"{render.pvalue(p)} {render.stars(p):3}" for p in pvalues]
    return (row.name, f"{row.accuracy:.3f}", *cells, f"{_temperature(row.strong):.2f}")


def _temperature(test: HTest) -> float:
    """The temperature that the test of all probabilities found."""
    components = cast("HTestTable", test.components)
    return next(row.estimate for row in components if row.test == "temperature")
