"""Checks of test locations."""

from __future__ import annotations

import numpy as np

from caltest.errors import invalid
from caltest.validation.arrays import AnyArray, Codes, Floats, as_array
from caltest.validation.labels import check_labels
from caltest.validation.options import check_integer
from caltest.validation.probs import check_probs


def check_locations(locations: object) -> int | tuple[object, object] | None:
    """Check a number of test locations, a pair (probs, labels), or None."""
    if locations is None:
        return None
    if isinstance(locations, (tuple, list)) and len(locations) == 2:
        return locations[0], locations[1]
    if isinstance(locations, (int, np.integer)):
        return check_integer(locations, "locations")
    rule = "locations must be a number or a pair (probs, labels)"
    got = f"a {type(locations).__name__}"
    raise invalid(rule, got, "pass J predictions and their J classes")


def check_points(locations: tuple[object, object], classes: AnyArray) -> tuple[Floats, Codes]:
    """Check J test predictions and J classes, as the lens shows predictions.

    Parameters
    ----------
    locations : (probs, labels)
        Of shapes (J, m) or (J,), and (J,).
    classes : ndarray, shape (m,)
        The classes under the lens.

    Returns
    -------
    ndarray, shape (J, m), and ndarray, shape (J,)
        Probabilities and codes.

    Raises
    ------
    InvalidInput
        If one of both breaks a rule.
    """
    m = len(classes)
    probs = check_probs(locations[0], name="probs of locations")
    if probs.shape[1] != m:
        rule = f"probs of locations must have {m} columns, the classes under the lens"
        raise invalid(rule, f"{probs.shape[1]}", "pass locations as the lens shows predictions")
    return probs, check_labels(locations[1], len(probs), m, classes, name="labels of locations")[0]


def check_prediction_points(points: object, classes: AnyArray) -> Floats:
    """Check predictions as the lens shows them, at which a function is evaluated, (q, m).

    Parameters
    ----------
    points : array_like, shape (q, m) or (q,)
        In one dimension, P(class 1) of two.
    classes : ndarray, shape (m,)
        The classes under the lens.

    Returns
    -------
    ndarray, shape (q, m)
        The points.

    Raises
    ------
    InvalidInput
        If they are not on the simplex of these classes.
    """
    values = check_probs(as_array(points, "points"), name="points")
    if values.shape[1] == len(classes):
        return values
    rule = f"points must have a column for each of the {len(classes)} classes under the lens"
    raise invalid(rule, f"{values.shape[1]} columns", f"pass shape (q, {len(classes)})")
