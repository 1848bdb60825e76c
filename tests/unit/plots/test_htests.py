import pytest

from caltest import InvalidInput, NotApplicable
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.plots.htests import FORECAST_KINDS, KINDS, natural_kind
from caltest.results import HTest

TWO = generative_model("M1", n=200, m=2, alpha=1.0, rng=1)
THREE = generative_model("M2", n=200, m=3, rng=1)


def result_of(data=THREE, **options):
    return calibration_test(data, rng=1, **({"n_resamples": 19} | options))


@pytest.mark.parametrize(
    ("data", "options", "kind"),
    [
        (THREE, {}, "reliability"),
        (THREE, {"test": "kce"}, "witness"),
        (THREE, {"test": "ece"}, "reliability"),
        (THREE, {"test": "classwise-ece"}, "reliability"),
        (THREE, {"test": "brier"}, "null"),
        (THREE, {"test": "skce", "lens": "confidence"}, "reliability"),
        (TWO, {}, "reliability"),
        (TWO, {"test": "spiegelhalter"}, "reliability"),
        (TWO, {"test": "corp"}, "corp"),
        (TWO, {"test": "confidence-band"}, "confidence-band"),
        (TWO, {"test": "calibration-belt"}, "belt"),
    ],
)
def test_natural_kind_belongs_to_the_test(data, options, kind):
    """Each test has the plot that shows what it judged, and it can be drawn."""
    result = result_of(data, **options)
    assert natural_kind(result) == kind
    result.plot().figure.draw_without_rendering()


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"belt", "witness", *FORECAST_KINDS}))
def test_every_kind_is_drawn_for_a_test_of_two_classes(kind):
    """The kinds that need no test of their own apply to any test of two classes."""
    ax = result_of(TWO, test="ks").plot(kind, ax=None)
    assert ax.has_data()


def test_options_reach_the_plot():
    drawn = result_of(TWO, test="ece").plot(bins=4, bars=None, curve=None, histogram=False)
    assert result_of(TWO).plot("reliability", ax=drawn) is drawn
    assert len(drawn.collections[0].get_offsets()) == 4


def test_plot_without_predictions_shows_what_is_left():
    """The null distribution, if it was kept; a kind that is none is refused."""
    result = HTest.from_dict(result_of().to_dict(include_null=True))
    assert natural_kind(result) == "null"
    with pytest.raises(NotApplicable, match=r"a plot needs the predictions, and .* read from JSON"):
        HTest.from_dict(result_of().to_dict()).plot()
    with pytest.raises(InvalidInput, match="kind must be one of 'reliability', 'corp'"):
        result_of(TWO).plot("reliable")
