"""Forecasts of numbers compared on the same rows."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.linear_model import BayesianRidge, LinearRegression

import caltest as ct
from caltest.comparison.pairs import places_between, redrawn_pvalue, row_moments
from caltest.comparison.scores import EVERY


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, x + rng.normal(size=n)


def two(n=60, seed=0):
    x, y = data(n, seed)
    return {"a": ct.Forecasts(y, mean=x, scale=1.0), "b": ct.Forecasts(y, mean=0 * x, scale=1.4)}


def test_difference_of_forecasts_is_that_of_their_scores():
    """The interval is that of Student's t of the paired differences of the rows."""
    both = two(200)
    result = ct.compare_models(both, reference="a", n_resamples=99, rng=1)
    d = both["b"].law.crps(both["b"].outcomes) - both["a"].law.crps(both["a"].outcomes)
    own = result["b"].difference
    low, high = stats.t.interval(0.95, d.size - 1, d.mean(), stats.sem(d))
    assert [own.difference, own.low, own.high] == pytest.approx([d.mean(), low, high])
    assert result["b"].scores["CRPS"] == pytest.approx(ct.measures.crps(both["b"]))
    tested = ct.test_calibration(both["b"], n_resamples=99, rng=1)
    assert result.tests_of("b")[0][0].pvalue == tested.pvalue
    inside = np.abs(both["b"].outcomes) < 1.4 * stats.norm.ppf(0.95)
    assert result["b"].measures["in 90 %"] == pytest.approx(inside.mean())


@pytest.mark.parametrize("key", ["crps", "log-score"])
def test_law_between_two_gives_both_the_same_expected_score(key):
    """Of the CRPS it is in the middle; of the log score where the two divergences balance."""
    a, b = two(200).values()
    own, other, table = EVERY[key].between(a, b)
    t = places_between(row_moments(own, other, table), np.ones(200))[0]
    if key == "crps":
        assert t == pytest.approx(0.5, abs=1e-3)
        return
    m, v = a.mean**2, 1.4**2
    forth = math.log(1.4) + (1 + m) / (2 * v) - 0.5  # KL(a || b)
    back = -math.log(1.4) + (v + m) / 2 - 0.5
    assert t == pytest.approx(forth / (forth + back), abs=1e-6)


@pytest.mark.parametrize("key", ["crps", "log-score"])
def test_redrawn_outcomes_are_those_of_the_mixture(key):
    """The p-value is that of outcomes drawn from the law between by themselves."""
    a, b = two(40, seed=3).values()
    score = EVERY[key]
    d = score.of_rows(a) - score.of_rows(b)
    own, other, table = score.between(a, b)
    found = redrawn_pvalue(a, b, score, d, n_resamples=4999, seed=1, n_jobs=1)
    rng, pvalues = np.random.default_rng(2), []
    for t in places_between(row_moments(own, other, table), np.ones(40)):
        second = (rng.random((4000, 40)) < t).T
        drawn = np.where(second, b.law.quantile(rng.random((40, 4000))), 0)
        drawn += np.where(second, 0, a.law.quantile(rng.random((40, 4000))))
        sums = (score.formula(a.law, drawn) - score.formula(b.law, drawn)).sum(axis=0)
        pvalues.append(np.mean(np.abs(sums) >= abs(d.sum())))
    assert found == pytest.approx(max(pvalues), abs=0.03)


@pytest.mark.parametrize("n", [8, 50])
@pytest.mark.full
def test_equally_good_forecasts_are_rarely_told_apart(n):
    """Both are off by as much, to either side."""
    rng, pvalues = np.random.default_rng(n), []
    for seed in range(100):
        y = rng.normal(size=n)
        a, b = (ct.Forecasts(y, mean=np.full(n, shift), scale=1.0) for shift in (-0.5, 0.5))
        result = ct.compare_models({"a": a, "b": b}, n_resamples=99, rng=seed, test="pit-ks")
        pvalues.append(result.pairs[0].pvalue)
    assert np.sum(np.array(pvalues) <= 0.05) <= stats.binom.isf(1e-3, 100, 0.05)


def test_forecasts_come_as_models_as_distributions_and_as_columns():
    x, y = data(80)
    X = np.column_stack([x, x**2])
    ridge = BayesianRidge().fit(X[::2], y[::2])
    law = stats.norm(np.zeros(40), 1.4)
    models = {"ridge": ridge, "climate": law}
    result = ct.compare_models(models, (X[1::2], y[1::2]), n_resamples=99, rng=1)
    assert result.best == "ridge"
    df = pl.DataFrame({"y": y, "m": x, "s": 1.0 + 0 * x, "e_1": x - 1, "e_2": x + 1})
    columns = {"normal": {"mean": "m", "scale": "s"}, "ensemble": {"members": "e_"}}
    result = ct.compare_models(columns, df, label="y", n_resamples=99, rng=1)
    assert result["ensemble"].scores["CRPS"] > result["normal"].scores["CRPS"]
    assert "log score" not in result["ensemble"].scores
    assert "in 90 %" in str(result.summary())
    with pytest.raises(ct.NotApplicable, match="needs a density"):
        ct.compare_models(columns, df, label="y", score="log-score")


def test_outcomes_outside_of_the_support_have_no_p_value():
    _, y = data(30)
    with pytest.warns(ct.SuspectInputWarning, match="support of their forecasts: 8 of 30"):
        uniform = ct.Forecasts(y, distribution=stats.uniform(-1, 2), source="u")
    normal = ct.Forecasts(y, mean=0.0, scale=1.5)
    result = ct.compare_models({"u": uniform, "n": normal}, score="log-score", n_resamples=99)
    assert result["u"].difference.pvalue is None
    assert "infinite" in result.notes[0]


def test_what_cannot_be_compared_is_refused():
    x, y = data(20)
    a = ct.Forecasts(y, mean=x, scale=1.0)
    classes = ct.Predictions(np.full(20, 0.4), (y > 0).astype(int))
    with pytest.raises(ct.InvalidInput, match="or all forecast numbers; got 'a' and 'b'"):
        ct.compare_models({"a": a, "b": classes})
    with pytest.raises(ct.InvalidInput, match="same outcomes as 'a'; got another at row 0"):
        ct.compare_models({"a": a, "b": ct.Forecasts(y + 1, mean=x, scale=1.0)})
    with pytest.raises(ct.InvalidInput, match="score"):
        ct.compare_models({"a": a, "b": a}, score="brier")
    with pytest.raises(ct.InvalidInput, match="LinearRegression"):
        ct.compare_models({"a": a, "b": LinearRegression().fit(x[:, None], y)}, (x[:, None], y))


def test_a_lens_of_forecasts_is_named_beside_their_tests():
    told = str(
        ct.compare_models(two(), lens="exceeds[1]", score="log-score", n_resamples=99, rng=1)
    )
    assert "lens: exceeds[1], B = 99" in told
    assert "unit of the outcomes" not in told  # of a CRPS
    with pytest.raises(ct.InvalidInput, match=r"as in 'interval\[0.9\]'"):
        ct.compare_models(two(), lens="interval")


def test_log_scores_of_probabilities_and_of_densities_are_not_compared():
    mean = np.full(60, 9.0)
    counts = np.random.default_rng(1).poisson(mean)
    both = {
        "counts": ct.Forecasts(counts, distribution=stats.poisson(mean)),
        "normal": ct.Forecasts(counts, mean=mean, scale=3.0),
    }
    with pytest.raises(ct.NotApplicable, match="of a probability and of a density; use the CRPS"):
        ct.compare_models(both, score="log-score", n_resamples=99, rng=1)
    assert ct.compare_models(both, n_resamples=99, rng=1)["normal"].difference.pvalue > 0.05
