"""One rule for maps on rows that they were not fitted to, wherever it is asked for."""

import numpy as np
import pytest

import caltest as ct
from caltest.comparison.out_of_fold import out_of_fold

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
    assert "fitted 5 times, to 160 rows or one more" in made.to_markdown()


def test_probabilities_and_their_logits_agree_for_temperature(logits, compared):
    """Temperature scaling sees the same in both."""
    z, y = logits
    found = out_of_fold(
        ct.Predictions(z, y, from_logits=True), "temperature", n_resamples=19, rng=3
    )
    assert found["temperature"].tests[0].pvalue == compared["temperature"].tests[0].pvalue


def test_held_out_predictions_are_those_of_maps_fitted_elsewhere(logits):
    """Each fold is predicted by the map of the other rows."""
    z, y = logits
    data = ct.Predictions(z, y, from_logits=True)
    rows = np.arange(200)
    fold = (rows[:150], rows[150:])
    found = out_of_fold(data, "temperature", cv=[fold], n_resamples=19, rng=1)
    alone = ct.calibrators.TemperatureScaling().fit(data.subset(fold[0]))
    expected = alone.predict_proba(data.subset(fold[1]))
    np.testing.assert_allclose(found.predictions["temperature"].probs, expected, rtol=1e-12)


def test_print_names_the_rows(logits):
    """Rows that were tested, and rows of the fits."""
    z, y = logits
    data = ct.Predictions(z, y, from_logits=True)
    text = ct.render.text(out_of_fold(data, "temperature", n_resamples=19, rng=1).sheet())
    assert "200 tested, each predicted by a map fitted to 160 others" in text
    assert "selected" not in text
