"""Folds, the setting with the least held-out loss, and the mean of the fold models."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

from caltest import InvalidInput
from caltest.calibrators import (
    BinaryCalibrator,
    EnsembleCalibrator,
    HistogramBinning,
    MatrixScaling,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
)
from caltest.calibrators.base import CalibrationSet
from caltest.calibrators.ensemble import choose, folds
from caltest.calibrators.inputs import Inputs
from caltest.errors import DegenerateDataWarning


def calibration_set(n=120, m=3, seed=0, weight=None):
    """Return overconfident predictions of classes and their labels."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(m, 0.4), n)
    flat = np.sqrt(probs) / np.sqrt(probs).sum(axis=1, keepdims=True)
    codes = (rng.random((n, 1)) > flat.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return CalibrationSet(Inputs(probs, from_logits=False), codes, weight)


@pytest.fixture(scope="module")
def data():
    return calibration_set().inputs.values, calibration_set().codes


def test_ensemble_searches_options_of_an_inner_calibrator(data):
    """By the names of scikit-learn, with two underscores."""
    grid = {"calibrator__bins": [3, 40]}
    ensemble = EnsembleCalibrator(OneVsRest(HistogramBinning()), param_grid=grid, cv=3)
    assert ensemble.fit(*data).best_params_ == {"calibrator__bins": 3}
    assert ensemble.calibrators_[0].calibrators_[0].bins == 3


def test_ensemble_of_a_map_of_two_classes_is_one():
    """So that OneVsRest is asked for beyond; either may be inside of the other."""
    probs, y = np.random.default_rng(0).dirichlet(np.ones(3), 60), np.arange(60) % 3
    with pytest.raises(InvalidInput, match=r"pass OneVsRest\(PlattScaling\(\)\)"):
        EnsembleCalibrator(PlattScaling()).fit(probs, y)
    for both in (
        OneVsRest(EnsembleCalibrator(PlattScaling())),
        EnsembleCalibrator(OneVsRest(PlattScaling())),
    ):
        assert both.fit(probs, y).predict_proba(probs).shape == (60, 3)
    assert issubclass(PlattScaling, BinaryCalibrator)


def test_ensemble_warns_once_for_all_folds():
    probs = np.random.default_rng(0).dirichlet([1, 1, 1], 60)
    with pytest.warns(DegenerateDataWarning, match=r"5 of 5 folds: each label") as caught:
        EnsembleCalibrator(TemperatureScaling()).fit(probs, probs.argmax(axis=1))
    assert [warning.filename for warning in caught] == [__file__]


CODES = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [30, 20, 10]))
ROWS = np.zeros(len(CODES))


def same(first, second):
    """Tell whether two lists of folds agree."""
    return all(
        np.array_equal(a, b)
        for one, two in zip(first, second, strict=True)
        for a, b in zip(one, two, strict=True)
    )


@pytest.mark.parametrize("seed", [None, 3])
def test_folds_are_those_of_stratified_k_fold(seed):
    """Where every class has as many members as there are folds."""
    splitter = StratifiedKFold(5, shuffle=seed is not None, random_state=seed)
    assert same(folds(ROWS, CODES, None, 5, seed), list(splitter.split(ROWS, CODES)))


@pytest.mark.parametrize("seed", [None, 3])
def test_members_of_a_rare_class_are_in_different_folds(seed):
    """So the training rows of each fold have one; folds differ by a row at most."""
    codes = np.repeat([0, 1, 2, 3], [2, 2, 3, 30])
    pairs = folds(codes, codes, None, 5, seed)
    for train, test in pairs:
        assert np.bincount(codes[test], minlength=4)[:3].max() <= 1
        np.testing.assert_array_equal(np.sort(np.append(train, test)), np.arange(37))
    assert sorted(len(test) for _, test in pairs) == [7, 7, 7, 8, 8]


def test_folds_of_few_rows_leave_out_one():
    """Of as many classes as rows too."""
    for codes in (CODES[:3], np.arange(3)):
        pairs = folds(codes, codes, None, 5)
        assert sorted(int(test[0]) for _, test in pairs) == [0, 1, 2]
    (pair,) = folds(ROWS[:1], CODES[:1], None, 5)
    assert [rows.tolist() for rows in pair] == [[0], [0]]


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (0.2, r"cv must be an integer of at least 2; got 0.2"),
        ("prefit", r"cv must be an integer of at least 2; got 'prefit'"),
        (KFold, r"cv must be an integer of at least 2"),
        ([], r"cv must give the pair"),
        ([([], [1])], r"training rows of cv must be a mask, a slice or indices"),
    ],
)
def test_bad_folds_are_refused(cv, message):
    with pytest.raises(InvalidInput, match=message):
        folds(ROWS, CODES, None, cv)


def test_choice_does_not_depend_on_n_jobs():
    """Folds in threads give the same losses."""
    data = calibration_set()
    grid = [{"lam": 0.01}, {"lam": 0.1}]
    one, two = (choose(MatrixScaling(), data, np.arange(3), grid, n_jobs=k) for k in (1, 2))
    np.testing.assert_array_equal(one[1], two[1])
