"""`test_calibration`: one result or a table, seeds, groups, progress, warnings, errors."""

import numpy as np
import pytest

from caltest import DegenerateDataWarning, HTestTable, InvalidInput, NotApplicable, Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.htests import REGISTRY
from caltest.kernels import Gaussian
from caltest.lenses import Confidence
from caltest.measures import SKCE, skce


@pytest.fixture(scope="module")
def predictions():
    plain = generative_model("M2", n=60, m=3, rng=0)
    return Predictions(plain.probs, plain.labels, groups=np.repeat(["a", "b", "c"], 20))


def run(predictions, **options):
    return calibration_test(None, predictions, **({"n_resamples": 39, "rng": 7} | options))


# ---- what comes back ----------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({"lens": "classwise"}, ["classwise[0]", "classwise[1]", "classwise[2]"]),
        ({"lens": ("strong", Confidence()), "test": ["skce"]}, ["strong", "confidence"]),
    ],
)
def test_several_lenses_give_a_table(options, rows, predictions):
    """A row for each, in the order of the call; a family is several lenses."""
    table = run(predictions, **options)
    assert isinstance(table, HTestTable)
    assert [row.lens for row in table] == rows


def test_table_has_every_combination(predictions):
    table = run(predictions, by=True, test=["skce", "skce-linear"], lens=["strong", "confidence"])
    rows = [(row.group, row.test, row.lens) for row in table]
    lenses = ["strong", "confidence"]
    assert rows == [(g, t, k) for g in "abc" for t in ("skce", "skce-linear") for k in lenses]


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


# ---- the default test ---------------------------------------------------------------------------


def test_default_is_the_combined_test(predictions):
    """Asked for by its name, it has no note on the default; its own null and options stay with it.

    What it lacks is given to the SKCE, below.
    """
    result = run(predictions)
    assert result == run(predictions, test="combined")
    assert not any("default test" in note for note in result.notes)
    for options in ({"null": "exact"}, {"components": ["class-curves", "skce"]}):
        assert run(predictions, **options).test == "combined"


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


def test_a_test_that_takes_no_clusters_is_refused_in_all_groups():
    """Though each cluster of the last has one row: its answer would be taken for that of all.

    Beside another test it is left out, with one note for groups that have one reason.
    """
    by, cluster = list("aaaabbbbcccc"), [1, 1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8]
    asked = {"by": by, "cluster": cluster, "n_resamples": 19, "rng": 1}
    rows = np.full(12, 0.2), [0, 1] * 6
    with pytest.raises(NotApplicable, match="has no test for rows that depend on each other"):
        calibration_test(*rows, test="jeffreys", **asked)
    with pytest.warns(DegenerateDataWarning, match="jeffreys under group 'a', lens strong; jeff"):
        table = calibration_test(*rows, test=["jeffreys", "brier"], **asked)
    assert sum("are left out of the table" in note for note in table.notes) == 1


def test_groups_of_correlated_defaults_say_that_their_factors_are_taken_as_independent():
    """As those of years may be; the grades of one year share a factor."""
    rows = np.full(40, 0.2), [0, 1] * 20
    by = [0, 1] * 20
    notes = [calibration_test(*rows, by=by, test=key).notes for key in ("vasicek", "jeffreys")]
    assert ["takes their factors as independent" in str(some) for some in notes] == [True, False]


def test_a_family_and_a_member_of_it_give_one_row_each(predictions):
    """The class that is asked for by itself too has one row, and is adjusted for once."""
    table = run(predictions, test="ece", lens=["classwise", "classwise[1]"], n_resamples=19)
    assert [row.lens for row in table] == ["classwise[0]", "classwise[1]", "classwise[2]"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "skcee"}, "test must be one of .* did you mean 'skce'"),
        ({"test": ["skce", "kce", "skce"]}, "test must name each once; got 'skce' twice; drop"),
        ({"lens": ["confidence", Confidence()]}, r"lens must name each once; got Confidence\(\)"),
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
