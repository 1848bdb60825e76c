"""`test_calibration`: one result or a table, seeds, groups, progress, warnings, errors."""

import numpy as np
import pytest

from caltest import (
    DegenerateDataWarning,
    HTest,
    HTestTable,
    InvalidInput,
    NotApplicable,
    Predictions,
)
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.htests import REGISTRY
from caltest.kernels import Exponential, Gaussian
from caltest.lenses import Confidence
from caltest.measures import SKCE, skce


@pytest.fixture(scope="module")
def predictions():
    """Return a small data set of M2 in three groups."""
    plain = generative_model("M2", n=60, m=3, rng=0)
    return Predictions(plain.probs, plain.labels, groups=np.repeat(["a", "b", "c"], 20))


def run(predictions, **options):
    """Test with few resamples and a fixed seed."""
    return calibration_test(None, predictions, **({"n_resamples": 39, "rng": 7} | options))


# ---- what comes back ----------------------------------------------------------------------------


def test_one_test_gives_a_result_with_its_settings(predictions):
    """Every number that is needed to repeat the test is in the result."""
    result = run(predictions, kernel=Exponential(0.5))
    assert isinstance(result, HTest)
    assert (result.test, result.lens, result.null) == ("skce", "strong", "exact")
    assert (result.n, result.m, result.n_resamples, result.seed) == (60, 3, 39, 7)
    assert result.parameters["bandwidth"] == 0.5
    assert result.null_distribution.size == 39
    assert result.estimate == pytest.approx(skce(predictions, kernel=Exponential(0.5)), rel=1e-12)


def test_null_that_draws_nothing_has_no_seed(predictions):
    """B and the seed would mean nothing."""
    result = run(predictions, null="distribution-free")
    assert result.n_resamples is None
    assert result.seed is None
    assert result.null_distribution is None


@pytest.mark.parametrize(
    "test", ["hosmer-lemeshow", "pigeon-heyse", "le-cessie-van-houwelingen", "calibration-belt"]
)
def test_development_sample_is_judged_by_the_only_law_it_has(test):
    """The default null depends on the options, for a test with a key and for a measure."""
    data = generative_model("M1", n=200, m=2, alpha=1.0, rng=0)
    result = run(data, test=[test, "cox"], internal=True)
    assert [row.null for row in result] == ["asymptotic", "exact"]
    measure = REGISTRY[test].with_options({"internal": True})
    assert run(data, test=measure).pvalue == result[0].pvalue
    with pytest.raises(NotApplicable, match="development sample; use 'asymptotic'"):
        run(data, test=test, internal=True, null="exact")


def test_estimate_and_statistic_differ_where_the_null_has_its_own(predictions):
    """The asymptotic test judges z and reports the SKCE."""
    result = run(predictions, test="skce-linear", null="asymptotic")
    assert (result.statistic_name, result.estimate_name) == ("z", "SKCE")
    assert result.estimate == skce(predictions, estimator="linear")
    assert result.estimate != result.statistic


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({"lens": ["strong", "confidence"]}, ["strong", "confidence"]),
        ({"lens": "classwise"}, ["classwise[0]", "classwise[1]", "classwise[2]"]),
        ({"test": ["skce", "skce-linear"]}, ["strong", "strong"]),
        ({"lens": ("strong", Confidence()), "test": ["skce"]}, ["strong", "confidence"]),
        ({"by": True}, ["strong"] * 3),
    ],
)
def test_several_tests_lenses_or_groups_give_a_table(options, rows, predictions):
    """A row for each, in the order of the call; a family is several lenses."""
    table = run(predictions, **options)
    assert isinstance(table, HTestTable)
    assert [row.lens for row in table] == rows


def test_table_has_every_combination(predictions):
    table = run(predictions, by=True, test=["skce", "skce-linear"], lens=["strong", "confidence"])
    rows = [(row.group, row.test, row.lens) for row in table]
    lenses = ["strong", "confidence"]
    assert rows == [(g, t, k) for g in "abc" for t in ("skce", "skce-linear") for k in lenses]


def test_row_of_a_table_is_the_test_by_itself(predictions):
    """Every row has the seed of the call, so that it can be repeated alone."""
    table = run(predictions, lens=["strong", "confidence"])
    for row in table:
        assert row.pvalue == run(predictions, lens=row.lens).pvalue


def test_group_is_tested_by_itself(predictions):
    """A row has the p-value of the subset, whether the groups are given or the Predictions' own."""
    part = predictions.subset(predictions.groups == "b")
    own = run(predictions, by=True)
    given = run(Predictions(predictions.probs, predictions.labels), by=predictions.groups)
    assert own[1].group == given[1].group == "b"
    alone = run(part, rng=own[1].seed)
    assert own[1].pvalue == given[1].pvalue == alone.pvalue
    np.testing.assert_array_equal(own[1].null_distribution, alone.null_distribution)


def test_table_is_adjusted_by_holm_where_a_null_is_not_exact(predictions):
    """The smallest of two p-values is doubled."""
    table = run(predictions, lens=["strong", "confidence"], null="bootstrap")
    assert table.correction == "holm"
    plain = run(predictions, lens=["strong", "confidence"], null="bootstrap", correction=None)
    smallest = np.argmin(table.pvalues)
    assert table.adjusted[smallest] == pytest.approx(2 * table.pvalues[smallest])
    np.testing.assert_array_equal(plain.adjusted, plain.pvalues)


def test_level_reaches_every_row(predictions):
    """The verdict is asked of the result, and needs the level that was given."""
    assert run(predictions, level=0.05).rejected
    assert all(row.level == 0.01 for row in run(predictions, lens="classwise", level=0.01))
    with pytest.raises(InvalidInput, match="level"):
        _ = run(predictions).rejected


# ---- data ---------------------------------------------------------------------------------------


def test_model_and_data_may_be_given_in_any_form(predictions):
    """Arrays, a function, a Predictions in either place: the same test."""
    probs, labels = predictions.probs, predictions.labels
    options = {"n_resamples": 39, "rng": 7}
    pvalues = {
        calibration_test(probs, labels, **options).pvalue,
        calibration_test(lambda rows: probs[rows], (np.arange(60), labels), **options).pvalue,
        calibration_test(None, predictions, **options).pvalue,
        calibration_test(predictions, **options).pvalue,
    }
    assert len(pvalues) == 1


def test_lens_does_not_change_the_number_of_classes_shown(predictions):
    """The print says what data came in; the lens says how it is seen."""
    assert run(predictions, lens="confidence").m == 3


# ---- seeds and progress -------------------------------------------------------------------------


def test_seed_repeats_the_test_and_a_generator_is_advanced(predictions):
    """Without rng the result holds a fresh seed."""
    first, second = run(predictions, rng=None), run(predictions, rng=None)
    assert first.seed != second.seed
    again = run(predictions, rng=first.seed)
    np.testing.assert_array_equal(again.null_distribution, first.null_distribution)
    seeds = []
    for _ in range(2):
        rng = np.random.default_rng(3)
        seeds.append([run(predictions, rng=rng).seed for _ in range(2)])
    assert seeds[0] == seeds[1]
    assert seeds[0][0] != seeds[0][1]


def test_progress_counts_the_rows(predictions):
    """It is called after each row with the rows done and the rows in all."""
    calls = []
    run(predictions, lens="classwise", progress=lambda *done: calls.append(done))
    assert calls == [(1, 3), (2, 3), (3, 3)]


# ---- the default test ---------------------------------------------------------------------------


def test_default_is_the_combined_test(predictions):
    """Asked for by its name, it has no note on the default either."""
    result = run(predictions)
    assert result == run(predictions, test="combined")
    assert not any("default test" in note for note in result.notes)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"null": "bootstrap"}, "has no bootstrap null"),
        ({"kernel": Gaussian(0.5)}, "takes no kernel="),
        ({"estimator": "biased"}, "takes no estimator="),
        ({"tolerance": 0.1}, "takes no tolerance"),
    ],
)
def test_what_the_default_has_not_is_given_to_the_skce(predictions, options, named):
    """A note says so, and the numbers are those of the test that takes it."""
    result, asked = run(predictions, **options), run(predictions, test="skce", **options)
    assert (result.test, result.pvalue, result.estimate) == ("skce", asked.pvalue, asked.estimate)
    assert any("'combined'" in note and named in note for note in result.notes)
    assert not any("'combined'" in note for note in asked.notes)


@pytest.mark.parametrize("options", [{"null": "exact"}, {"components": ["ece", "ks"]}])
def test_what_the_default_has_stays_with_it(options):
    """Its own null and its own options."""
    data = generative_model("M1", n=30, m=2, rng=1)
    assert run(data, **options).test == "combined"


# ---- warnings and errors ------------------------------------------------------------------------


def test_degenerate_data_warn_where_the_caller_stands():
    """Of a test, whose result keeps it as a note, and of a measure."""
    with pytest.warns(DegenerateDataWarning, match="all predictions are equal") as caught:
        result = calibration_test(
            [[0.5, 0.5]] * 4, [0, 0, 1, 1], test="skce", n_resamples=19, rng=0
        )
    assert caught[0].filename == __file__
    assert "all predictions are equal" in result.notes[-1]
    with pytest.warns(DegenerateDataWarning, match="all predictions are equal") as caught:
        skce([[0.5, 0.5]] * 4, [0, 0, 1, 1])
    assert caught[0].filename == __file__


def test_row_that_does_not_apply_is_left_out_of_a_table():
    """A class that is predicted once has no pair; the other rows stand, and a warning says so."""
    probs = np.array([[0.8, 0.2]] * 3 + [[0.6, 0.4]] * 3 + [[0.3, 0.7]])
    with pytest.warns(DegenerateDataWarning, match="top-label.1. is left out .* two observations"):
        table = calibration_test(probs, [0, 1, 0, 1, 0, 1, 1], test="skce", lens="top-label", rng=0)
    assert [row.lens for row in table] == ["top-label[0]"]
    assert "top-label[1] is left out of the table" in table.notes[0]


def test_test_asked_for_by_name_that_does_not_apply_is_an_error():
    """Only members of families and groups may be left out."""
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 6)
    with pytest.raises(NotApplicable, match="one-dimensional"):
        calibration_test(probs, [0, 1, 2] * 2, test=["skce", "ks"], rng=0)
    with pytest.raises(NotApplicable, match="at least two observations"):
        calibration_test([[0.8, 0.2]], [0], test="skce")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "skcee"}, "test must be one of .* did you mean 'skce'"),
        ({"test": SKCE}, "test must be one of"),
        ({"lens": "strongg"}, "lens must be one of .* did you mean 'strong'"),
        ({"null": "exat"}, "null must be one of .* did you mean 'exact'"),
        ({"correction": "bonferoni"}, "correction must be one of .* did you mean 'bonferroni'"),
        ({"n_resamples": 0}, "n_resamples must be an integer of at least 1, or 'adaptive'; got 0"),
        (
            {"n_resamples": 99.0},
            "n_resamples must be an integer of at least 1, or 'adaptive'; got 99.0",
        ),
        ({"rng": -1}, "rng must be None, a non-negative integer"),
        ({"rng": "7"}, "rng must be None, a non-negative integer"),
        ({"level": 5}, "level must lie strictly between 0 and 1; got 5"),
        ({"bandwidth": 1.0}, "got 'bandwidth'; use components, design, or name a test"),
        ({"seed": 1}, "got 'seed'; use rng="),
        ({"test": "skce-linear", "estimator": "biased"}, "got 'estimator'; use kernel"),
    ],
)
def test_bad_options_are_refused(options, message, predictions):
    """The error names the argument, the rule and the value, before anything is computed."""
    with pytest.raises(InvalidInput, match=message):
        run(predictions, **options)
