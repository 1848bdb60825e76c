"""What a calibrator of forecasts is: a scikit-learn estimator whose rows are distributions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from caltest.calibrators.output import Saved
from caltest.checks import check_unused
from caltest.checks.options import check_instance
from caltest.errors import invalid, shown
from caltest.forecasts import Forecasts
from caltest.forecasts.laws import Law, NormalLaw
from caltest.render import Sheet, number
from caltest.results import Summary
from caltest.results.base import plain
from caltest.types import AnyArray, Floats

PROBED = np.linspace(0.05, 0.95, 7)  # levels whose quantiles tell whether two maps agree


@dataclass(frozen=True, slots=True)
class ForecastSet:
    """Forecasts as what a map is fitted to, see `CalibrationSet`."""

    forecasts: Forecasts

    from_logits: ClassVar[bool] = False

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.forecasts.n

    @property
    def inputs(self) -> Law:
        """What is mapped: the distributions."""
        return self.forecasts.law

    def rows(self, rows: AnyArray) -> ForecastSet:
        """Take some of the rows."""
        return ForecastSet(self.forecasts.subset(rows))


@dataclass(kw_only=True, eq=False, repr=False)
class ForecastCalibrator(Saved, ABC):
    """A calibration map of forecasts: distributions in, calibrated distributions out.

    Subclasses store their options in `__init__`, check them and fit in `_fit`, and map in
    `calibrate`.

    Attributes
    ----------
    n_fit_ : int
        Rows with weight that it was fitted to.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    fewest: ClassVar[int] = 2  # rows that a fit needs
    schema: ClassVar[str] = "forecast-map"
    known: ClassVar[dict[str, type[ForecastCalibrator]]] = {}  # filled by the package
    fitted_by: ClassVar[str] = "n_fit_"

    @abstractmethod
    def _fit(self, forecasts: Forecasts, share: Floats) -> None:
        """Check the options and set what ends with an underscore; weights have the sum 1."""

    @abstractmethod
    def calibrate(self, inputs: Law) -> Law:
        """Return the calibrated laws."""

    def fit(self, forecasts: object, y: object = None) -> Self:
        """Fit the map to forecasts that come with their outcomes.

        Parameters
        ----------
        forecasts : Forecasts
            Of outcomes that the model was not fitted to, with sample weights if they have any.
        y : None
            Forecasts hold their outcomes.

        Returns
        -------
        ForecastCalibrator
            The calibrator itself.

        Raises
        ------
        InvalidInput
            If these are no forecasts, too few, or an option breaks its rule.
        NotApplicable
            If the map has no meaning for the distributions.
        """
        check_unused("where forecasts hold their outcomes", y=y)
        return self.fit_set(ForecastSet(_checked(forecasts)))

    def transform(self, forecasts: object) -> Forecasts:
        """Return calibrated forecasts; outcomes, weights, groups, clusters and source stay.

        Parameters
        ----------
        forecasts : Forecasts
            Of the kind that the map was fitted to.

        Returns
        -------
        Forecasts
            The same rows with other distributions.
        """
        check_is_fitted(self)
        given = _checked(forecasts)
        return given.with_predicted(self.calibrate(given.law))

    # ---- for comparisons, as `Calibrator` has them ----------------------------------------------

    def fit_set(self, data: ForecastSet, _classes: object = None) -> Self:
        """Fit to what was checked before."""
        rows, weight = data.forecasts, data.forecasts.weights
        kept = weight > 0
        self.n_fit_ = int(kept.sum())
        if self.n_fit_ < self.fewest:
            rule = f"{self.title} must be fitted to at least {self.fewest} forecasts"
            raise invalid(rule, f"{self.n_fit_}", "pass more rows with weight")
        self._fit(rows.subset(kept), weight[kept] / weight[kept].sum())
        return self

    def broken(self) -> str:
        check_is_fitted(self)
        found = self.probe(NormalLaw([0.0], [1.0]))
        apart = np.isfinite(found).all() and (np.diff(found) >= 0.0).all()
        return "" if apart else "quantiles that are no numbers in ascending order"

    def summary(self, **_of_a_test: object) -> Summary:
        """Return the options and the fitted values.

        Returns
        -------
        Summary
            It prints as text, Markdown, HTML and LaTeX.
        """
        values = {name: getattr(self, name) for name in self.to_dict()["state"]}
        told = (
            (k, number(v) if isinstance(v, float) else shown(plain(v))) for k, v in values.items()
        )
        facts = [(name.rstrip("_"), text) for name, text in told]
        facts = [("calibrator", " ".join(repr(self).split())), *facts]
        return Summary(Sheet(title=self.title, facts=tuple(facts)))

    def notes(self) -> list[str]:
        """Return nothing: what the data leave undefined is an error."""
        return []

    def composition(self) -> str:
        """Return nothing: a map is what its parameters say."""
        return ""

    def probe(self, inputs: Law) -> Floats:
        """Return numbers by which the maps of two folds are told apart."""
        law = self.calibrate(inputs)
        return law.quantile(np.broadcast_to(PROBED, (law.n, PROBED.size)))


@dataclass(kw_only=True, eq=False, repr=False)
class ForecastIdentity(ForecastCalibrator):
    """The map that leaves forecasts as they are.

    Examples
    --------
    >>> import caltest as ct
    >>> forecasts = ct.Forecasts([1.0, 2.5], mean=[1.1, 2.0], scale=0.5)
    >>> ct.calibrators.ForecastIdentity().fit(forecasts).transform(forecasts).scale.tolist()
    [0.5, 0.5]
    """

    key, title = "identity", "no calibration"

    def _fit(self, forecasts: Forecasts, share: Floats) -> None:
        """Fit nothing."""

    def calibrate(self, inputs: Law) -> Law:
        return inputs


def _checked(forecasts: object) -> Forecasts:
    remedy = "pass caltest.Forecasts(y, mean=mu, scale=sd), for example"
    return check_instance(forecasts, Forecasts, "forecasts", remedy, "Forecasts")
