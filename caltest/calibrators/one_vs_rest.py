"""Maps of two classes for more of them, Zadrozny, Elkan 2002."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from caltest.calibrators.base import CalibrationSet, Calibrator, Coefficient
from caltest.calibrators.inputs import Inputs
from caltest.checks import check_jobs, listing
from caltest.numerics.loops import map_threads
from caltest.types import Flags, Floats

AGAINST_REST = np.array([False, True])


@dataclass(kw_only=True, eq=False, repr=False)
class OneVsRest(Calibrator):
    r"""A map of two classes for each class against all others, then normalised.

    .. math:: \hat\mu_k(q) = g_k(q_k) / \sum_j g_j(q_j),

    with :math:`g_k` a clone of `calibrator`, fitted to the probability of class k and whether k
    was observed. What the formula leaves open:

    - Two classes have one map, of the second class: the result is that of `calibrator` itself.
    - A row in which all maps are 0, as isotonic maps and bins can be, keeps its uncalibrated
      probabilities. (scikit-learn takes 1/m, which ignores the prediction of the model.)
    - A class that no row of the calibration set has, or that all have, keeps its uncalibrated
      probability as :math:`g_k(q_k) = q_k`, with a DegenerateDataWarning: the data do not say how
      to change it, and a map to 0 would make a later observation of it impossible.

    Parameters
    ----------
    calibrator : Calibrator
        A map of two classes that is not fitted, such as `IsotonicCalibrator()`. It is cloned, and
        takes `from_logits` from here.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.
    n_jobs : int, optional
        Threads over the classes, as in joblib.

    Attributes
    ----------
    calibrators_ : list of Calibrator or None
        The maps of the classes in the order of the columns; of two classes only the second's.
        None stands for a class that keeps its probability.

    References
    ----------
    Zadrozny, Elkan (2002), Transforming classifier scores into accurate multiclass probability
    estimates, section 5. Kull et al. (2019), Beyond temperature scaling, section 2.

    Examples
    --------
    >>> from caltest.calibrators import Identity, OneVsRest
    >>> probs = [[0.5, 0.3, 0.2], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]
    >>> OneVsRest(Identity()).fit(probs, ["cat", "dog", "emu"]).predict(probs)
    array(['cat', 'dog', 'emu'], dtype='<U3')
    """

    key: ClassVar[str] = "one-vs-rest"
    title: ClassVar[str] = "One-vs-rest calibration"

    calibrator: Calibrator = field(kw_only=False)
    n_jobs: int | None = None

    def _fit(self, data: CalibrationSet) -> None:
        calibrator = self._passed_on(self.calibrator)
        n_jobs = check_jobs(self.n_jobs)
        if data.inputs.m == 2:
            self.calibrators_: list[Any] = [calibrator.fit_set(data, self.classes_)]
            for text in calibrator.notes():
                self._note(text)
            return
        columns = range(data.inputs.m)
        told = _told(data)
        self._warn(told)
        _prepare(data.inputs)
        tasks = [(calibrator, data, k) for k in columns if told[k]]
        fitted = map_threads(_fit_against_rest, tasks, n_jobs)
        maps = dict(zip(np.flatnonzero(told).tolist(), fitted, strict=True))
        self.calibrators_ = [maps.get(k) for k in columns]
        self._pass_on_notes(maps)

    def _warn(self, told: Flags) -> None:
        if told.any() and not told.all():  # where one class is all there is, `fit` has warned
            names = listing(self.classes_[~told].tolist())
            text = f"no label is {names}: such a class keeps its probability"
            self._note(text)

    def _pass_on_notes(self, maps: Mapping[int, Calibrator]) -> None:
        """Say once what several maps noted, with the names of their classes."""
        columns: dict[str, list[int]] = {}
        for k, calibrator in maps.items():
            for text in calibrator.notes():
                columns.setdefault(text, []).append(k)
        for text, found in columns.items():
            self._note(f"map of {listing(self.classes_[found].tolist())}: {text}")

    def maps(self, X: object) -> Floats:
        """Return the maps of the classes before they are normalised.

        Parameters
        ----------
        X : array_like of shape (n, m) or (n,)
            Probabilities, or logits if `from_logits`, as in `fit`.

        Returns
        -------
        (n, m) array
            Column k estimates P(Y = k) from the probability of class k alone.
        """
        check_is_fitted(self)
        return self._maps(self._read_inputs(X, reset=False))

    def _maps(self, inputs: Inputs) -> Floats:
        if inputs.m == 2:
            both: Floats = self.calibrators_[0].calibrate(inputs)
            return both
        _prepare(inputs)
        maps = np.empty((inputs.n, inputs.m))
        tasks = [(k, inputs) for k in range(inputs.m)]
        for k, event in enumerate(map_threads(self._mapped, tasks, check_jobs(self.n_jobs))):
            maps[:, k] = event
        return maps

    def _mapped(self, k: int, inputs: Inputs) -> Floats:
        calibrator = self.calibrators_[k]
        if calibrator is None:
            return inputs.probs[:, k]
        event: Floats = calibrator.calibrate(inputs.against_rest(k))[:, 1]
        return event

    def _calibrate(self, inputs: Inputs) -> Floats:
        maps = self._maps(inputs)
        if inputs.m == 2:
            return maps
        total = maps.sum(axis=1, keepdims=True)
        zero = total[:, 0] == 0
        maps[zero], total[zero] = inputs.probs[zero], 1.0
        probs: Floats = maps / total
        return probs

    def coefficients(self) -> Sequence[Coefficient]:
        """Return the fitted parameters of each map.

        Returns
        -------
        sequence of Coefficient
            What `summary` prints, in front of each the name of its class.
        """
        if len(self.calibrators_) == 1:
            own: Sequence[Coefficient] = self.calibrators_[0].coefficients()
            return own
        names = self.classes_.tolist()
        return tuple(
            replace(each, name=f"{name}: {each.name}")
            for name, calibrator in zip(names, self.calibrators_, strict=True)
            for each in (calibrator.coefficients() if calibrator else ())
        )


def _fit_against_rest(calibrator: Calibrator, data: CalibrationSet, k: int) -> Calibrator:
    own: Calibrator = clone(calibrator)
    return own.fit_set(data.against_rest(k), AGAINST_REST)


def _told(data: CalibrationSet) -> Flags:
    """Tell the classes that some rows have and some have not."""
    codes = data.codes if data.weight is None else data.codes[data.weight > 0]
    counts = np.bincount(codes, minlength=data.inputs.m)
    return (counts > 0) & (counts < len(codes))


def _prepare(inputs: Inputs) -> None:
    """Compute what all classes need once, before threads would do it side by side."""
    _ = inputs.probs
    if inputs.from_logits:
        _ = inputs.log_probs
