"""Scores and calibration errors as scikit-learn takes them: scorers and a function of (y, p).

A proper score (log loss, Brier, spherical) may select a model: its expectation is best for the true
probabilities. A calibration error may not, since a constant prediction has none; it belongs beside
the score, in the report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from caltest import checks, measures
from caltest.errors import NotApplicable
from caltest.predictions import Predictions

__all__ = ["Scorer", "get_scorer", "get_scorer_names", "get_scorers", "score"]

PROPER = {"neg_log_loss": "log-loss", "neg_brier": "brier", "spherical": "spherical"}
_KEYS = "ece classwise-ece debiased-ece kde-ece mce smooth-ece ks kuiper mmce skce kce"
ERRORS = {f"neg_{key.replace('-', '_')}": key for key in f"{_KEYS} ici e50 e90 emax".split()}


@dataclass(frozen=True)
class Scorer:
    """A score or error as `scorer(estimator, X, y)`, of which a greater value is better.

    Parameters
    ----------
    name : str
        One of `get_scorer_names()`; those that begin with ``"neg_"`` return the negative measure.
    options : mapping of str to object
        Options of the measure, such as `lens`.

    Attributes
    ----------
    name, options
        As given.
    weight : bool, str or None
        What was requested by `set_score_request`.

    Raises
    ------
    InvalidInput
        If the name is not known.

    Examples
    --------
    >>> import caltest as ct
    >>> scorer = ct.metrics.Scorer("neg_ece", {"lens": "confidence"})
    >>> scorer.measure, scorer.sign, scorer.proper
    ('ece', -1, False)
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    weight: bool | str | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        checks.check_choice(self.name, get_scorer_names(), "name")

    def __call__(
        self, estimator: object, X: object, y: object, sample_weight: object = None
    ) -> float:
        data = Predictions.from_model(estimator, X, y, sample_weight=sample_weight)
        return self.sign * _measured(self.measure, data, self.options)

    def set_score_request(self, *, sample_weight: bool | str | None) -> Scorer:
        """Say whether scikit-learn's tools pass the weights of rows on to this scorer.

        Parameters
        ----------
        sample_weight : bool, str or None
            Whether they do, or the name by which they are passed; None is not yet known.

        Returns
        -------
        Scorer
            This object.

        Raises
        ------
        NotApplicable
            If scikit-learn does not route metadata.
        """
        import sklearn

        if not sklearn.get_config()["enable_metadata_routing"]:
            remedy = "call sklearn.set_config(enable_metadata_routing=True)"
            raise NotApplicable("requests need metadata routing", remedy)
        object.__setattr__(self, "weight", sample_weight)
        return self

    def get_metadata_routing(self) -> Any:
        """Return what is requested, which scikit-learn's tools ask for.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRequest
            The request of `sample_weight`.
        """
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self.weight)
        return request

    @property
    def measure(self) -> str:
        """The key of the measure."""
        return (PROPER | ERRORS)[self.name]

    @property
    def sign(self) -> int:
        """-1 where less of the measure is better, else 1."""
        return -1 if self.name.startswith("neg_") else 1

    @property
    def proper(self) -> bool:
        """Whether it may select a model."""
        return self.name in PROPER

    @property
    def __name__(self) -> str:
        """The name, which tools print."""
        return self.name


def get_scorer_names(*, proper: bool | None = None) -> list[str]:
    """Return the names of the scorers.

    Parameters
    ----------
    proper : bool, optional
        Only those of proper scores, or only those of calibration errors.

    Returns
    -------
    list of str
        In order: proper scores, errors.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.metrics.get_scorer_names(proper=True)
    ['neg_log_loss', 'neg_brier', 'spherical']
    """
    return [name for name in PROPER | ERRORS if proper is None or proper == (name in PROPER)]


def get_scorer(name: str, **options: Any) -> Scorer:
    """Return a scorer for `cross_val_score`, `GridSearchCV` and whatever takes `scoring=`.

    Its classes are the `classes_` of the estimator, so that a fold may lack one.

    Parameters
    ----------
    name : str
        One of `get_scorer_names()`.
    **options
        Options of the measure, such as `lens="confidence"`.

    Returns
    -------
    Scorer
        `scorer(estimator, X, y)`, greater is better.

    Raises
    ------
    InvalidInput
        If the name is not known.

    Examples
    --------
    >>> import caltest as ct
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(max_iter=500)
    >>> cross_val_score(model, X, y, scoring=ct.metrics.get_scorer("neg_brier")).round(3).tolist()
    [-0.074, -0.039, -0.103, -0.075, -0.032]
    """
    return Scorer(name, dict(options))


def get_scorers(*names: str, **options: Any) -> dict[str, Scorer]:
    """Return scorers by name, as `cross_validate` and `GridSearchCV(refit=...)` take several.

    Parameters
    ----------
    *names : str
        Some of `get_scorer_names()`; by default the proper scores, ECE and class-wise ECE.
    **options
        As for `get_scorer`, of all that are errors.

    Returns
    -------
    dict of str to Scorer
        For `scoring=`.

    Raises
    ------
    InvalidInput
        If a name is not known.

    Examples
    --------
    >>> import caltest as ct
    >>> list(ct.metrics.get_scorers("neg_log_loss", "neg_ece"))
    ['neg_log_loss', 'neg_ece']
    """
    chosen = names or (*PROPER, "neg_ece", "neg_classwise_ece")
    return {name: get_scorer(name, **({} if name in PROPER else options)) for name in chosen}


def score(
    y_true: object,
    y_proba: object,
    *,
    measure: str = "ece",
    labels: object = None,
    sample_weight: object = None,
    **options: Any,
) -> float:
    """Return a score or calibration error, with the arguments in scikit-learn's order.

    Parameters
    ----------
    y_true : (n,) array_like
        Labels.
    y_proba : (n, m) or (n,) array_like
        Probabilities of the classes, or of the second of two.
    measure : str, default "ece"
        A key of `caltest.measures.REGISTRY` that `get_scorer_names()` has with another spelling.
    labels : sequence, optional
        The names of the classes in the order of the columns, where some may not occur.
    sample_weight : (n,) array_like, optional
        Weights.
    **options
        Options of the measure.

    Returns
    -------
    float
        The measure, not its negative.

    Raises
    ------
    InvalidInput
        If the measure is not known, or a value breaks its rule.

    Examples
    --------
    >>> import caltest as ct
    >>> from sklearn.metrics import make_scorer
    >>> ct.metrics.score([0, 1, 1], [0.2, 0.6, 0.9], measure="brier")
    0.07...
    >>> scorer = make_scorer(
    ...     ct.metrics.score,
    ...     response_method="predict_proba",
    ...     greater_is_better=False,
    ...     measure="brier",
    ... )
    """
    checks.check_choice(measure, list((PROPER | ERRORS).values()), "measure")
    data = Predictions(y_proba, y_true, classes=labels, sample_weight=sample_weight)
    return _measured(measure, data, options)


def _measured(key: str, data: Predictions, options: Mapping[str, Any]) -> float:
    function = getattr(measures, measures.REGISTRY[key].function_name())
    return float(function(data, **options))
