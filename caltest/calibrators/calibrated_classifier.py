"""A scikit-learn classifier together with a calibration map."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metadata_routing import _routing_enabled as routing_enabled
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params, check_is_fitted, has_fit_parameter

from caltest import checks
from caltest.calibrators.base import (
    CalibrationSet,
    Calibrator,
    check_labels_given,
    check_row_weights,
)
from caltest.calibrators.ensemble import Fold, folds, for_classes
from caltest.calibrators.inputs import Inputs
from caltest.calibrators.linear.scaling import TemperatureScaling
from caltest.errors import DegenerateDataWarning, an, invalid
from caltest.types import AnyArray, Floats, Order

PREFIT = "prefit"


def check_several_classes(classes: AnyArray) -> None:
    """Check that a classifier has something to tell apart."""
    if len(classes) < 2:
        got = f"one class, {classes.tolist()[0]!r}" if len(classes) else "no labels"
        raise invalid("y must have at least two classes", got, "pass rows of another class too")


@dataclass(kw_only=True, eq=False, repr=False)
class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier whose probabilities are calibrated on data that it was not fitted on.

    Three ways: by cross-validation a (classifier, map) pair for each fold, whose probabilities are
    averaged (`ensemble=True`, the default); by cross-validated predictions one map for a classifier
    of all the data (`ensemble=False`); or one map for a classifier that is fitted already
    (`cv="prefit"`, or `estimator=FrozenEstimator(classifier)`), where X and y are all calibration
    set.

    The map takes `predict_proba`. Where the classifier has none, or the calibrator says
    `from_logits=True`, it takes `decision_function` as logits, of two classes as log odds. A
    calibrator of two classes is put into `OneVsRest` where there are more. A class that is not
    among the training rows of a fold has probability 0 in that fold's classifier.

    Parameters
    ----------
    estimator : classifier, optional
        A classifier of scikit-learn; by default `LogisticRegression()`.
    calibrator : Calibrator, optional
        A calibrator that is not fitted; by default `TemperatureScaling()`.
    cv : int, splitter, iterable or "prefit", default 5
        Number of folds; an object of scikit-learn with a method `split`; or pairs of indices of
        training rows and held-out rows. The folds of an integer have each class in its share.
    ensemble : bool, default True
        Whether each fold keeps its own classifier; without effect on a fitted one.
    random_state : int, optional
        Seed by which rows are shuffled before they are dealt to an integer number of folds. By
        default they are dealt in their order, as in scikit-learn.
    n_jobs : int, optional
        Processes over the folds, as in joblib.

    Attributes
    ----------
    classes_ : (m,) array
        Names of the classes in the order of the columns.
    estimators_ : list of classifiers
        The fitted classifiers, one for each map.
    calibrators_ : list of Calibrator
        The fitted maps.
    n_features_in_ : int
        Number of features, where the classifier knows it.
    feature_names_in_ : (n_features,) array
        Names of the features, where the classifier knows them.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from caltest.calibrators import CalibratedClassifier, TemperatureScaling
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = CalibratedClassifier(GaussianNB(), TemperatureScaling()).fit(X, y)
    >>> len(classifier.calibrators_), classifier.predict_proba(X[:1]).shape
    (5, (1, 2))
    """

    estimator: Any = field(default=None, kw_only=False)
    calibrator: Calibrator | None = field(default=None, kw_only=False)
    cv: Any = 5
    ensemble: bool = True
    random_state: int | None = None
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, sample_weight: object = None, **fit_params: Any) -> Self:
        """Fit classifiers and maps.

        Parameters
        ----------
        X : array_like or data frame of n rows
            Features, as the classifier takes them.
        y : array_like of shape (n,)
            Labels.
        sample_weight : array_like of shape (n,), optional
            Weights of the rows, for the map and, where it takes them, for the classifier. Rows of
            weight 0 are left out.
        **fit_params
            Passed to the `fit` of the classifier; with metadata routing, as requested.

        Returns
        -------
        CalibratedClassifier
            The classifier itself.

        Raises
        ------
        InvalidInput
            If an argument or an option breaks its rule.
        """
        y = check_labels_given(y)
        check_classification_targets(y)
        if X is None:
            raise invalid("X must be given", "None", "pass the features")
        X, y = indexable(X, y)
        weight = check_row_weights(sample_weight, len(y))
        estimator = self._estimator()
        inner = TemperatureScaling() if self.calibrator is None else self.calibrator
        calibrator = checks.check_calibrator(inner, Calibrator)
        checks.check_flag(self.ensemble, "ensemble")
        to_fit, to_split = self._routed(estimator, sample_weight, fit_params)
        named = isinstance(self.cv, str)
        if named and self.cv != PREFIT:
            checks.check_integer(self.cv, "cv", 2, otherwise=f", folds or {PREFIT!r}")
        prefit = named or isinstance(estimator, FrozenEstimator)
        if prefit:
            check_is_fitted(estimator)
        classes = estimator.classes_ if prefit else np.unique(y)
        check_several_classes(classes)
        codes, self.classes_ = checks.check_labels(y, len(y), len(classes), classes, name="y")
        ask = partial(_scores, classes=self.classes_, from_logits=calibrator.from_logits)
        if prefit:
            self.estimators_, parts = [estimator], [(np.arange(len(y)), ask(estimator, X))]
        else:
            pairs = folds(X, codes, weight, self.cv, self.random_state, **to_split)
            kept = np.arange(len(y)) if weight is None else np.flatnonzero(weight > 0)
            fit = partial(_fit, estimator, to_fit, X, y)
            self.estimators_, parts = self._fit_folds(fit, X, kept, pairs, ask)
        sets = [
            CalibrationSet(scores, codes[rows], None if weight is None else weight[rows])
            for rows, scores in parts
        ]
        self.calibrators_ = []
        for given in sets:
            one = for_classes(clone(calibrator), given.inputs.m)
            one.set_params(from_logits=given.inputs.from_logits, classes=None)
            self.calibrators_.append(one.fit_set(given, self.classes_))
        notes = Counter(text for own in self.calibrators_ for text in own.notes())
        for text, count in notes.items():
            of = f"{count} of {len(sets)} maps: " if len(sets) > 1 else ""
            warnings.warn(f"{of}{text}", DegenerateDataWarning, stacklevel=2)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimators_[0], name):
                setattr(self, name, getattr(self.estimators_[0], name))
        return self

    def _estimator(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        from sklearn.linear_model import LogisticRegression

        estimator = LogisticRegression()
        return estimator.set_fit_request(sample_weight=True) if routing_enabled() else estimator

    def _routed(self, estimator: Any, sample_weight: object, fit_params: dict[str, Any]) -> _Routed:
        """Say what the classifier's `fit` and the splitter get."""
        if routing_enabled():
            routed = process_routing(self, "fit", sample_weight=sample_weight, **fit_params)
            return dict(routed.estimator.fit), dict(routed.splitter.split)
        if sample_weight is None:
            return fit_params, {}
        if has_fit_parameter(estimator, "sample_weight"):
            return fit_params | {"sample_weight": sample_weight}, {}
        name = type(estimator).__name__
        text = f"{name}.fit takes no sample_weight: the weights are those of the map alone"
        warnings.warn(text, UserWarning, stacklevel=3)
        return fit_params, {}

    def _fit_folds(
        self, fit: Callable[[Order], Any], X: Any, kept: Order, pairs: list[Fold], ask: Any
    ) -> tuple[list[Any], list[tuple[Order, Inputs]]]:
        """Fit a classifier for each fold, or one to all rows, and predict each row without it."""
        rows = np.concatenate([test for _, test in pairs])
        if not self.ensemble and not np.array_equal(np.sort(rows), kept):
            rule = "cv must hold out each row once where ensemble=False"
            got = f"{len(rows)} held-out rows, {len(np.unique(rows))} of them different"
            remedy = "pass ensemble=True, or a splitter such as KFold"
            raise invalid(rule, f"{got}, of {len(kept)}", remedy)
        parallel = Parallel(n_jobs=checks.check_jobs(self.n_jobs))
        fitted = parallel(delayed(_fit_fold)(fit, X, ask, *pair) for pair in pairs)
        estimators, scores = map(list, zip(*fitted, strict=True))
        if not self.ensemble:
            values = np.concatenate([own.values for own in scores])
            return [fit(kept)], [(rows, Inputs(values, from_logits=scores[0].from_logits))]
        return estimators, [(test, own) for (_, test), own in zip(pairs, scores, strict=True)]

    def predict_proba(self, X: Any) -> Floats:
        """Return calibrated probabilities.

        Parameters
        ----------
        X : array_like or data frame of n rows
            Features, as the classifier takes them.

        Returns
        -------
        (n, m) array
            Rows sum to 1.
        """
        check_is_fitted(self)
        probs = []
        for estimator, calibrator in zip(self.estimators_, self.calibrators_, strict=True):
            scores = _scores(estimator, X, self.classes_, from_logits=calibrator.from_logits)
            probs.append(calibrator.calibrate(scores))
        return np.asarray(np.mean(probs, axis=0))

    def predict(self, X: Any) -> AnyArray:
        """Return the most probable class, the first of several.

        Parameters
        ----------
        X : array_like or data frame of n rows
            Features, as the classifier takes them.

        Returns
        -------
        (n,) array
            Names of classes; calibration can change which is the most probable.
        """
        probs = self.predict_proba(X)
        return np.asarray(self.classes_[probs.argmax(axis=1)])

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where metadata go: to `fit` of the classifier, and to `split` of `cv`.

        Returns
        -------
        MetadataRouter
            Of scikit-learn.
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        router = router.add(estimator=self._estimator(), method_mapping=to_fit)
        return router.add(splitter=self.cv, method_mapping=to_split)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        estimator = get_tags(self._estimator())
        tags.input_tags = estimator.input_tags
        if estimator.classifier_tags is not None:
            tags.classifier_tags.multi_class = estimator.classifier_tags.multi_class
        return tags


_Routed = tuple[dict[str, Any], dict[str, Any]]  # what `fit` of the classifier and `split` get


def _fit(estimator: Any, params: dict[str, Any], X: Any, y: AnyArray, rows: Order) -> Any:
    """Fit a copy of the classifier to some rows."""
    own = _check_method_params(X, params=params, indices=rows)
    return clone(estimator).fit(_safe_indexing(X, rows), y[rows], **own)


def _fit_fold(
    fit: Callable[[Order], Any], X: Any, ask: Callable[..., Inputs], train: Order, test: Order
) -> tuple[Any, Inputs]:
    """Fit to the training rows, and ask for the scores of the others."""
    fitted = fit(train)
    return fitted, ask(fitted, _safe_indexing(X, test))


def _scores(estimator: Any, X: Any, classes: AnyArray, *, from_logits: bool) -> Inputs:
    """Predict, with a column for each class; one that the classifier never saw has probability 0.

    A map that was fitted to logits must get them again; else probabilities go first.
    """
    method = "decision_function"
    if not from_logits and hasattr(estimator, "predict_proba"):
        method = "predict_proba"
    elif not hasattr(estimator, "decision_function"):
        rule = "estimator must have predict_proba or decision_function"
        remedy = "pass a classifier of scikit-learn"
        if from_logits:
            rule = "estimator must have decision_function where the calibrator has from_logits=True"
            remedy = "pass a calibrator with from_logits=False"
        raise invalid(rule, an(type(estimator).__name__), remedy)
    from_logits = method == "decision_function"
    values = np.asarray(getattr(estimator, method)(X))
    if from_logits and values.ndim == 1:
        values = checks.check_logits(values, name=method)
    column = {name: k for k, name in enumerate(classes.tolist())}
    own = [column[name] for name in estimator.classes_.tolist()]
    # Of three classes there are as many pairs, which an SVC scores, perhaps at a pipeline's end.
    last = getattr(estimator, "_final_estimator", estimator)
    pairs = from_logits and getattr(last, "decision_function_shape", "") == "ovo" and len(own) == 3
    if values.ndim != 2 or values.shape[1] != len(own) or pairs:
        rule = f"{method} of the estimator must give one column per class"
        got = "one per pair" if pairs else f"shape {values.shape} for {len(own)} classes"
        raise invalid(rule, got, "pass decision_function_shape='ovr' to an SVC")
    scores = np.full((len(values), len(classes)), -np.inf if from_logits else 0.0)
    scores[:, own] = values
    check = checks.check_logits if from_logits else partial(checks.check_probs, classes=classes)
    return Inputs(check(scores), from_logits=from_logits)
