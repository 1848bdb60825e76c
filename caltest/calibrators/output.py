"""What a fitted calibrator prints, draws and saves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from caltest.calibrators import encoding
from caltest.errors import invalid, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from caltest.results import Summary


class Output(BaseEstimator):
    """The summary and the picture of a calibrator, and its fitted map as plain values."""

    key: ClassVar[str]
    _state: ClassVar[tuple[str, ...]] = ()

    def summary(
        self,
        X: object = None,
        y: object = None,
        *,
        n_resamples: int = 999,
        rng: object = None,
        n_jobs: int | None = None,
    ) -> Summary:
        """Return what a model-validation file needs: parameters, and errors before and after.

        Parameters
        ----------
        X, y : array_like, optional
            Held-out predictions and their labels, on which log loss, ECE and the default test are
            computed. By default the calibration set, where "after" is optimistic.
        n_resamples : int, default 999
            Resamples of the exact test.
        rng : None, int, Generator or SeedSequence
            The seed of the test.
        n_jobs : int, optional
            Number of threads of the test.

        Returns
        -------
        Summary
            It prints as text, Markdown, HTML and LaTeX.
        """
        from caltest.calibrators.summary import summary_of

        check_is_fitted(self)
        held_out = None if X is None else self._read_held_out(X, y)
        data = getattr(self, "_calibration_set", None) if held_out is None else held_out
        return summary_of(
            self,
            data,
            held_out=held_out is not None,
            n_resamples=n_resamples,
            rng=rng,
            n_jobs=n_jobs,
        )

    def plot(self, kind: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the fitted map.

        Parameters
        ----------
        kind : {"map", "simplex", "parameters", "latent"}, optional
            Which function of `caltest.plots` draws: `calibration_map`, `simplex_map`,
            `parameter_heatmap` or `latent_function`. By default the latent function of
            `GPCalibrator`; for three classes the simplex; for more the parameters of
            `DirichletCalibrator` and `MatrixScaling`; otherwise, and for `SplineCalibrator`, the
            map.
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        NotApplicable
            If the calibrator has no such picture.
        """
        from caltest.plots.calibrators import plot_calibrator

        return plot_calibrator(self, kind, ax)

    def to_dict(self) -> dict[str, Any]:
        """Return options and fitted map as plain values that JSON holds without loss.

        Returns
        -------
        dict
            What `from_dict` takes. The calibration set is not in it.
        """
        check_is_fitted(self)
        names = ("classes_", "n_features_in_", "feature_names_in_", *self._state)
        state = {name: getattr(self, name) for name in names if hasattr(self, name)}
        return {
            "calibrator": self.key,
            "options": {k: encoding.encode(v) for k, v in self.get_params(deep=False).items()},
            "state": {name: encoding.encode(value) for name, value in state.items()},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild a fitted calibrator, with the same predictions to the last bit.

        Parameters
        ----------
        values : Mapping
            From `to_dict`, or from JSON.

        Returns
        -------
        Calibrator
            The fitted calibrator.

        Raises
        ------
        InvalidInput
            If the values are not those of such a calibrator.
        """
        calibrator = encoding.decode(values)
        if not isinstance(calibrator, cls):
            got = f"a {type(calibrator).__name__}"
            remedy = "call from_dict of that class, or of caltest.calibrators"
            raise invalid(f"values must be those of a {cls.__name__}", got, remedy)
        return calibrator

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON.

        Parameters
        ----------
        indent : int or None, default 2
            As in `json.dumps`.

        Returns
        -------
        str
            JSON without NaN or infinities.
        """
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Rebuild a fitted calibrator from `to_json`.

        Parameters
        ----------
        text : str
            JSON.

        Returns
        -------
        Calibrator
            The fitted calibrator.

        Raises
        ------
        InvalidInput
            If the text is no JSON, or not that of such a calibrator.
        """
        try:
            values = json.loads(text)
        except ValueError as error:
            raise invalid("text must be JSON", shown(text), "pass what to_json gave") from error
        return cls.from_dict(values)
