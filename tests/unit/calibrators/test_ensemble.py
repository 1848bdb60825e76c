"""Folds, the setting with the least held-out loss, and the mean of the fold models."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, StratifiedKFold

from caltest import InvalidInput
from caltest.calibrators import (
    BinaryCalibrator,
    EnsembleCalibrator,
    HistogramBinning,
    Identity,
    MatrixScaling,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
)
from caltest.calibrators.base import CalibrationSet
from caltest.calibrators.ensemble import choose, folds
from caltest.calibrators.inputs import Inputs
from caltest.errors import DegenerateDataWarning

GRID = {"lam": [1e-3, 1e-1, 10.0]}


def calibration_set(n=120, m=3, seed=0, weight=None):
    """Return overconfident predictions of classes and their labels."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(m, 0.4), n)
    flat = np.sqrt(probs) / np.sqrt(probs).sum(axis=1, keepdims=True)
    codes = (rng.random((n, 1)) > flat.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return CalibrationSet(Inputs(probs, from_logits=False), codes, weight)


@pytest.fixture(scope="module")
def data():
    """Return those of three classes."""
    return calibration_set().inputs.values, calibration_set().codes


def test_ensemble_is_the_mean_of_its_fold_models(data):
    probs, y = data
    splitter = KFold(4)
    ensemble = EnsembleCalibrator(TemperatureScaling(), cv=splitter).fit(probs, y)
    models = [TemperatureScaling().fit(probs[a], y[a]) for a, _ in splitter.split(probs)]
    expected = np.mean([model.predict_proba(probs) for model in models], axis=0)
    np.testing.assert_allclose(ensemble.predict_proba(probs), expected, rtol=1e-12)
    assert ensemble.best_params_ == {}


def test_ensemble_chooses_what_a_grid_search_chooses(data):
    """With the log loss of the held-out folds as score."""
    probs, y = data
    splitter = KFold(4)
    ensemble = EnsembleCalibrator(MatrixScaling(), param_grid=GRID, cv=splitter).fit(probs, y)
    search = GridSearchCV(MatrixScaling(), GRID, cv=splitter, scoring="neg_log_loss").fit(probs, y)
    assert ensemble.best_params_ == search.best_params_
    losses = ensemble.cv_results_["mean_log_loss"]
    np.testing.assert_allclose(losses, -search.cv_results_["mean_test_score"], rtol=1e-6)
    assert ensemble.best_score_ == losses.min()
    np.testing.assert_array_equal(ensemble.cv_results_["rank"], losses.argsort().argsort() + 1)


def test_ensemble_has_a_table_of_losses(data):
    """One row per setting, of which the first of equal ones is taken."""
    grid = [{"lam": [0.1, 1.0], "mu": [0.5]}, {"lam": [0.2]}]
    table = pd.DataFrame(
        EnsembleCalibrator(MatrixScaling(), param_grid=grid, cv=3).fit(*data).cv_results_
    )
    assert table.shape == (3, 9)
    assert table.param_mu.isna().tolist() == [False, False, True]
    losses = table[["fold0_log_loss", "fold1_log_loss", "fold2_log_loss"]]
    np.testing.assert_allclose(losses.mean(axis=1), table.mean_log_loss)
    grid = {"classes": [None, [0, 1, 2]]}
    ensemble = EnsembleCalibrator(Identity(), param_grid=grid).fit(*data)
    assert ensemble.best_params_ == {"classes": None}
    assert ensemble.cv_results_["rank"].tolist() == [1, 1]


def test_ensemble_searches_options_of_an_inner_calibrator(data):
    """By the names of scikit-learn, with two underscores."""
    grid = {"calibrator__bins": [3, 40]}
    ensemble = EnsembleCalibrator(OneVsRest(HistogramBinning()), param_grid=grid, cv=3)
    assert ensemble.fit(*data).best_params_ == {"calibrator__bins": 3}
    assert ensemble.calibrators_[0].calibrators_[0].bins == 3


def test_ensemble_shuffles_where_it_has_a_seed(data):
    """The same seed gives the same folds."""
    fits = [
        EnsembleCalibrator(TemperatureScaling(), random_state=seed).fit(*data).best_score_
        for seed in (None, 1, 1, 2)
    ]
    assert fits[1] == fits[2]
    assert len(set(fits)) == 3


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


def test_rare_class_is_dealt_with_the_largest():
    """The others are still stratified, and nothing warns."""
    codes = np.append(CODES, [3, 3])
    pairs = folds(np.zeros(62), codes, None, 5)
    assert {np.count_nonzero(codes[test] == 1) for _, test in pairs} == {4}
    assert sorted(np.concatenate([test for _, test in pairs])) == list(range(62))


def test_folds_of_few_rows_or_rare_classes():
    """As many classes as rows cannot be stratified; few rows are left out one at a time."""
    codes = np.arange(12)
    assert same(folds(codes, codes, None, 4), list(KFold(4).split(codes)))
    pairs = folds(ROWS[:3], CODES[:3], None, 5)
    assert sorted(int(test[0]) for _, test in pairs) == [0, 1, 2]
    (pair,) = folds(ROWS[:1], CODES[:1], None, 5)
    assert [rows.tolist() for rows in pair] == [[0], [0]]


def test_rows_of_weight_zero_are_in_no_fold():
    """The folds of the others are as if they were not there."""
    weight = np.ones(60)
    weight[::7] = 0
    kept = np.flatnonzero(weight)
    expected = [(kept[a], kept[b]) for a, b in folds(ROWS[kept], CODES[kept], None, 4)]
    assert same(folds(ROWS, CODES, weight, 4), expected)


def test_folds_may_be_given():
    """As a splitter with its options, or as pairs of indices or masks."""
    groups = np.arange(60) // 10
    expected = list(GroupKFold(3).split(ROWS, CODES, groups))
    assert same(folds(ROWS, CODES, None, GroupKFold(3), groups=groups), expected)
    masks = [(np.isin(np.arange(60), a), np.isin(np.arange(60), b)) for a, b in expected]
    assert same(folds(ROWS, CODES, None, iter(masks)), expected)


BAD = {
    "one-fold": (1, r"cv must be an integer of at least 2; got 1"),
    "fraction": (0.2, r"cv must be an integer of at least 2; got 0.2"),
    "word": ("prefit", r"cv must be an integer of at least 2; got 'prefit'"),
    "class": (KFold, r"cv must be an integer of at least 2"),
    "no-pairs": ([1, 2], r"cv must give the pair \(training rows, held-out rows\)"),
    "empty": ([], r"cv must give the pair"),
    "row-outside": ([([0, 1], [60])], r"held-out rows of cv must lie in 0 to 59"),
    "no-rows": ([([], [1])], r"training rows of cv must be a mask, a slice or indices"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_folds_are_refused(case):
    cv, message = BAD[case]
    with pytest.raises(InvalidInput, match=message):
        folds(ROWS, CODES, None, cv)


def test_fold_without_weight_is_refused():
    """A model cannot be fitted to it."""
    with pytest.raises(InvalidInput, match=r"held-out rows of cv must not all have weight 0"):
        folds(ROWS[:4], CODES[:4], np.array([1.0, 1, 0, 0]), [([0, 1], [2, 3])])


def test_held_out_loss_is_a_weighted_mean():
    """Of the logarithms, which are bounded where a probability is 0."""
    weight = np.linspace(0, 3, 120)
    data = calibration_set(weight=weight)
    rows = np.arange(120)
    _, losses, (model,) = choose(OneVsRest(PlattScaling()), data, rows[:3], [{}], [(rows, rows)])
    observed = model.calibrate(data.inputs)[np.arange(120), data.codes]
    expected = -(weight * np.log(observed)).sum() / weight.sum()
    assert losses[0, 0] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_path_chooses_what_fits_from_scratch_choose(weighted):
    """Warm starts change neither losses nor models beyond the tolerance of a fit."""
    data = calibration_set(weight=np.linspace(0, 2, 120) if weighted else None)
    grid = [{"lam": lam, "mu": lam} for lam in (1e-4, 1e-2, 1.0)]
    best, losses, models = choose(MatrixScaling(), data, np.arange(3), grid, cv=3)
    for place, setting in enumerate(grid):
        alone = choose(MatrixScaling(**setting), data, np.arange(3), [{}], cv=3)
        np.testing.assert_allclose(losses[:, [place]], alone[1], rtol=1e-7)
    assert best == losses.mean(axis=0).argmin()
    assert models[0].get_params()["lam"] == grid[best]["lam"]


def test_choice_does_not_depend_on_n_jobs():
    """Folds in threads give the same losses."""
    data = calibration_set()
    grid = [{"lam": 0.01}, {"lam": 0.1}]
    one, two = (choose(MatrixScaling(), data, np.arange(3), grid, n_jobs=k) for k in (1, 2))
    np.testing.assert_array_equal(one[1], two[1])
