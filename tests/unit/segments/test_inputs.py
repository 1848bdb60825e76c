"""What segments are made of, and calls that are refused."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import caltest as ct
from caltest.errors import InvalidInput, NotApplicable, SuspectInputWarning
from caltest.segments.inputs import column_of, without_rare

N = 120
RNG = np.random.default_rng(1)
P = RNG.uniform(0.2, 0.8, N)
Y = (RNG.random(N) < P).astype(int)
SITE = np.repeat(["a", "b", "c"], N // 3)
AGE = RNG.normal(50, 10, N)
FRAME = pl.DataFrame({"y": Y, "p_1": P, "site": SITE, "age": AGE})
P3 = RNG.dirichlet([1, 1, 1], N)
Y3 = RNG.integers(0, 3, N)


def run(model, data=None, **options):
    return ct.test_segments(model, data, n_resamples=19, rng=1, **options)


def names(result):
    """Return the definitions of one condition, without the numbers."""
    return {row.definition.split(" ")[0] for row in result if row.depth == 1}


def test_columns_of_a_data_frame_are_named_and_scanned():
    assert names(run(FRAME, label="y", segments="site")) == {"site"}
    assert names(run(FRAME, label="y", segments=["site", "age"])) == {"site", "age"}
    assert names(run(FRAME, label="y")) == {"site", "age"}
    assert names(run(FRAME.to_pandas(), label="y", features=["age"])) == {"age"}
    weighted = FRAME.with_columns(w=pl.int_range(pl.len()) % 3)
    assert names(run(weighted, label="y", sample_weight="w")) == {"site", "age"}


@pytest.mark.parametrize("kind", [dict, pd.DataFrame, pl.DataFrame])
def test_columns_are_given_by_value(kind):
    """A mapping or a table, of segments or of features."""
    columns = kind({"site": SITE, "age": AGE})
    assert names(run(P, Y, segments=columns)) == {"site", "age"}
    assert names(run(P, Y, features=columns)) == {"site", "age"}


def test_features_of_a_model_are_scanned():
    """The X of (X, y), by number where it has no names."""
    X = np.column_stack([AGE, P])
    model = LogisticRegression().fit(X, Y)
    assert names(run(model, (X, Y))) == {"x0", "x1"}
    frame = FRAME.select("age", "p_1").to_pandas()
    assert names(run(LogisticRegression().fit(frame, Y), (frame, Y), segments="age")) == {"age"}


def test_features_that_a_model_takes_may_be_named_beside_segments():
    """Names go to the model; segments are other columns."""
    frame = FRAME.to_pandas()
    model = LogisticRegression().fit(frame[["age"]], Y)
    result = run(model, frame, label="y", features=["age"], segments="site")
    assert names(result) == {"site"}


def test_series_keeps_its_name():
    assert names(run(P, Y, segments=FRAME.to_pandas()["site"])) == {"site"}


def test_boolean_columns_are_a_matrix():
    """As an array or a table, taken as they are."""
    matrix = np.column_stack([SITE == "a", AGE > 50])
    result = run(P, Y, segments=matrix)
    assert result.n_segments == (1, 2)
    assert names(result) == {"segment"}
    frame = pl.DataFrame({"first": matrix[:, 0], "old": matrix[:, 1]})
    assert names(run(P, Y, segments=frame)) == {"first", "old"}


def test_lone_boolean_column_has_two_sides():
    result = run(P, Y, segments=pl.DataFrame({"old": AGE > 50}))
    assert result.n_segments == (1, 2)
    assert names(result) == {"old"}


def test_several_classes_and_columns_without_segments():
    assert run(P3, Y3, segments={"site": SITE}).lens == "confidence"
    assert run(P3, Y3, segments={"site": SITE}, lens="classwise[1]").lens == "classwise[1]"
    result = run(P, Y, segments={"site": SITE, "id": np.arange(N).astype(str)})
    assert result.notes == ("no value of 'id' has at least 20 rows and leaves out some",)


CALLS = {
    "nothing": (
        lambda: run(P, Y),
        "segments or features must be given where data has no columns beside the predictions",
    ),
    "no frame": (lambda: run(P, Y, segments="site"), r"segments must be values where .*\['site'\]"),
    "no column": (lambda: run(FRAME, label="y", segments="sit"), "did you mean 'site'"),
    "twice": (
        lambda: run(FRAME, label="y", segments=["site", "site"]),
        "segments must name each column once",
    ),
    "label": (lambda: run(FRAME, label="y", segments="y"), "segments must not be the label column"),
    "label as feature": (
        lambda: run(FRAME, label="y", features=["y"]),
        "features must not be the label column",
    ),
    "numbers": (
        lambda: run(P, Y, segments=np.ones((N, 2))),
        "segments must be column names, .* got dtype float64",
    ),
    "shape": (
        lambda: run(P, Y, segments=np.ones((2, N), dtype=bool)),
        "segments must have one row per row of probs; got 2 for 120 rows; transpose it",
    ),
    "length": (lambda: run(P, Y, segments={"s": SITE[:-1]}), "column 's' must have one entry"),
    "empty": (lambda: run(P, Y, segments={}), "segments must have at least one column"),
    "cube": (lambda: run(P, Y, features=np.ones((N, 2, 2))), "features must be a table"),
    "both": (
        lambda: run(P, Y, segments={"s": SITE}, features=AGE),
        "features has no effect where segments are given",
    ),
    "depth": (
        lambda: run(P, Y, segments=np.ones((N, 1), dtype=bool), depth=2),
        "depth has no effect on a boolean matrix",
    ),
    "depth 0": (lambda: run(P, Y, segments={"s": SITE}, depth=0), "depth must be an integer"),
    "bins": (lambda: run(P, Y, segments={"s": SITE}, bins=1), "bins must be an integer"),
    "min_size": (
        lambda: run(P, Y, segments={"s": SITE}, min_size=1),
        "min_size must be an integer",
    ),
    "statistic": (
        lambda: run(P, Y, segments={"s": SITE}, statistic="means"),
        "statistic must be one of 'mean', 'cumulative'",
    ),
    "no statistic": (
        lambda: run(P, Y, segments={"s": SITE}, statistic=[]),
        "statistic must name at least one",
    ),
    "family": (
        lambda: run(P3, Y3, segments={"s": SITE}, lens="classwise"),
        "lens must not be a family",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_illegal_call_says_what_to_do(name):
    """The rule, the value and the remedy."""
    call, message = CALLS[name]
    with pytest.raises(InvalidInput, match=message):
        call()


def test_what_has_no_meaning_is_not_applicable():
    """No segment that is large enough; a lens that shows many classes, or fewer rows."""
    with pytest.raises(NotApplicable, match="no segment has at least 90 rows"):
        run(P, Y, segments={"s": SITE}, min_size=90)
    with pytest.raises(NotApplicable, match="the lens 'strong' shows 3 classes"):
        run(P3, Y3, segments={"s": SITE}, lens="strong")
    with pytest.raises(NotApplicable, match="leaves out rows"):
        run(P3, Y3, segments={"s": SITE}, lens="top-label[1]")


def test_segments_with_another_index_are_suspect():
    y, p = pd.Series(np.arange(100) % 2), np.full(100, 0.5)
    ward = pd.Series(np.arange(100) % 3)[::-1]
    for segments in ({"ward": ward}, ward.to_frame("ward")):
        with pytest.warns(SuspectInputWarning, match="have the same index in another order"):
            ct.test_calibration(p, y, segments=segments, n_resamples=99, rng=1)


# ---- columns become categories ------------------------------------------------------------------


def test_names_and_few_numbers_are_categories():
    column = column_of(["b", "a", "b"], 3, "site", bins=10)
    assert column.conditions == ("site = a", "site = b")
    assert column.codes.tolist() == [1, 0, 1]
    assert column_of([True, False], 2, "old", bins=10).conditions == ("old = False", "old = True")
    assert column_of([3, 1, 3], 3, "grade", bins=2).conditions == ("grade = 1", "grade = 3")
    days = np.array(["2026-01-02", "2026-01-01", "NaT"], "datetime64[us]")  # as groups are named
    texts = ("day = 2026-01-01", "day = 2026-01-02", "day missing")
    assert column_of(days, 3, "day", bins=10).conditions == texts


def test_ends_have_the_digits_that_tell_them_apart():
    """Large numbers that hardly differ get more of them."""
    values = 1e6 + np.arange(40) / 8
    names = column_of(values, 40, "t", bins=4).conditions
    assert len(set(names)) == 4


@pytest.mark.parametrize("values", [[1.5, np.nan, 2.5], ["a", None, "b"], [1, None, 2.5]])
def test_missing_values_are_a_value(values):
    column = column_of(np.array(values, dtype=None), 3, "x", bins=5)
    assert column.conditions[-1] == "x missing"
    assert column.codes.tolist() == [0, 2, 1]


def test_parts_have_the_least_rows_though_values_are_missing():
    """Ten parts of the rows with a value would have too few, so that none were a segment."""
    values = np.where(np.arange(400) < 300, np.nan, np.arange(400))
    data = ct.Predictions(np.full(400, 0.5), np.arange(400) % 2)
    result = ct.test_segments(data, segments={"x": values}, n_resamples=9, rng=1)
    parts = [row for row in result if row.depth and "missing" not in row.definition]
    assert [row.n for row in parts] == [20] * 5


@pytest.mark.parametrize("of", [np.random.default_rng(1).normal(size=900), 10**6 + np.arange(900)])
def test_conditions_hold_in_the_rows_that_they_name(of):
    """Each cut as it is written has the same rows below it: the text is all that a reader has."""
    column = column_of(of, 900, "x", 9)
    for k, cut in enumerate(column.cuts):
        np.testing.assert_array_equal(of <= float(cut), column.codes <= k)
        assert len(cut) <= 9


def test_large_numbers_are_told_apart():
    """Names of sites that are numbers, and floats where one is missing."""
    column = column_of([1000001.0, np.nan, 1000002.0], 3, "site", 10)
    assert column.conditions == ("site = 1000001", "site = 1000002", "site missing")


def test_rare_values_are_put_together():
    """What all rows share is no segment either."""
    column = column_of(list("aaabbc"), 6, "x", bins=5)
    kept = without_rare(column, 2)
    assert kept.conditions == ("x = a", "x = b", "")
    assert kept.codes.tolist() == [0, 0, 0, 1, 1, 2]
    assert without_rare(column_of(list("aaa"), 3, "x", bins=5), 2) is None


@pytest.mark.parametrize("kind", [Decimal, np.float64, np.int32])
def test_numbers_of_any_kind_are_cut(kind):
    """A database gives Decimal, and arithmetic in a column of objects numbers of NumPy."""
    values = np.array([*map(kind, range(40)), None], dtype=object)
    column = column_of(values, 41, "age", bins=4)
    assert column.cuts == ("9", "19", "29")
    assert column.conditions[-2:] == ("age > 29", "age missing")


def test_integers_that_no_double_holds_are_refused():
    with pytest.raises(InvalidInput, match="an integer of more than 300 digits"):
        column_of(np.array([10**400, 1] * 20, dtype=object), 40, "age", bins=4)


def test_numbers_of_extended_precision_are_cut():
    """They are of no more use than doubles, which a Decimal can tell."""
    column = column_of(np.arange(40, dtype=np.longdouble), 40, "age", bins=4)
    assert column.cuts == ("9", "19", "29")


DAYS = np.datetime64("2024-03-01") + np.arange(40)


@pytest.mark.parametrize(
    ("times", "cuts"),
    [
        (DAYS, ("2024-03-10", "2024-03-20", "2024-03-30")),
        (pl.Series(DAYS.tolist()), ("2024-03-10", "2024-03-20", "2024-03-30")),
        (pd.Series(DAYS.tolist()), ("2024-03-10", "2024-03-20", "2024-03-30")),
        (pd.Series(DAYS).dt.tz_localize("Europe/Rome"), ("2024-03-10", "2024-03-20", "2024-03-30")),
        (DAYS + np.timedelta64(90, "m"), tuple(f"2024-03-{day} 01:30:00" for day in (10, 20, 30))),
    ],
    ids=["days", "polars", "objects", "zone", "minutes"],
)
def test_times_are_cut_as_numbers_are(times, cuts):
    """Of which each has few rows, so that no value is a segment; missing ones are a value."""
    column = column_of(times, 40, "when", bins=4)
    assert column.cuts == cuts
    assert column.conditions[1] == f"when in ({cuts[0]}, {cuts[1]}]"
    assert np.bincount(column.codes).tolist() == [10, 10, 10, 10]
    assert column_of([dt.date(2024, 1, 1), None], 2, "when", 4).conditions[1] == "when missing"


def test_durations_are_cut_as_dates_are():
    """Also where each row has another; in the largest unit in which they are whole."""
    days = pd.to_timedelta(np.arange(N), unit="D")
    for values in (days, days.to_pytimedelta()):
        column = column_of(values, N, "stay", 3)
        assert column.conditions[0] == "stay <= 39 days"
        assert np.bincount(column.codes).tolist() == [40, 40, 40]
    few = column_of(pd.to_timedelta(np.arange(N) // 40, unit="h"), N, "stay", 3)
    assert few.conditions == ("stay = 0 hours", "stay = 1 hour", "stay = 2 hours")


def test_column_without_a_name_is_quoted():
    assert column_of(SITE, N, "", 3).conditions[0] == "'' = a"


def test_column_of_one_value_is_not_told_to_have_fewer():
    """Nor one that lacks all values; two values are what it takes."""
    for values in (np.ones(N), np.full(N, np.nan)):
        with pytest.raises(NotApplicable, match="pass columns of a few values, two or more"):
            run(P, Y, segments={"constant": values})
