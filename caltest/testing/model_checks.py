"""Properties of fitted classifiers, whose probabilities are to be taken as such."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from caltest.predictions import Predictions
from caltest.testing.searching import distance, search

Floats = NDArray[np.float64]


def check_model(
    model: Any,
    X: object,
    y: object,
    *,
    examples: int = 50,
    atol: float = 1e-6,
    rng: int = 0,
) -> None:
    """Fail where a fitted classifier's probabilities cannot be taken as such.

    Rows are probabilities of the classes in `classes_`, each is the same whatever rows stand beside
    it and in whatever order, `predict` names the largest, asking twice and pickling change nothing,
    X is left alone, and the labels of y are among the classes.

    Parameters
    ----------
    model : classifier
        Fitted, with `predict_proba`; `predict` and `classes_` where it has them.
    X, y : (n, d) array or data frame, (n,) array
        Rows that the model takes, and their labels.
    examples : int, default 50
        How many subsets of the rows are tried.
    atol : float, default 1e-6
        How far apart equal probabilities may be.
    rng : int, default 0
        The seed.

    Returns
    -------
    None
        Where nothing is broken.

    Raises
    ------
    AssertionError
        If a property is broken, with the smallest set of rows that Hypothesis finds.
    InvalidInput
        If the model gives no probabilities for these data.

    Examples
    --------
    >>> import caltest as ct
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> ct.testing.check_model(LogisticRegression(max_iter=500).fit(X, y), X, y, examples=5)
    """
    data = Predictions.from_model(model, X, y)
    whole = np.asarray(model.predict_proba(X), dtype=float)
    whole = whole[:, None] if whole.ndim == 1 else whole
    _assert_rows(whole, len(data.labels))
    names = getattr(model, "classes_", None)
    if names is not None:
        assert len(names) == whole.shape[1], "classes_ does not name the columns"
        assert set(np.unique(np.asarray(y))) <= set(np.asarray(names).tolist()), (
            "y has labels that are not in classes_"
        )
    n = len(whole)

    def gives_each_row_its_probabilities(rows: list[int]) -> None:
        out = np.asarray(model.predict_proba(_take(X, rows)), dtype=float).reshape(len(rows), -1)
        _assert_rows(out, len(rows))
        assert distance(out, whole[rows]) <= atol

    def predicts_the_most_probable_class(rows: list[int]) -> None:
        predicted = np.asarray(model.predict(_take(X, rows)))
        codes = [int(np.flatnonzero(np.asarray(names) == name)[0]) for name in predicted]
        assert (whole[rows, codes] >= whole[rows].max(axis=1) - atol).all()

    arguments = {"rows": st.lists(st.integers(0, n - 1), min_size=1, max_size=8)}
    before = copy.deepcopy(X)
    search(gives_each_row_its_probabilities, arguments, examples=examples, rng=rng)
    if names is not None and hasattr(model, "predict"):
        search(predicts_the_most_probable_class, arguments, examples=examples, rng=rng)
    assert np.array_equal(np.asarray(X), np.asarray(before)), "predict_proba changed X"
    again = pickle.loads(pickle.dumps(model))  # noqa: S301, what was written just now
    np.testing.assert_array_equal(
        np.asarray(again.predict_proba(X)).ravel(),
        np.asarray(model.predict_proba(X)).ravel(),
        err_msg="pickling changes the model",
    )


def _take(X: Any, rows: list[int]) -> Any:
    """Take rows of an array or a table of pandas or polars."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    return X[rows] if hasattr(X, "shape") else np.asarray(X)[rows]


def _assert_rows(out: Floats, n: int) -> None:
    assert len(out) == n
    assert np.isfinite(out).all()
    assert out.min() >= 0
    total = out.sum(axis=1) if out.shape[1] > 1 else np.ones(n)
    assert np.abs(total - 1).max() <= 1e-5  # single precision
    assert out.max() <= 1 + 1e-6
