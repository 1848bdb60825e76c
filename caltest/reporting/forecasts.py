"""What a report says of forecasts: coverage, quantiles and scores in place of classes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from caltest import plots
from caltest.errors import NotApplicable
from caltest.htests import DEFAULT
from caltest.reporting.content import Content, Estimated, Score, Scores, Sketch
from caltest.reporting.estimates import if_calibrated
from caltest.reporting.source import ReportedRows, TestPlan
from caltest.results import HTestTable

USUAL = ((DEFAULT, "strong"), ("pit-ks", "strong"), ("crps", "strong"), ("log-score", "strong"))
PLAN = TestPlan((*USUAL, ("ks", "interval"), ("ks", "below-quantile")))


class ForecastRows(ReportedRows):
    """Forecasts in memory; see `ReportedRows`."""

    predictions: Any
    label_counts: Any = None

    def search(self) -> None:
        """Return no candidates for places: forecasts have neither classes nor probabilities."""

    def class_counts(self) -> tuple[()]:
        """Return no classes."""
        return ()

    def extremes(self) -> tuple[bool, int, int]:
        """Return that nothing is certain or impossible."""
        return False, 0, 0

    def estimates(self, tests: HTestTable) -> Iterator[Estimated]:
        """Yield the coverage of intervals, and the shares of outcomes up to quantiles."""
        names = {
            "interval": ("central interval of {} %", "below: too sure"),
            "below-quantile": (
                "outcomes at or below the quantile of {} %",
                "above: quantile too high",
            ),
        }
        for row in tests.rows:
            key, size = row.lens.partition("[")[0], row.size
            if key not in names or size is None or not size.predicted:  # no interval of one member
                continue
            (name, note), ideal = names[key], size.predicted
            found = size.observed, ideal, ideal + size.low, ideal + size.high, row.pvalue
            yield Estimated(name.format(f"{100 * ideal:.3g}"), *found, "share", note)

    def scores(self, tests: HTestTable) -> Scores:
        """Return the scores with what they are of redrawn outcomes."""
        rows = (row for row in tests.rows if row.test in {"crps", "log-score"})
        pairs = ((row, if_calibrated(row, self.predictions)) for row in rows)
        found = tuple(Score(row.estimate_name, row.estimate, *null) for row, null in pairs)
        return Scores((), found, ())

    def sketches(self, content: Content) -> Iterator[Sketch]:
        """Yield the pictures of forecasts.

        Yields
        ------
        Sketch
            Section, title, text and how it is drawn.
        """
        first, rows = content.answer.tests.rows[0], self.predictions
        band = "what calibrated forecasts show with 95 %, all of it at once"
        text = f"The probability integral transform of the outcomes in ten bins, and {band}."
        yield "answer", "PIT histogram", text, partial(plots.pit_histogram, first)
        name, draw = "Coverage of central intervals", partial(plots.coverage_curve, rows)
        text = "How often central intervals hold the outcome against how often they should"
        yield "scores", name, f"{text}; {band}.", draw
        text = f"The share of outcomes at or below quantiles against the levels of these; {band}."
        yield "scores", "Quantile reliability", text, partial(plots.quantile_reliability, rows)
        text = f"Root mean squared error against the predicted standard deviation; {band}."
        yield "scores", "Spread against error", text, partial(plots.spread_against_error, rows)


def check_of_classes(m: int, wanted: dict[str, object]) -> None:
    """Raise NotApplicable where something is wanted that forecasts, of 0 classes, do not have."""
    for name, value in wanted.items():
        if not m and value is not None and name != "cluster":
            reason = f"{name}= of a report is of predicted probabilities, not of forecasts"
            raise NotApplicable(reason, f"leave out {name}=")
