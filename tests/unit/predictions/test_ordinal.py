"""Classes that are ordered: how they are read, seen by lenses, and tested."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import caltest as ct
from caltest.numerics.labels import resample_keys

NAMES = ["none", "mild", "severe", "fatal"]


def probs_of(log_odds):
    """Probabilities of the log odds of P(Y <= k)."""
    return np.diff(expit(log_odds), axis=1, prepend=0, append=1)


def ordered(n=200, shift=0.0, seed=1, **options):
    """A proportional-odds model, and labels of one whose thresholds are shifted."""
    rng = np.random.default_rng(seed)
    log_odds = np.array([-1.0, 0.5, 1.5]) - rng.normal(size=(n, 1))
    truth = probs_of(log_odds + shift)
    labels = (truth.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
    return ct.Predictions(probs_of(log_odds), labels, classes=NAMES, ordinal=True, **options)


# ---- reading ------------------------------------------------------------------------------------


def test_order_changes_nothing_of_two_classes():
    p, y = np.linspace(0.1, 0.9, 40), np.arange(40) % 2
    plain, other = (ct.test_calibration(p, y, ordinal=o, rng=1) for o in (False, True))
    assert plain.pvalue == other.pvalue
    assert plain.statistic == other.statistic


def test_classes_in_the_order_of_the_alphabet_are_told():
    p = [[0.5, 0.25, 0.25]] * 3
    with pytest.warns(ct.SuspectInputWarning, match="high < low < medium"):
        ct.Predictions(p, ["low", "medium", "high"], ordinal=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ct.Predictions(p, ["a", "b", "c"], classes=["a", "b", "c"], ordinal=True)
        ct.Predictions(p, ["low", "medium", "high"])


def test_results_of_an_ordered_model_are_ordinal():
    pd = pytest.importorskip("pandas")
    ordinal_model = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    rng = np.random.default_rng(2)
    x = rng.normal(size=(300, 1))
    codes = np.digitize(x[:, 0] + rng.logistic(size=300), [-1, 1])
    y = pd.Series(pd.Categorical.from_codes(codes, NAMES[:3], ordered=True))
    fitted = ordinal_model.OrderedModel(y, x, distr="logit").fit(method="bfgs", disp=False)
    data = ct.Predictions.from_model(fitted, x, y)
    assert data.ordinal
    assert data.classes.tolist() == NAMES[:3]


@pytest.mark.parametrize(
    "call",
    [
        lambda p, y: ct.test_calibration(p, y, ordinal=True, rng=1, n_resamples=99),
        lambda p, y: ct.test_calibration(ct.Predictions(p, y), ordinal=True, rng=1, n_resamples=99),
        lambda p, y: ct.test_calibration(lambda X: X, (p, y), ordinal=True, rng=1, n_resamples=99),
    ],
)
def test_order_is_taken_wherever_data_are(call):
    data = ordered(60)
    keys = {row.test for row in call(data.probs, data.labels).components}
    assert "order-level" in keys
    assert "confidence-line" not in keys


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ct.Predictions([[0.5, 0.5]], [0], ordinal="yes"), "ordinal must be"),
        (lambda: ct.Predictions([[0.2, 0.3, 0.5]], ["x"], classes=["a", "b", "c"], ordinal=True),
         "'x'"),
        (lambda: ct.lenses.Cumulative("fatal")(ordered()), "the last"),
        (lambda: ct.Predictions.multilabel([0.5], [1]), r"shape \(n, L\)"),
        (lambda: ct.Predictions.multilabel([[0.5, 0.5]], [1]), "a column of 0 and 1"),
        (lambda: ct.Predictions.multilabel([[0.5, 0.5]], [[1, 2]]), "2 in row 0, label 'label 1'"),
        (lambda: ct.Predictions.multilabel([[0.5, 1.5]], [[1, 0]]), "1.5 in row 0"),
        (lambda: ct.Predictions.multilabel([[0.5, 0.5]], [[1, 0]], names=["a", "a"]), "once"),
        (lambda: ct.Predictions.multilabel([[0.5]], [[1]], clusters=[1, 2]), "clusters must have"),
    ],
)  # fmt: skip
def test_wrong_input_is_one_error(call, message):
    with pytest.raises(ct.InvalidInput, match=message):
        call()


# ---- the lens -----------------------------------------------------------------------------------


def test_cumulative_lens_redraws_the_labels_of_the_rows():
    """What the lens redraws is what it makes of the redrawn labels, also under another lens."""
    data, keys = ordered(50), resample_keys(3, 20)
    for seen, codes in ((data, [0, 1, 2]), (ct.lenses.Largest(2)(data), [0, 1])):
        drawn = seen.redrawing.labels(keys)
        for code in codes:
            found = ct.lenses.Cumulative(seen.classes[code])(seen)
            np.testing.assert_array_equal(found.redrawing.labels(keys), drawn <= code)
            np.testing.assert_allclose(found.probs[:, 1], seen.probs[:, : code + 1].sum(axis=1))
            np.testing.assert_array_equal(found.labels, seen.labels <= code)


def test_cumulative_family_is_adjusted_jointly():
    table = ct.test_calibration(ordered(shift=0.5), lens="cumulative", test="ks", rng=1)
    assert [row.lens for row in table] == [f"cumulative[{name}]" for name in NAMES[:3]]
    assert table.correction == "joint"
    assert table.noun == "thresholds"


# ---- the measures -------------------------------------------------------------------------------


def test_rps_is_the_sum_of_the_brier_scores_of_the_thresholds():
    weight = np.random.default_rng(4).random(200)
    data = ordered(sample_weight=weight)
    upto = data.probs.cumsum(axis=1)[:, :-1]
    rows = np.square(upto - (data.labels[:, None] <= np.arange(3))).sum(axis=1)
    expected = np.average(rows, weights=weight)
    assert ct.measures.ranked_probability_score(data) == pytest.approx(expected, rel=1e-12)
    two = ct.test_calibration(data.probs[:, 0], data.labels == 0, test="rps", rng=1)
    brier = ct.test_calibration(data.probs[:, 0], data.labels == 0, test="brier", rng=1)
    assert (two.statistic, two.pvalue) == (brier.statistic, brier.pvalue)


@pytest.mark.parametrize("test", ["rps", "ordinal-hosmer-lemeshow"])
def test_an_order_that_nobody_gave_is_said(test):
    """The classes of text labels alone are those of the alphabet."""
    data = ordered()
    given = data.probs[:, [3, 1, 0, 2]], np.array(NAMES)[data.labels]
    alone = ct.test_calibration(*given, test=test, n_resamples=19, rng=1)
    named = ct.test_calibration(data, test=test, n_resamples=19, rng=1)
    order = "the classes count in the order of their columns, fatal < mild < none < severe"
    assert (order in alone.notes, any("order" in note for note in named.notes)) == (True, False)


def test_ordinal_hosmer_lemeshow_is_that_of_equal_groups():
    """Of the R package generalhoslem, logitgof(ord = TRUE), where no scores are equal."""
    data = ordered(200)
    order = np.argsort(data.probs @ np.arange(1, 5))
    expected = 0.0
    for rows in np.array_split(order, 10):
        counts, mean = np.bincount(data.labels[rows], minlength=4), data.probs[rows].sum(axis=0)
        expected += np.sum((counts - mean) ** 2 / mean)
    options = {"test": "ordinal-hosmer-lemeshow", "null": "asymptotic"}
    fitted = ct.test_calibration(data, internal=True, **options)
    other = ct.test_calibration(data, **options)
    assert fitted.statistic == pytest.approx(expected, rel=1e-12)
    assert (fitted.parameters["df"], other.parameters["df"]) == (8 * 3 + 2, 30)


# ---- the default test ---------------------------------------------------------------------------


def test_default_sees_the_order():
    """A shift of all thresholds is told in class numbers; without the order it takes more rows."""
    data = ordered(300, shift=0.35, seed=5)
    result = ct.test_calibration(data, rng=1)
    plain = ct.test_calibration(data.probs, data.labels, rng=1)
    (level,) = [row for row in result.components if row.test == "order-level"]
    number = np.arange(1, 5)
    gap = np.mean(data.labels + 1) - np.mean(data.probs @ number)
    assert level.estimate == pytest.approx(gap)
    assert result.pvalue < plain.pvalue


def test_components_of_the_order_are_theirs_of_any_classes_that_name_them():
    data = ordered(60)
    plain = ct.Predictions(data.probs, data.labels)
    named = ct.measures.combined(plain, components=["order-level", "order-slope"])
    assert named == ct.measures.combined(data, components=["order-level", "order-slope"])


def test_order_takes_weights_and_clusters():
    data = ordered(80, clusters=np.arange(80) // 2, sample_weight=np.linspace(0.5, 2, 80))
    result = ct.test_calibration(data, rng=1, n_resamples=99)
    assert result.null == "cluster"
    assert 0 < result.pvalue <= 1


# ---- multilabel ---------------------------------------------------------------------------------


def labelled(n=120, size=6, seed=1, **options):
    """Labels that all but repeat each other, the last of them with other probabilities."""
    rng = np.random.default_rng(seed)
    p = np.repeat(expit(rng.normal(size=(n, 1))), size, axis=1)
    y = (rng.random((n, 1)) < p).astype(int)
    p = expit(np.log(p / (1 - p)) + np.where(np.arange(size) < size - 1, 0.35, 2.0))
    return ct.Predictions.multilabel(p, y, **options)


def test_columns_and_rows_of_tables_are_in_one_order():
    """Of labels in other columns there is an error, of other rows a warning."""
    p = pd.DataFrame({"a": [0.2, 0.4], "b": [0.3, 0.9]})
    y = pd.DataFrame({"b": [1, 1], "a": [0, 1]})
    with pytest.raises(
        ct.InvalidInput, match=r"in the order of probs.*pass labels\[probs.columns\]"
    ):
        ct.Predictions.multilabel(p, y)
    assert ct.Predictions.multilabel(p, y[p.columns]).labels.tolist() == [0, 1, 1, 1]
    with pytest.warns(ct.SuspectInputWarning, match="same index in another order"):
        ct.Predictions.multilabel(p[::-1], y[p.columns])


def test_multilabel_is_a_table_of_exact_tests():
    """Adjusted by Holm, with a test of all together."""
    data = labelled(names=list("abcdef"))
    table = ct.test_calibration(data, by=True, test="brier", rng=1, n_resamples=99)
    assert [row.group for row in table] == list("abcdef")
    assert {row.null for row in table} == {"exact"}
    assert table.rows[int(np.argmin(table.pvalues))].group == "f"
    table = ct.test_calibration(labelled(), by=True, test="ks", rng=1, n_resamples=999)
    assert table.correction == "holm"
    assert table.omnibus[0].null == "cluster"
    assert 0 < table.together <= 1
    table = ct.test_calibration(labelled(12), by=True, test="brier", rng=1, n_resamples=99)
    assert table.correction == "holm"
    assert not table.omnibus
