"""Cross-validated options and the mean of the fold models."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, KFold

from caltest import InvalidInput
from caltest.calibrators import (
    BinaryCalibrator,
    Calibrator,
    EnsembleCalibrator,
    HistogramBinning,
    Identity,
    MatrixScaling,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
)
from caltest.errors import DegenerateDataWarning

GRID = {"lam": [1e-3, 1e-1, 10.0]}


@pytest.fixture(scope="module")
def data():
    """Return overconfident predictions of three classes and their labels."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(3, 0.4), 120)
    flat = np.sqrt(probs) / np.sqrt(probs).sum(axis=1, keepdims=True)
    return probs, (rng.random((120, 1)) > flat.cumsum(axis=1)[:, :-1]).sum(axis=1)


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
    """It reads as a data frame with one row per setting."""
    grid = [{"lam": [0.1, 1.0], "mu": [0.5]}, {"lam": [0.2]}]
    table = pd.DataFrame(
        EnsembleCalibrator(MatrixScaling(), param_grid=grid, cv=3).fit(*data).cv_results_
    )
    assert table.shape == (3, 9)
    assert table.param_mu.isna().tolist() == [False, False, True]
    losses = table[["fold0_log_loss", "fold1_log_loss", "fold2_log_loss"]]
    np.testing.assert_allclose(losses.mean(axis=1), table.mean_log_loss)


def test_ensemble_takes_the_first_of_equal_settings(data):
    """Options that change nothing are equally good."""
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


def test_ensemble_saves_its_fold_models_and_table(data):
    """The exact round trip covers all that was found."""
    probs, _ = data
    ensemble = EnsembleCalibrator(MatrixScaling(), param_grid=GRID, cv=3).fit(*data)
    again = Calibrator.from_json(ensemble.to_json())
    np.testing.assert_array_equal(again.predict_proba(probs), ensemble.predict_proba(probs))
    assert again.best_params_ == ensemble.best_params_
    assert again.cv_results_["params"] == ensemble.cv_results_["params"]


def test_ensemble_warns_once_for_all_folds():
    probs = np.random.default_rng(0).dirichlet([1, 1, 1], 60)
    with pytest.warns(DegenerateDataWarning, match=r"5 of 5 folds: each label") as caught:
        EnsembleCalibrator(TemperatureScaling()).fit(probs, probs.argmax(axis=1))
    assert [warning.filename for warning in caught] == [__file__]
