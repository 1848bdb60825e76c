"""The test of all groups: Fisher's combination, judged by its resamples or by its chi^2 law."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from caltest import HTestTable, Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.results.verdict import verdict_of_table


def grouped(model, sizes, seed=0):
    """Return predictions in groups a, b, ... of some sizes."""
    plain = generative_model(model, n=sum(sizes), m=3, rng=seed)
    names = np.repeat([chr(ord("a") + k) for k in range(len(sizes))], sizes)
    return Predictions(plain.probs, plain.labels, groups=names)


def run(predictions, **options):
    settings = {"n_resamples": 199, "rng": 7, "by": True, "lens": "confidence"} | options
    return calibration_test(predictions, **settings)


def ranks(row, two_sided):
    """Return the p-values of the observed and the resampled statistics of a group, one by one."""
    values = np.append(row.statistic, row.null_distribution)
    upper = np.array([np.sum(values >= v - 1e-12) for v in values])
    lower = np.array([np.sum(values <= v + 1e-12) for v in values])
    least = 2 * np.minimum(upper, lower) if two_sided else upper
    return np.minimum(1.0, least / values.size)


@pytest.mark.parametrize("test", ["skce", "brier"])
def test_omnibus_is_fishers_combination_of_each_resample(test):
    """The p-values of the b-th resamples of the groups are combined as the observed ones are."""
    table = run(grouped("M1", [40, 30, 20]), test=test)
    together = table.omnibus[0]
    logs = np.array([np.log(ranks(row, test == "brier")) for row in table])
    combined = -2 * logs.sum(axis=0)
    assert together.statistic == pytest.approx(combined[0], rel=1e-9)
    own = np.array([row.replicates.pvalues()[0] for row in table])
    assert own[1] == pytest.approx(table[1].pvalue, abs=0.15)
    assert together.statistic == pytest.approx(-2 * np.log(own).sum(), rel=1e-9)
    np.testing.assert_allclose(together.null_distribution, combined[1:], rtol=1e-9)
    assert together.pvalue == np.mean(combined >= combined[0] - 1e-9)


def test_each_test_and_lens_has_its_own_omnibus():
    """In the order of the call; the print names them."""
    table = run(grouped("M1", [30, 30]), test=["skce", "ece"], lens=["strong", "confidence"])
    found = [(together.test, together.lens) for together in table.omnibus]
    assert found == [(t, k) for t in ("skce", "ece") for k in ("strong", "confidence")]
    assert "ece, confidence: Fisher's X^2" in str(table)


@pytest.mark.parametrize("options", [{"by": None, "test": ["skce", "ece"]}, {"by": ["a"] * 70}])
def test_table_without_several_groups_has_no_omnibus(options):
    """Tests and lenses of the same data are not independent, and one group is itself."""
    assert run(grouped("M1", [40, 30]), **options).omnibus == ()


def test_omnibus_travels_with_the_table():
    """Through dictionaries and JSON, and into the summary."""
    table = run(grouped("M1", [40, 30]))
    assert HTestTable.from_dict(json.loads(table.to_json())) == table
    for text in (str(table), str(table.summary()), table.to_markdown(), table.to_html()):
        assert "all groups" in text


@pytest.mark.full
@pytest.mark.parametrize("correction", ["fdr_bh", "bonferroni", "hommel", "fdr_tsbky", None])
def test_corrections_leave_the_omnibus_as_it_is(correction):
    data = grouped("M1", [40, 30, 2])
    assert run(data, correction=correction).omnibus == run(data).omnibus


def one_bad_group(gap):
    """Forty groups of 60 rows, one of which has more events than predicted."""
    rng = np.random.default_rng(3)
    groups = np.repeat(np.arange(40), 60)
    p = rng.uniform(0.2, 0.8, groups.size)
    labels = rng.random(p.size) < np.clip(p + gap * (groups == 3), 0, 1)
    return Predictions(p, labels.astype(int), groups=groups)


def test_answer_sees_one_group_of_many():
    """Fisher's sum is drowned by the others; the p-value of the answer is an exact rank of both."""
    table = run(one_bad_group(0.4), test="calibration-in-the-large", lens="strong", n_resamples=499)
    assert table.omnibus[0].pvalue > 0.05 >= table.together >= table.adjusted.min()
    assert table.verdict().pvalue == table.together
    assert "in 1 of 40 groups" in table.verdict().headline
    ranks = [np.max([row.replicates.scores() for row in table], axis=0)]
    ranks += [np.append(table.omnibus[0].statistic, table.omnibus[0].null_distribution)]
    p = [np.mean(values[None, :] >= values[:, None] - 1e-9, axis=1) for values in ranks]
    least = np.min(p, axis=0)
    assert table.together == np.mean(least <= least[0] + 1e-12)
    assert HTestTable.from_dict(table.to_dict()).verdict().headline == table.verdict().headline


def test_nothing_is_named_under_an_answer_that_does_not_reject():
    """Adjusted for another question, the answer of the table names neither places nor remedies."""
    table = run(one_bad_group(0.4), test="calibration-in-the-large", lens="strong", level=0.05)
    found = verdict_of_table(table, 0.3)
    assert found.places == ()
    assert [kind for kind, _ in found.sentences] == ["answer", "difference"]
    assert "for all together; the adjusted p-value is at most 0.05 in 1 of" in found.headline


def test_groups_of_clusters_without_common_ranks_have_the_chi2_law():
    """P-values of some are those of independent rows, and all signs of 4 clusters are listed."""
    raised = Predictions(np.full(400, 0.005), np.zeros(400, int), groups=np.arange(400) // 200)
    for rows in (grouped("M1", [40, 160], seed=6), raised):
        table = run(rows.with_clusters(np.arange(rows.n) // 10), test="brier", lens="strong")
        assert table.together is None
        expected = stats.combine_pvalues(table.pvalues, method="fisher")
        assert table.omnibus[0].pvalue == pytest.approx(expected.pvalue)
    assert table.verdict().pvalue > 0.1


def test_rows_of_groups_count_once_for_several_tests():
    """Two tests of two groups have the rows of both, not of the first or of each test."""
    table = run(grouped("M1", [30, 20]), test=["skce", "ece"])
    assert table.verdict().n == 50


def test_weak_evidence_names_the_worst():
    """Where nothing gives more, an adjusted p-value up to 0.1 counts, as its words do."""
    table = run(grouped("M1", [30, 20]), by=None, test=["skce", "ece"])
    weak = replace(table, adjusted=np.array([0.08, 0.5]))
    assert ", in 1 of 2 tests. Worst is skce. " in weak.verdict().headline
    none = replace(table, adjusted=np.array([0.2, 0.5]))
    assert "in any of 2 tests" in none.verdict().headline
