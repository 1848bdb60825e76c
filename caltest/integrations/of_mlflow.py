"""A metric and an artifact of MLflow's evaluation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import mlflow
from mlflow.metrics import make_metric

from caltest import checks, metrics
from caltest.outputs import write_whole
from caltest.reporting import report


def metric(measure: str, *, probs: object, name: str | None, options: Mapping[str, Any]) -> Any:
    """Return an EvaluationMetric of a measure.

    Parameters
    ----------
    measure : str
        As for `caltest.metrics.score`.
    probs : array_like or callable
        Probabilities of the rows, or a function that returns them.
    name : str, optional
        Its name in MLflow.
    options : mapping of str to object
        Of the measure.
    """
    checks.check_choice(measure, [*metrics.PROPER.values(), *metrics.ERRORS.values()], "measure")

    def of_rows(predictions: Any, targets: Any) -> float:  # noqa: ARG001, MLflow's arguments
        labels, p = checks.as_array(targets, "targets"), checks.as_array(given(probs), "probs")
        if len(labels) == 1 < len(p):
            return math.nan  # MLflow tries a metric on the first row before it runs it
        return metrics.score(labels, p, measure=measure, **options)

    return make_metric(
        eval_fn=of_rows,
        greater_is_better=measure == "spherical",
        name=name or f"caltest_{measure.replace('-', '_')}",
    )


def report_artifact(
    *, probs: object, name: str, arguments: Mapping[str, Any]
) -> Callable[[Any, Any, str], dict[str, str]]:
    """Return the function that writes the report.

    Parameters
    ----------
    probs : array_like or callable
        Probabilities of the rows, or a function that returns them.
    name : str
        Of the file, without its end.
    arguments : mapping of str to object
        Of `caltest.report`.
    """

    def calibration_report(
        eval_df: Any, _builtin_metrics: Mapping[str, float], artifacts_dir: str
    ) -> dict[str, str]:
        page = report(given(probs), checks.as_array(eval_df["target"], "target"), **arguments)
        mlflow.log_text(page.to_html(), f"{name}.html")  # which MLflow takes from no artifact
        path = Path(artifacts_dir) / f"{name}.json"
        write_whole(path, page.to_json())
        return {name: str(path)}

    return calibration_report


def given(probs: object) -> object:
    """Return probabilities, or those that a function returns."""
    return probs() if callable(probs) else probs
