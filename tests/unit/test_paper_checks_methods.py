"""What the checks of the papers compute apart from caltest: optimisers, measures, simulations."""

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import binomtest, norm, ttest_1samp
from scipy.stats import t as student
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

pytest.importorskip("paper_checks.check", reason="paper_checks is not here")
from paper_checks import active_learning, cubed_confidence, gp_protocol, networks
from paper_checks.adam import Adam
from paper_checks.check import Setting


@pytest.mark.parametrize(
    ("method", "kind"), [("MS-ODIR", "odir"), ("Dir-ODIR", "odir"), ("Dir-L2", "l2")]
)
def test_penalties_have_the_units_of_kull_et_al(logits, method, kind):
    """At the fitted map the slope of their loss, without our divisors, is zero."""
    Z, labels = logits
    fitted = networks.penalized(method, 4, (0.02, 0.3))
    theirs = Adam(kind, 0.02, 0.3)
    if method == "MS-ODIR":
        fitted.set_params(from_logits=True).fit(Z, labels)
    else:
        Z = np.log(softmax(Z, axis=1))
        fitted.fit(np.exp(Z), labels)
    W, theirs.b = fitted.linear_
    theirs.W = W.T
    slope_W, slope_b = theirs._loss(Z, np.eye(4)[labels])[1]
    assert np.abs(slope_W).max() < 1e-5
    assert np.abs(slope_b).max() < 1e-5


def test_adam_comes_near_the_minimum(logits):
    """Of vector scaling: its training loss is within 0.002 of that of caltest."""
    Z, labels = logits
    fitted = Adam("diagonal", seed=1).fit(Z, labels)
    best = networks.VectorScaling(from_logits=True).fit(Z, labels)
    rows = np.arange(len(labels))
    near, least = (-np.log(m.predict_proba(Z)[rows, labels]).mean() for m in (fitted, best))
    assert least <= near < least + 0.002


def test_real_adaboost_is_algorithm_4_of_zhu_et_al():
    """Three steps, written out. No two splits are equal, so that seeds do not matter."""
    from paper_checks.sklearn_021 import AdaBoostSammeR

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(3, size=200)
    w, h = np.full(200, 1 / 200), np.zeros((200, 3))
    for step in range(3):
        tree = DecisionTreeClassifier(max_depth=1, random_state=step)
        p = tree.fit(X, y, sample_weight=w).predict_proba(X)
        logs = np.log(np.maximum(p, 2.0**-52))
        h += 2 * (logs - logs.mean(axis=1, keepdims=True))
        coding = np.where(np.eye(3)[y] > 0, 1, -1 / 2)
        w *= np.exp(-2 / 3 * (coding * logs).sum(axis=1))
        w /= w.sum()
    expected = softmax(h / 3 / 2, axis=1)
    found = AdaBoostSammeR(n_estimators=3, random_state=0).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_classwise_ece_of_kull_et_al_is_that_of_their_loop(logits):
    Z, labels = logits
    probs, total = softmax(Z, axis=1), 0.0
    for k in range(4):
        cells = np.digitize(probs[:, k], np.linspace(0, 1, 15)) - 1
        for cell in np.unique(cells):
            some = cells == cell
            gap = abs(probs[some, k].mean() - (labels[some] == k).mean())
            total += gap * some.sum() / len(labels)
    assert networks.kull_classwise_ece(probs, labels) == pytest.approx(total, abs=1e-12)


def test_ece_of_wenger_et_al_is_that_of_their_loop(logits):
    """Bins from 1/m to 1; the confidence of a bin is read off a grid near their centres."""
    Z, labels = logits
    probs, total = softmax(Z, axis=1), 0.0
    top, right = probs.max(axis=1), probs.argmax(axis=1) == labels
    edges, grid = np.linspace(0.25, 1, 101), np.linspace(0.25 + 1 / 200, 1 - 1 / 200, 100)
    for i in range(100):
        some = (edges[i] <= top) & (top < edges[i + 1])
        total += abs(right[some].sum() - some.sum() * grid[i]) / len(labels)
    assert gp_protocol.program_ece(probs, labels) == pytest.approx(total, abs=1e-12)


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_platt_scaling_of_probabilities_is_logistic_regression(logits):
    """Of each class, with the probability as the feature, then normalised."""
    linear_model = pytest.importorskip("sklearn.linear_model")
    Z, labels = logits
    probs = softmax(Z, axis=1)
    columns = [
        linear_model.LogisticRegression(C=1e12, max_iter=10_000, tol=1e-10)
        .fit(probs[:, [k]], labels == k)
        .predict_proba(probs[:, [k]])[:, 1]
        for k in range(4)
    ]
    expected = np.transpose(columns) / np.sum(columns, axis=0)[:, None]
    found = gp_protocol.calibrated("Platt", probs, labels, probs)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_synthetic_set_is_right_with_the_cube_of_the_confidence():
    """On the simplex, with the confidence largest, and as often right as z^3 says."""
    probs, labels = cubed_confidence.sample(4000, 5)
    np.testing.assert_allclose(probs.sum(axis=1), 1)
    assert probs.min() >= 0
    top, right = probs.max(axis=1), probs.argmax(axis=1) == labels
    for some in (top < 0.8, top >= 0.8):
        expected = np.mean(top[some] ** 3)
        assert binomtest(int(right[some].sum()), int(some.sum()), expected).pvalue > 1e-3


def test_forest_that_is_grown_again_is_a_forest_of_all_rows():
    """After two batches it is that of both, and a class that has not occurred has probability 0."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.choice([0, 2], size=60)
    forest = active_learning.GrownForest(RandomForestClassifier(10, random_state=1))
    for part in (slice(0, 40), slice(40, 60)):
        forest.partial_fit(X[part], y[part], classes=np.arange(4))
    whole = RandomForestClassifier(10, random_state=1).fit(X, y)
    found = forest.predict_proba(X)
    np.testing.assert_array_equal(found[:, [0, 2]], whole.predict_proba(X))
    np.testing.assert_array_equal(found[:, [1, 3]], 0)


@pytest.mark.parametrize(("gain", "verdict"), [(-0.02, "reproduced"), (0.02, "differs")])
def test_claim_on_active_learning_compares_runs_in_pairs(gain, verdict):
    """The ECE of each run differs by about `gain`, much less than from run to run."""
    rows = [
        {"classifier": "random forest", "seed": seed, "calibrated": calibrated, "seen": seen}
        | {"ECE": 0.1 * seed + calibrated * (gain + 0.001 * seed) + (seen < 10_000), "bought": 9}
        | dict.fromkeys(("overconfidence", "underconfidence", "accuracy"), 0.5)
        for seed in range(3)
        for calibrated in (False, True)
        for seen in (500, 11_000, 15_000)
    ]
    first = active_learning.claims(rows, "text")[0]
    assert (first.what, first.verdict) == ("ECE", verdict)
    assert f"difference {gain + 0.001:+.4f}" in first.ours


def _gp_rows(distance):
    """Fits of GPC, GPD and GPR in four splits; GPD is `distance` away from GPC, GPR 0.1."""
    apart = {"GPC": 0.0, "GPD": distance, "GPR": 0.3, "GPR + Platt": 0.1}
    keys = ("error", "MNLL", "ECE", "seconds")
    return [
        {"experiment": "figure 4", "set": "EEG", "split": split, "model": model}
        | dict.fromkeys(keys, 0.5 + split / 100 + far * (1 + split / 50))
        for split in range(1, 5)
        for model, far in apart.items()
    ]


@pytest.mark.parametrize(("distance", "holds"), [(0.02, True), (0.11, False)])
def test_claim_of_the_nearer_model_is_judged_by_a_paired_test(distance, holds):
    """GPD at 0.02 from GPC is nearer than scaled GPR at 0.1, split by split; at 0.11 it is not."""
    from paper_checks import dirichlet_gp

    claims = dirichlet_gp._figure_4(_gp_rows(distance), Setting())
    found = [claim for claim in claims if "EEG" in claim.where]
    nearer = [claim for claim in found if claim.value == "GPD nearer to GPC than GPR"]
    assert [claim.holds for claim in nearer] == 3 * [holds]
    between = [claim for claim in found if claim.value == "GPD between GPC and GPR"]
    assert [claim.holds for claim in between] == 3 * [holds]
    below = [claim for claim in found if claim.value == "GPC below GPR"]
    assert [claim.verdict for claim in below] == 3 * ["reproduced"]


def test_paired_test_over_splits_is_student_s_with_a_larger_variance():
    """Of ten splits with a quarter of the rows for the test: by 1 + 10 / 3 (Nadeau and Bengio)."""
    from paper_checks import dirichlet_gp

    differences = np.random.default_rng(0).normal(0.5, 1, 10)
    plain = ttest_1samp(differences, 0).statistic
    expected = student.sf(plain / np.sqrt(1 + 10 / 3), 9)
    assert dirichlet_gp._pvalue(differences, "letter") == pytest.approx(expected, rel=1e-12)


def test_picture_of_time_has_a_curve_a_model():
    """Beside the ratios a panel a set, with the time on a logarithmic axis."""
    from paper_checks.gp_pictures import time_picture

    fits = _gp_rows(0.02)
    sizes = [row | {"M": 25 * row["split"], "experiment": "figure 5"} for row in fits]
    ratios, panel = time_picture(fits, sizes).axes
    assert len(ratios.patches) == 1
    assert [line.get_label() for line in panel.lines] == ["GPC", "GPD", "GPR"]
    assert panel.get_xscale() == "log"


# ------------------------------------------------------------------------------ Kull et al., UCI


@pytest.mark.filterwarnings("ignore::caltest.errors.DegenerateDataWarning")
@pytest.mark.parametrize("name", ["TempS", "VecS", "DirL2", "DirODIR"])
def test_clipped_loss_has_no_gradient_at_impossible_labels(logits, name):
    """The map is that of the other rows."""
    from paper_checks.dirichlet_uci import fit_map

    Z, labels = logits
    probs = softmax(Z, axis=1)
    probs[:5, :] = np.eye(4)[(labels[:5] + 1) % 4]
    rest = probs[5:], labels[5:]
    found = fit_map(f"{name}, clipped", probs, labels, *rest)(probs)
    assert found == pytest.approx(fit_map(name, *rest, *rest)(probs), abs=1e-12)
    assert np.abs(found - fit_map(name, probs, labels, *rest)(probs)).max() > 0.01


def _ranked_rows(ranks):
    """Rows whose losses are the ranks, by set and repetition: (sets, repetitions, methods)."""
    return [
        {"set": s, "classifier": "tree", "repetition": i, "calibrator": str(k), "log-loss": loss}
        for s, of_set in enumerate(ranks)
        for i, losses in enumerate(of_set)
        for k, loss in enumerate(losses)
    ]


def test_width_of_average_ranks_is_that_of_independent_data_sets():
    """By hand: one set varies, and leaving out a repetition changes its ranks by turns."""
    from paper_checks.dirichlet_ranks import _rank_widths

    steady = [[1.0, 2.0, 3.0]] * 3
    varied = [[1.0, 2.0, 4.0], [1.0, 2.0, 4.0], [9.0, 2.0, 4.0]]  # without the last: 1, 2, 3
    rows = _ranked_rows([steady, varied])
    widths, floors, _ = _rank_widths(rows, "log-loss", ("0", "1", "2"))
    ranks = np.array([[3, 1, 2], [3, 1, 2], [1, 2, 3]]) / 2  # means 5, 2, 4 twice; of two sets
    variance = 2 * ranks.var(axis=0)
    expected = student.isf(0.0005, 2) * np.sqrt(variance * (1 + 3 / 5))
    assert widths == pytest.approx(expected)
    assert floors == pytest.approx(-norm.ppf(0.0005) * np.sqrt(variance * 3 / 5))


def test_width_is_unknown_from_one_repetition():
    from paper_checks.dirichlet_ranks import _rank_widths

    widths, floors, reason = _rank_widths(_ranked_rows([[[1.0, 2.0]]]), "log-loss", ("0", "1"))
    assert np.isnan([widths, floors]).all()
    assert not reason


def test_ranks_of_the_papers_code_change_where_probabilities_are_zero():
    """With temperature scaling as no calibration, both tie; other classifiers keep their ranks."""
    from paper_checks.dirichlet_ranks import IN_TABLE_2, Clipped

    losses = {"Uncal": 3.0, "TempS": 1.0, "DirL2": 2.0, "DirL2, clipped": 2.5}
    rows = [
        {"set": "one", "classifier": key, "repetition": 0, "calibrator": name, "log-loss": loss}
        for key in ("tree", "lda")
        for name, loss in losses.items()
    ]
    found = Clipped(rows, IN_TABLE_2).ranks("log-loss", "tree", ("Uncal", "TempS", "DirL2"))
    assert found == {"Uncal": (3.0, 2.5), "TempS": (1.0, 2.5), "DirL2": (2.0, 1.0)}
    assert Clipped(rows, IN_TABLE_2).ranks("log-loss", "lda", ("Uncal", "TempS")) == {}


def test_ms_odir_zero_is_vector_scaling_with_the_same_diagonal(logits):
    """The mean of the maps without what is off their diagonals; with a large penalty the same."""
    Z, labels = logits
    data = networks.Network(Z, labels, Z[:50], labels[:50])
    free = networks.without_off_diagonal(data, (1e-4, 1e-4))
    tied = networks.without_off_diagonal(data, (1e6, 1e-4))
    assert np.abs(free["MS-ODIR"] - free["MS-ODIR-zero"]).max() > 1e-3
    np.testing.assert_allclose(tied["MS-ODIR"], tied["MS-ODIR-zero"], atol=1e-5)


def test_labels_are_bought_above_the_threshold_of_the_text():
    """0.5 of the largest entropy, 1000 rows to start with, 200 to calibrate with."""
    text = active_learning.PROTOCOLS["text"]
    assert (text.threshold, text.start, text.calibration) == (0.5, 1000, 200)


def test_mondrian_forest_is_right_on_its_rows_and_unsure_far_away(monkeypatch):
    """Inside of the boxes it has the class of its leaves, far outside the shares of the roots."""
    from paper_checks import mondrian

    for name in ("_grow", "_outside", "_predict"):  # to compile them takes longer than to run
        monkeypatch.setattr(mondrian, name, getattr(mondrian, name).py_func)
    rng = np.random.default_rng(0)
    X = rng.random((60, 2)).astype(np.float32)
    y = (X[:, 0] > 0.3).astype(int) + 3
    forest = mondrian.MondrianForest(seed=1).fit(X, y)
    assert forest.classes_[forest.predict_proba(X).argmax(axis=1)].tolist() == y.tolist()
    assert forest.predict_proba([[1e6, -1e6]])[0] == pytest.approx(
        [(y == 3).mean(), (y == 4).mean()]
    )


def test_binning_by_class_chooses_the_bins_that_the_class_needs():
    """Of two classes of which one is a step, both maps are those of their own least log loss."""
    from paper_checks.dirichlet_uci import BINS, fit_map

    rng = np.random.default_rng(2)
    probs = rng.dirichlet([1, 1, 1], 300)
    labels = np.array([rng.choice(3, p=row**2 / (row**2).sum()) for row in probs])
    fit, other = slice(150), slice(150, None)
    mapped = fit_map("WidB, by class", probs[fit], labels[fit], probs[other], labels[other])
    columns = []
    for k in range(3):
        score, tried = probs[fit, k], []
        for bins in BINS:
            inner = np.linspace(score.min(), score.max(), bins + 1)[1:-1]
            at, to = np.digitize(score, inner), np.digitize(probs[other, k], inner)
            events = np.bincount(at, labels[fit] == k, bins)
            tried.append(((events + 1) / (np.bincount(at, minlength=bins) + 2))[to])
        event = labels[other] == k
        columns.append(min(tried, key=lambda p, e=event: -np.log(np.where(e, p, 1 - p)).mean()))
    expected = np.transpose(columns) / np.sum(columns, axis=0)[:, None]
    np.testing.assert_allclose(mapped(probs[other]), expected, rtol=1e-12)
