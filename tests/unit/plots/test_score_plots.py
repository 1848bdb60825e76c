"""Pictures of scores: their parts, differences, ranks and net benefits."""

import numpy as np
import pytest
from matplotlib.text import Text

import caltest as ct
from caltest import InvalidInput
from caltest.comparison import rank_methods
from caltest.plots import base, critical_difference, decision_curve, mcb_dsc, score_differences

DATA = ct.datasets.generative_model("M1", n=300, m=2, alpha=1.0, rng=1)
MODELS = {"as it is": DATA.probs, "cautious": (DATA.probs + 0.5) / 2}


def test_points_are_the_parts_of_the_score():
    """A map that keeps the order of predictions keeps their discrimination."""
    ax = mcb_dsc(MODELS, DATA.labels)
    parts = [ct.measures.score_decomposition(p, DATA.labels) for p in MODELS.values()]
    expected = [(part.miscalibration, part.discrimination) for part in parts]
    np.testing.assert_allclose(ax.collections[0].get_offsets(), expected)
    assert f"UNC = {parts[0].uncertainty:.4f}" in ax.get_title(loc="left")


def test_names_of_near_models_do_not_overlap():
    """Where no corner of a point is free, the name stands beyond, at the end of a line."""
    near = {f"a long name {k}": np.clip(DATA.probs + 1e-5 * k, 0, 1) for k in range(6)}
    near = {name: probs / probs.sum(axis=1, keepdims=True) for name, probs in near.items()}
    ax = mcb_dsc(near, DATA.labels)
    ax.figure.draw_without_rendering()
    boxes = [Text.get_window_extent(text) for text in ax.texts if text.get_text() in near]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_models_of_other_labels_are_refused():
    """Their scores cannot be compared; and nothing can be drawn of no model."""
    other = ct.Predictions(DATA.probs, 1 - DATA.labels)
    with pytest.raises(InvalidInput, match="the models must be of the same labels"):
        mcb_dsc({"one": DATA, "other": other})
    with pytest.raises(InvalidInput, match="models must hold one"):
        mcb_dsc({})


def models(**options):
    return ct.compare_models(MODELS, DATA.labels, n_resamples=19, rng=1, **options)


def bars(ax):
    lines = [line for line in ax.lines if len(line.get_xdata()) == 2 and line.get_color() != "0.5"]
    return {int(line.get_ydata()[0]): tuple(line.get_xdata()) for line in lines}


def test_bars_of_models_are_their_intervals():
    """The reference has none; its mark is at 0."""
    result = models(reference="as it is")
    ax = score_differences(result)
    row = result["cautious"].difference
    assert bars(ax) == {1: (row.low, row.high)}
    assert [text.get_text() for text in ax.get_yticklabels()] == ["as it is", "cautious"]


def test_long_name_of_the_reference_stays_in_the_figure():
    """The line under the axes is broken where it would end outside."""
    data = ct.datasets.generative_model("M1", n=60, m=2, rng=1)
    models = {"MW" * 15: data.probs, "b": (data.probs + 0.5) / 2}
    result = ct.compare_models(models, data.labels, n_resamples=9, reference=next(iter(models)))
    ax = ct.plots.score_differences(result)
    ax.figure.canvas.draw()
    box, whole = ax.xaxis.label.get_window_extent(), ax.figure.bbox
    assert whole.x0 <= box.x0 < box.x1 <= whole.x1


@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_ticks_hold_their_powers_of_ten(unit):
    """One beside the axis would hit the text below, of a CRPS in a small or a large unit."""
    y, mean = np.random.default_rng(1).normal(size=(2, 60)) * unit
    data = {
        key: ct.Forecasts(y, mean=mean, scale=scale * unit)
        for key, scale in {"a": 1, "b": 2}.items()
    }
    ax = score_differences(ct.compare_models(data, n_resamples=9))
    ax.figure.canvas.draw()
    assert not ax.xaxis.get_offset_text().get_text()


def test_bars_of_calibrators_are_a_standard_error_each_way():
    """From the uncalibrated model; an infinite difference is left to its number."""
    data = ct.datasets.generative_model("M1", n=80, m=2, rng=1)
    calibrators = ["platt", "isotonic"]
    result = ct.compare_calibrators(data, calibrators=calibrators, cv=3, n_resamples=19, rng=3)
    row = result["platt"]
    ends = row.difference - row.stderr, row.difference + row.stderr
    ax = result.plot()
    assert bars(ax)[1] == pytest.approx(ends)
    finite = [np.isfinite(each.difference) for each in result.rows]
    assert len(bars(ax)) == sum(finite)
    assert len(ax.texts) == len(result.rows)


@pytest.mark.full
def test_axes_are_those_that_were_given():
    """A figure of the user's, and the level of the intervals in the name of the axis."""
    ax = score_differences(models()).figure.add_subplot()
    assert score_differences(models(level=0.1), ax=ax) is ax
    assert "90 % intervals" in ax.get_xlabel()


SCORES = np.arange(5.0) + np.random.default_rng(0).normal(0, 1, (12, 5))
NAMES = ["none", "temperature", "vector", "matrix", "dirichlet"]


def joining_bars(ax):
    return [line.get_xdata() for line in ax.lines if line.get_color() == base.BLUE]


def test_bars_join_the_groups():
    """One bar from the best to the worst of each."""
    ranking = rank_methods(SCORES, names=NAMES)
    drawn = joining_bars(critical_difference(ranking))
    assert len(drawn) == len(ranking.groups) > 1
    for (low, high), group in zip(drawn, ranking.groups, strict=True):
        ranks = ranking.ranks[list(group)]
        assert (low, high) == pytest.approx((ranks.min(), ranks.max()), abs=0.03)


@pytest.mark.parametrize("k", [2, 3, 40])
def test_any_number_of_methods_is_drawn(k):
    """A bar of the critical difference that is longer than the axis ends in an arrow."""
    scores = np.random.default_rng(1).random((4, k))
    ax = critical_difference(scores)
    assert len([text for text in ax.texts if "  " in text.get_text()]) == k


def lines_of(ax):
    return {line.get_label(): line.get_ydata() for line in ax.lines}


def test_curves_are_net_benefits():
    """The model beside treating all and none."""
    lines = lines_of(decision_curve(DATA, thresholds=[0.1, 0.3, 0.5]))
    found = ct.measures.net_benefit(DATA, thresholds=[0.1, 0.3, 0.5])
    np.testing.assert_allclose(lines["model"], found.model)
    np.testing.assert_allclose(lines["treat all"], found.treat_all)
    assert "treat none" in lines


def test_recalibrated_predictions_are_drawn_beside():
    """From a fitted map, or as they are."""
    platt = ct.calibrators.PlattScaling().fit(DATA)
    lines = lines_of(decision_curve(DATA, platt))
    after = ct.Predictions(platt.predict_proba(DATA.probs), DATA.labels)
    np.testing.assert_allclose(
        lines["after recalibration"], lines_of(decision_curve(DATA, after))["after recalibration"]
    )
    result = ct.test_calibration(DATA, test="ece", n_resamples=19, rng=1)
    assert set(lines_of(decision_curve(result, platt))) == set(lines)
