"""Forecasts: how they are read, what lenses leave of them, and their tests."""

import copy
import re
import sys
from contextlib import nullcontext

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import caltest as ct
from caltest.errors import InvalidInput, NotApplicable
from caltest.forecasts.laws import Frozen, Histogram, Members, Mixture, NormalLaw
from caltest.htests import REGISTRY
from caltest.measures.combined import forecasts as combined
from caltest.measures.forecasts import DISTANCES
from caltest.nulls import REGISTRY as NULLS
from caltest.numerics.labels import resample_keys

LEVELS = (0.1, 0.3, 0.5, 0.9)


@pytest.fixture
def rng():
    return np.random.default_rng(20261127)


def gaussian(rng, n=200, bias=0.0, spread=1.0, **rows):
    mean, scale = rng.normal(size=n), np.exp(0.3 * rng.normal(size=n))
    outcomes = mean + scale * (bias + spread * rng.normal(size=n))
    return ct.Forecasts(outcomes, mean=mean, scale=scale, **rows)


def every_kind(rng, n=40):
    """Calibrated forecasts of each kind."""
    mean = rng.normal(size=n)
    members = rng.normal(size=(n, 7))
    uniform = rng.random(n)
    yield ct.Forecasts(mean + rng.normal(size=n), mean=mean, scale=1.0)
    law = stats.poisson(np.exp(mean))
    yield ct.Forecasts(law.ppf(uniform), distribution=law)
    yield ct.Forecasts(mean + members[:, 0], members=mean[:, None] + members[:, 1:])
    quantiles = mean[:, None] + stats.norm.ppf(LEVELS)
    yield ct.Forecasts(mean + rng.normal(size=n), quantiles=quantiles, levels=LEVELS)
    edges = np.array([0.0, 1.0, 3.0])
    probs = np.column_stack([uniform, 1 - uniform])
    drawn = np.where(rng.random(n) < uniform, rng.random(n), 1 + 2 * rng.random(n))
    yield ct.Forecasts(drawn, edges=edges, probs=probs)
    yield ct.Forecasts(mean + rng.normal(size=n), cdf=lambda y: stats.norm.cdf(y - mean))


SCORES = "crps", "log-score"


class TestForecasts:
    """How they are read and redrawn."""

    def test_every_kind_redraws_what_it_predicts(self, rng):
        for forecasts in every_kind(rng):
            numbers = forecasts.redrawing.labels(resample_keys(1, 500))
            assert stats.kstest(numbers.ravel(), "uniform").pvalue > 1e-4
            again = [forecasts.simulate(seed).pit for seed in range(200)]
            assert stats.kstest(np.ravel(again), "uniform").pvalue > 1e-4, forecasts

    def test_rows_keep_what_belongs_to_them(self, rng):
        given = {"sample_weight": rng.random(200), "groups": np.arange(200) % 3}
        forecasts = gaussian(rng, **given)
        part = forecasts.subset(slice(10, 20))
        assert np.array_equal(part.mean, forecasts.mean[10:20])
        assert np.array_equal(part.groups, forecasts.groups[10:20])
        assert sum(one.n for one in forecasts.by_group().values()) == 200
        same = copy.deepcopy(forecasts)
        assert np.array_equal(same.pit, forecasts.pit)
        assert not same.outcomes.flags.writeable
        rest = forecasts.without(np.arange(200) < 50)
        keys = resample_keys(3, 2)
        assert np.array_equal(rest.redrawing.labels(keys), forecasts.redrawing.labels(keys)[:, 50:])

    def test_outcomes_of_a_table_are_named(self):
        frame = pl.DataFrame({"m_1": [1.0], "m_2": [2.0]})
        with pytest.raises(InvalidInput, match="label must be one of 'm_1', 'm_2'; got None"):
            ct.Forecasts.from_frame(frame, label=None, members="m_")

    def test_columns_of_tables(self, rng):
        mean, members = rng.normal(size=30), rng.normal(size=(30, 3))
        columns = {"y": mean + 0.1, "mu": mean, "q_0.1": mean - 1, "q_0.9": mean + 1}
        frame = pl.DataFrame(columns | {f"m_{k}": members[:, k] for k in range(3)})
        read = ct.Forecasts.from_frame
        assert np.array_equal(read(frame, label="y", mean="mu", scale=1.0).mean, mean)
        assert np.allclose(read(frame, label="y", members="m_").mean, members.mean(axis=1))
        quantiles = read(frame, label="y", quantiles="q_")
        assert quantiles.kind == "2 quantiles"
        result = ct.test_calibration(frame, label="y", quantiles="q_", test="pit-ks", rng=1)
        assert result.pvalue == ct.test_calibration(quantiles, test="pit-ks", rng=1).pvalue

    def test_columns_that_are_not_there_are_named(self):
        frame = pd.DataFrame({"y": [0.0, 1.0]})
        for name in ("members", "quantiles"):
            with pytest.raises(InvalidInput, match=f"{name} must be a column or the prefix"):
                ct.Forecasts.from_frame(frame, label="y", **{name: "m_"})
        with pytest.raises(InvalidInput, match="members must be 'y'"):
            ct.Forecasts.from_frame(frame, label="y", members=["m_1"])
        with pytest.raises(InvalidInput, match=r"quantiles must be .* columns by their levels"):
            ct.Forecasts.from_frame(frame, label="y", quantiles=["q_0.1", "q_0.9"])

    def test_likely_mistakes_are_told(self, rng):
        """Other rows, a variance as the scale, and quantiles of counts; not of right forecasts."""
        y, mean = pd.Series([1.0, 2.0, 3.0]), pd.Series([3.0, 2.0, 1.0], index=[2, 1, 0])
        with pytest.warns(ct.SuspectInputWarning, match="outcomes and mean have the same index"):
            ct.Forecasts(y, mean=mean, scale=1.0)
        good = gaussian(rng, n=1000)
        with pytest.warns(ct.SuspectInputWarning, match="as a variance"):
            ct.Forecasts(4 * good.outcomes, mean=4 * good.mean, scale=(4 * good.scale) ** 2)
        ct.Forecasts(good.outcomes, mean=good.mean, scale=good.scale**2)  # may be too unequal
        levels, rate = np.array([0.1, 0.5, 0.9]), rng.gamma(3.0, size=100)
        quantiles = stats.poisson(rate[:, None]).ppf(levels)
        with pytest.warns(ct.SuspectInputWarning, match="of 100 outcomes equal one of their quan"):
            ct.Forecasts(rng.poisson(rate), quantiles=quantiles, levels=levels)

    def test_dates_are_no_outcomes(self):
        days = pd.Series(pd.date_range("2026-01-01", periods=3))
        with pytest.raises(InvalidInput, match=r"outcomes must be numbers; got dtype datetime64"):
            ct.Forecasts(days, mean=0.0, scale=1.0)


class TestLenses:
    """What lenses leave of them."""

    def test_events_are_those_of_the_redrawn_outcomes(self, rng):
        forecasts = gaussian(rng, n=300)
        keys = resample_keys(5, 4)
        numbers = forecasts.redrawing.labels(keys)
        outcomes = forecasts.mean + forecasts.scale * stats.norm.ppf(numbers)
        half = forecasts.scale * stats.norm.ppf(0.95)
        expected = {
            "exceeds[0.5]": outcomes > 0.5,
            "below-quantile[0.9]": numbers < 0.9,
            "interval[0.9]": np.abs(outcomes - forecasts.mean) <= half,
            "pit-7": np.floor(7 * numbers),
            "bands[-1|0.5]": np.searchsorted([-1, 0.5], outcomes),
        }
        for key, labels in expected.items():
            seen = ct.lenses.resolve_lens(key)(forecasts)
            assert np.array_equal(seen.redrawing.labels(keys), labels), key
            assert np.allclose(seen.probs.sum(axis=1), 1)

    def test_probabilities_and_labels(self, rng):
        forecasts = gaussian(rng)
        above = ct.lenses.Exceeds(0.5)(forecasts)
        chance = stats.norm.sf(0.5, forecasts.mean, forecasts.scale)
        assert np.allclose(above.probs[:, 1], chance, atol=1e-12)
        assert np.array_equal(above.labels, forecasts.outcomes > 0.5)
        assert [str(one) for one in ct.lenses.Interval().members(forecasts)][:2] == [
            "interval[0.5]",
            "interval[0.8]",
        ]
        members = ct.Forecasts(np.zeros(3), members=np.tile(np.arange(9.0), (3, 1)))
        levels = [one.level for one in ct.lenses.Interval().members(members)]
        assert levels == [0.5, 0.8], "0.9 and 0.95 attain 0.8 too"

    def test_outcomes_outside_of_the_support_are_impossible(self):
        """Far in a tail is inside, as is what quantiles leave open beyond the outer ones."""
        low, wide = Histogram([-50.0, 0.0, 50.0], [[1.0, 0.0]] * 2), NormalLaw([0.0, 0.0], 9.0)
        for given, expected in (
            ({"distribution": stats.expon(scale=[1.0, 1.0])}, [True, False]),
            ({"distribution": stats.uniform(loc=[-0.5, -0.5])}, [True, True]),
            ({"mean": [0.0, 0.0], "scale": 1.0}, [False, False]),
            ({"quantiles": [[1.0, 2.0, 3.0]] * 2, "levels": [0.1, 0.5, 0.9]}, [False, False]),
            ({"edges": [-1.0, 0.0, 50.0], "probs": [[0.5, 0.5]] * 2}, [True, False]),
            ({"edges": [-50.0, -1.0, 40.0, 50.0], "probs": [[0.5, 0.5, 0.0]] * 2}, [False, True]),
            ({"distribution": stats.poisson(30.0, loc=[-80.0, 0.3])}, [False, True]),
            ({"distribution": Mixture([[0.5, 0.5], [0.0, 1.0]], [wide, low])}, [False, True]),
        ):
            warns = pytest.warns(ct.SuspectInputWarning, match=f": {sum(expected)} of 2, first")
            with warns if any(expected) else nullcontext():
                forecasts = ct.Forecasts([-45.0, 45.0], **given)
            assert forecasts.impossible.tolist() == expected
            assert forecasts.has_impossible == any(expected)

    def test_others_are_refused(self, rng):
        with pytest.raises(InvalidInput, match="lens must be one of those of Forecasts"):
            ct.test_calibration(gaussian(rng), lens="confidence")
        with pytest.raises(InvalidInput, match="lens must be one of those of Predictions"):
            ct.test_calibration(ct.datasets.generative_model("M1", rng=1), lens="interval[0.9]")
        with pytest.raises(NotApplicable, match="'pit-ks'"):
            ct.test_calibration(gaussian(rng), test="ece")
        with pytest.raises(NotApplicable, match=r"Forecasts .*'combined', has no bootstrap"):
            ct.test_calibration(gaussian(rng), null="bootstrap")
        for test in (None, "pit-ks"):
            with pytest.raises(NotApplicable, match="; use a lens that leaves classes"):
                ct.test_calibration(gaussian(rng), test=test, tolerance=0.05)
        for column in ({"mean": "mu"}, {"scale": np.ones(3)}, {"from_logits": np.ones(3)}):
            with pytest.raises(InvalidInput, match="has no effect"):
                ct.test_calibration(gaussian(rng), **column)
        frame = {"y": [1.0, 2.0], "mu": [1.0, 2.0]}
        with pytest.raises(InvalidInput, match="from_logits has no effect where forecasts are"):
            ct.test_calibration(
                pl.DataFrame(frame), label="y", mean="mu", scale=1.0, from_logits=True
            )
        with pytest.raises(InvalidInput, match="calibrators must be one of"):
            ct.compare_calibrators(gaussian(rng), calibrators="temperature")


class TestUniformity:
    """Distances of the PIT."""

    def test_distances_are_those_of_scipy(self, rng):
        forecasts = gaussian(rng, n=50)
        u = np.sort(forecasts.pit)
        place = np.arange(1, 51)
        expected = {
            "ks": stats.kstest(u, "uniform").statistic,
            "kuiper": max(place / 50 - u) + max(u - (place - 1) / 50),
            "cramer-von-mises": stats.cramervonmises(u, "uniform").statistic,
            "anderson-darling": -50 - np.mean((2 * place - 1) * (np.log(u) + np.log1p(-u[::-1]))),
            "neyman": sum(
                50 * np.mean(np.sqrt(2 * k + 1) * np.polynomial.Legendre.basis(k)(2 * u - 1)) ** 2
                for k in range(1, 5)
            ),
        }
        z = stats.norm.ppf(forecasts.pit)
        expected["berkowitz"] = 2 * (
            stats.norm.logpdf(z, z.mean(), z.std()).sum() - stats.norm.logpdf(z).sum()
        )
        for distance, value in expected.items():
            found = ct.measures.pit_uniformity(forecasts, distance=distance)
            assert found == pytest.approx(value, rel=1e-10), distance

    def test_weights_count_rows(self, rng):
        few = gaussian(rng, n=20)
        weight = np.repeat([1.0, 3.0], 10)
        weighted = ct.Forecasts(few.outcomes, mean=few.mean, scale=few.scale, sample_weight=weight)
        again = few.subset(np.repeat(np.arange(20), weight.astype(int)))
        for distance in ("ks", "kuiper"):
            found = ct.measures.pit_uniformity(weighted, distance=distance)
            assert found == pytest.approx(
                ct.measures.pit_uniformity(again, distance=distance), rel=1e-12
            )

    @pytest.mark.parametrize("option", [{"degree": 3}, {"serial": True}])
    def test_options_of_another_distance_are_an_error(self, option, rng):
        with pytest.raises(InvalidInput, match="has no effect where distance is 'ks'"):
            ct.measures.pit_uniformity(gaussian(rng), **option)

    def test_dependence_on_the_row_before(self, rng):
        z = np.zeros(300)
        for i in range(1, 300):
            z[i] = 0.5 * z[i - 1] + np.sqrt(0.75) * rng.normal()
        forecasts = ct.Forecasts(z, mean=np.zeros(300), scale=1.0)
        found = ct.test_calibration(forecasts, test="pit-berkowitz", serial=True, rng=1)
        assert found.pvalue == 0.001


class TestScores:
    """Scores and their null."""

    def test_exchanged_members(self, rng):
        members, outcomes = rng.normal(size=(5, 4)), rng.normal(size=5)
        law = Members(members)
        for rank in range(5):
            found = law.crps_at(outcomes, np.full((5, 1), (rank + 0.5) / 5))[:, 0]
            for i in range(5):
                pool = np.sort(np.append(members[i], outcomes[i]))
                rest = np.delete(pool, rank)
                pairs = np.abs(rest[:, None] - rest).mean()
                value = np.abs(rest - pool[rank]).mean() - pairs / 2
                assert found[i] == pytest.approx(value, abs=1e-12)


class TestDefault:
    """The combined test."""

    def test_says_what_is_wrong(self, rng):
        sure = ct.test_calibration(gaussian(rng, n=500, spread=1.4), rng=1)
        assert str(sure).startswith("Strong evidence against calibration (p = 0.001). Too sure:")
        biased = ct.test_calibration(gaussian(rng, n=500, bias=0.4), rng=1)
        assert "too low by" in biased.finding

    @pytest.mark.parametrize("name", ["counts", "function", "rain", "tied members", "quantiles"])
    def test_laws_with_steps_are_seen_by_means_over_these(self, rng, name):
        """By 20,000 numbers in each step; where in it a number is does not matter."""
        rate, n = np.exp(rng.normal(size=30)), 30
        dry = Mixture([0.4, 0.6], [Members(np.zeros((n, 1))), Frozen(stats.gamma(2, scale=rate))])
        rain, counts = np.maximum(0.0, rng.normal(size=(n, 9))), rng.poisson(rate)
        forecasts = {
            "counts": lambda: ct.Forecasts(counts, distribution=stats.poisson(rate)),
            "function": lambda: ct.Forecasts(counts, cdf=stats.poisson(rate).cdf),
            "rain": lambda: ct.Forecasts(rain[:, 0], distribution=dry),
            "tied members": lambda: ct.Forecasts(rain[:, 0], members=rain[:, 1:]),
            "quantiles": lambda: ct.Forecasts(
                rng.normal(size=n), quantiles=np.tile([-1.0, 0.0, 1.0], (n, 1)), levels=LEVELS[1:]
            ),
        }[name]()
        rows = combined.ForecastContext(forecasts)
        low, high = forecasts.limits
        first, last = (rows.read((low + v * (high - low))[None]) for v in (0.01, 0.99))
        for kind in combined.FORECASTS:
            made = kind.of(rows.source)
            assert made.values(first) == pytest.approx(made.values(last), abs=1e-12), kind.key
        places = (np.arange(20_000)[:, None] + 0.5) / 20_000
        each = combined.Uniformed(low + places * (high - low))
        bases = [combined.polynomials, combined.waves, combined.roots]
        for basis in (*map(combined.hermite, range(1, 5)), *bases):
            means = [part.mean(axis=0) for part in basis.of(each)]
            found = [part[0] for part in first.terms(basis)]
            np.testing.assert_allclose(found, means, atol=0.03 if basis is bases[2] else 1e-3)
        shares = each.shares(np.arange(1.0, n + 1)).mean(axis=0)
        np.testing.assert_allclose(first.shares(np.arange(1.0, n + 1))[0], shares, atol=0.01)

    def test_flipped_signs_are_of_numbers_in_the_steps(self, rng):
        """Means over wide steps are skewed: 9.7 % of calibrated clusters were rejected by these."""
        rows = {"clusters": np.repeat(np.arange(40), 3)}
        counts = ct.Forecasts(
            rng.poisson(0.5, 120), distribution=stats.poisson([0.5] * 120), **rows
        )
        numbers = ct.Forecasts(counts.pit, distribution=stats.uniform([0.0] * 120), **rows)
        options = {"components": ["smooth", "kuiper", "too-sure"], "n_resamples": 99, "rng": 1}
        found = [ct.test_calibration(one, **options).statistic for one in (counts, numbers)]
        assert found[0] == pytest.approx(found[1])

    def test_impossible_counts_are_far_out(self, rng):
        counts = np.append(rng.binomial(3, 0.5, size=59), 9)
        with pytest.warns(ct.errors.SuspectInputWarning, match="outside the support"):
            forecasts = ct.Forecasts(counts, distribution=stats.binom(3, np.full(60, 0.5)))
        assert ct.test_calibration(forecasts, n_resamples=99, rng=1).pvalue == 0.01

    def test_tails_are_spoken_of_where_they_are_what_is_off(self):
        """The fourth power of one row far off is large, whose kurtosis about its own mean is 0."""
        found = ct.test_calibration(ct.Forecasts([5.0], mean=[1.0], scale=1.0), rng=1)
        assert "scatter 4 times as widely" in str(found)
        assert "tails than predicted" not in str(found)

    def test_findings_are_what_numpy_says(self, rng):
        mean = np.sort(rng.normal(size=300))
        y = 1.3 * mean + 0.2 + (0.8 + 0.4 * (mean > 0)) * rng.gamma(2.0, size=300) - 1.5
        found = ct.test_calibration(ct.Forecasts(y, mean=mean, scale=1.0), rng=1)
        said = {row.test: row.parameters["finding"] for row in found.components}
        z, off = y - mean, y - mean
        rms = np.sqrt([np.mean(z[:100] ** 2), np.mean(z[200:] ** 2)])
        assert f"{rms[0]:.3g} times as widely" in said["spread-by-mean"]
        assert f"{rms[1]:.3g} times for the 100 highest" in said["spread-by-mean"]
        assert f"by {abs(off[:100].mean()):.3g} for the 100 lowest" in said["slope"]
        assert f"by {abs(off[200:].mean()):.3g} for the 100 highest" in said["slope"]
        assert f"by {abs(off[100:200].mean()):.3g} for the 100 middle" in said["curve"]
        assert f"(skewness {stats.skew(z):.3g} of" in said["skewness"]
        assert f"(kurtosis {stats.kurtosis(z, fisher=False):.3g} of" in said["tails"]
        share, level = re.match(
            r"([\d.]+) % are at or below the ([\d.]+) %", said["kuiper"]
        ).groups()
        assert np.mean(stats.norm.cdf(z) < float(level) / 100) == pytest.approx(
            float(share) / 100, abs=0.01
        )

    def test_quantile_that_is_named_was_forecast(self, rng):
        """Of quantiles one of the levels; of counts the probability that they attain there."""
        levels, rate = np.array([0.1, 0.5, 0.9]), np.exp(rng.normal(size=300))
        y = rng.normal(size=300) - 0.4
        quantiles = np.tile(stats.norm.ppf(levels), (300, 1))
        counts = rng.poisson(1.3 * rate)
        for forecasts in (
            ct.Forecasts(y, quantiles=quantiles, levels=levels),
            ct.Forecasts(counts, distribution=stats.poisson(rate)),
        ):
            found = ct.test_calibration(forecasts, n_resamples=99, rng=1).components
            text = next(row for row in found if row.test == "kuiper").parameters["finding"]
            share, level = (float(one) for one in re.findall(r"([\d.]+) %", text)[:2])
            if "predicted" in text:
                at = stats.poisson(rate).ppf(round(64 * level / 100) / 64)
                at -= "are below" in text
                seen, predicted = counts <= at, stats.poisson(rate).cdf(at).mean()
                assert f"{100 * predicted:.3g} % predicted" in text
            else:
                assert level / 100 in levels
                seen = y <= stats.norm.ppf(level / 100)
            assert share == pytest.approx(100 * seen.mean(), abs=0.051)

    def test_interval_of_quantiles_is_between_those_that_are_given(self, rng):
        levels, y = np.array([0.1, 0.5, 0.9]), rng.normal(size=300)
        quantiles = np.tile(stats.norm.ppf(levels), (300, 1))
        size = ct.test_calibration(ct.Forecasts(y, quantiles=quantiles, levels=levels), rng=1).size
        assert size.predicted == pytest.approx(0.8)
        inside = (y > quantiles[:, 0]) & (y <= quantiles[:, 2])
        assert size.observed == pytest.approx(inside.mean())

    @pytest.mark.parametrize("n", [50, 20_000])
    def test_laws_without_a_spread(self, n, rng):
        """Cauchy distributions have no mean and no spread, and a t distribution may have none."""
        z = rng.standard_cauchy(n)
        for law in (stats.cauchy(np.zeros(n)), stats.t(np.where(np.arange(n) < 5, 1.5, 9.0))):
            found = ct.test_calibration(ct.Forecasts(z, distribution=law), n_resamples=19, rng=1)
            assert np.isfinite([row.statistic for row in found.components]).all()

    def test_mean_beyond_the_outer_quantiles_is_not_spoken_of(self, rng):
        levels, y = np.array([0.1, 0.5, 0.9]), rng.exponential(size=500)
        quantiles = np.tile(stats.expon.ppf(levels), (500, 1)) + 0.2
        found = ct.test_calibration(ct.Forecasts(y, quantiles=quantiles, levels=levels), rng=1)
        bias = next(row for row in found.components if row.test == "bias")
        assert bias.parameters["finding"].startswith("too high (outcomes at level 0.")
        assert bias.estimate < 0

    @pytest.mark.full
    @pytest.mark.parametrize("weights", [False, True])
    def test_cells_of_many_rows_say_what_rows_say(self, weights, rng, monkeypatch):
        weight = rng.uniform(0.5, 1.5, 3000) if weights else None
        forecasts = gaussian(rng, n=3000, spread=1.04, sample_weight=weight)
        by_rows = ct.test_calibration(forecasts, rng=1)
        module = sys.modules["caltest.measures.combined.forecasts"]  # `combined` is a function too
        monkeypatch.setattr(module, "STEPPED_FROM", 1)
        by_cells = ct.test_calibration(forecasts, rng=1)
        error = float(re.search(r"error by cells at most (\S+)", by_cells.notes[0]).group(1))
        assert abs(by_rows.statistic - by_cells.statistic) <= 1.1 * error < 0.2
        assert by_cells.pvalue == pytest.approx(by_rows.pvalue, abs=0.01)
        for one in by_rows.components:
            other = next(row for row in by_cells.components if row.test == one.test)
            assert other.statistic == pytest.approx(one.statistic, rel=0.01, abs=0.02)

    @pytest.mark.parametrize("distance", [*DISTANCES, "neyman"])
    def test_cells_of_very_many_rows(self, distance, rng, monkeypatch):
        weight = rng.uniform(0.5, 1.5, 5000)
        forecasts = gaussian(rng, n=5000, spread=1.1, sample_weight=weight)
        exact = ct.measures.pit_uniformity(forecasts, distance=distance)
        monkeypatch.setattr("caltest.measures.forecasts.VERY_MANY", 4096)
        rounded = ct.measures.pit_uniformity(forecasts, distance=distance)
        assert rounded == pytest.approx(exact, rel=0.03)

    @pytest.mark.parametrize("key", ["pit-kuiper", "pit-neyman", "pit-berkowitz", *SCORES])
    def test_redrawn_numbers_of_very_many_rows_need_not_be_kept(self, key, rng, monkeypatch):
        """Sums over cells are those of the numbers that the keys give; values are near."""
        rows = gaussian(rng, n=5000, spread=1.1, sample_weight=rng.uniform(0.5, 1.5, 5000))
        measure, keys = REGISTRY[key].with_options({}), resample_keys(3, 9)
        exact = measure.bind(rows)
        monkeypatch.setattr("caltest.measures.forecasts.VERY_MANY", 4096)
        bound = measure.bind(rows)
        found = bound.of_keys()(keys)
        np.testing.assert_allclose(found, bound.values(bound.redraw(keys)), rtol=1e-9)
        slack = 0.1 if key == "pit-kuiper" else 0.05
        near = exact.values(exact.redraw(keys))
        apart = np.ptp(found - near) if key in SCORES else np.abs(found - near).max()
        assert apart < slack * near.std()
        if key in SCORES:
            assert bound.value() == pytest.approx(exact.value(), rel=1e-12)

    def test_groups_and_lenses_together(self, rng):
        forecasts = gaussian(rng, groups=np.arange(200) % 2)
        table = ct.test_calibration(forecasts, by=True, lens=["strong", "interval"], rng=1)
        assert len(table) == 10
        assert np.all(table.adjusted >= table.pvalues)
        said = str(ct.verdict(forecasts, by=True, n_resamples=99, rng=1)).replace("\n    ", " ")
        assert " % of the outcomes in their intervals, " in said

    def test_rows_that_depend(self, rng):
        """The cluster null for every test that has sums; those that have none say so."""
        forecasts = gaussian(rng, clusters=np.arange(200) // 4)
        keys = "combined", "pit-kuiper", "pit-anderson-darling", "log-score"
        assert {ct.test_calibration(forecasts, test=key, rng=1).null for key in keys} == {"cluster"}
        for asked in ({"test": "forecast-skce"}, {"test": "pit-berkowitz", "serial": True}):
            with pytest.raises(NotApplicable, match="no test for rows that depend"):
                ct.test_calibration(forecasts, **asked)

    @pytest.mark.parametrize("key", ["pit-ks", "pit-neyman", "pit-berkowitz", "crps"])
    def test_flipped_signs(self, key, rng):
        """Flips of the statistics are those of what each row adds, summed in NumPy."""
        forecasts = gaussian(rng, sample_weight=rng.uniform(0.5, 1.5, 200))
        v, w, code = forecasts.pit, forecasts.sample_weight, np.arange(200) % 40
        (statistic,) = REGISTRY[key].with_options({}).residual_statistics(forecasts)
        signs = np.where(rng.random((5, 40)) < 0.5, -1.0, 1.0)
        s, z, x = signs[:, code] * w, stats.norm.ppf(v), 2 * v - 1
        steps = np.arange(1, 128) / 128
        if key == "pit-ks":
            gap = s @ ((v[:, None] < steps) - steps) / w.sum()
            value = np.abs(gap).max(axis=1)
        elif key == "crps":
            terms = z * (2 * v - 1) + 2 * stats.norm.pdf(z) - 2 / np.sqrt(np.pi)
            sums = np.bincount(code, w * terms * forecasts.scale)
            value = signs @ sums / np.sqrt(np.square(sums).sum())
        else:
            legendre = [
                np.polynomial.Legendre.basis(k)(x) * np.sqrt(2 * k + 1) for k in range(1, 5)
            ]
            parts = legendre if key == "pit-neyman" else [z, (z * z - 1) / np.sqrt(2)]
            value = sum(np.square(s @ part) for part in parts) / np.square(w).sum()
        found = statistic.flipped(code, 40)(signs)
        np.testing.assert_allclose(found, value, atol=0.05 if key == "crps" else 1e-9)

    @pytest.mark.parametrize("key", ["combined", "pit-ks", "pit-berkowitz", "crps"])
    @pytest.mark.parametrize("count", [8, 50])
    @pytest.mark.full
    def test_size_where_clusters_share_most(self, key, count):
        """Normal scores correlate by .9 in clusters of five: at most the 99.9 % point of 5 %."""
        measure, test, rejected = REGISTRY[key].with_options({}), NULLS["cluster"].test, 0
        sets = 50 if key == "combined" else 100
        for seed in range(sets):
            rng, code = np.random.default_rng(seed), np.repeat(np.arange(count), 5)
            z = np.sqrt(0.9) * rng.normal(size=count)[code] + np.sqrt(0.1) * rng.normal(
                size=code.size
            )
            rows = ct.Forecasts(z, mean=0.0, scale=1.0, clusters=code)
            rejected += test(measure, rows, n_resamples=99, seed=seed).pvalue <= 0.05
        assert rejected <= stats.binom.ppf(0.999, sets, 0.05)

    @pytest.mark.parametrize("clusters", [None, np.arange(300) // 3])
    def test_errors_by_a_feature(self, clusters, rng):
        """A spread along a feature is found and told; the scores are those of ranks in NumPy."""
        X = np.column_stack([rng.normal(size=300), rng.integers(3, size=300), np.ones(300)])
        y = np.exp(0.4 * X[:, 0]) * rng.normal(size=300)
        rows = ct.Forecasts(y, mean=0.0, scale=1.0, clusters=clusters)
        part = ct.test_calibration(rows, design=X, rng=1).components[0]
        assert (part.test, part.pvalue <= 0.002) == ("spread-by-feature", True)
        assert "for the 100 lowest values of feature 0" in " ".join(str(part).split())
        ranks = np.column_stack([stats.rankdata(column) for column in X[:, :2].T])
        q = np.linalg.qr(np.column_stack([np.ones(300), ranks]))[0][:, 1:]
        expected = np.square(q.T @ ((y * y - 1) / np.sqrt(2))).sum()
        assert part.statistic == pytest.approx(expected, rel=1e-9)

    @pytest.mark.parametrize("table", [pl.DataFrame, pd.DataFrame, dict])
    def test_features_have_the_names_of_their_columns(self, table, rng):
        """Of a table or a mapping; a column that holds no numbers is named."""
        age = rng.normal(size=200)
        rows = ct.Forecasts(np.exp(0.5 * age) * rng.normal(size=200), mean=0.0, scale=1.0)
        columns = {"age": age, "income": rng.integers(3, size=200)}
        part = ct.test_calibration(rows, design=table(columns), rng=1).components[0]
        assert part.test == "spread-by-feature"
        assert "67 lowest values of age" in " ".join(str(part).split())
        constant = {"year": np.full(200, 2026.0)}
        after = ct.test_calibration(rows, design=table(constant | columns), rng=1).components[0]
        assert after.parameters["finding"] == part.parameters["finding"]
        none = ct.test_calibration(rows, design=table(constant), rng=1).components
        assert "no feature varies" in [row.parameters["finding"] for row in none]
        with pytest.raises(InvalidInput, match="design 'site' must be numbers; got 'a' at row 0"):
            ct.test_calibration(rows, design=table(columns | {"site": ["a"] * 200}))

    @pytest.mark.full
    @pytest.mark.parametrize("n", [8, 50])
    def test_size_with_features(self, n):
        rejected = 0
        for seed in range(200):
            rng = np.random.default_rng(seed)
            rows = ct.Forecasts(rng.normal(size=n), mean=0.0, scale=1.0)
            named = {"components": ["level-by-feature", "spread-by-feature"], "n_resamples": 99}
            rejected += (
                ct.test_calibration(rows, design=rng.normal(size=(n, 2)), rng=seed, **named).pvalue
                <= 0.05
            )
        assert rejected <= stats.binom.ppf(0.999, 200, 0.05)

    def test_features_that_are_none(self, rng):
        rows = gaussian(rng)
        for design, message in (
            (np.ones((5, 2)), "one row per row"),
            (np.full(200, np.nan), "finite"),
        ):
            with pytest.raises(InvalidInput, match=f"design must .*{message}"):
                ct.test_calibration(rows, design=design)
        with pytest.raises(NotApplicable, match="design= of the default test is of forecasts"):
            ct.test_calibration([0.2, 0.7], [0, 1], design=[1.0, 2.0])

    def test_components_that_are_named(self, rng):
        forecasts = gaussian(rng, bias=0.5)
        names = ["bias", "pit-ks", "crps"]
        found = ct.test_calibration(forecasts, components=names, rng=1)
        assert {row.test for row in found.components} == set(names)
        alone = ct.test_calibration(forecasts, test="pit-ks", rng=1)
        part = next(row for row in found.components if row.test == "pit-ks")
        assert part.statistic == alone.statistic
        for wrong in ("temperature", ("brier", "interval[0.9]")):
            with pytest.raises(NotApplicable, match="component"):
                ct.test_calibration(forecasts, components=[wrong])

    @pytest.mark.full
    def test_worst_group_is_told_by_its_coverage(self, rng):
        forecasts = gaussian(rng, n=400, spread=2.0, groups=np.repeat(["a", "b"], 200))
        assert "the nominal coverage in " in str(ct.verdict(forecasts, by=True, rng=1))

    @pytest.mark.full
    @pytest.mark.parametrize(("test", "sets"), [(None, 20), ("pit-ks", 60), ("crps", 40)])
    def test_size(self, test, sets, rng):
        """Of each kind but a callable, whose quantiles are searched for; more in the study.

        p-values are uniform on tenths: so few data sets show a mean of 0.5 that is off by 0.2.
        """
        for same in zip(*[list(every_kind(rng, 30))[:-1] for _ in range(sets)], strict=True):
            if test == "crps" and "quantiles" in same[0].kind:
                continue
            found = [
                ct.test_calibration(one, test=test, n_resamples=39, rng=k).pvalue
                for k, one in enumerate(same)
            ]
            tenths = np.ceil(10 * np.array(found) - 1e-9) / 10
            assert abs(tenths.mean() - 0.55) < 3.3 * np.sqrt(0.0825 / sets)
            assert stats.binomtest(int(sum(tenths == 0.1)), sets, 0.1).pvalue > 1e-3


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"test": "pit-ks", "serial": True}, InvalidInput, "such as 'pit-berkowitz'"),
        ({"test": "pit-berkowitz", "degree": 3}, InvalidInput, "such as 'pit-neyman'"),
        ({"tolerance": 0.05}, NotApplicable, "a lens that leaves classes, such as 'interval'"),
    ],
)
def test_what_a_test_has_not_is_refused(asked, error, words, rng):
    with pytest.raises(error, match=words):
        ct.test_calibration(gaussian(rng), **asked)


def test_results_of_forecasts_are_read_back():
    """Their JSON follows the schemas, which know rows without classes."""
    rng = np.random.default_rng(0)
    mean = rng.normal(size=40)
    a = ct.Forecasts(mean + rng.normal(size=40), mean=mean, scale=1.0)
    b = ct.Forecasts(a.outcomes, mean=mean, scale=0.7)
    for result in (
        ct.test_calibration(a, n_resamples=99, rng=1),
        ct.test_calibration(a, test=["crps", "pit-ks"], n_resamples=99, rng=1),
        ct.verdict(a, n_resamples=99, rng=1),
        ct.compare_models({"a": a, "b": b}, n_resamples=99, rng=1),
        ct.monitor().update(a).verdict(),
    ):
        assert str(type(result).from_dict(result.to_dict())) == str(result)
