"""The null for rows that depend: residuals whose signs are flipped by cluster."""

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.errors import NotApplicable
from caltest.htests import REGISTRY
from caltest.intervals.cluster import jackknife, pair_products
from caltest.measures.combined.combined import portfolio
from caltest.measures.combined.context import Context
from caltest.nulls.base import Draws
from caltest.nulls.cluster import Clusters, dependence_parameters, flipped_values
from caltest.numerics.joint import step_down

SAME_VALUE = ["skce", "kce", "mmce", "ece", "mce", "classwise-ece", "ks", "kuiper"]
SAME_VALUE += ["cramer-von-mises", "hosmer-lemeshow"]
ALL = [
    *SAME_VALUE,
    *("combined", "debiased-ece", "brier", "log-loss", "spiegelhalter", "cox", "cme"),
    *("calibration-in-the-large", "calibration-slope", "unreliability"),
]


def halves(seed=0, n=60):
    """Predictions of which every other cluster has p = 1/2: flipped residuals are other labels."""
    rng = np.random.default_rng(seed)
    clusters = np.arange(n) // 5
    p = np.where(clusters % 2 == 0, 0.5, rng.random(n))
    return ct.Predictions(p, rng.random(n) < p, classes=[0, 1], clusters=clusters)


def dependent(seed=0, count=30, size=6):
    """Labels that are the same for most rows of a cluster."""
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(count), size)
    p = rng.random(count * size)
    own = np.where(rng.random(p.size) < 0.7, rng.random(count)[clusters], rng.random(p.size))
    return ct.Predictions(p, own < p, classes=[0, 1], clusters=clusters)


def statistics(key, predictions, signs):
    """The values for some signs of the clusters."""
    clusters = Clusters.of(predictions)
    [one] = REGISTRY[key].with_options({}).residual_statistics(predictions)
    return one.flipped(clusters.codes, clusters.count)(signs)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("key", SAME_VALUE)
def test_flipped_signs_are_the_other_labels_where_p_is_one_half(key, weighted):
    """Y - 1/2 with the other sign is that of 1 - y: the value is that of those labels."""
    p = halves()
    if weighted and key != "hosmer-lemeshow":  # which takes no weights
        weight = np.random.default_rng(1).integers(1, 4, p.n).astype(float)
        p = ct.Predictions(p.probs, p.labels, sample_weight=weight, clusters=p.clusters)
    rng = np.random.default_rng(2)
    signs = np.where(np.arange(12) % 2 == 0, rng.choice([-1.0, 1.0], (4, 12)), 1.0)
    measure = REGISTRY[key].with_options({})
    labels = [np.where(row[p.clusters] < 0, 1 - p.labels, p.labels) for row in signs]
    expected = [measure.bind(p.relabelled(row)).value() for row in labels]
    np.testing.assert_allclose(statistics(key, p, signs), expected, rtol=1e-9, atol=1e-12)


def test_debiased_error_differs_by_its_bias_alone():
    """Flipped signs change the squared error over bins, and what is taken away is the same."""
    p = halves()
    signs = np.where(np.arange(12) % 2 == 0, -1.0, 1.0)[None]
    plain = REGISTRY["ece"].with_options({"distance": "sqeuclidean", "p": 1})
    found = statistics("debiased-ece", p, signs)[0]
    labels = np.where(signs[0][p.clusters] < 0, 1 - p.labels, p.labels)
    used = plain.bind(p.relabelled(labels)).value() / 2
    assert found == pytest.approx(used, rel=1e-6, abs=0.02)


def test_sums_of_pairs_and_products_of_clusters_are_those_of_a_loop():
    """The SKCE of three classes: a quadratic form of the sums of clusters, for any signs."""
    p = ct.datasets.generative_model("M2", n=24, m=3, rng=0).with_clusters(np.arange(24) // 4)
    measure = REGISTRY["skce"].with_options({})
    width = float(measure.bind(p).parameters["bandwidth"])
    r = np.eye(3)[p.labels] - p.probs
    distance = 0.5 * np.abs(p.probs[:, None] - p.probs).sum(axis=2)
    h = np.exp(-distance / width) * (r @ r.T) / (24 * 23)
    np.fill_diagonal(h, 0.0)
    products = h.reshape(6, 4, 6, 4).sum(axis=(1, 3))
    signs = np.array([1.0, -1.0, -1.0, 1.0, 1.0, -1.0])
    assert statistics("skce", p, signs[None])[0] == pytest.approx(
        signs @ products @ signs, rel=1e-9
    )
    (statistic,) = measure.residual_statistics(p)
    found = pair_products(statistic.flipped(p.clusters, 6), 6)
    expected = products * (1 - np.eye(6))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-15)


def test_many_clusters_have_the_same_sums_of_pairs(monkeypatch):
    """Beyond the limit, sums over pairs of rows take the place of those over pairs of clusters."""
    p = ct.datasets.generative_model("M2", n=40, m=3, rng=0).with_clusters(np.arange(40) // 3)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (5, 14))
    few = statistics("skce", p, signs)
    monkeypatch.setattr("caltest.measures.kernel.pairs.CLUSTERS", 3)
    np.testing.assert_allclose(statistics("skce", p, signs), few, rtol=1e-9)


def test_z_of_a_score_is_that_of_a_loop():
    """The sum of (1 - 2 p)(y - p) over the root of the squared sums of the clusters."""
    p = dependent()
    r = p.labels - p.probs[:, 1]
    u = np.bincount(p.clusters, (1 - 2 * p.probs[:, 1]) * r)
    result = ct.test_calibration(None, p, test="brier", n_resamples=99, rng=0)
    assert result.statistic == pytest.approx(u.sum() / np.sqrt(np.square(u).sum()))
    assert result.estimate == pytest.approx(np.mean(r**2))


def test_score_of_both_coefficients_is_that_of_a_loop():
    """S' V^-1 S with the sums U_c of y - p and x (y - p), V the sum of U_c U_c'."""
    p = dependent()
    q, r = p.probs[:, 1], p.labels - p.probs[:, 1]
    x = np.log(q / (1 - q))
    u = np.column_stack([np.bincount(p.clusters, r), np.bincount(p.clusters, x * r)])
    s = u.sum(axis=0)
    result = ct.test_calibration(None, p, test="cox", n_resamples=99, rng=0)
    assert result.statistic == pytest.approx(s @ np.linalg.solve(u.T @ u, s))


@pytest.mark.parametrize("m", [2, 3])
def test_components_have_the_value_of_the_labels(m):
    """Those that are not over a robust error are in proportion to the statistics of labels."""
    p = ct.datasets.generative_model("M2", n=60, m=m, rng=0).with_clusters(np.arange(60) // 4)
    robust = {"temperature", "confidence-temperature", "level", "surprise"}
    ratios = {}
    for seed in (0, 1):
        labels = np.random.default_rng(seed).integers(0, m, 60)
        seen = p.relabelled(labels)
        for one in portfolio(Context(seen), None):
            values = flipped_values([one.residual_statistic()], Clusters.of(seen), Draws(9, 0, 1))
            own = one.values(one.source.observed)[0]
            ratios.setdefault(one.key, []).append(values[0, 0] / own)
    if m == 3:
        ratios.pop("skce")  # flipped signs leave the diagonal as it is
    for key, (first, second) in ratios.items():
        assert key in robust or first == pytest.approx(second, rel=1e-6), key


def test_few_clusters_have_all_signs_listed():
    """With four clusters, 16 vectors: p is a count of sixteenths, and a note says how few."""
    p = dependent(count=4, size=30)
    result = ct.test_calibration(None, p, test="brier", rng=0)
    assert result.null_distribution.size == 15
    assert "p cannot be below 0.12" in " ".join(result.notes)
    combined = ct.test_calibration(None, p, rng=0)  # a component has one side
    assert "p cannot be below 0.062" in " ".join(combined.notes)
    assert "flipped" not in " ".join(result.confidence_interval().notes)
    u = np.bincount(p.clusters, (1 - 2 * p.probs[:, 1]) * (p.labels - p.probs[:, 1]))
    signs = 1 - 2 * (np.arange(16)[:, None] >> np.arange(4) & 1)
    share = np.mean(np.abs(signs @ u) >= abs(u.sum()) - 1e-12)
    alone = ct.test_calibration(p.probs, p.labels, test="brier", rng=0).pvalue
    assert result.pvalue == pytest.approx(max(share, alone))


def test_pvalue_is_at_least_that_of_independent_rows():
    """No event of few expected ones: all clusters are too low, and chance explains it."""
    p = ct.Predictions(np.full(200, 0.005), np.zeros(200, int), clusters=np.arange(200) // 10)
    clustered = ct.test_calibration(None, p, test="brier", rng=0)
    alone = ct.test_calibration(p.probs, p.labels, test="brier", rng=0)
    assert clustered.pvalue >= alone.pvalue > 0.3
    assert "of flipped signs is raised to" in " ".join(clustered.notes)


@pytest.mark.parametrize("key", ALL)
def test_clusters_of_one_row_are_no_dependence(key):
    """The exact null is their default; that of clusters can be asked for."""
    p = dependent()
    rows = p.with_clusters(np.random.default_rng(0).permutation(p.n))
    alone = ct.test_calibration(p.probs, p.labels, test=key, n_resamples=99, rng=0)
    result = ct.test_calibration(None, rows, test=key, n_resamples=99, rng=0)
    assert (result.null, result.pvalue) == ("exact", alone.pvalue)
    flipped = ct.test_calibration(None, rows, test=key, null="cluster", n_resamples=99, rng=0)
    assert (flipped.null, flipped.parameters["clusters"]) == ("cluster", f"{p.n} of 1 row")
    assert "design effect" not in flipped.parameters


@pytest.mark.parametrize("key", ["skce", "ece", "ks", "brier", "calibration-slope"])
def test_order_of_rows_and_names_of_clusters_do_not_matter(key):
    """Strings for numbers, rows shuffled: the same p-value of flipped signs."""
    p = dependent(count=8)
    order = np.random.default_rng(1).permutation(p.n)
    names = np.array([f"patient {c}" for c in p.clusters])
    other = ct.Predictions(p.probs[order], p.labels[order], clusters=names[order])
    first, second = (
        ct.test_calibration(None, one, test=key, n_resamples=999, rng=3) for one in (p, other)
    )
    np.testing.assert_allclose(
        first.null_distribution, second.null_distribution, rtol=1e-8, atol=1e-12
    )


def pairs_of_rows(count):
    rng = np.random.default_rng(0)
    p = rng.random(2 * count)
    return ct.Predictions(
        p, rng.random(p.size) < p, classes=[0, 1], clusters=np.arange(p.size) // 2
    )


@pytest.mark.parametrize("key", ["brier", "ece", "ks", "skce"])
def test_signs_are_drawn_some_at_a_time(key, monkeypatch):
    p, options = pairs_of_rows(50), {"test": key, "n_resamples": 99, "rng": 0}
    whole = ct.test_calibration(None, p, **options)
    monkeypatch.setattr("caltest.nulls.cluster.AT_A_TIME", 500)
    monkeypatch.setattr("caltest.measures.residual_sums.AT_A_TIME", 1000)
    parts = ct.test_calibration(None, p, **options)
    np.testing.assert_allclose(parts.null_distribution, whole.null_distribution, rtol=1e-9)


@pytest.mark.parametrize(("key", "m"), [("ece", 2), ("ece", 3), ("ucme", 3), ("combined", 3)])
def test_sums_of_too_many_clusters_are_those_of_rows(key, m, monkeypatch):
    """Without sums of clusters, which take no more than 1 GiB."""
    p = ct.datasets.generative_model("M2", n=40, m=m, rng=0).with_clusters(np.arange(40) // 3)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (5, 14))
    measure = REGISTRY[key].with_options({}) if key in REGISTRY else ct.measures.UCME()
    some = [one for one in measure.residual_statistics(p) if "robust" not in one.symbol]
    of_clusters = [one.flipped(p.clusters, 14)(signs) for one in some]
    monkeypatch.setattr("caltest.measures.residual_sums.MOST", 1)
    of_rows = [one.flipped(p.clusters, 14)(signs) for one in some]
    np.testing.assert_allclose(of_rows, of_clusters, rtol=1e-9)


def bursts(events):
    """Clusters of unequal sizes with P about .03; all rows of one have the event, or none."""
    sizes = np.array([40, 30, 20, 10, 5] * 5)
    clusters = np.repeat(np.arange(25), sizes)
    labels = np.isin(clusters, events).astype(int)
    return ct.Predictions(np.linspace(0.02, 0.04, labels.size), labels, clusters=clusters)


@pytest.mark.parametrize("key", ["brier", "ks", "skce", "combined"])
def test_bursts_that_did_not_happen_are_no_evidence(key):
    """All sums of clusters are negative, as those of up to .97^25 of calibrated models are."""
    result = ct.test_calibration(None, bursts([]), test=key, rng=0)
    assert result.replicates.pvalues()[0] < 0.02
    assert result.pvalue > 0.05
    assert "sums are skewed" in " ".join(result.notes)


def half_bursts(seed):
    """Bursts that did not happen in half of the clusters; the sum of all is as good as normal."""
    clusters = np.repeat(np.arange(50), 20)
    low = clusters < 25
    p = np.where(low, np.linspace(0.02, 0.04, 1000), np.linspace(0.3, 0.7, 1000))
    labels = np.where(low, 0, np.random.default_rng(seed).random(50)[clusters] < p)
    return ct.Predictions(p, labels, clusters=clusters)


@pytest.mark.parametrize("key", ["cox", "cme", "unreliability"])
def test_sums_are_skewed_where_they_are_farthest_out(key):
    result = ct.test_calibration(None, half_bursts(0), test=key, rng=0)
    assert result.replicates.pvalues()[0] < 0.02
    assert result.pvalue > 0.05


def test_adjusted_pvalues_are_raised_as_those_of_signs_are():
    """By as much where sums are skewed, and in the order of the p-values."""
    tests = ["cox", "cme", "calibration-in-the-large", "brier"]
    table = ct.test_calibration(None, half_bursts(1), test=tests, rng=0)
    pvalues = np.array([row.pvalue for row in table])
    signs = np.array([row.replicates.pvalue for row in table])
    joint = step_down(np.stack([row.replicates.scores() for row in table]))
    assert (table.adjusted >= np.minimum(joint * pvalues / signs, 1.0)).all()
    assert (np.diff(np.asarray(table.adjusted)[np.argsort(pvalues)]) >= 0).all()


def test_error_over_sparse_bins_has_its_squares():
    """The mean length of two skewed residuals is not that of one and the other flipped."""
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 300)
    clusters = np.arange(300) // 10
    p = ct.Predictions(probs, clusters % 3, clusters=clusters).simulate(1)
    result = ct.test_calibration(None, p, test="ece", rng=0)
    squares = ct.test_calibration(None, p, test="ece", distance="sqeuclidean", rng=0)
    assert result.pvalue >= squares.pvalue
    assert np.mean(result.null_distribution >= result.statistic) < squares.pvalue


def test_design_effect_of_copies():
    """Every row four times: the variance of the sum is four times that of independent rows."""
    rng = np.random.default_rng(0)
    p = rng.random(50)
    rows = np.repeat(np.arange(50), 4)
    copies = ct.Predictions(p[rows], (rng.random(50) < p)[rows], clusters=rows)
    found = dependence_parameters(copies)
    assert found["design effect"] == pytest.approx(4)
    assert found["correlation within"] == pytest.approx(1)


def test_null_of_clusters_needs_several_and_is_asked_for():
    """Another null says that it takes rows as independent."""
    result = ct.test_calibration(None, dependent(), test="brier", null="exact", rng=0)
    assert "treated as independent" in str(result).replace("\n    ", " ")
    assert result.parameters["design effect"] > 1
    p = dependent()
    with pytest.raises(NotApplicable, match="all rows are of one cluster"):
        ct.test_calibration(p.probs, p.labels, cluster=np.zeros(p.n, int), rng=0)
    with pytest.raises(NotApplicable, match=r"pass cluster=, or time= and lag=; .*'exact'"):
        ct.test_calibration(p.probs, p.labels, test="brier", null="cluster", rng=0)


@pytest.mark.parametrize("key", ["t-cal", "smooth-ece", "le-cessie-van-houwelingen", "ici"])
def test_test_without_residual_sums_names_others(key):
    """The message lists the tests that have this null."""
    with pytest.raises(NotApplicable, match=r"rows that depend on each other; use .*'brier'"):
        ct.test_calibration(None, dependent(), test=key, rng=0)


@pytest.mark.parametrize("test", ["skce", "debiased-ece", "ks"])
def test_larger_tolerance_is_rejected_less(test):
    """And none is rejected more than calibration itself."""
    data, options = dependent(), {"test": test, "rng": 0, "n_resamples": 199}
    pvalues = [ct.test_calibration(data, tolerance=t, **options).pvalue for t in (0.001, 0.1)]
    assert ct.test_calibration(data, **options).pvalue <= pvalues[0] <= pvalues[1]


def test_small_error_is_certified_by_student_over_clusters():
    """T and its jackknife error are those of the interval, which is symmetric about T."""
    data = dependent(count=60)
    result = ct.test_calibration(data, test="ks", tolerance=0.5, equivalence=True, rng=0)
    interval = ct.test_calibration(data, test="ks", rng=0).confidence_interval(0.95)
    error = (interval.high - result.estimate) / stats.t.isf(0.025, 59)
    expected = stats.t.sf((0.5 - result.estimate) / error, 59)
    assert result.pvalue == pytest.approx(expected, rel=1e-9)
    assert result.pvalue < 0.001


@pytest.mark.parametrize("test", ["skce", "debiased-ece"])
def test_squared_errors_are_certified_with_their_error_at_the_tolerance(test):
    """More carefully than by Student's t of the estimate; a root is as its square."""
    data, options = dependent(count=100), {"equivalence": True, "rng": 0}
    result = ct.test_calibration(data, test=test, tolerance=0.04, **options)
    se = jackknife(REGISTRY[test].with_options({}), data, 0, Clusters.of(data).codes).error
    assert stats.t.cdf((result.estimate - 0.04) / se, 99) < result.pvalue < 0.05
    if test == "debiased-ece":
        root = ct.test_calibration(data, test=test, tolerance=0.2, root=True, **options)
        assert root.pvalue == pytest.approx(result.pvalue)


@pytest.mark.parametrize(
    ("data", "test", "message"),
    [
        (dependent(), "brier", "no test with a tolerance"),
        (dependent(count=8), "ks", "do not show how much the error varies"),
    ],
)
def test_certificate_that_would_not_hold_is_refused(data, test, message):
    with pytest.raises(NotApplicable, match=message):
        ct.test_calibration(data, test=test, tolerance=0.1, equivalence=True, rng=0)


def test_lenses_see_the_same_signs():
    """Both classes of two have opposite residuals, so that all statistics are the same."""
    table = ct.test_calibration(None, dependent(), test="ece", lens="classwise", rng=0)
    first, second = (row.null_distribution for row in table)
    np.testing.assert_allclose(first, second, rtol=1e-9)
    assert table.correction == "joint"


def test_groups_that_share_clusters_are_not_tested_together():
    """They depend on each other; Holm's method allows for that."""
    p = dependent()
    shared = ct.test_calibration(None, p, test="brier", by=np.arange(p.n) % 2, rng=0)
    apart = ct.test_calibration(None, p, test="brier", by=p.clusters % 2, rng=0)
    assert (len(shared.omnibus), shared.correction) == (0, "holm")
    assert (len(apart.omnibus), apart.correction) == (1, "joint")
    assert "clusters have rows in several groups" in " ".join(shared.notes)


@pytest.mark.parametrize("m", [2, 3])
def test_components_are_at_least_those_of_independent_rows(m):
    """No finding is surer than the answer above it: clusters that are too alike."""
    labels = np.tile([m - 1] * 7 + [0, m - 2, 0], 10)
    p = np.random.default_rng(m).uniform(0.56, 0.66, 100)
    rest = (1.0 - p)[:, None] * np.array([[1.0], [0.7, 0.3]][m - 2])
    given = ct.Predictions(np.column_stack([rest, p]), labels, classes=range(m))
    clustered = given.with_clusters(np.arange(100) // 10)
    found = ct.test_calibration(None, clustered, n_resamples=199, rng=0).components
    alone = ct.test_calibration(None, given, n_resamples=199, rng=0).components
    floors = dict(zip((row.test for row in alone.rows), alone.adjusted, strict=True))
    assert all(found.adjusted >= [floors[row.test] for row in found.rows])
    assert np.all(np.diff(found.adjusted) >= 0)
