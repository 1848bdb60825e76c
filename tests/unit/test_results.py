"""HTest and HTestTable: frozen values that convert to plain data and back."""

import dataclasses
import json
import math
import pickle
from functools import partial

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

import caltest as ct
from caltest.errors import InvalidInput
from caltest.results import HTest, HTestTable, Parameters

LENSES = ({"lens": "strong"}, {"lens": "confidence", "pvalue": 0.04})


def test_results_are_frozen(make_test, make_table):
    """Fields, settings and arrays; an array that was passed stays the caller's."""
    with pytest.raises(dataclasses.FrozenInstanceError, match="pvalue"):
        make_test().pvalue = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError, match="rows"):
        make_table(*LENSES).rows = ()
    with pytest.raises(TypeError, match="item assignment"):
        make_test().parameters["bandwidth"] = 1.0
    table = make_table(*LENSES)
    for array in (make_test().null_distribution, table.adjusted, table.pvalues):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    resampled = np.zeros(3)
    result = make_test(null_distribution=resampled)
    resampled[0] = 1.0
    assert result.null_distribution[0] == 0.0


def test_printing_twice_is_identical(make_test, make_table):
    """A print depends on the values alone."""
    for result in (make_test(), make_table(*LENSES), make_test().summary()):
        assert len({str(result), str(result), repr(result)}) == 1
        assert len({result._repr_html_(), result._repr_html_(), result.to_html()}) == 1


def test_printing_computes_nothing(make_test, make_table, monkeypatch):
    """Quantiles are taken when a summary is made, not when it is printed."""
    results = (make_test(), make_test().summary(), make_table(*LENSES))
    monkeypatch.setattr(np, "quantile", None)
    monkeypatch.setattr(np.random, "default_rng", None)
    for result in results:
        assert "SKCE" in str(result)


def test_json_holds_the_null_distribution_on_request(make_test):
    """The resampled statistics are left out unless asked for."""
    result = make_test()
    assert "null_distribution" not in result.to_dict()
    values = json.loads(result.to_json(include_null=True))
    rebuilt = HTest.from_dict(values)
    np.testing.assert_array_equal(rebuilt.null_distribution, result.null_distribution)


@pytest.mark.parametrize("statistic", [math.inf, -math.inf])
def test_json_of_an_infinite_statistic_is_valid(make_test, statistic):
    """JSON knows no infinities; the text that stands for one reads back."""
    text = make_test(statistic=statistic).to_json()
    assert "Infinity" not in text
    assert HTest.from_dict(json.loads(text)).statistic == statistic


@pytest.mark.parametrize(
    ("options", "quantiles", "within"),
    [
        ({"test": "ece"}, [0.0, 0.95], "at most"),
        ({"test": "brier"}, [0.025, 0.975], " to "),
        ({"test": "brier", "by": np.repeat([0, 1], 150)}, [0.025, 0.975], "if calibrated"),
    ],
)
def test_what_a_statistic_is_if_calibrated_is_printed(options, quantiles, within):
    """An ECE of calibrated predictions is not 0; mean and limits are those of redrawn labels."""
    rng = np.random.default_rng(3)
    p = rng.random(300)
    result = ct.test_calibration(p, (rng.random(300) < p).astype(int), rng=1, **options)
    for row in result.tests:
        mean, low, high = row.if_calibrated
        assert mean == pytest.approx(row.null_distribution.mean())
        ends = np.quantile(row.null_distribution, quantiles)
        assert high == pytest.approx(ends[1])
        assert low == (-math.inf if quantiles[0] == 0.0 else pytest.approx(ends[0]))
    assert within in str(result)
    assert type(result).from_dict(json.loads(result.to_json())) == result


@pytest.mark.parametrize(("test", "one_sided"), [("kce", True), ("brier", False)])
def test_mean_if_calibrated_of_few_rows_is_that_of_all_label_vectors(test, one_sided):
    """It is as exact as the p-value, in the unit of the estimate."""
    p, observed = np.array([0.2, 0.9, 0.35, 0.6, 0.75]), [0, 1, 1, 0, 1]
    result = ct.test_calibration(p, observed, test=test)
    every = np.indices((2,) * 5).reshape(5, -1).T
    values = [ct.test_calibration(p, labels, test=test).estimate for labels in every]
    order, probs = np.argsort(values), np.where(every, p, 1 - p).prod(axis=1)
    values, below = np.array(values)[order], np.cumsum(probs[order])
    mean, low, high = result.if_calibrated
    assert mean == pytest.approx(values @ probs[order])
    assert high == pytest.approx(values[np.argmax(below >= (0.95 if one_sided else 0.975))])
    lowest = -math.inf if one_sided else values[np.argmax(below >= 0.025)]
    assert low == pytest.approx(lowest)
    assert "all 32 label vectors" in str(result)
    assert "if calibrated" in str(result)


def test_no_mean_if_calibrated_of_other_nulls_and_of_combinations():
    """The combined test has no unit; a formula, signs of clusters and a tolerance have no mean."""
    rng = np.random.default_rng(3)
    p = rng.random(60)
    labels, cluster = (rng.random(60) < p).astype(int), np.repeat(np.arange(20), 3)
    asked = ({}, {"test": "cox", "null": "asymptotic"}, {"test": "ece", "cluster": cluster})
    for options in (*asked, {"test": "skce", "tolerance": 0.1}):
        result = ct.test_calibration(p, labels, n_resamples=99, rng=1, **options)
        assert not result.if_calibrated
        assert "if calibrated" not in str(result)


def test_json_takes_numpy_values_and_other_groups(make_test):
    result = make_test(pvalue=np.float64(0.5), group=np.str_("A"), parameters={"b": np.int64(2)})
    values = result.to_dict()
    assert (values["pvalue"], values["group"], values["parameters"]) == (0.5, "A", {"b": 2})
    assert type(values["group"]) is str
    assert make_test(group=Parameters({"a": 1})).to_dict()["group"] == {"a": 1}
    assert make_test(group=1 + 2j).to_dict()["group"] == "(1+2j)"


def test_results_can_be_pickled_and_hashed(make_test, make_table):
    """Results travel between processes, arrays and settings included, and are members of sets."""
    table = make_table(*LENSES)
    copy = pickle.loads(pickle.dumps(table))  # noqa: S301 - made one line above
    assert copy == table
    assert copy[0].parameters == make_test().parameters
    assert len({make_test(), make_test(), make_test(pvalue=0.5)}) == 2


def test_rejected_is_by_adjusted_pvalues_up_to_the_level(make_test, make_table):
    """It needs a level; 0.04, doubled by the adjustment, does not reject at 5 %."""
    for result in (make_test(), make_table(*LENSES)):
        with pytest.raises(InvalidInput, match="rejected needs a significance level"):
            _ = result.rejected
    assert make_test(pvalue=0.05, level=0.05).rejected
    assert not make_test(pvalue=0.0501, level=0.05).rejected
    assert make_table(*LENSES, level=0.05).rejected.tolist() == [True, False]


def test_table_is_a_sequence_of_tests(make_table):
    """At least one; length, iteration, indices and slices give the rows."""
    table = make_table(*LENSES)
    assert len(table) == 2
    assert [row.lens for row in table] == ["strong", "confidence"]
    assert table[1].lens == table[-1].lens == "confidence"
    assert table[:1] == (table[0],)
    assert table.pvalues.tolist() == [0.001, 0.04]
    with pytest.raises(InvalidInput, match="a table must have at least one test; got none"):
        HTestTable((), "holm", [])
    bare = make_table(*LENSES, correction="none")  # the word and the value mean the same
    assert bare.correction is None
    assert "adjusted" not in str(bare)


@pytest.mark.parametrize("backend", ["polars", "pandas", "pyarrow"])
def test_results_answer_in_the_library_of_the_data(backend):
    """Tables of groups, components, segments, comparisons and power; of JSON polars."""
    pytest.importorskip(backend)
    p = np.linspace(0.1, 0.9, 60)
    columns = {"y": (np.arange(60) % 3 > 0).astype(int).tolist(), "p": p.tolist()}
    data = nw.from_dict(columns | {"g": ["a", "b"] * 30}, backend=backend).to_native()
    named = {"label": "y", "probs": "p"}
    test, by = (
        ct.test_calibration(data, by=g, n_resamples=19, rng=1, **named) for g in (None, "g")
    )
    read = ct.Predictions.from_frame(data, **named)
    found = [
        test.components,
        by,
        ct.test_calibration(read, segments={"g": ["a", "b"] * 30}, n_resamples=19, rng=1),
        ct.compare_models({"p": "p", "half": p / 2 + 0.25}, data, label="y", n_resamples=19, rng=1),
        ct.power(data, n=30, slope=0.5, n_datasets=2, n_resamples=19, rng=1, **named),
    ]
    assert {type(one.to_frame()) for one in found} == {type(data)}
    assert type(type(by).from_dict(by.to_dict()).to_frame()) is pl.DataFrame
    assert type(by.to_frame(backend="polars")) is pl.DataFrame


def test_row_of_pandas_is_named_by_its_index():
    """Unless that counts the rows from 0."""
    data = pd.DataFrame({"y": [0, 1, 1], "p": [0.1, 0.7, 1.2]}, index=["a", "b", "c"])
    named = {"label": "y", "probs": "p"}
    for ask in (partial(ct.test_calibration, data, **named), partial(ct.verdict, data.p, data.y)):
        with pytest.raises(InvalidInput, match=r"got 1\.2 at index 'c' \(row 2\); pass"):
            ask()
    with pytest.raises(InvalidInput, match=r"got 1\.2 at row 2; pass"):
        ct.test_calibration(data.reset_index(drop=True), **named)


@pytest.mark.parametrize("backend", ["polars", "pandas"])
def test_frame_has_a_row_for_each_test(make_table, backend):
    """Both kinds of data frame hold the same columns and values."""
    pytest.importorskip(backend)
    frame = make_table(*LENSES).to_frame(backend=backend)
    assert list(frame["lens"]) == ["strong", "confidence"]
    assert list(frame["adjusted"]) == [0.002, 0.08]


def test_frame_takes_groups_of_several_types(make_table):
    frame = make_table({"group": 1}, {"group": "one"}).to_frame()
    assert frame["group"].to_list() == ["1", "one"]
    with pytest.raises(InvalidInput, match="backend must be one of 'polars', 'pandas'"):
        make_table(*LENSES).to_frame(backend="arrow")


def test_note_of_some_rows_names_the_rows_that_have_it():
    """The first name alone is that of all its rows."""
    data = ct.datasets.generative_model("M1", n=80, m=3, rng=1)
    options = {"lens": ["strong", "confidence"], "n_resamples": 19, "rng": 1}
    table = ct.test_calibration(None, data, test=["combined", "skce"], **options)
    assert "note: combined, strong: the SKCE is that of 64 features" in str(table)
    table = ct.test_calibration(None, data, test=["combined", "skce"], rng=1, n_resamples=19)
    assert "note: combined: the SKCE is that of 64 features" in str(table)


def test_rows_of_one_test_with_other_options_are_told_apart_by_these():
    data = ct.datasets.generative_model("M1", n=60, m=3, rng=1)
    skce = ct.measures.REGISTRY["skce"]
    tests = [skce(kernel=ct.kernels.Exponential(width)) for width in (0.25, 0.75)]
    lines = str(ct.test_calibration(None, data, test=tests, rng=1, n_resamples=19)).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("bandwidth "))
    assert [line.split()[0] for line in lines[at + 1 : at + 3]] == ["0.25", "0.75"]
