"""Calibration in the tools that people have: skore, MLflow and evidently, each an extra.

Scorers for scikit-learn are `caltest.metrics`.
"""

import importlib
from typing import Any

__all__ = ["evidently_metric", "mlflow_metric", "mlflow_report", "skore_check"]


def skore_check(
    *,
    level: float = 0.01,
    rng: int = 0,
    code: str = "CAL001",
    severity: str = "issue",
    **arguments: Any,
) -> Any:
    """Return a check for skore: it finds something where calibration on the test set is rejected.

    `report.checks.add([ct.integrations.skore_check()])` adds it. As metrics skore takes the scorers
    of `caltest.metrics`: `report.metrics.add(ct.metrics.get_scorer("neg_ece"), name="neg_ece")`.

    Parameters
    ----------
    level : float, default 0.01
        Significance level. The rows of a cross-validation are tested fold by fold, by Holm's
        method.
    rng : int, default 0
        The seed.
    code : str, default "CAL001"
        By which skore names the check.
    severity : {"issue", "tip"}
        Where skore lists what is found.
    **arguments
        As for `caltest.test_calibration`.

    Returns
    -------
    CalibrationCheck
        A `skore.Check`.

    Raises
    ------
    ModuleNotFoundError
        If skore is not installed.
    InvalidInput
        If an argument breaks its rule.

    Examples
    --------
    >>> import caltest as ct
    >>> report = skore.evaluate(model, X, y)  # doctest: +SKIP
    >>> report.checks.add([ct.integrations.skore_check()])  # doctest: +SKIP
    """
    asked = {"level": level, "rng": rng, "code": code, "severity": severity}
    return _of("skore").CalibrationCheck(**asked, arguments=arguments)


def mlflow_metric(
    measure: str = "ece", *, probs: object, name: str | None = None, **options: Any
) -> Any:
    """Return a metric for `mlflow.models.evaluate(..., extra_metrics=[...])`.

    MLflow gives a metric the predicted labels, so the probabilities are named apart.

    Parameters
    ----------
    measure : str, default "ece"
        As for `caltest.metrics.score`.
    probs : array_like or callable
        Probabilities of the rows that are evaluated, in their order; or a function without
        arguments that returns them.
    name : str, optional
        By default ``"caltest_"`` and the measure.
    **options
        Options of the measure; `labels` names the classes.

    Returns
    -------
    mlflow.metrics.EvaluationMetric
        Whose greater values are better only for the spherical score.

    Raises
    ------
    ModuleNotFoundError
        If MLflow is not installed.
    InvalidInput
        If the measure is not known.

    Examples
    --------
    >>> import caltest as ct
    >>> p = model.predict_proba(X)  # doctest: +SKIP
    >>> metric = ct.integrations.mlflow_metric("ece", probs=p)  # doctest: +SKIP
    >>> mlflow.models.evaluate(..., extra_metrics=[metric])  # doctest: +SKIP
    """
    return _of("mlflow").metric(measure, probs=probs, name=name, options=options)


def mlflow_report(*, probs: object, name: str = "calibration_report", **arguments: Any) -> Any:
    """Return an artifact for `mlflow.models.evaluate(..., custom_artifacts=[...])`: the report.

    The run gets the page as an HTML file, and as the artifact its JSON.

    Parameters
    ----------
    probs : array_like or callable
        As for `mlflow_metric`.
    name : str, default "calibration_report"
        Of both files, without their end.
    **arguments
        As for `caltest.report`.

    Returns
    -------
    callable
        `artifact(eval_df, builtin_metrics, artifacts_dir)`, which writes them.

    Raises
    ------
    ModuleNotFoundError
        If MLflow is not installed.

    Examples
    --------
    >>> import caltest as ct
    >>> page = ct.integrations.mlflow_report(probs=p, rng=1)  # doctest: +SKIP
    >>> mlflow.models.evaluate(..., custom_artifacts=[page])  # doctest: +SKIP
    """
    return _of("mlflow").report_artifact(probs=probs, name=name, arguments=arguments)


def evidently_metric(
    measure: str = "ece",
    *,
    classification: str = "default",
    lens: str | None = None,
    tests: Any = None,
) -> Any:
    """Return a metric for `evidently.Report([...])`: a score or calibration error of a data set.

    The columns of labels and probabilities are those of the classification in the data definition.

    Parameters
    ----------
    measure : str, default "ece"
        As for `caltest.metrics.score`; "pvalue" is that of `caltest.test_calibration` with seed 0.
    classification : str, default "default"
        The name of the classification.
    lens : str, optional
        The lens.
    tests : list, optional
        Tests of evidently on the value, such as `[lt(0.05)]`.

    Returns
    -------
    CalibrationMetric
        An `evidently.core.metric_types.SingleValueMetric`.

    Raises
    ------
    ModuleNotFoundError
        If evidently is not installed.
    InvalidInput
        If the measure is not known.

    Examples
    --------
    >>> import caltest as ct
    >>> metric = ct.integrations.evidently_metric("ece")  # doctest: +SKIP
    >>> evidently.Report([metric]).run(data, None)  # doctest: +SKIP
    """
    module = _of("evidently")
    from caltest import metrics
    from caltest.checks import check_choice

    check_choice(measure, [*metrics.PROPER.values(), *metrics.ERRORS.values(), "pvalue"], "measure")
    asked = {"measure": measure, "classification": classification, "lens": lens, "tests": tests}
    return module.CalibrationMetric(**asked)


def _of(library: str) -> Any:
    try:
        return importlib.import_module(f"caltest.integrations.of_{library}")
    except ModuleNotFoundError as error:
        if str(error.name).split(".")[0] != library:
            raise
        message = f"this needs {library}: pip install 'caltest[{library}]'"
        raise ModuleNotFoundError(message, name=library) from error
