"""Calibrators of forecasts: known factors, direct sums in NumPy, and held-out rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, special, stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import caltest as ct
from caltest.calibrators import (
    FORECAST_MAPS,
    BetaPIT,
    ConformalOffset,
    ForecastCalibrator,
    ForecastIdentity,
    IsotonicPIT,
    VarianceScaling,
)
from caltest.errors import InvalidInput, NotApplicable
from caltest.forecasts.laws import Frozen, Members, Mixture

LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def rows(n: int, seed: int, factor: float = 1.6, offset: float = 0.0):
    """Means, standard deviations, and outcomes that scatter `factor` times as widely."""
    rng = np.random.default_rng(seed)
    mean, sd = rng.normal(size=n), rng.uniform(0.5, 2.0, n)
    return mean, sd, mean + offset + factor * sd * rng.normal(size=n)


def forecasts(kind: str, n: int = 300, seed: int = 1, **truth: float) -> ct.Forecasts:
    mean, sd, y = rows(n, seed, **truth)
    if kind == "gaussian":
        return ct.Forecasts(y, mean=mean, scale=sd)
    if kind == "gumbel":
        return ct.Forecasts(y, distribution=stats.gumbel_r(mean - np.euler_gamma * sd, sd))
    if kind == "quantiles":
        q = mean[:, None] + sd[:, None] * special.ndtri(LEVELS)
        return ct.Forecasts(y, quantiles=q, levels=LEVELS)
    noise = np.random.default_rng(seed + 1).normal(size=(n, 9))
    return ct.Forecasts(y, members=mean[:, None] + sd[:, None] * noise)


class TestVarianceScaling:
    """Distributions stretched about their means."""

    def test_moments_are_the_closed_form(self):
        """The factor is the root mean square of standardised errors, weights as counts."""
        mean, sd, y = rows(40, 2, offset=0.4)
        w = np.random.default_rng(0).integers(0, 4, 40)
        found = VarianceScaling(by="moments", offset=True).fit(
            ct.Forecasts(y, mean=mean, scale=sd, sample_weight=w)
        )
        d = np.average(y - mean, weights=w / sd**2)
        factor = np.sqrt(np.average(((y - mean - d) / sd) ** 2, weights=w))
        assert (found.factor_, found.offset_) == pytest.approx((factor, d), rel=1e-12)
        many = np.repeat(np.arange(40), w)
        again = VarianceScaling(offset=True, by="moments").fit(
            ct.Forecasts(y[many], mean=mean[many], scale=sd[many])
        )
        assert again.factor_ == pytest.approx(factor, rel=1e-12)

    @pytest.mark.parametrize("kind", ["gaussian", "gumbel"])
    def test_least_crps_is_that_of_a_search(self, kind):
        """No search finds a smaller CRPS, and the slopes are 0."""
        data = forecasts(kind, 30, offset=0.3)
        found = VarianceScaling(offset=True).fit(data)

        def loss(theta):
            return data.law.stretched(*theta).crps(data.outcomes).mean()

        best = (found.factor_, found.offset_)
        other = optimize.minimize(loss, (1.0, 0.0), method="Nelder-Mead", options={"xatol": 1e-9})
        assert loss(best) <= other.fun + 1e-12
        assert optimize.approx_fprime(best, loss, 1e-5) == pytest.approx([0, 0], abs=1e-4)
        assert best == pytest.approx(tuple(other.x), abs=1e-4)

    @pytest.mark.parametrize("kind", ["gaussian", "quantiles", "members"])
    @pytest.mark.parametrize("factor", [1.0, 1.6])
    def test_known_factor_is_recovered(self, kind, factor):
        """Of nine members, whose mean has an error of its own, that of error and spread."""
        found = VarianceScaling().fit(forecasts(kind, 4000, factor=factor))
        size = np.sqrt((factor**2 + 1 / 9) / (1 + 1 / 9)) if kind == "members" else factor
        assert found.factor_ == pytest.approx(size, rel=0.05)

    def test_stretched_gaussian_is_one_and_others_are_as_it(self):
        mean, sd, y = rows(7, 3)
        normal = ct.Forecasts(y, mean=mean, scale=sd).law
        other = ct.Forecasts(y, distribution=stats.logistic(mean, sd)).law.stretched(1.7, 0.2)
        z = (y - mean - 0.2) / 1.7 / sd
        crps = z * (2 * special.ndtr(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi)
        assert normal.stretched(1.7, 0.2).crps(y) == pytest.approx(1.7 * sd * crps, rel=1e-12)
        direct = ct.Forecasts(y, distribution=stats.logistic(mean + 0.2, 1.7 * sd)).law
        for name in ("crps", "log_score", "cdf"):
            assert getattr(other, name)(y) == pytest.approx(getattr(direct, name)(y), rel=1e-9)
        assert (other.mean, other.sd) == (pytest.approx(direct.mean), pytest.approx(direct.sd))
        u = np.linspace(0.001, 0.999, 7)
        assert other.cdf(other.quantile(u)) == pytest.approx(u, rel=1e-12)
        assert other.taken(np.array([2])).quantile(u[2:3]) == pytest.approx(other.quantile(u)[2:3])

    def test_what_it_has_no_meaning_for_is_refused(self):
        counts = ct.Forecasts([1.0, 2.0, 0.0], distribution=stats.poisson([1.0, 2.0, 1.0]))
        with pytest.raises(NotApplicable, match="recalibrate the PIT"):
            VarianceScaling().fit(counts)
        with pytest.raises(InvalidInput, match="by must be 'crps'"):
            VarianceScaling(by="moments").fit(forecasts("quantiles"))
        with pytest.raises(InvalidInput, match="errors of forecasts must vary"):
            VarianceScaling().fit(ct.Forecasts([1.0, 2.0], mean=[1.0, 2.0], scale=1.0))


class TestPIT:
    """Distribution functions G(F)."""

    def test_beta_is_the_maximum_of_the_likelihood(self):
        data = forecasts("gaussian", 200, offset=0.5)
        found = BetaPIT().fit(data)
        a, b, *_ = stats.beta.fit(data.pit, floc=0, fscale=1)
        assert (found.a_, found.b_) == pytest.approx((a, b), rel=1e-3)
        logs = np.log(data.pit).mean(), np.log1p(-data.pit).mean()
        both = special.psi(found.a_ + found.b_)
        slopes = special.psi(found.a_) - both - logs[0], special.psi(found.b_) - both - logs[1]
        assert slopes == pytest.approx((0, 0), abs=1e-8)
        one = found.transform(data)
        direct = stats.norm.logpdf(data.outcomes, data.mean, data.scale)
        direct = direct + stats.beta.logpdf(data.pit, found.a_, found.b_)
        assert one.law.log_score(data.outcomes) == pytest.approx(-direct, rel=1e-9)

    def test_isotonic_is_the_share_of_rows_below(self):
        data = forecasts("gaussian", 40)
        found = IsotonicPIT().fit(data)
        ranks = 1 + np.argsort(np.argsort(data.pit))
        assert found.levels_.cdf(data.pit) == pytest.approx(ranks / 41, rel=1e-12)
        assert found.transform(data).pit == pytest.approx(ranks / 41, rel=1e-12)

    def test_counts_are_summed_up(self):
        law = ct.Forecasts([2.0], distribution=stats.poisson([3.0])).law
        found, x = law.recalibrated(stats.beta(0.6, 1.8)), np.arange(80.0)
        F = stats.beta.cdf(stats.poisson.cdf(x, 3.0), 0.6, 1.8)
        mass = np.diff(F, prepend=0.0)
        assert found.crps(np.array([2.0]))[0] == pytest.approx(((F - (x >= 2)) ** 2).sum())
        assert found.mean[0] == pytest.approx(mass @ x)
        assert found.log_score(np.array([2.0]))[0] == pytest.approx(-np.log(mass[2]))
        far = found.log_score(np.array([60.0]))[0]  # where G(F) is 1 before and after it
        assert -stats.poisson.logpmf(60, 3.0) < far < np.inf

    def test_steps_beside_a_density_are_as_exact(self):
        """Rain that is often 0: mean and CRPS are integrals of the distribution function."""
        dry, wet = Members([[0.0]]), Frozen(stats.gamma([2.0]))
        found = Mixture([0.4, 0.6], [dry, wet]).recalibrated(stats.beta(3.0, 1.5))
        x, step = np.linspace(0.0, 40.0, 400_001, retstep=True)
        F = stats.beta.cdf(0.4 + 0.6 * stats.gamma.cdf(x, 2.0), 3.0, 1.5)
        assert found.mean[0] == pytest.approx(step * (1.0 - F).sum(), abs=5e-4)
        crps = step * np.square(F - (x >= 1.5)).sum()
        assert found.crps(np.array([1.5]))[0] == pytest.approx(crps, abs=2e-4)

    @pytest.mark.parametrize("dry", [0.0, 0.3])
    def test_outcomes_where_levels_jump_are_scored_by_their_integral(self, dry):
        """As those that an isotonic map was fitted to are, where two of them have the same PIT."""
        x, step = np.linspace(-9.0, 9.0, 1_800_001, retstep=True)
        law = Mixture([dry, 1.0 - dry], [Members([[0.0]]), Frozen(stats.norm([0.0]))])
        base = law if dry else Frozen(stats.norm([0.0]))
        levels = stats.rv_histogram(([0.3, 0.4, 0.3], [0.0, 0.1032, 0.1033, 1.0]), density=False)
        found, y = base.recalibrated(levels), base.quantile(np.array([0.10325]))
        F = levels.cdf(base.cdf(x[None])[0])
        crps = step * np.square(F - (x >= y)).sum()
        assert found.crps(y)[0] == pytest.approx(crps, abs=1e-4)

    @pytest.mark.parametrize("lower", [Members([[0.5]]), Frozen(stats.uniform([0.0], 1.0))])
    def test_gaps_of_a_density_are_as_exact(self, lower):
        """Where F is constant the CRPS is that of the constant, not of a line beside it."""
        law = Mixture([0.3, 0.7], [lower, Frozen(stats.uniform([9.0], 1.0))])
        found = law.recalibrated(stats.beta(2.0, 0.8))
        x, step = np.linspace(-1.0, 11.0, 400_001, retstep=True)
        F = stats.beta.cdf(law.cdf(x[None])[0], 2.0, 0.8)
        crps = step * np.square(F - (x >= 5.0)).sum()
        assert found.crps(np.array([5.0]))[0] == pytest.approx(crps, rel=1e-4)

    def test_levels_of_quantiles_and_ranks_move(self):
        """An ensemble becomes the quantiles that its sorted members are."""
        quantiles, members = forecasts("quantiles"), forecasts("members")
        for data, levels in ((quantiles, LEVELS), (members, np.arange(1, 10) / 10)):
            found = BetaPIT().fit(data)
            law = found.transform(data).law
            assert law.given == pytest.approx(special.betainc(found.a_, found.b_, levels))
            assert np.array_equal(law.values, data.law.values)
        single = ct.Forecasts([1.0, 2.0], members=[[0.5], [3.0]])
        with pytest.raises(NotApplicable, match="ensembles of one member"):
            BetaPIT().fit(single).transform(single)

    def test_equal_pit_values_are_refused(self):
        same = ct.Forecasts([1.0, 2.0], mean=[1.0, 2.0], scale=1.0)
        with pytest.raises(InvalidInput, match="PIT values must vary"):
            BetaPIT().fit(same)
        with pytest.raises(InvalidInput, match="between 0 and 1"):
            IsotonicPIT().fit(ct.Forecasts([99.0, 99.0], mean=0.0, scale=1.0))


class TestConformalOffset:
    """Offsets of pairs of quantiles."""

    def test_offset_is_the_order_statistic(self):
        data = forecasts("quantiles", 99)
        found = ConformalOffset().fit(data)
        q, y = data.law.values, data.outcomes
        for k, level in ((0, 0.9), (1, 0.5)):
            beyond = np.sort(np.maximum(q[:, k] - y, y - q[:, 4 - k]))
            size = beyond[int(np.ceil(100 * level - 1e-9)) - 1]
            assert found.offsets_[[k, 4 - k]] == pytest.approx([-size, size], rel=1e-12)
        moved = found.transform(data)
        assert moved.law.values[:, 2] == pytest.approx(q[:, 2])
        inside = (moved.law.values[:, 0] <= y) & (y <= moved.law.values[:, 4])
        assert inside.sum() == 90

    @pytest.mark.parametrize("levels", [[0.1, 0.4, 0.6, 0.9], [0.1, 0.4, 0.5, 0.6, 0.9]])
    def test_quantiles_do_not_cross(self, levels):
        """Forecasts much too wide have negative offsets, of which the inner ones meet."""
        data = forecasts("gaussian", 50, factor=0.01)
        values = ConformalOffset(levels=levels).fit(data).transform(data).law.values
        assert (np.diff(values, axis=1) >= 0).all()

    def test_bad_levels_and_few_rows_are_refused(self):
        data = forecasts("gaussian", 18)
        with pytest.raises(InvalidInput, match="levels must be given"):
            ConformalOffset().fit(data)
        with pytest.raises(InvalidInput, match="in pairs around"):
            ConformalOffset(levels=[0.1, 0.5, 0.8]).fit(data)
        with pytest.raises(NotApplicable, match="90 % needs 9 rows, and there are 8"):
            ConformalOffset(levels=[0.05, 0.95]).fit(data.subset(slice(8)))


class TestEstimators:
    """What all of them share."""

    @pytest.mark.parametrize("key", FORECAST_MAPS)
    def test_calibrator_is_an_estimator_of_forecasts(self, key):
        """Rows keep outcomes, weights, groups and source; what is no forecast is refused."""
        options = {"levels": (0.1, 0.9)} if key == "conformal-offset" else {}
        made = clone(FORECAST_MAPS[key](**options))
        assert made.get_params() == FORECAST_MAPS[key](**options).get_params()
        assert repr(made).startswith(FORECAST_MAPS[key].__name__)
        data = forecasts("gaussian", 40)
        data = data.with_groups(np.arange(40) % 2)._with(sample_weight=np.linspace(0, 2, 40))
        with pytest.raises(NotFittedError):
            made.transform(data)
        after = made.fit(data).transform(data)
        assert made.n_fit_ == 39
        for name in ("outcomes", "sample_weight", "groups", "source"):
            assert np.array_equal(getattr(after, name), getattr(data, name))
        with pytest.raises(InvalidInput, match="forecasts must be"):
            made.fit(ct.datasets.generative_model("M1", n=20, rng=1))
        with pytest.raises(InvalidInput, match="y has no effect"):
            made.fit(data, data.outcomes)
        if key != "identity":
            with pytest.raises(InvalidInput, match="at least 2 forecasts"):
                made.fit(data.subset([3]))

    def test_identity_changes_nothing(self):
        data = forecasts("members")
        assert ForecastIdentity().fit(data).transform(data).law is data.law

    @pytest.mark.parametrize("calibrator", [VarianceScaling(), BetaPIT(), IsotonicPIT()])
    @pytest.mark.parametrize("kind", ["gaussian", "quantiles", "members"])
    def test_held_out_rows_are_calibrated(self, kind, calibrator):
        """Many rows make maps whose held-out PIT values pass a test at its level."""
        data = forecasts(kind, 4000)
        new, calibrator = data.subset(slice(3600, None)), clone(calibrator)
        assert ct.test_calibration(new, test="pit-ks", rng=1).pvalue < 0.01
        after = calibrator.fit(data.subset(slice(3600))).transform(new)
        assert ct.test_calibration(after, test="pit-ks", rng=1).pvalue > 0.05


@pytest.mark.parametrize("key", FORECAST_MAPS)
def test_a_map_is_read_back_to_the_last_bit(key):
    """From JSON, which follows the schema; what does not fit together is refused."""
    data = forecasts("gaussian", n=60)
    options = {"levels": [0.1, 0.5, 0.9]} if key == "conformal-offset" else {}
    made = FORECAST_MAPS[key](**options).fit(data)
    read = ForecastCalibrator.from_json(made.to_json())
    assert (type(read), read.get_params()) == (type(made), made.get_params())
    np.testing.assert_array_equal(read.probe(data.law), made.probe(data.law))
    assert str(60) in str(made.summary())
    values = made.to_dict()
    values["state"].pop("n_fit_")
    with pytest.raises(InvalidInput, match="state"):
        ForecastCalibrator.from_dict(values)


def test_a_map_is_none_of_classes():
    text = BetaPIT().fit(forecasts("gaussian")).to_json()
    with pytest.raises(InvalidInput, match="calibrator must be one of 'identity', 'temperature'"):
        ct.calibrators.Calibrator.from_json(text)
    wrong = ConformalOffset(levels=[0.1, 0.9]).fit(forecasts("gaussian")).to_dict()
    wrong["state"]["offsets_"]["items"][0] = {"float": "nan"}
    with pytest.raises(InvalidInput, match="state"):
        ForecastCalibrator.from_dict(wrong)
    with pytest.raises(NotFittedError):
        BetaPIT().to_json()
