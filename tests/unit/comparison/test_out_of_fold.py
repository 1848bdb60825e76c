"""One rule for maps on rows that they were not fitted to, wherever it is asked for."""

import re
import sys

import numpy as np
import pytest

import caltest as ct
from caltest.comparison.maps import simple_maps, split
from caltest.comparison.out_of_fold import best_map, choose, first_map, out_of_fold
from caltest.errors import NotApplicable

MAPS = ["temperature", "vector"]


@pytest.fixture(scope="module")
def logits():
    """Return logits of three classes, twice too large, and labels."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=(200, 3))
    return 2 * z, np.array([rng.choice(3, p=row / row.sum()) for row in np.exp(z)])


@pytest.fixture(scope="module")
def compared(logits):
    """Return the comparison that all others must agree with."""
    z, y = logits
    return ct.compare_calibrators(z, y, from_logits=True, calibrators=MAPS, n_resamples=19, rng=3)


def pvalues(rows):
    """P-values by name, before adjustment."""
    return {row.name: row.tests[0].pvalue for row in rows if row.name != "selected"}


@pytest.mark.full
def test_report_has_the_pvalues_of_the_comparison(logits, compared):
    """The section on recalibration is that test, with the rows that were tested."""
    z, y = logits
    made = ct.report(z, y, from_logits=True, recalibrate=MAPS, test="brier", n_resamples=19, rng=3)
    section = made.content.comparison
    assert {row.key: row.pvalue for row in section.rows} == pvalues(compared)
    assert (section.n_held_out, section.n_fit) == (200, 160)
    assert "fitted 5 times, to 160 rows, and" in made.to_markdown()


def test_probabilities_and_their_logits_agree_for_temperature(logits, compared):
    """Temperature scaling sees the same in both."""
    z, y = logits
    found = out_of_fold(
        ct.Predictions(z, y, from_logits=True), "temperature", n_resamples=19, rng=3
    )
    assert found["temperature"].tests[0].pvalue == compared["temperature"].tests[0].pvalue


def test_print_names_the_rows(logits):
    """Rows that were tested, and rows of the fits."""
    z, y = logits
    data = ct.Predictions(z, y, from_logits=True)
    text = ct.render.text(out_of_fold(data, "temperature", n_resamples=19, rng=1).sheet())
    assert "200 tested, each predicted by a map fitted to 160 others" in text
    assert "selected" not in text


# ---- the map that the held-out score prefers, and what is left after it -------------------------


@pytest.fixture(scope="module")
def overconfident():
    """Return predictions whose logits are twice too large."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=(400, 3))
    labels = [rng.choice(3, p=row / row.sum()) for row in np.exp(z)]
    return ct.Predictions(2 * z, labels, from_logits=True)


@pytest.mark.full
def test_scores_and_pvalues_are_those_of_the_comparison(overconfident):
    """Before and after, for the same seed."""
    best = best_map(overconfident, ["temperature", "vector"], n_resamples=19, rng=1)
    result = ct.compare_calibrators(
        overconfident, calibrators=["temperature", "vector"], n_resamples=19, rng=1
    )
    row = result[best.name]
    assert best.name == "temperature"
    assert best.helps
    assert (best.after, best.difference) == (row.scores["log loss"], row.difference)
    assert best.low < best.difference < best.high < 0
    assert best.pvalue_after == row.tests[0].pvalue
    assert (best.n, best.n_fit, best.n_folds) == (400, 320, 5)


def test_map_is_fitted_to_all_rows(overconfident):
    """What is handed over is not a map of a fold."""
    best = best_map(overconfident, "temperature", n_resamples=19, rng=1)
    alone = ct.calibrators.TemperatureScaling().fit(overconfident)
    assert best.calibrator.temperature_ == alone.temperature_


def test_calibrated_model_stays_as_it_is():
    """No map is within the rule where the model is before all."""
    data = ct.datasets.generative_model("M1", n=300, m=3, rng=1)
    best = best_map(data, ["temperature", "vector"], n_resamples=19, rng=1)
    assert (best.name, best.difference, best.helps) == ("identity", 0, False)


def test_zero_probabilities_are_compared_by_the_brier_score(overconfident):
    isotonic = ct.calibrators.IsotonicCalibrator()
    best = best_map(overconfident, ["temperature", isotonic], n_resamples=19, rng=1)
    assert best.score == "Brier score"
    assert np.isfinite([best.after, best.low, best.high]).all()


def test_a_model_that_ruled_outcomes_out_is_judged_by_the_log_loss():
    """Its loss is infinite; that of maps is not, but where they rule outcomes out too."""
    rng = np.random.default_rng(1)
    p = rng.choice([0.0, 0.3, 1.0], 600)
    data = ct.Predictions(p, rng.random(600) < np.select([p == 0, p == 1], [0.03, 0.97], 0.3))
    best = best_map(data, ["identity", "beta"], n_resamples=19, rng=1)
    assert (best.name, best.score) == ("beta", "log loss (0 counts as 2.2e-16)")
    p = np.clip(data.probs[np.arange(600), data.labels], 2.2204e-16, 1)
    assert best.difference == pytest.approx(best.after + np.log(p).mean(), rel=1e-4)
    same = best_map(data, {"again": ct.calibrators.Identity()}, n_resamples=19, rng=1)
    assert same.score == "Brier score"


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
def test_maps_that_cannot_be_fitted_are_said():
    """The reason of the first stands in the error."""

    class Broken(ct.calibrators.TemperatureScaling):
        def _fit(self, data):
            raise NotApplicable("no fit", "leave it out")

    data = ct.datasets.generative_model("M1", n=30, m=3, rng=1)
    with pytest.raises(NotApplicable, match=r"no map could be fitted: .*no fit"):
        best_map(data, {"broken": Broken()}, n_resamples=19, rng=1)


# ---- the rule by which a map is chosen, and the map that the verdict names ----------------------

NOISE = np.random.default_rng(1).normal(size=400)


def chosen(losses, units=None, weight=None):
    """Choose by losses of 400 rows."""
    maps = dict.fromkeys(losses, ct.calibrators.TemperatureScaling())
    scores = {name: {"log loss": values, "Brier score": values} for name, values in losses.items()}
    units = np.arange(400) if units is None else units
    weight = np.ones(400) if weight is None else weight
    return choose(maps, scores, weight, units, n_folds=5, m=2)


def drawn(n, *, slope=1.0, shift=0.0, seed=1):
    """Draw events with other log odds than predicted."""
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 1.5, n)
    q = 1 / (1 + np.exp(-slope * np.log(p / (1 - p)) - shift))
    return ct.Predictions(p, (rng.random(n) < q).astype(int))


def test_needed_rows_have_the_gain_beyond_the_bound():
    """A gain of one standard error is one of 2.97 at 8.8 times the rows."""
    gain = NOISE - NOISE.mean()
    found = chosen({"identity": np.zeros(400), "map": gain - NOISE.std(ddof=1) / 20})
    assert found.needed == pytest.approx(400 * 2.966**2, rel=0.03)
    worse = chosen({"identity": np.zeros(400), "map": gain + 0.1})
    assert (worse.name, worse.needed) == ("identity", None)


def test_clusters_are_the_unit_of_the_error():
    """Four rows that are copies are one; with clusters a gain is less clear."""
    losses = {"identity": np.zeros(400), "map": np.repeat(NOISE[:100], 4) - NOISE[:100].mean()}
    losses["map"] -= 1.5 * NOISE[:100].std(ddof=1) / 10
    assert chosen(losses).name == "map"
    assert chosen(losses, units=np.repeat(np.arange(100), 4)).name == "identity"


def test_rows_of_a_cluster_are_in_one_fold():
    """Else a map is tested on what it was fitted to; rows alone are dealt as ever."""
    clusters = np.random.default_rng(1).integers(0, 40, 400)
    data = drawn(400).with_clusters(clusters)
    for by_label in (False, True):
        for train, test in split(data, 5, 1, by_label=by_label):
            assert not np.intersect1d(clusters[train], clusters[test]).size
            assert train.size + test.size == 400
    alone = split(drawn(400).with_clusters(np.zeros(400)), 5, 1, by_label=False)
    assert [test.size for _, test in alone] == [80] * 5


def test_verdict_takes_what_recalibrate_takes():
    data = drawn(800, slope=0.5)
    best = best_map(data, ["temperature", "platt", "beta"], n_resamples=19, rng=7)
    found = first_map([data], 7)
    assert found.name == best.name == "temperature"
    expected = pytest.approx((best.after, best.low, best.high))
    assert (found.after, found.low, found.high) == expected


def test_one_prediction_is_shifted():
    """A temperature would do the same, and rounding errors choose neither."""
    rng = np.random.default_rng(1)
    for p in (0.1, 0.4, 0.7):
        data = ct.Predictions(np.full(3000, p), (rng.random(3000) < p - 0.07).astype(int))
        assert first_map([data], 1).name == "shift"


@pytest.mark.parametrize(
    ("wrong", "name", "words"),
    [
        ({"shift": 0.6}, "shift", r"raise the intercept by 0\.[56]\d on the log odds \(recal"),
        ({"slope": 0.5}, "temperature", r"divide the log odds by [12]\.\d\d \(temperature"),
        ({"slope": 0.4, "shift": 0.8}, "platt", r"ct\.calibrators\.PlattScaling\(\)"),
    ],
)
def test_map_that_is_named_is_the_one_for_what_is_wrong(wrong, name, words):
    """Of two maps with one number the better one, both numbers only where both are wrong."""
    data = [drawn(2000, seed=seed, **wrong) for seed in range(5)]
    assert [first_map([one], 1).name for one in data].count(name) >= 4
    helps = dict(ct.test_calibration(data[0], n_resamples=19, rng=1).verdict().sentences)["helps"]
    assert re.match(words, helps)


def test_a_curve_is_named_for_what_no_line_mends():
    """Events are more frequent than predicted between .3 and .5 alone."""
    rng = np.random.default_rng(0)
    p = rng.random(6000)
    data = ct.Predictions(p, rng.random(6000) < p + 0.2 * ((p > 0.3) & (p < 0.5)))
    assert first_map([data], 1).name == "venn-abers"
    assert simple_maps(500, 2).keys() - simple_maps(499, 2).keys() == {"venn-abers", "quadratic"}
    assert "quadratic" not in simple_maps(6000, 3)


def test_groups_have_a_map_each_in_one_choice():
    """What is wrong in opposite directions is mended by neither map of all rows."""
    up, down = drawn(600, shift=1.0), drawn(600, shift=-1.0, seed=2)
    together = ct.Predictions(np.vstack([up.probs, down.probs]), np.r_[up.labels, down.labels])
    assert first_map([up, down], 1).name == "shift"
    assert first_map([up, down], 1).n == 1200
    assert first_map([together], 1).difference > -0.005


@pytest.mark.full
@pytest.mark.parametrize("m", [2, 3])
def test_very_many_rows_are_sampled(m, monkeypatch):
    """By the seed, with the clusters together; few rows are all compared."""
    monkeypatch.setattr(sys.modules[first_map.__module__], "MOST_NUMBERS", 300 * m)
    data = ct.datasets.generative_model("M2", n=900, m=m, rng=1)
    found = first_map([data], 1)
    assert found.n == 300
    assert found.after == first_map([data], 1).after != first_map([data], 2).after
    assert first_map([data.subset(slice(250))], 1).n == 250


DEGENERATE = {
    "one class": (np.linspace(0.1, 0.9, 60), np.zeros(60, dtype=int)),
    "constant": (np.full(60, 0.2), np.arange(60) % 2),
    "uniform": (np.full((60, 3), 1 / 3), np.r_[np.zeros(40, dtype=int), np.arange(20) % 3]),
    "eight rows": (np.full(8, 0.01), np.ones(8, dtype=int)),
    "rounded": (np.arange(60) % 2 * 1.0, np.r_[np.arange(50) % 2, np.ones(10, dtype=int)]),
    "wrong for sure": (np.ones(60), np.arange(60) % 2),
    "perfect": (np.arange(60) % 2 * 0.8 + 0.1, np.arange(60) % 2),
    "reversed": (np.linspace(0.01, 0.99, 60), (np.arange(60) < 30).astype(int)),
    "a class absent": (np.tile([0.7, 0.2, 0.1], (60, 1)), np.arange(60) % 2),
}


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.filterwarnings("ignore::caltest.errors.SuspectInputWarning")
@pytest.mark.parametrize("key", DEGENERATE)
def test_degenerate_data_have_a_map_or_a_sentence(key):
    """Never an error, never a number that is none."""
    probs, labels = DEGENERATE[key]
    data = ct.Predictions(probs, labels, classes=range(3 if probs.ndim == 2 else 2))
    verdict = ct.test_calibration(data, n_resamples=99, rng=1).verdict()
    told = dict(verdict.sentences).get("helps", "no map")
    assert told.startswith("no map") or "ct.calibrators." in told
    assert "nan" not in told
    assert "inf " not in told
    found = first_map([data], 1)
    assert found is None or np.isfinite([found.after, found.low, found.high]).all()
