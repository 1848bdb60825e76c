"""Cross-validated options, and the average of the fold models, Kull et al. 2019."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags

from caltest.calibrators.base import CalibrationSet, Calibrator
from caltest.calibrators.inputs import Inputs
from caltest.calibrators.selection import Choice, choose
from caltest.checks import check_jobs
from caltest.checks.options import (
    check_choice,
)
from caltest.errors import invalid, shown
from caltest.types import Floats, Ints

__all__ = ["EnsembleCalibrator"]


def check_param_grid(grid: object, options: Collection[str]) -> list[dict[str, list[Any]]]:
    """Check a grid of options: a dict of values to compare, or a list of dicts; None is one."""
    grids = [{}] if grid is None else grid
    grids = [grids] if isinstance(grids, Mapping) else grids
    rule = "param_grid must be a dict of options and their values, or a list of such dicts"
    remedy = "pass {'lam': [0.01, 0.1]}, for example"
    if not isinstance(grids, list | tuple) or not grids:
        raise invalid(rule, shown(grid), remedy)
    if not all(isinstance(part, Mapping) for part in grids):
        raise invalid(rule, shown(grid), remedy)
    return [_checked_grid(part, options) for part in grids]


def _checked_grid(grid: Mapping[Any, Any], options: Collection[str]) -> dict[str, list[Any]]:
    checked = {}
    for name, values in grid.items():
        check_choice(name, options, "a name in param_grid")
        array = isinstance(values, np.ndarray) and values.ndim == 1
        if not (array or isinstance(values, list | tuple)) or not len(values):
            rule = f"param_grid[{name!r}] must be a list of at least one value"
            raise invalid(rule, shown(values), "put it into brackets")
        checked[name] = values.tolist() if array else list(values)
    return checked


@dataclass(kw_only=True, eq=False, repr=False)
class EnsembleCalibrator(Calibrator):
    r"""The mean of maps that were fitted to parts of the calibration set.

    .. math:: \hat\mu(q) = \frac{1}{K} \sum_{f=1}^K \hat\mu_f(q),

    with :math:`\hat\mu_f` fitted without fold f. With a grid of options, the setting with the
    least mean log loss of the held-out folds is chosen, and its K maps are averaged.

    Parameters
    ----------
    calibrator : Calibrator
        A calibrator that is not fitted. It is cloned, and takes `from_logits` from here.
    param_grid : dict of sequences, or a list of such dicts, optional
        Options of `calibrator` and the values to compare, as for scikit-learn's GridSearchCV.
    cv : int, splitter or iterable, default 5
        Number of folds; an object of scikit-learn with a method `split`; or pairs of indices of
        training rows and held-out rows. The folds of an integer have each class in its share;
        classes with fewer members than folds are dealt with the largest one. Fewer rows than folds
        are left out one at a time, and a single row is in no fold left out.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.
    random_state : int, optional
        Seed by which rows are shuffled before they are dealt to folds. By default they are dealt
        in their order, as in scikit-learn.
    n_jobs : int, optional
        Threads over the folds, as in joblib.

    Attributes
    ----------
    calibrators_ : list of Calibrator
        The maps that are averaged.
    best_params_ : dict
        The chosen options; empty without `param_grid`.
    best_score_ : float
        Mean log loss of the held-out folds for the chosen options.
    cv_results_ : dict
        A table by columns: "params", "param_<name>", "mean_log_loss", "std_log_loss", "rank", and
        "fold0_log_loss", ...

    References
    ----------
    Kull et al. (2019), Beyond temperature scaling: obtaining well-calibrated multiclass
    probabilities with Dirichlet calibration, section 4.1.

    Examples
    --------
    >>> from caltest.calibrators import EnsembleCalibrator, Identity
    >>> probs, y = [[0.7, 0.3], [0.4, 0.6], [0.2, 0.8], [0.6, 0.4]], [0, 1, 1, 0]
    >>> calibrator = EnsembleCalibrator(Identity(), cv=2).fit(probs, y)
    >>> len(calibrator.calibrators_), round(calibrator.best_score_, 3)
    (2, 0.4)
    """

    key: ClassVar[str] = "ensemble"
    title: ClassVar[str] = "Ensemble of fold models"

    calibrator: Calibrator = field(kw_only=False)
    param_grid: Mapping[str, Sequence[Any]] | Sequence[Any] | None = None
    cv: object = 5
    random_state: int | None = None
    n_jobs: int | None = None

    def _fit(self, data: CalibrationSet) -> None:
        calibrator = self._passed_on(self.calibrator)
        grid = check_param_grid(self.param_grid, calibrator.get_params())
        settings = list(ParameterGrid(grid))
        choice = choose(
            calibrator,
            data,
            self.classes_,
            settings,
            cv=self.cv,
            random_state=self.random_state,
            n_jobs=check_jobs(self.n_jobs),
        )
        self.calibrators_ = choice.models
        notes = Counter(text for model in choice.models for text in model.notes())
        for text, count in notes.items():
            self._note(f"{count} of {len(choice.models)} folds: {text}")
        self.best_params_ = settings[choice.best]
        self.cv_results_ = _table(settings, choice)
        self.best_score_ = float(self.cv_results_["mean_log_loss"][choice.best])

    def _calibrate(self, inputs: Inputs) -> Floats:
        total = np.zeros((inputs.n, inputs.m))
        for calibrator in self.calibrators_:
            total += calibrator.calibrate(inputs)
        return total / len(self.calibrators_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.calibrator).classifier_tags
        tags.classifier_tags.multi_class = inner is None or inner.multi_class
        return tags


def _table(settings: list[dict[str, Any]], choice: Choice) -> dict[str, Any]:
    """Lay out the losses as scikit-learn's searches do."""
    means = choice.losses.mean(axis=0)
    names = sorted({name for setting in settings for name in setting})
    return {
        "params": settings,
        **{f"param_{name}": [setting.get(name) for setting in settings] for name in names},
        "mean_log_loss": means,
        "std_log_loss": choice.losses.std(axis=0),
        "rank": _ranks(means),
        **{f"fold{f}_log_loss": losses for f, losses in enumerate(choice.losses)},
    }


def _ranks(values: Floats) -> Ints:
    """Rank from 1; equal values share the smallest rank."""
    return np.searchsorted(np.sort(values), values).astype(np.int64) + 1
