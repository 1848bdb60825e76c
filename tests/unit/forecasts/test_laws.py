"""Laws: each answers as the integrals, SciPy and the ranks that it stands for say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import special, stats

from caltest.errors import InvalidInput, NotApplicable
from caltest.forecasts.container import moved
from caltest.forecasts.laws import (
    Cdf,
    Frozen,
    Histogram,
    Law,
    Members,
    Mixture,
    NormalLaw,
    Quantiles,
    law_of,
    law_of_model,
)
from caltest.forecasts.laws.base import row_counts
from caltest.forecasts.laws.numbers import FINE

N = 5
RNG = np.random.default_rng(1)
MEAN, SCALE = RNG.normal(size=N), RNG.uniform(0.5, 2, N)
Y = RNG.normal(size=N) + 0.3
TAILS = np.array([1e-12, 1e-4, 0.2, 0.5, 0.77, 1 - 1e-4, 1 - 1e-12])
CLOSED = {
    "t": stats.t(4.5, MEAN, SCALE),
    "logistic": stats.logistic(MEAN, SCALE),
    "laplace": stats.laplace(MEAN, SCALE),
    "uniform": stats.uniform(MEAN, SCALE),
    "expon": stats.expon(MEAN, SCALE),
    "gamma": stats.gamma(SCALE + 1, MEAN, 2.0),
    "lognorm": stats.lognorm(SCALE / 2, MEAN),
    "weibull_min": stats.weibull_min(SCALE + 0.5, MEAN, SCALE),
    "beta": stats.beta(SCALE + 1, 2.0, MEAN),
    "norm": stats.norm(MEAN, SCALE),
    "gumbel_r": stats.gumbel_r(MEAN, SCALE),
    "genextreme": stats.genextreme(np.array([-0.3, -1e-4, 0.0, 8e-4, 0.4]), MEAN, SCALE),
}
DISCRETE = {
    "poisson": stats.poisson(3 * SCALE),
    "nbinom": stats.nbinom(4 * SCALE, 0.3),
    "nbinom, many": stats.nbinom(50 * SCALE, 0.9),
    "binom": stats.binom(9, SCALE / 3),
    "geom": stats.geom(SCALE / 3),
}
OTHER = {
    "gompertz": stats.gompertz(0.9, MEAN, SCALE),
    "gumbel_l": stats.gumbel_l(MEAN, SCALE),
    "pearson3": stats.pearson3(-SCALE, MEAN, SCALE),  # of which SciPy loses far quantiles
    "F": stats.f(5, 12, MEAN, SCALE),
}
LAWS = {
    **{name: Frozen(law) for name, law in {**CLOSED, **DISCRETE, **OTHER}.items()},
    "gaussian": NormalLaw(MEAN, SCALE),
    "mixture": Mixture([0.3, 0.7], [NormalLaw(MEAN, SCALE), NormalLaw(MEAN + 3, SCALE / 2)]),
    "zero-inflated": Mixture(
        [0.4, 0.6], [Members(np.zeros((N, 1))), Frozen(stats.gamma(SCALE + 1, scale=2.0))]
    ),
    "mixed": Mixture([0.5, 0.5], [NormalLaw(MEAN, SCALE), Frozen(stats.logistic(MEAN + 1, SCALE))]),
    "quantiles": Quantiles([0.1, 0.3, 0.5, 0.9], np.sort(RNG.normal(size=(N, 4)), axis=1)),
    "equal quantiles": Quantiles([0.1, 0.5, 0.9], np.tile([-1.0, 0.2, 0.2], (N, 1))),
    "histogram": Histogram([-2.0, 0.0, 0.5, 4.0], RNG.dirichlet(np.ones(3), N)),
    "members": Members(np.round(RNG.normal(size=(N, 8)), 1)),
    "cdf": Cdf(lambda y: stats.norm.cdf(y, MEAN, SCALE), N),
    "cdf of counts": Cdf(stats.binom(20, 0.3 + MEAN / 9, 5).cdf, N),
}


def integral(law: Law, y, low, high):
    """Integrate (F(x) - 1(y <= x))^2 in pieces between knots, by Gauss and Legendre."""
    at, weight = np.polynomial.legendre.leggauss(6)
    knots = np.unique(np.concatenate([np.linspace(low, high, 200), y, jumps(law)]))
    knots = knots[(knots >= low) & (knots <= high)]
    width = np.diff(knots)[:, None]
    points = (knots[:-1, None] + width * (at + 1) / 2).ravel()
    F = law.cdf(np.tile(points, (law.n, 1)))
    return (F - (y[:, None] <= points)) ** 2 @ (width * weight / 2).ravel()


def jumps(law):
    """Knots and atoms of the laws above."""
    known = np.concatenate([np.arange(-40.0, 200.0), MEAN, MEAN + SCALE, MEAN + 1])
    return np.concatenate([known, np.ravel(getattr(law, "points", 0.0))])


@pytest.mark.parametrize("name", LAWS)
def test_quantile_is_the_least_outcome_of_its_level(name):
    law = LAWS[name]
    u = np.tile(TAILS, (N, 1))
    q = law.quantile(u)
    assert np.all(law.cdf(q) >= u * (1 - 1e-9) - 1e-15)
    assert np.all(law.cdf_left(q) <= u * (1 + 1e-9) + 1e-15)
    if not law.has_atoms:
        np.testing.assert_allclose(law.cdf(q), u, rtol=1e-9, atol=1e-15)  # y is rounded
    np.testing.assert_array_equal(law.quantile(u[:, 3]), q[:, 3])
    low, high = law.support()
    assert np.all((q >= low[:, None]) & (q <= high[:, None]))


@pytest.mark.parametrize("name", LAWS)
def test_crps_is_its_integral(name):
    law = LAWS[name]
    y = law.held(np.round(np.abs(Y) * 3) if name in DISCRETE else Y)
    ends = law.quantile(np.tile([1e-9, 1 - 1e-9], (N, 1)))
    low, high = min(ends.min(), y.min()), max(ends.max(), y.max())
    np.testing.assert_allclose(law.crps(y), integral(law, y, low, high), atol=1e-7)
    both = law.crps(np.column_stack([y, y]))
    np.testing.assert_allclose(both, np.column_stack([law.crps(y)] * 2), rtol=1e-13)


def test_rows_of_one_shape_share_their_quantiles(monkeypatch):
    """Where SciPy searches for them or integrates they take milliseconds each."""
    asked, known = [], stats.rv_continuous.ppf

    def ppf(self, q, *args, **kwds):
        asked.append(np.size(q))
        return known(self, q, *args, **kwds)

    law = Frozen(stats.johnsonsb(4.3, 3.2, np.arange(500.0), 2.0))
    monkeypatch.setattr(stats.rv_continuous, "ppf", ppf)
    scores = law.crps(np.arange(500.0) + 0.4)
    assert np.ptp(scores) < 1e-12
    assert sum(asked) < 2000


def test_subsets_of_rows_of_one_shape_share_its_integrals(monkeypatch):
    """SciPy, of which some families integrate a tail anew for each value, is asked for few."""
    asked, n, known = [], 60, type(stats.skewnorm)._cdf

    def cdf(self, x, a):
        asked.append(x.size)
        return known(self, x, a)

    monkeypatch.setattr(type(stats.skewnorm), "_cdf", cdf)
    law = Frozen(stats.skewnorm(3.0, loc=np.arange(n), scale=np.linspace(1, 2, n)))
    whole = law.crps(np.arange(n))
    for rows in (np.arange(30), np.arange(20, 60)):
        assert law[rows].crps(rows) == pytest.approx(whole[rows], abs=1e-14)
    assert sum(asked) < 50 * n


def test_large_counts_have_the_crps_of_normal_numbers():
    mean = np.array([1e10, 1e14])
    y = mean + [0.0, 2.0] * np.sqrt(mean)
    normal = law_of(mean=mean, scale=np.sqrt(mean))
    counts = law_of(distribution=stats.poisson(mean))
    np.testing.assert_allclose(counts.crps(y), normal.crps(y), rtol=1e-4)


@pytest.mark.full
def test_mixture_of_a_law_with_itself_is_that_law():
    """Of one with steps, of which the quantiles are searched for."""
    steps = Cdf(lambda y: np.clip(np.floor(4 * (y - MEAN) + 8) / 16, 0, 1), N)
    both = Mixture([0.4, 0.6], [steps, steps])
    np.testing.assert_allclose(both.crps(Y), steps.crps(Y), rtol=1e-12)


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_are_what_quadrature_finds(name):
    law = LAWS[name]
    plain = law._with(_parts=None)
    points = np.column_stack([Y, MEAN - 1, MEAN + 0.01, MEAN + 3, MEAN + 50 * SCALE])
    np.testing.assert_allclose(law.crps(points), plain.crps(points), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", LAWS)
def test_moments_are_those_of_the_quantiles(name):
    law = LAWS[name]
    if law.has_atoms:
        points, weight = law.nodes()
        mean = np.sum(points * weight, axis=1)
        second = np.sum(points**2 * weight, axis=1)
    elif name in {"mixture", "mixed", "histogram"}:  # whose quantiles are steep somewhere
        ends = law.quantile(np.full(N, 1e-15)), law.upper_quantile(np.full(N, 1e-15))
        x = np.linspace(*ends, 100_001, axis=1)
        below = law.cdf(x)
        mean = ends[1] - np.trapezoid(below, x, axis=1)
        second = ends[1] ** 2 - 2 * np.trapezoid(x * below, x, axis=1)
    else:
        s, weight = np.polynomial.legendre.leggauss(400)
        u = 0.5 * np.exp(-30 * (s + 1))
        x = [law.quantile(np.tile(u, (N, 1))), law.upper_quantile(np.tile(u, (N, 1)))]
        mean = sum(each @ (30 * weight * u) for each in x)
        second = sum(each**2 @ (30 * weight * u) for each in x)
    np.testing.assert_allclose(law.mean, mean, atol=1e-9)
    np.testing.assert_allclose(law.sd**2, second - mean**2, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", LAWS)
def test_taken_rows_are_those_rows(name):
    law, rows = LAWS[name], np.array([3, 0, 3])
    y = np.abs(np.round(Y, 0))
    for some, places in ((law.taken(rows), rows), (law.taken(Y > 0.3), np.flatnonzero(Y > 0.3))):
        assert some.n == places.size
        np.testing.assert_allclose(some.cdf(y[places]), law.cdf(y)[places], rtol=1e-14)
        np.testing.assert_allclose(some.crps(y[places]), law.crps(y)[places], rtol=1e-8)
        np.testing.assert_allclose(some.mean, law.mean[places], rtol=1e-9)


def test_log_score_is_scipys():
    for name, law in {**CLOSED, **DISCRETE, **OTHER}.items():
        y = np.round(np.abs(Y)) + 1 if name in DISCRETE else MEAN + 0.3
        log = law.logpmf(y) if name in DISCRETE else law.logpdf(y)
        np.testing.assert_allclose(LAWS[name].log_score(y), -log)
    far = NormalLaw(MEAN, SCALE).log_score(MEAN + 1e6)
    np.testing.assert_allclose(far, -stats.norm.logpdf(MEAN + 1e6, MEAN, SCALE))
    two = 0.3 * stats.norm.pdf(Y, MEAN, SCALE) + 0.7 * stats.norm.pdf(Y, MEAN + 3, SCALE / 2)
    np.testing.assert_allclose(LAWS["mixture"].log_score(Y), -np.log(two))
    histogram = LAWS["histogram"]
    np.testing.assert_allclose(
        histogram.log_score(np.full(N, 4.0)), -np.log(histogram.probs[:, 2] / 3.5)
    )
    assert np.all(histogram.log_score(np.full(N, 5.0)) == np.inf)
    for name in ("members", "quantiles", "cdf", "zero-inflated"):
        with pytest.raises(NotApplicable, match="use the CRPS"):
            LAWS[name].log_score(Y)


def test_new_distributions_of_scipy_are_read():
    if not hasattr(stats, "Normal"):
        pytest.skip("SciPy has none of them")
    assert isinstance(law_of(distribution=stats.Normal(mu=MEAN, sigma=SCALE)), NormalLaw)
    new, old = Frozen(stats.Uniform(a=MEAN, b=MEAN + SCALE)), LAWS["uniform"]
    np.testing.assert_allclose(new.crps(Y), old.crps(Y), rtol=1e-9)
    np.testing.assert_allclose(new.taken(np.array([2])).sd, SCALE[2] / np.sqrt(12))
    assert law_of(distribution=stats.Logistic(), n=2).mean.tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "law",
    [stats.hypergeom(20, 7, 12), stats.yulesimon(3.0, 2), stats.poisson(3.7, -3), "Binomial"],
    ids=["hypergeom", "yulesimon", "moved poisson", "Binomial"],
)
def test_counts_have_steps_at_whole_numbers_alone(law):
    """Between these SciPy's own functions are NaN, or rise; a location rounds none away."""
    if law == "Binomial":
        law = getattr(stats, law, lambda **given: stats.binom(*given.values()))(n=5, p=0.3)
    y = np.array([3.0, 4.0, 4.5, -2.0])
    below, up_to = Frozen(law, 4).pit_ends(y)
    np.testing.assert_allclose(up_to, law.cdf(np.floor(y)))
    np.testing.assert_allclose(below, law.cdf(np.ceil(y) - 1))


def test_a_law_without_a_mean_has_no_crps():
    with pytest.raises(NotApplicable, match="row 0 is not finite"):
        Frozen(stats.cauchy(MEAN, SCALE)).crps(Y)


def test_quantiles_hold_outcomes_from_beyond_the_outer_ones():
    law = Quantiles([0.1, 0.9], [[-1.0, 1.0]] * 3)
    y = law.held(np.array([-5.0, 0.0, 5.0]))
    np.testing.assert_allclose(y, [-1, 0, 1])
    beyond = law.pit_ends(np.array([-5.0, 0.0, 5.0]))
    np.testing.assert_allclose(beyond, [[0, 0.1, 0.9], [0.1, 0.9, 1]])
    np.testing.assert_allclose(law.pit_ends(y), [[0, 0.1, 0.1], [0.1, 0.9, 0.9]])


@pytest.mark.parametrize("law", [Members(np.zeros((3, 4))), LAWS["poisson"], LAWS["quantiles"]])
def test_pit_of_levels_is_what_the_law_tells_of_them(law):
    """Uniform of uniform levels; of one level within its step, of members by their number below."""
    u, v = np.random.default_rng(7).random((2, law.n, 20_000))
    assert stats.kstest(law.pit_at(u, v).ravel(), "uniform").pvalue > 1e-3
    pit = law.pit_at(np.full(v.shape, 0.35), v)
    if isinstance(law, Members):
        below = np.bincount((pit * 5).astype(int).ravel(), minlength=5) / pit.size
        np.testing.assert_allclose(below, stats.binom(4, 0.35).pmf(np.arange(5)), atol=0.01)
    else:
        low, high = law.pit_ends(law.quantile(np.full(law.n, 0.35)))
        np.testing.assert_allclose([pit.min(axis=1), pit.max(axis=1)], [low, high], atol=1e-3)


@pytest.mark.parametrize("size", [1, 7, 50, 3000])
def test_pit_of_members_is_by_the_quantile_of_their_number_below(size):
    """By the binomial distribution function of SciPy, also where probabilities are small."""
    u, v = special.ndtr(2 * RNG.normal(size=(2, 400))), RNG.random((2, 400))
    place = Members(np.zeros((2, size))).pit_at(u, v) * (size + 1)
    below = np.minimum(np.floor(place), size)
    first, last = (stats.binom(size, u).cdf(below + k) for k in (-1, 0))
    np.testing.assert_allclose(first + (place - below) * (last - first), v, atol=1e-9)


TIED = Quantiles([0.1, 0.3, 0.6, 0.9], [[0.0, 0, 1, 2], [0, 1, 1, 1], [0, 1, 2, 3]])


@pytest.mark.parametrize("law", [*(LAWS[name] for name in DISCRETE), LAWS["gaussian"]])
def test_many_pits_are_those_of_each(law):
    """Far out, where steps are not kept, they stay as they are."""
    u, v = moved(RNG.normal(size=(law.n, 200)), 3.0), RNG.random((law.n, 200))
    found, is_near = law.many_pits()(u, v), np.abs(u - 0.5) < 0.5 - 1e-5
    np.testing.assert_allclose(found[is_near], law.pit_at(u, v)[is_near], rtol=0, atol=1e-13)


def test_many_pits_of_tied_quantiles_are_uniform():
    u, v = RNG.random((2, TIED.n, 2000))
    assert min(stats.kstest(pit, "uniform").pvalue for pit in TIED.many_pits()(u, v)) > 1e-3


@pytest.mark.parametrize("values", [RNG.normal(size=(N, 6)), np.zeros((N, 6))])
def test_errors_of_members_are_those_of_redrawn_outcomes(values):
    law, u = Members(values), RNG.random(N)
    outcomes, rest = law.redrawn(Y, u)
    off, spread = law.errors_of(Y)(u)
    np.testing.assert_allclose(off, outcomes - rest.mean, atol=1e-12)
    np.testing.assert_allclose(spread, rest.sd, atol=1e-12)


def test_counts_in_rows_are_the_same_compiled(monkeypatch):
    points, y = (
        np.sort(RNG.integers(0, 9, (40, 7)).astype(float)),
        RNG.integers(0, 9, (40, 3)) * 1.0,
    )
    few = [row_counts(points, y, equal=equal) for equal in (False, True)]
    monkeypatch.setattr("caltest.forecasts.laws.base.SMALL", 0)
    for equal, count in zip((False, True), few, strict=True):
        np.testing.assert_array_equal(row_counts(points, y, equal=equal), count)


def test_law_of_reads_tables_and_single_numbers():
    for given in (MEAN.tolist(), pd.Series(MEAN), pl.Series(MEAN), MEAN[:, None], np.float32(2)):
        law = law_of(mean=given, scale=2.0, n=N)
        np.testing.assert_array_equal(law.mean, 2.0 if np.ndim(given) == 0 else MEAN)
    frame = pd.DataFrame({"a": [1.0, 2], "b": [3.0, 4]})
    assert law_of(members=frame).title == "ensemble of 2 members"
    assert law_of(levels=[0.1, 0.9], quantiles=pl.from_pandas(frame)).n == 2
    assert law_of(distribution=stats.gamma(2.0), n=4).mean.tolist() == [2.0] * 4
    assert law_of(cdf=lambda y: special.ndtr(y - MEAN), n=N).n == N


def test_function_need_not_be_hashable():
    """An object with a comparison of its own is called as any function is."""

    @dataclass
    class Normal:
        mean: np.ndarray

        def __call__(self, y):
            return special.ndtr(y - self.mean)

    y = MEAN[:, None] + [-1.0, 0.5]
    np.testing.assert_array_equal(Cdf(Normal(MEAN), N).cdf(y), special.ndtr(y - MEAN[:, None]))


def test_function_is_asked_for_many_outcomes_at_once_where_it_answers_to_rows_of_them():
    """One that does not is asked for one at a time, with the same answers."""
    calls = []

    def one_at_a_time(y):
        calls.append(y.shape)
        return np.array([stats.norm.cdf(*each) for each in zip(y, MEAN, SCALE, strict=True)])

    y = MEAN[:, None] + [-3.0, -0.1, 0.2, 40.0]
    at_once = Cdf(lambda y: stats.norm.cdf(y, MEAN, SCALE), N)
    slow = Cdf(one_at_a_time, N)
    np.testing.assert_array_equal(slow.cdf(y), at_once.cdf(y))
    rows = np.array([2, 0, 2, 2])
    np.testing.assert_array_equal(
        at_once[rows].cdf(y[rows]), stats.norm.cdf(y, MEAN[:, None], SCALE[:, None])[rows]
    )
    assert (N,) in calls
    np.testing.assert_allclose(at_once.crps(y), NormalLaw(MEAN, SCALE).crps(y), atol=1e-11)
    np.testing.assert_allclose(
        at_once[rows].crps(y[rows]), NormalLaw(MEAN, SCALE).crps(y)[rows], atol=1e-11
    )


def test_quantiles_of_mixtures_need_few_evaluations(monkeypatch):
    """Also at levels that rounding lets many outcomes have, each until it is found."""
    asked, u = [], np.broadcast_to(FINE, (N, FINE.size))
    law = Mixture([0.5, 0.5], [NormalLaw(MEAN, SCALE), NormalLaw(MEAN + 1, SCALE)])
    cdf = law.cdf
    monkeypatch.setattr(law, "cdf", lambda y: asked.append(y.size) or cdf(y))
    np.testing.assert_allclose(cdf(law.quantile(u)), u, atol=1e-15)
    assert len(asked) < 40
    assert sum(asked) < 15 * u.size


def test_atoms_at_whole_numbers_need_few_evaluations():
    """Halving alone would go on until its ends are neighbours."""
    asked, mean, u = [], np.array([0.3, 4.0, 30.0]), np.random.default_rng(1).random((3, 200))
    law = Cdf(lambda y: asked.append(y.size) or stats.poisson.cdf(np.floor(y), mean), 3)
    asked.clear()
    np.testing.assert_array_equal(law.quantile(u), stats.poisson.ppf(u, mean[:, None]))
    assert sum(asked) < 30 * u.size


ILLEGAL = {
    "members must be smaller than 1e+100 in size": {"members": [[1.0, 2.0], [1.0, -1e200]]},
    "must take an array (3,), a number for each row; got ValueError": {
        "cdf": lambda y: special.ndtr(y - np.zeros(4)),
        "n": 3,
    },
    "scale must be positive; got 0 at row 1": {"mean": [0, 1], "scale": [1, 0]},
    "mean must be finite numbers; got inf at row 0": {"mean": [np.inf, 1], "scale": 1},
    "scale must be finite numbers; got nan at row 1": {"mean": [0, 1], "scale": [1, np.nan]},
    "scale must have one number for each row": {"mean": [0, 1], "scale": [1, 2, 3]},
    "got mean= without scale=": {"mean": [0, 1]},
    "got mean= and members=": {"mean": [0.0], "members": [[1.0, 2]]},
    "got nothing": {},
    "levels must be two or more": {"levels": [0.5, 0.1], "quantiles": [[1, 2]]},
    "quantiles must not cross; got 2 at level 0.1 above 1 at 0.9 at row 1": {
        "levels": [0.1, 0.9],
        "quantiles": [[1, 2], [2, 1]],
    },
    "a column for each level": {"levels": [0.1, 0.9], "quantiles": [[1, 2, 3]]},
    "members must be as many in each row; got nan at row 1": {"members": [[1, 2], [1, np.nan]]},
    "rows of unequal length": {"members": [[1, 2], [1]]},
    "probs must sum to 1; got 0.9 at row 0": {"edges": [0, 1, 2], "probs": [[0.5, 0.4]]},
    "edges must be one more than the bins": {"edges": [0, 1], "probs": [[0.5, 0.5]]},
    "edges must increase": {"edges": [0, 0, 1], "probs": [[0.5, 0.5]]},
    "cdf must rise from 0 to 1": {"cdf": lambda y: special.ndtr(-y), "n": 3},
    "cdf must rise from 0 to 1; got 0.5 at row 0": {"cdf": lambda y: np.full(y.shape, 0.5), "n": 3},
    "quantile must be the inverse of cdf": {
        "cdf": special.ndtr,
        "quantile": lambda u: -special.ndtri(u),
        "n": 3,
    },
    "cdf(quantile(u)) - u must be 0, but for steps; got 0.1": {
        "cdf": special.ndtr,
        "quantile": lambda u: special.ndtri(u) + 1.0,
        "n": 3,
    },
    "got abs(StandardNormal()); pass": {"distribution": abs(stats.Normal()), "n": 3},
    "cdf must return probabilities; got 15.865525 at row 0": {
        "cdf": lambda y: 100 * special.ndtr(y),
        "n": 3,
    },
    "distribution must be a frozen distribution": {"distribution": stats.norm},
    "outcomes must not be angles": {"distribution": stats.vonmises([1.0, 2.0])},
    "the shapes of t must be in their domain": {"distribution": stats.t([-1.0, 2.0])},
    "shape (2,) for 3 rows": {"mean": [0, 1], "scale": [1, 1], "n": 3},
    "got 2 for 3 rows": {"members": [[0], [1]], "n": 3},
}


@pytest.mark.parametrize("components", [[stats.norm(0, 1)], [], [NormalLaw([0, 1], 1), LAWS["t"]]])
def test_components_of_a_mixture_are_laws_of_the_same_rows(components):
    with pytest.raises(InvalidInput, match="components must be laws of the same number of rows"):
        Mixture(np.ones(len(components)), components)


def test_bad_input_gets_one_clear_error(case):
    for message, given in ILLEGAL.items():
        with case(message), pytest.raises(InvalidInput) as caught:
            law_of(**given)
        assert message in str(caught.value), str(caught.value)


class TestModels:
    """Models of each library give the laws of their documentation."""

    X = np.random.default_rng(2).normal(size=(60, 2))
    y = X @ [1.0, -1.0] + np.random.default_rng(3).normal(size=60)

    def test_return_std_in_a_pipeline(self):
        from sklearn.linear_model import BayesianRidge
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        model = make_pipeline(StandardScaler(), BayesianRidge()).fit(self.X, self.y)
        law, source = law_of_model(model, self.X[:7])
        mean, std = model.predict(self.X[:7], return_std=True)
        np.testing.assert_array_equal([law.mean, law.sd], [mean, std])
        assert source == "Pipeline(StandardScaler, BayesianRidge)"

    def test_quantile_models_in_any_order(self):
        from sklearn.linear_model import QuantileRegressor

        models = [QuantileRegressor(quantile=q, alpha=0).fit(self.X, self.y) for q in (0.9, 0.1)]
        law, _ = law_of_model(models, self.X)
        assert law.given.tolist() == [0.1, 0.9]
        np.testing.assert_array_equal(law.values[:, 1], models[0].predict(self.X))
        same, _ = law_of_model({0.9: models[0], 0.1: models[1]}, self.X)
        np.testing.assert_array_equal(same.values, law.values)

    def test_results_of_statsmodels(self):
        import statsmodels.api as sm

        results = sm.OLS(self.y, self.X).fit()
        law, source = law_of_model(results, self.X[:4])
        found = results.get_prediction(self.X[:4])
        ends = np.column_stack([law.quantile(np.full(4, u)) for u in (0.05, 0.95)])
        np.testing.assert_allclose(ends, found.conf_int(obs=True, alpha=0.1))
        assert source == "statsmodels OLS"
        counts = np.random.default_rng(4).poisson(np.exp(self.X[:, 0]))
        glm = sm.GLM(counts, self.X, family=sm.families.Poisson()).fit()
        np.testing.assert_allclose(law_of_model(glm, self.X)[0].mean, glm.mu)

    def test_a_function_and_what_ngboost_returns(self):
        class Boosted:
            def pred_dist(self, X):
                return type("Normal", (), {"dist": stats.norm(X[:, 0], 2.0)})()

        law, _ = law_of_model(Boosted(), self.X)
        np.testing.assert_array_equal(law.sd, np.full(60, 2.0))
        law, _ = law_of_model(lambda X: (X[:, 0], 1 + X[:, 1] ** 2), self.X)
        np.testing.assert_array_equal(law.mean, self.X[:, 0])

    def test_points_are_no_distribution(self):
        from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression

        with pytest.raises(
            InvalidInput, match=r"must predict distributions.*pass mean= and scale="
        ):
            law_of_model(LinearRegression().fit(self.X, self.y), self.X)
        with pytest.raises(InvalidInput, match="model must be fitted"):
            law_of_model(BayesianRidge(), self.X)
        with pytest.raises(InvalidInput, match="name their level"):
            law_of_model([LogisticRegression()], self.X)
