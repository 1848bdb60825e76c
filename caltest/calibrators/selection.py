"""Cross-validation inside of a calibration set: folds, and the setting with the least loss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from caltest.calibrators.base import CalibrationSet, Calibrator
from caltest.calibrators.inputs import SMALLEST_PROBABILITY
from caltest.checks import check_random_state
from caltest.checks.options import (
    check_integer,
    check_rows,
)
from caltest.errors import invalid, shown
from caltest.numerics.loops import map_threads
from caltest.types import AnyArray, Floats, Ints, Order

Fold = tuple[Order, Order]
Setting = Mapping[str, Any]


def check_folds(cv: object) -> Any:
    """Check a number of folds, an object with a method `split`, or pairs of indices, as a list."""
    if hasattr(cv, "split") and not isinstance(cv, str | type):
        return cv
    if isinstance(cv, Iterable) and not isinstance(cv, str):
        pairs = list(cv)
        if pairs and all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
            return pairs
        rule = "cv must give the pair (training rows, held-out rows) of each fold"
        raise invalid(rule, shown(pairs), "pass a number of folds, or a splitter of scikit-learn")
    return check_integer(cv, "cv", 2)


def check_fold(pair: Any, weight: Floats) -> tuple[AnyArray, AnyArray]:
    """Check the rows of a fold and leave out those of weight 0; some must remain on both sides."""
    rows = []
    for values, side in zip(pair, ("training", "held-out"), strict=True):
        name = f"{side} rows of cv"
        checked = check_rows(values, len(weight), name)
        kept = checked[weight[checked] > 0]
        if not len(kept):
            raise invalid(f"{name} must not all have weight 0", "such a fold", "pass other folds")
        rows.append(kept)
    return rows[0], rows[1]


@dataclass(frozen=True, slots=True)
class Choice:
    """The setting that predicts held-out labels best.

    Attributes
    ----------
    best : int
        Its place in the grid, the first of several.
    losses : (n_folds, n_settings) array
        Weighted mean log loss of each held-out fold.
    models : list of Calibrator
        The fold models of the best setting.
    """

    best: int
    losses: Floats
    models: list[Calibrator]


def folds(
    values: Any,
    codes: Ints,
    weight: Floats | None,
    cv: object,
    random_state: int | None = None,
    **options: Any,
) -> list[Fold]:
    """Split rows into training and held-out rows; rows of weight 0 are in no fold.

    Parameters
    ----------
    values : (n, ...) array or table
        What a splitter is given.
    codes : (n,) array of int64
        Column of each label.
    weight : (n,) array or None
        Sample weights.
    cv : int, splitter or iterable
        Number of folds, an object with `split(X, y)`, or pairs of indices.
    random_state : int, optional
        Shuffles the rows before they are dealt to the folds; only where `cv` is an integer.
    **options
        Passed to the splitter, such as groups.

    Returns
    -------
    list of pairs of arrays
        Indices of the training rows and of the held-out rows. A single row is both.
    """
    weight = np.ones(len(codes)) if weight is None else weight
    splitter = check_folds(cv)
    seed = check_random_state(random_state)
    if isinstance(splitter, int):
        kept = np.flatnonzero(weight > 0)
        return [(kept[train], kept[test]) for train, test in _split(codes[kept], splitter, seed)]
    if not isinstance(splitter, list):
        splitter = splitter.split(values, codes, **options)
    return [check_fold(pair, weight) for pair in splitter]


def _split(codes: Ints, k: int, random_state: int | None) -> Iterable[Fold]:
    """Split by class; classes with fewer members than folds are dealt with the largest one."""
    k = min(k, len(codes))
    if k == 1:
        return [(np.arange(1), np.arange(1))]
    shuffle = random_state is not None
    counts = np.bincount(codes)
    if counts.max() < k:
        splitter, groups = KFold(k, shuffle=shuffle, random_state=random_state), None
    else:
        splitter = StratifiedKFold(k, shuffle=shuffle, random_state=random_state)
        groups = np.where(counts[codes] < k, counts.argmax(), codes)
    pairs: Iterable[Fold] = splitter.split(codes, groups)
    return pairs


def choose(
    calibrator: Calibrator,
    data: CalibrationSet,
    classes: AnyArray,
    grid: Sequence[Setting],
    *,
    cv: object = 5,
    random_state: int | None = None,
    n_jobs: int | None = None,
) -> Choice:
    """Fit every setting to the training rows of every fold, and compare held-out log losses.

    Parameters
    ----------
    calibrator : Calibrator
        It is cloned. Where its class has `_fit_path`, a fold's settings are fitted together, each
        started from its neighbour.
    data : CalibrationSet
        Rows with their labels.
    classes : (m,) array
        Names of the classes.
    grid : sequence of Mapping
        Settings, options by their names; the empty one is the calibrator as it stands.
    cv : int, splitter or iterable, default 5
        See `folds`.
    random_state : int, optional
        See `folds`.
    n_jobs : int, optional
        Threads over the folds.

    Returns
    -------
    Choice
        The setting with the least mean of the folds' losses.
    """
    pairs = folds(data.inputs.values, data.codes, data.weight, cv, random_state)
    tasks = [(calibrator, data, classes, grid, pair) for pair in pairs]
    results = list(map_threads(_fit_fold, tasks, n_jobs))
    losses = np.array([losses for losses, _ in results])
    best = int(losses.mean(axis=0).argmin())
    return Choice(best, losses, [models[best] for _, models in results])


def _fit_fold(
    calibrator: Calibrator,
    data: CalibrationSet,
    classes: AnyArray,
    grid: Sequence[Setting],
    fold: Fold,
) -> tuple[list[float], list[Calibrator]]:
    train, test = (data.rows(rows) for rows in fold)
    models = _fit_grid(calibrator, train, classes, grid)
    return [held_out_loss(model, test) for model in models], models


def _fit_grid(
    calibrator: Calibrator, data: CalibrationSet, classes: AnyArray, grid: Sequence[Setting]
) -> list[Calibrator]:
    if len(grid) == 1 or not hasattr(calibrator, "_fit_path"):
        models = [clone(calibrator).set_params(**setting) for setting in grid]
        return [model.fit_set(data, classes) for model in models]
    path: list[Calibrator] = clone(calibrator)._fit_path(data, grid)  # noqa: SLF001, ours
    for model in path:
        model.classes_, model.n_features_in_ = classes, data.inputs.m
    return path


def held_out_loss(model: Calibrator, data: CalibrationSet) -> float:
    """Return the weighted mean log loss, probabilities raised to 2.2e-16 as in a fit."""
    probs = model.calibrate(data.inputs)
    observed = np.take_along_axis(probs, data.codes[:, None], axis=1)[:, 0]
    return float(
        np.average(-np.log(np.maximum(observed, SMALLEST_PROBABILITY)), weights=data.weight)
    )
