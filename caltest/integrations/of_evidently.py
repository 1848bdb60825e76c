"""A metric of evidently, and its calculation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from evidently.core.metric_types import SingleValue, SingleValueCalculation, SingleValueMetric

from caltest import metrics
from caltest.checks import label_values
from caltest.errors import invalid
from caltest.htests import test_calibration
from caltest.predictions import Predictions

if TYPE_CHECKING:
    from caltest.results import HTest

PVALUE = "pvalue"


class CalibrationMetric(SingleValueMetric):
    """A score, a calibration error or a p-value of a classification.

    Attributes
    ----------
    measure : str
        Its key.
    classification : str
        The name of the classification in the data definition.
    lens : str or None
        The lens.
    """

    measure: str = "ece"
    classification: str = "default"
    lens: str | None = None


class CalibrationMetricCalculation(SingleValueCalculation[CalibrationMetric]):
    """Of the current data, and of those of reference where there are some."""

    def calculate(
        self, context: Any, current_data: Any, reference_data: Any
    ) -> tuple[SingleValue, SingleValue | None]:
        """Return the values of both data sets.

        Parameters
        ----------
        context : Context
            Not asked.
        current_data, reference_data : Dataset
            With a data definition that has the classification; the second may be None.

        Returns
        -------
        (SingleValue, SingleValue or None)
            The values.
        """
        before = None if reference_data is None else self.result(self._value(reference_data))
        return self.result(self._value(current_data)), before

    def display_name(self) -> str:
        """Name the metric in the report."""
        lens = f", lens {self.metric.lens}" if self.metric.lens else ""
        return f"Calibration: {self.metric.measure}{lens}"

    def _value(self, dataset: Any) -> float:
        asked = self.metric
        data = predictions_of(dataset, asked.classification)
        options = {} if asked.lens is None else {"lens": asked.lens}
        if asked.measure == PVALUE:
            return float(cast("HTest", test_calibration(data, rng=0, **options)).pvalue)
        names = data.classes
        return metrics.score(
            names[data.labels], data.probs, measure=asked.measure, labels=names, **options
        )


def predictions_of(dataset: Any, classification: str) -> Predictions:
    """Read the columns that a data definition names.

    Parameters
    ----------
    dataset : evidently.Dataset
        With a data definition.
    classification : str
        The name of the classification.
    """
    named = dataset.data_definition.get_classification(classification)
    columns = None if named is None else named.prediction_probas
    if columns is None:
        rule = "the data definition must have a classification with prediction_probas"
        raise invalid(rule, repr(classification), "pass them in DataDefinition(classification=...)")
    frame = dataset.as_dataframe()
    if isinstance(columns, str):  # of two classes the one that is positive
        labels = label_values(frame[named.target], named.target)
        happened = np.asarray(labels == named.pos_label, dtype=int)
        if np.unique(labels).size > 1 and np.ptp(happened) == 0:
            rule = f"pos_label must be one of the labels in {named.target!r}"
            raise invalid(rule, repr(named.pos_label), "name it in BinaryClassification(...)")
        return Predictions(np.asarray(frame[columns], dtype=float), happened)
    return Predictions.from_frame(frame, label=named.target, probs=columns)
