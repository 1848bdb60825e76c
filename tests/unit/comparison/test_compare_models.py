"""`compare_models` against plain formulas, its inputs, and what it refuses."""

from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_rel
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import caltest as ct
from caltest import InvalidInput, Predictions, measures
from caltest.comparison.models import _difference
from caltest.datasets import generative_model

BINARY = generative_model("M1", n=150, m=2, rng=1)
SEVERAL = generative_model("M2", n=120, m=3, rng=1)
Y = BINARY.labels
MODELS = {
    "as it is": BINARY.probs,
    "cautious": (BINARY.probs + 0.5) / 2,
    "sharp": BINARY.probs**2 / (BINARY.probs**2).sum(axis=1, keepdims=True),
}
QUICK = {"n_resamples": 199, "rng": 1}


def compare(models=MODELS, data=Y, **options):
    return ct.compare_models(models, data, **{**QUICK, **options})


def squares(probs):
    """Return the Brier score of each row."""
    return np.square(probs[:, 1] - Y)


def test_difference_interval_and_error_are_those_of_paired_samples():
    """The interval is that of the paired t test; scipy computes it."""
    row = compare(score="brier", reference="as it is")["cautious"].difference
    result = ttest_rel(squares(MODELS["cautious"]), squares(MODELS["as it is"]))
    ends = result.confidence_interval(0.95)
    assert row.difference == pytest.approx(
        (squares(MODELS["cautious"]) - squares(MODELS["as it is"])).mean()
    )
    assert row.difference / row.stderr == pytest.approx(result.statistic)
    assert (row.low, row.high) == pytest.approx((ends.low, ends.high))


def test_first_line_names_the_least_score_and_who_differs_from_it():
    """A model of chance is worse, one as good is not said to be."""
    models = {"as it is": BINARY.probs, "chance": np.full((150, 2), 0.5)}
    models["like it"] = 0.99 * BINARY.probs + 0.005
    found = compare(models, score="brier", reference="as it is")
    first = " ".join(str(found).split("\n\n")[0].split())
    assert first.startswith(f"Least Brier score: {found.best} (")
    differ = "worse than as it is: chance (p = 0.01); not shown to differ from as it is: like it (p"
    assert f"; {differ}" in first


def test_pvalue_is_the_larger_of_all_sign_flips_and_of_all_labels():
    """Ten rows have 1024 vectors of signs or labels: listed here, drawn there."""
    probs, y = BINARY.probs[:10], Y[:10]
    models = {"a": probs, "b": (3 * probs + 0.5) / 4}
    row = compare(models, y, score="brier", reference="a", n_resamples=9999)["b"].difference
    d = np.square(models["b"][:, 1] - y) - np.square(probs[:, 1] - y)
    signs = np.array(list(product([-1.0, 1.0], repeat=10)))
    flips = np.mean(np.abs(signs @ d) >= abs(d.sum()) - 1e-12)
    at = np.stack([np.square(models["b"][:, 1] - k) - np.square(probs[:, 1] - k) for k in (0, 1)])
    labels, between = (signs > 0).astype(int), (models["b"] + probs) / 2
    extreme = np.abs(at[labels, np.arange(10)].sum(axis=1)) >= abs(d.sum()) - 1e-12
    exact = max(flips, between[np.arange(10), labels][extreme].prod(axis=1).sum())
    assert abs(row.pvalue - exact) < 4 * np.sqrt(exact * (1 - exact) / 9999)


def test_equal_models_have_a_difference_of_0_and_a_pvalue_of_1():
    """Every flip ties with what was observed."""
    result = compare({"a": BINARY.probs, "b": BINARY.probs.copy()})
    assert result.best == "a"
    row = result["b"].difference
    assert (row.difference, row.stderr, row.pvalue) == (0.0, 0.0, 1.0)


def test_without_reference_the_best_is_compared_and_all_pairs_adjust():
    """The data choose the best, so that the family is that of all pairs."""
    result = compare(correction="bonferroni")
    assert result.reference == result.best == "as it is"
    assert result["as it is"].difference is None
    assert len(result.pairs) == 3
    for pair in result.pairs:
        assert pair.adjusted == pytest.approx(min(1.0, 3 * pair.pvalue))


def test_with_a_reference_the_others_are_compared_with_it():
    result = compare(correction="bonferroni", reference="cautious")
    assert {pair.other for pair in result.pairs} == {"cautious"}
    assert result["sharp"].difference.adjusted == pytest.approx(
        min(1.0, 2 * result["sharp"].difference.pvalue)
    )


def test_difference_is_turned_round_where_it_is_stored_so():
    """B - A is -(A - B), with the ends of its interval in order."""
    result = compare()
    for pair in result.pairs:
        back = _difference(pair.other, pair.name, result.pairs)
        assert (back.difference, back.low, back.high) == (-pair.difference, -pair.high, -pair.low)
        assert back.pvalue == pair.pvalue


def test_scores_and_errors_are_those_of_the_measures():
    result = compare(measures={"MCE": measures.mce})
    for name, probs in MODELS.items():
        row, own = result[name], Predictions(probs, Y)
        assert row.scores["log loss"] == pytest.approx(measures.log_loss(own))
        assert row.scores["Brier score"] == pytest.approx(measures.brier_score(own))
        assert row.measures["ECE"] == pytest.approx(measures.ece(own))
        assert row.measures["MCE"] == pytest.approx(measures.mce(own))


def test_tests_are_those_of_test_calibration():
    """With the same seed for every model, adjusted over all."""
    result = compare(test=["skce", "ks"], correction="bonferroni")
    alone = ct.test_calibration(MODELS["sharp"], Y, test="ks", **QUICK)
    found, adjusted = result.tests_of("sharp")[1]
    assert found.pvalue == alone.pvalue
    assert adjusted == pytest.approx(min(1.0, 6 * alone.pvalue))
    assert [row.data_name for row in result.tests][::2] == list(MODELS)


@pytest.mark.full
@pytest.mark.parametrize(
    ("data", "score"), [(BINARY, "log-loss"), (BINARY, "brier"), (SEVERAL, "brier")]
)
def test_parts_add_up_to_the_score(data, score):
    """Miscalibration less discrimination plus uncertainty; of more classes the sum over them."""
    models = {"a": data.probs, "b": (data.probs + 1 / data.m) / 2}
    result = compare(models, data.labels, score=score)
    for row in result.rows:
        parts = row.parts
        total = parts["miscalibration"] - parts["discrimination"] + parts["uncertainty"]
        assert total == pytest.approx(row.scores[result.decomposed])
    assert result.decomposed == result.score


def test_models_may_be_classifiers_functions_arrays_and_predictions():
    """On the same rows, whatever they are."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    fitted = GaussianNB().fit(X[:100], y[:100])
    held_out = (X[100:], y[100:])
    probs = fitted.predict_proba(X[100:])
    models = {
        "classifier": fitted,
        "function": fitted.predict_proba,
        "array": probs,
        "predictions": Predictions(probs, y[100:]),
    }
    result = compare(models, held_out)
    assert {pair.difference for pair in result.pairs} == {0.0}
    assert result.n == 100


@pytest.mark.full
def test_models_may_be_columns_of_a_data_frame():
    """A prefix, a column and a list of columns, beside a classifier of the features."""
    frame = pl.DataFrame(
        {"y": Y, "a_0": BINARY.probs[:, 0], "a_1": BINARY.probs[:, 1], "x": np.arange(150.0)}
    )
    tree = DecisionTreeClassifier(max_depth=2).fit(frame.select("x").to_numpy(), Y)
    models = {"prefix": "a_", "column": "a_1", "list": ["a_0", "a_1"], "array": BINARY.probs}
    result = compare(models, frame, label="y", classes=[0, 1])
    assert [pair.difference for pair in result.pairs] == pytest.approx([0.0] * 6, abs=1e-15)
    frame = frame.with_columns(x=pl.Series(np.arange(150.0)))
    mixed = {"a": "a_", "tree": lambda rows: tree.predict_proba(rows.to_numpy())}
    assert compare(mixed, frame, label="y", features=["x"], score="brier").n == 150


def test_all_models_may_be_predictions():
    """Then there is no data to give, and their weights count."""
    weight = np.random.default_rng(0).integers(1, 5, 150)
    seen = {n: Predictions(p, Y, sample_weight=weight) for n, p in MODELS.items()}
    result = ct.compare_models(seen, score="brier", **QUICK)
    expected = np.average(squares(MODELS["sharp"]) - squares(MODELS["as it is"]), weights=weight)
    pair = _difference("sharp", "as it is", result.pairs)
    assert pair.difference == pytest.approx(expected)
    arrays = {name: one.probs for name, one in seen.items()}
    assert ct.compare_models(arrays, Y, sample_weight=weight, score="brier", **QUICK) == result


def test_infinite_scores_and_many_classes():
    """An infinite score has no p-value, many classes have no decomposition."""
    wrong = BINARY.probs.copy()
    wrong[0] = np.eye(2)[1 - Y[0]]
    result = compare({**MODELS, "wrong": wrong})
    row = result["wrong"].difference
    assert (row.difference, row.stderr, row.pvalue) == (np.inf, None, None)
    assert result["sharp"].difference.pvalue is not None
    assert any("wrong: the score is infinite" in note for note in result.notes)
    data = generative_model("M1", n=60, m=51, alpha=1.0, rng=1)
    result = compare({"a": data.probs, "b": (data.probs + 1 / 51) / 2}, data.labels)
    assert result.decomposed == ""
    assert "decomposition" not in str(result.summary())


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_infinite_scores_of_all_leave_nothing_to_flip():
    """The difference of two infinities is not a number."""
    wrong = np.eye(2)[1 - Y]
    row = compare({"a": wrong, "b": wrong.copy()})["b"].difference
    assert np.isnan(row.difference)
    assert (row.stderr, row.pvalue, row.adjusted) == (None, None, None)


@pytest.mark.full
def test_intervals_have_the_level_that_was_given():
    """1 - level, and a verdict in the print."""
    wide, narrow = compare(level=0.01), compare(level=0.2)
    assert wide.confidence == pytest.approx(0.99)
    assert wide["sharp"].difference.low < narrow["sharp"].difference.low
    assert "at level 0.01" in str(wide)
    assert "rejected" not in str(compare())


@pytest.mark.full
def test_result_does_not_depend_on_n_jobs_and_can_be_repeated():
    first = compare()
    assert compare(n_jobs=2) == first
    assert compare(rng=first.seed) == first
    assert compare(rng=2).pairs != first.pairs


def test_progress_counts_models():
    steps = []
    compare(progress=lambda done, total: steps.append((done, total)))
    assert steps == [(1, 3), (2, 3), (3, 3)]


NAMED = Predictions([[0.2, 0.8], [0.6, 0.4]], ["no", "yes"])


@pytest.mark.parametrize(
    ("models", "data", "options", "message"),
    [
        ({"a": BINARY.probs}, Y, {}, "models must be a dict of at least two .* got 1"),
        ([BINARY.probs] * 2, Y, {}, "models must be a dict of at least two .* got a list"),
        (MODELS, Y, {"reference": "dull"}, "reference must be one of the methods"),
        (MODELS, Y, {"score": "ks"}, "score must be a proper score"),
        (
            {"a": BINARY, "b": BINARY.subset([0, 1])},
            None,
            {},
            "the same rows, 150 as 'a' has; got 2",
        ),
        ({"a": BINARY, "b": BINARY.relabelled(1 - Y)}, None, {}, "another at row 0 of 'b'"),
        ({"a": BINARY, "b": NAMED}, None, {}, "the same classes .* got 'no', 'yes' in 'b'"),
        (
            {"a": BINARY, "b": Predictions(BINARY.probs, Y, sample_weight=np.ones(150))},
            None,
            {},
            "the same sample weights",
        ),
        (
            {"a": BINARY, "b": Predictions(BINARY.probs, Y, clusters=np.arange(150) // 5)},
            None,
            {},
            "the same clusters; got others in 'b'",
        ),
        ({1: BINARY, "1": BINARY}, None, {}, "the names in models must differ; got .1. twice"),
        (MODELS, None, {}, "data must be given"),
        ({"a": BINARY, "b": BINARY}, Y, {}, "data has no effect where all models are"),
        (MODELS, Y, {"lens": "classwise"}, "got classwise"),
        (MODELS, Y, {"n_resamples": 0}, "n_resamples must be an integer"),
    ],
)
def test_illegal_call_has_a_message(models, data, options, message):
    """Each names the argument, the rule and the remedy."""
    with pytest.raises(InvalidInput, match=message):
        compare(models, data, **options)


def test_clusters_of_arrays_are_those_of_predictions():
    """Both the differences of scores and the tests allow for rows that depend."""
    rng, cluster = np.random.default_rng(5), np.repeat(np.arange(30), 5)
    off = np.exp(rng.normal(0.0, 1.0, 30))[cluster, None] ** [0, 1]
    models = {"a": BINARY.probs * off, "b": BINARY.probs / off}
    models = {name: p / p.sum(axis=1, keepdims=True) for name, p in models.items()}
    held = {name: Predictions(p, Y, clusters=cluster) for name, p in models.items()}
    found, expected = compare(models, cluster=cluster, test="ks"), compare(held, None, test="ks")
    assert found.pairs == expected.pairs
    assert found.tests.pvalues.tolist() == expected.tests.pvalues.tolist()
    assert found.pairs != compare(models, test="ks").pairs


def test_parts_of_the_rows_are_not_compared():
    """Nor do data options of arrays say anything of Predictions."""
    for name in ("by", "segments"):
        with pytest.raises(InvalidInput, match=f"{name} has no effect in a comparison"):
            compare(**{name: Y})
    held = {name: Predictions(p, Y) for name, p in MODELS.items()}
    with pytest.raises(InvalidInput, match="cluster has no effect where all models are Pred"):
        compare(held, None, cluster=Y)


def test_interval_knows_of_events_that_few_rows_lack():
    """No event among fifty: that the lower risk is better by .01 does not say that it is."""
    p = np.linspace(0.01, 0.03, 50)
    found = compare({"risk": p, "half": p / 2}, np.zeros(50, int), classes=[0, 1], reference="risk")
    row = found["half"].difference
    assert row.difference == pytest.approx(-0.01, abs=0.001)
    # The log loss of an event is log 2 more, and 1 - .025^(1/50) = 7.1 % of the rows may have one.
    assert row.high == pytest.approx(0.071 * np.log(2.0) - 0.01, abs=0.01)


def test_print_names_the_adjustment_that_was_made():
    """There is no joint distribution of differences: "joint" is Holm's method."""
    joint = compare(correction="joint")
    assert joint.pairs == compare().pairs
    assert "adjusted:  Holm, 3 differences" in str(joint)


def test_difference_of_two_infinite_scores_is_left_blank():
    """It is no number, and is not shown as one."""
    wrong = BINARY.probs.copy()
    wrong[0] = np.eye(2)[1 - Y[0]]
    assert "nan" not in str(compare({"a": wrong, "b": wrong, "c": BINARY}, reference="a"))
