"""ENIR averages the optima of nearly-isotonic regression along their exact path."""

import math
import warnings
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import xlog1py, xlogy

from caltest import DegenerateDataWarning
from caltest.calibrators import ENIR
from caltest.calibrators.binary.enir import mean_of_models, solution_path
from caltest.testing import strategies

SETS = strategies.predictions((1, 14), 2, weighted=False).map(
    lambda data: (data.probs[:, 1], data.labels)
)


def fitted(scores, labels, weight=None, **options):
    """Fit, whether or not there is a single class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return ENIR(**options).fit(scores, labels, weight)


def pooled(scores, labels):
    """Distinct scores, their numbers of rows and of events."""
    values, at = np.unique(scores, return_inverse=True)
    return values, np.bincount(at), np.bincount(at, labels)


def path(mass, events):
    """Follow the path in fractions: [(lambda, [(first, last, beta), ...]), ...]."""
    y = [Fraction(int(e), int(m)) for e, m in zip(events, mass, strict=True)]
    blocks, lam, found = [[j, j] for j in range(len(y))], Fraction(0), []
    falls = [a > b for a, b in pairwise(y)]

    def beta(block, lam):
        (first, last), rows = block, slice(block[0], block[1] + 1)
        left = first > 0 and falls[first - 1]
        right = last < len(y) - 1 and falls[last]
        return (int(sum(events[rows])) + (left - right) * lam) / Fraction(int(sum(mass[rows])))

    while True:
        k = 0
        while k < len(blocks) - 1:
            if beta(blocks[k], lam) == beta(blocks[k + 1], lam):
                blocks[k : k + 2] = [[blocks[k][0], blocks[k + 1][1]]]
                k = max(k - 1, 0)
            else:
                k += 1
        found.append((lam, [(*block, beta(block, lam)) for block in blocks]))
        meetings = []
        for a, b in pairwise(blocks):
            now, later = beta(b, lam) - beta(a, lam), beta(b, lam + 1) - beta(a, lam + 1)
            if now != later and now / (now - later) > 0:
                meetings.append(lam + now / (now - later))
        if not meetings:
            return found
        lam = min(meetings)


def definition(scores, labels):
    """BIC of all models above lambda = 0, and their mean at the distinct scores."""
    _, mass, events = pooled(scores, labels)
    models = path(mass, events)
    models = models[1:] or models
    fits = [np.repeat([float(b) for *_, b in m], [j - i + 1 for i, j, _ in m]) for _, m in models]
    bic = []
    for fit, (_, blocks) in zip(fits, models, strict=True):
        loss = -(xlogy(events, fit) + xlog1py(mass - events, -fit)).sum()
        bic.append(2 * loss + len(blocks) * math.log(len(scores)))
    weight = np.exp((min(bic) - np.array(bic)) / 2)
    return [float(lam) for lam, _ in models], bic, weight @ np.array(fits) / weight.sum()


@given(SETS)
def test_enir_is_the_average_over_the_exact_path(data):
    """Every breakpoint, its BIC and the mean, from a path in fractions."""
    enir, (lambdas, bic, mean) = fitted(*data), definition(*data)
    assert enir.lambdas_ == pytest.approx(lambdas, rel=1e-12)
    assert enir.bic_ == pytest.approx(bic, rel=1e-12)
    assert enir.predict_proba(np.unique(data[0]))[:, 1] == pytest.approx(mean, abs=1e-12)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), min_size=1, max_size=40))
def test_every_breakpoint_solves_the_penalised_problem(rows):
    """The subgradients that the residuals ask for lie in [0, 1], 1 where beta falls, 0 else."""
    mass = np.array([m for m, _ in rows], dtype=float)
    events = np.minimum(mass, [e for _, e in rows])
    blocks, merges = solution_path(mass, events)
    for t, lam in enumerate(merges[0], start=1):
        first, last, value = mean_of_models(blocks, merges, np.array([t]), np.ones(1))
        beta = np.repeat(value, last - first + 1)
        s = np.cumsum(events - mass * beta) / lam
        fall = -np.diff(beta)
        assert s[-1] == pytest.approx(0, abs=1e-9)
        assert (s > -1e-9).all()
        assert (s < 1 + 1e-9).all()
        assert s[:-1][fall > 1e-9] == pytest.approx(1, abs=1e-9)
        assert s[:-1][fall < -1e-9] == pytest.approx(0, abs=1e-9)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 5)), min_size=1, max_size=40))
def test_the_path_ends_with_isotonic_regression(rows):
    """At the last breakpoint nothing falls, and the fit is that of pooling."""
    mass = np.array([m for m, _ in rows], dtype=float)
    events = np.minimum(mass, [e for _, e in rows])
    blocks, merges = solution_path(mass, events)
    end = np.array([len(merges[0])])
    first, last, value = mean_of_models(blocks, merges, end, np.ones(1))
    means = [
        events[i : j + 1].sum() / mass[i : j + 1].sum() for i, j in zip(first, last, strict=True)
    ]
    assert value == pytest.approx(means, abs=1e-14)
    assert (np.diff(value) > 0).all()
