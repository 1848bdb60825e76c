"""Maps made of other maps: one for each class, and the mean of those of folds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from caltest import checks
from caltest.calibrators.base import CalibrationSet, Calibrator, Coefficient
from caltest.calibrators.inputs import SMALLEST_PROBABILITY, Inputs
from caltest.errors import invalid, shown
from caltest.numerics.loops import map_threads
from caltest.types import AnyArray, Floats, Ints, Order

Fold = tuple[Order, Order]
Setting = Mapping[str, Any]


def check_folds(cv: object) -> Any:
    """Check a number of folds, an object with a method `split`, or pairs of indices, as a list."""
    odd = isinstance(cv, str | bytes | bytearray | np.ndarray | type)
    if hasattr(cv, "split") and not odd:
        return cv
    if isinstance(cv, Iterable) and not odd:
        pairs = list(cv)
        if pairs and all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
            return pairs
        rule = "cv must give the pair (training rows, held-out rows) of each fold"
        raise invalid(rule, shown(pairs), "pass a number of folds, or a splitter of scikit-learn")
    return checks.check_integer(cv, "cv", 2)


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
    seed = checks.check_random_state(random_state)
    if isinstance(splitter, int):
        kept = np.flatnonzero(weight > 0)
        return [(kept[train], kept[test]) for train, test in _split(codes[kept], splitter, seed)]
    if not isinstance(splitter, list):
        try:
            splitter = list(splitter.split(values, codes, **options))
        except ValueError as error:  # scikit-learn's, of groups or more folds than rows
            got = str(error).rstrip(".")
            raise invalid("cv must split these rows", got, "pass another splitter") from error
    checked: list[Fold] = []
    for pair in splitter:
        rows = []
        for given, side in zip(pair, ("training", "held-out"), strict=True):
            name = f"{side} rows of cv"
            own = checks.check_rows(given, len(weight), name)
            rows.append(own[weight[own] > 0])
            if not len(rows[-1]):
                rule = f"{name} must not all have weight 0"
                raise invalid(rule, "such a fold", "pass other folds")
        checked.append((rows[0], rows[1]))
    return checked


def _split(codes: Ints, k: int, random_state: int | None) -> list[Fold]:
    """Split by class; the members of a class are in different folds, if these are enough."""
    from sklearn.model_selection import StratifiedKFold

    n = len(codes)
    k = min(k, n)
    if k == 1:
        return [(np.arange(1), np.arange(1))]
    shuffle = random_state is not None
    if (np.bincount(codes)[codes] >= k).all():
        split = StratifiedKFold(k, shuffle=shuffle, random_state=random_state).split
        return list(split(codes, codes))
    # scikit-learn warns of classes with fewer members than folds, or refuses them.
    rows = np.random.RandomState(random_state).permutation(n) if shuffle else np.arange(n)
    fold = np.empty(n, np.int64)
    fold[rows[np.argsort(codes[rows], kind="stable")]] = np.arange(n) % k
    return [(np.flatnonzero(fold != i), np.flatnonzero(fold == i)) for i in range(k)]


def choose(
    calibrator: Calibrator,
    data: CalibrationSet,
    classes: AnyArray,
    grid: Sequence[Setting],
    cv: object = 5,
    random_state: int | None = None,
    n_jobs: int | None = None,
) -> tuple[int, Floats, list[Calibrator]]:
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
    int
        The place in the grid of the setting with the least mean of the folds' losses, the first of
        several.
    (n_folds, n_settings) array
        Weighted mean log loss of each held-out fold.
    list of Calibrator
        The fold models of the best setting.
    """

    def fit_fold(train: Order, test: Order) -> tuple[list[float], list[Calibrator]]:
        own, held_out = data.rows(train), data.rows(test)
        models: list[Calibrator]
        if len(grid) == 1 or not hasattr(calibrator, "_fit_path"):
            models = [clone(calibrator).set_params(**s).fit_set(own, classes) for s in grid]
        else:
            models = clone(calibrator)._fit_path(own, grid)  # noqa: SLF001, ours
            for model in models:
                model.classes_, model.n_features_in_ = classes, own.inputs.m
        logs = [np.log(observed(model, held_out)) for model in models]
        return [float(np.average(-own, weights=held_out.weight)) for own in logs], models

    pairs = folds(data.inputs.values, data.codes, data.weight, cv, random_state)
    results = list(map_threads(fit_fold, pairs, n_jobs))
    losses = np.array([losses for losses, _ in results])
    best = int(losses.mean(axis=0).argmin())
    return best, losses, [models[best] for _, models in results]


def observed(model: Calibrator, data: CalibrationSet) -> Floats:
    """Return what a map predicts for the labels, raised to 2.2e-16 as in a fit."""
    own: Floats = model.calibrate(data.inputs)[np.arange(data.inputs.n), data.codes]
    return np.maximum(own, SMALLEST_PROBABILITY)


# ---- Cross-validated options, and the average of the fold models, Kull et al. 2019 --------------


def check_param_grid(grid: object, options: Collection[str]) -> list[dict[str, list[Any]]]:
    """Check a grid of options: a dict of values to compare, or a list of dicts; None is one."""
    given = {} if grid is None else grid
    grids: Any = [given] if isinstance(given, Mapping) else given
    rule = "param_grid must be a dict of options and their values, or a list of such dicts"
    remedy = "pass {'lam': [0.01, 0.1]}, for example"
    is_list = isinstance(grids, list | tuple) and len(grids) > 0
    if not is_list or not all(isinstance(part, Mapping) for part in grids):
        raise invalid(rule, shown(grid), remedy)
    checked = []
    for part in grids:
        own = {}
        for name, values in part.items():
            checks.check_choice(name, options, "a name in param_grid")
            array = isinstance(values, np.ndarray) and values.ndim == 1
            if not (array or isinstance(values, list | tuple)) or not len(values):
                rule = f"param_grid[{name!r}] must be a list of at least one value"
                raise invalid(rule, shown(values), "put it into brackets")
            own[name] = values.tolist() if array else list(values)
        checked.append(own)
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
        training rows and held-out rows. The folds of an integer have each class in its share, one
        with fewer members than folds at most one in each. Fewer rows than folds are left out one at
        a time, and a single row is in no fold left out.
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

    key, title = "ensemble", "Ensemble of fold models"

    calibrator: Calibrator = field(kw_only=False)
    param_grid: Mapping[str, Sequence[Any]] | Sequence[Any] | None = None
    cv: object = 5
    random_state: int | None = None
    n_jobs: int | None = None

    def _fit(self, data: CalibrationSet) -> None:
        from sklearn.model_selection import ParameterGrid

        calibrator = self._passed_on(self.calibrator)
        settings = list(ParameterGrid(check_param_grid(self.param_grid, calibrator.get_params())))
        folds_and_jobs = self.cv, self.random_state, checks.check_jobs(self.n_jobs)
        chosen = choose(calibrator, data, self.classes_, settings, *folds_and_jobs)
        best, losses, self.calibrators_ = chosen
        notes = Counter(text for model in self.calibrators_ for text in model.notes())
        for text, count in notes.items():
            self._note(f"{count} of {len(self.calibrators_)} folds: {text}")
        self.best_params_ = settings[best]
        means = losses.mean(axis=0)
        names = sorted({name for setting in settings for name in setting})
        self.cv_results_ = {
            "params": settings,
            **{f"param_{name}": [setting.get(name) for setting in settings] for name in names},
            "mean_log_loss": means,
            "std_log_loss": losses.std(axis=0),
            # From 1; equal values share the smallest rank.
            "rank": np.searchsorted(np.sort(means), means).astype(np.int64) + 1,
            **{f"fold{f}_log_loss": own for f, own in enumerate(losses)},
        }
        self.best_score_ = float(means[best])

    def _calibrate(self, inputs: Inputs) -> Floats:
        total = sum(calibrator.calibrate(inputs) for calibrator in self.calibrators_)
        return np.asarray(total / len(self.calibrators_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.calibrator).classifier_tags
        tags.classifier_tags.multi_class = inner is None or inner.multi_class
        return tags


# ---- Maps of two classes for more of them, Zadrozny, Elkan 2002 ---------------------------------

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

    key, title = "one-vs-rest", "One-vs-rest calibration"

    calibrator: Calibrator = field(kw_only=False)
    n_jobs: int | None = None

    def _fit(self, data: CalibrationSet) -> None:
        calibrator = self._passed_on(self.calibrator)
        n_jobs = checks.check_jobs(self.n_jobs)
        if data.inputs.m == 2:
            self.calibrators_: list[Any] = [calibrator.fit_set(data, self.classes_)]
            self._note(*calibrator.notes())
            return
        # The classes that some rows have and some have not.
        codes = data.codes if data.weight is None else data.codes[data.weight > 0]
        counts = np.bincount(codes, minlength=data.inputs.m)
        mixed = (counts > 0) & (counts < len(codes))
        if mixed.any() and not mixed.all():  # where one class is all there is, `fit` has warned
            names = checks.listing(self.classes_[~mixed].tolist())
            self._note(f"no label is {names}: such a class keeps its probability")
        _prepare(data.inputs)

        def fit(k: int) -> Calibrator:
            own: Calibrator = clone(calibrator)
            return own.fit_set(data.against_rest(k), AGAINST_REST)

        fitted = map_threads(fit, [(k,) for k in np.flatnonzero(mixed).tolist()], n_jobs)
        maps = dict(zip(np.flatnonzero(mixed).tolist(), fitted, strict=True))
        self.calibrators_ = [maps.get(k) for k in range(data.inputs.m)]
        # What several maps noted is said once, with the names of their classes.
        columns: dict[str, list[int]] = {}
        for k, one in maps.items():
            for text in one.notes():
                columns.setdefault(text, []).append(k)
        for text, found in columns.items():
            self._note(f"map of {checks.listing(self.classes_[found].tolist())}: {text}")

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
            return np.asarray(self.calibrators_[0].calibrate(inputs))
        _prepare(inputs)

        def mapped(k: int) -> Floats:
            own = self.calibrators_[k]
            return own.calibrate(inputs.against_rest(k))[:, 1] if own else inputs.probs[:, k]

        maps = np.empty((inputs.n, inputs.m))
        tasks = [(k,) for k in range(inputs.m)]
        for k, event in enumerate(map_threads(mapped, tasks, checks.check_jobs(self.n_jobs))):
            maps[:, k] = event
        return maps

    def _calibrate(self, inputs: Inputs) -> Floats:
        maps = self._maps(inputs)
        return maps if inputs.m == 2 else normalised(maps, inputs.probs)

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


def for_classes(calibrator: Calibrator, m: int) -> Calibrator:
    """Return the calibrator, in `OneVsRest` if it is one of two classes and there are more."""
    tags = get_tags(calibrator).classifier_tags
    return calibrator if m == 2 or tags is None or tags.multi_class else OneVsRest(calibrator)


def normalised(values: Floats, probs: Floats) -> Floats:
    """Divide rows by their sums; a row of zeros is that of `probs`."""
    total = values.sum(axis=1, keepdims=True)
    return np.where(total > 0, values / np.where(total > 0, total, 1.0), probs)


def _prepare(inputs: Inputs) -> None:
    """Compute what all classes need once, before threads would do it side by side."""
    _ = inputs.probs
    if inputs.from_logits:
        _ = inputs.log_probs
