"""Input that is valid and looks like a mistake: each is told once, and sensible data never are."""

import warnings

import numpy as np
import pandas as pd
import pytest

import caltest as ct

RNG = np.random.default_rng(0)
P = RNG.beta(2, 3, 400)
EVENT = RNG.random(400) < P
Y = np.where(EVENT, "bad", "good")
Q = RNG.dirichlet(np.full(5, 0.4), 400)
CODES = (RNG.random((400, 1)) > Q.cumsum(axis=1)).sum(axis=1).clip(max=4)


def told(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ct.DegenerateDataWarning)
        call()
    assert all(one.category is ct.SuspectInputWarning for one in caught)
    return [str(one.message) for one in caught]


@pytest.mark.parametrize("moved", [[1, 0, 2, 3, 4], [4, 0, 1, 2, 3], [0, 1, 4, 2, 3]])
def test_permuted_columns_are_put_in_order(moved):
    """The classes that the message lists give the right reading."""
    columns = Q[:, moved]
    (message,) = told(lambda: ct.Predictions(columns, CODES))
    assert f"pass classes={moved}" in message
    assert told(lambda: ct.Predictions(columns, CODES, classes=moved)) == []


@pytest.mark.parametrize("temperature", [0.25, 1.0, 4.0])
@pytest.mark.parametrize("bias", [0.01, 1.0, 100.0])
def test_bad_model_has_its_columns_in_order(temperature, bias):
    """Too sure, too timid, or with the frequencies of other data: nothing is said of the order."""
    probs = Q ** (1 / temperature)
    probs[:, 0] *= bias
    probs /= probs.sum(axis=1, keepdims=True)
    assert told(lambda: ct.Predictions(probs, CODES)) == []


@pytest.mark.parametrize("m", [2, 3, 10])
def test_order_is_doubted_where_it_is_wrong_and_nowhere_else(m):
    """Of 100 data sets of 200 rows with their columns in order, and of as many that are moved."""
    rng, right, moved = np.random.default_rng(m), 0, 0
    for _ in range(100):
        probs = rng.dirichlet(np.full(m, 0.4), 200)
        codes = (rng.random((200, 1)) > probs.cumsum(axis=1)).sum(axis=1).clip(max=m - 1)
        right += len(told(lambda p=probs, y=codes: ct.Predictions(p, y)))
        moved += len(told(lambda p=probs, y=codes: ct.Predictions(np.roll(p, 1, axis=1), y)))
    assert (right, moved) == (0, 100)


def test_predicted_labels_are_recognised():
    """In one column and as one-hot rows; not in a handful of rows."""
    hard = (P > 0.5).astype(float)
    for probs in (hard, np.column_stack([1 - hard, hard])):
        (message,) = told(lambda probs=probs: ct.Predictions(probs, EVENT))
        assert "pass those of predict_proba, not of predict" in message
    assert told(lambda: ct.Predictions([0.0, 1.0, 1.0], [0, 1, 0])) == []


def test_log_odds_in_the_unit_interval_are_recognised():
    """In one column, where there are many."""
    (message,) = told(lambda: ct.Predictions(P, EVENT, from_logits=True))
    assert "all probs lie in [0, 1]" in message
    assert told(lambda: ct.Predictions(P[:9], EVENT[:9], from_logits=True)) == []
    assert told(lambda: ct.Predictions(np.log(P / (1 - P)), EVENT, from_logits=True)) == []


def test_group_for_each_row_is_recognised():
    """A measured column, however it is given; groups of two rows may be meant."""
    data = ct.Predictions(P, EVENT)
    for call in (
        lambda: data.with_groups(P),
        lambda: ct.Predictions(P, EVENT, groups=P.astype(str)),
    ):
        (message,) = told(call)
        assert message.startswith("groups have 400 values in 400 rows")
        assert message.endswith("bin it, or test its segments")  # a monitor has no such option
    assert told(lambda: data.with_groups(np.arange(400) // 2)) == []


def test_rows_in_another_order_are_recognised():
    """The same index in another order; other indices, or none, say nothing of it."""
    p, y = pd.Series(P), pd.Series(EVENT)
    mixed = p.sample(frac=1, random_state=1)
    (message,) = [one for one in told(lambda: ct.Predictions(mixed, y)) if "index" in one]
    assert "labels and probs have the same index in another order" in message
    assert message.endswith("pass probs.loc[labels.index] to pair them by index, or .to_numpy()")
    assert told(lambda: ct.Predictions(mixed.loc[y.index], y)) == []
    assert told(lambda: ct.Predictions(p, y.set_axis(np.arange(400) + 7))) == []
    assert told(lambda: ct.Predictions(p, y.to_numpy())) == []


def test_rows_of_other_arguments_in_another_order_are_recognised():
    """Weights and groups of a table, and those of a model."""
    df = pd.DataFrame({"y": EVENT, "p": P, "x": P})
    other = pd.Series(np.arange(400) % 3).sample(frac=1, random_state=1)
    given = {"label": "y", "test": "brier", "rng": 1, "n_resamples": 9}
    for options in ({"by": other}, {"sample_weight": other + 1}, {"cluster": other}):
        (message,) = told(
            lambda options=options: ct.test_calibration(df, probs="p", **options, **given)
        )
        assert "the same index in another order" in message
    (message,) = told(
        lambda: ct.Predictions.from_model(
            lambda X: X["x"], df, df["y"].sample(frac=1, random_state=1)
        )
    )
    assert "X and y have the same index" in message


def test_rows_of_what_is_paired_elsewhere_are_recognised(case):
    """Times, features, a design, groups and names of a monitor, models that are compared."""
    p, y = pd.Series(P), pd.Series(EVENT)
    rest = {"rng": 1, "n_resamples": 9}
    mixed = pd.Series(np.arange(400) % 2).sample(frac=1, random_state=1)
    chance, names = pd.Series(P).sample(frac=1, random_state=1), pd.Series(range(400))
    df, features = pd.DataFrame({"y": P, "mu": P, "sd": 1.0}), pd.DataFrame({"x": mixed})
    forecasts = {"label": "y", "mean": "mu", "scale": "sd", **rest}
    plan = {"n": 20, "slope": 0.5, "test": "spiegelhalter", "null": "asymptotic", "n_datasets": 2}
    waits = ct.monitor().update(P, ids=list(range(400)))
    calls = {
        "time": lambda: ct.test_calibration(p, y, time=mixed, lag=0, test="brier", **rest),
        "features": lambda: ct.test_segments(p, y, features=features, **rest),
        "design": lambda: ct.test_calibration(df, design=features, **forecasts),
        "groups": lambda: ct.monitor(groups=[0, 1]).update(p, y, groups=mixed),
        "ids": lambda: ct.monitor().update(p, ids=names.sample(frac=1, random_state=1)),
        "resolved": lambda: waits.resolve(names, y.sample(frac=1, random_state=1)),
        "models": lambda: ct.compare_models({"a": p, "b": chance}, EVENT, test="brier", **rest),
        "weight": lambda: ct.power(p, sample_weight=chance, **plan),
        "own times": lambda: ct.survival.d_calibration(p, mixed),
        "e-values": lambda: ct.monitoring.comparison_evalues(p, chance, EVENT),
    }
    for name, call in calls.items():
        with case(name):
            assert [one for one in told(call) if "the same index in another order" in one]


def test_warning_points_to_the_caller():
    """To the line of the user, however deep the check."""
    with pytest.warns(ct.SuspectInputWarning) as caught:
        ct.test_calibration(P, Y, test="brier", rng=1, n_resamples=9)
    assert [one.filename for one in caught] == [__file__]


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
def test_calibrator_looks_at_index_and_logits():
    """What is fitted to the wrong pairs is no better than what is tested on them."""
    p = pd.DataFrame(Q)
    mixed = pd.Series(CODES).sample(frac=1, random_state=1)
    (message,) = told(lambda: ct.calibrators.TemperatureScaling().fit(p, mixed))
    assert "y and X have the same index in another order" in message
    scaling = ct.calibrators.TemperatureScaling(from_logits=True)
    with pytest.warns(ct.SuspectInputWarning, match="a second softmax"):
        scaling.fit(Q, CODES)


def test_counted_rows_are_looked_at():
    """By cells, once however many groups there are, and with the name of the event."""
    df = pd.DataFrame({"y": Y, "p": P, "g": np.arange(400) % 3})
    given = {"label": "y", "probs": "p", "engine": "cells", "n_resamples": 9, "rng": 1}
    for options in ({}, {"by": "g"}):
        (message,) = told(lambda o=options: ct.test_calibration(df, test="ks", **o, **given))
        assert "fit the labels far better as P(bad)" in message
    right = {"classes": ["good", "bad"], **given}
    assert ct.test_calibration(df, test="ks", **right).data_name == "data frame, event: bad"


def test_column_that_decides_the_outcome_is_no_group_and_no_segment():
    """As the label, or whether a prediction was right; not one that few rows share."""
    words = "all rows of one {} have the same outcome"
    rng = np.random.default_rng(1)
    p = rng.uniform(0.2, 0.8, 200)
    y = (rng.random(200) < p).astype(int)
    settings = {"rng": 1, "n_resamples": 9}
    (message,) = told(lambda: ct.test_calibration(p, y, by=y, test="ks", **settings))
    assert words.format("group") in message
    P3 = np.column_stack([1 - p, p / 2, p / 2])
    columns = {"site": np.arange(200) % 3, "right": P3.argmax(axis=1) == y}
    (message,) = told(lambda: ct.test_calibration(P3, y, segments=columns, **settings))
    assert words.format("value of 'right'") in message
    single = np.arange(200) // 2 * 2 + y * (np.arange(200) % 2)
    assert not any("outcome" in one for one in told(lambda: ct.Predictions(p, y, groups=single)))
    assert not told(lambda: ct.Predictions(p, y, groups=np.arange(200) % 3))
    (message,) = told(lambda: ct.Predictions(p, p > 0.5, groups=p > 0.5))
    assert "the predicted class is right in all 200 rows" in message
