"""Calibrators of forecasts compared out of fold, and what a verdict says of them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats
from sklearn.model_selection import KFold

import caltest as ct
from caltest.calibrators import VarianceScaling
from caltest.comparison.out_of_fold import first_map
from caltest.forecasts.laws import Mixture, NormalLaw
from caltest.results import CalibratorComparison, Verdict


def gaussian(n: int = 200, factor: float = 1.6, seed: int = 1, **rows: object) -> ct.Forecasts:
    rng = np.random.default_rng(seed)
    mean, sd = rng.normal(size=n), rng.uniform(0.5, 2.0, n)
    y = mean + factor * sd * rng.normal(size=n)
    return ct.Forecasts(y, mean=mean, scale=sd, **rows)


def test_held_out_scores_are_those_of_a_loop():
    """The CRPS of each map is that of fits to the training rows of a splitter."""
    data, scaling, folds = gaussian(), VarianceScaling(), KFold(4)
    asked = {"calibrators": "variance-scaling", "cv": folds, "n_resamples": 99, "rng": 1}
    found = ct.compare_calibrators(data, **asked)["variance-scaling"]
    own = [
        ct.measures.crps(scaling.fit(data.subset(train)).transform(data.subset(test)))
        for train, test in folds.split(np.zeros(200))
    ]
    assert found.scores["CRPS"] == pytest.approx(np.mean(own), rel=1e-12)
    assert found.difference == pytest.approx(np.mean(own) - ct.measures.crps(data), rel=1e-9)
    assert len(found.tests[0].fold_pvalues) == 4


@pytest.mark.full
def test_identity_has_the_pvalue_of_the_test():
    """All rows of the model as it is are tested together; the result comes back from JSON."""
    data = gaussian(sample_weight=np.linspace(1, 2, 200))
    found = ct.compare_calibrators(data, n_resamples=99, rng=1, score="log-score")
    alone = ct.test_calibration(data, n_resamples=99, rng=1)
    assert found["identity"].tests[0].pvalue == alone.pvalue
    assert found.selected == min(found.rows[:-1], key=lambda row: row.scores["log score"]).name
    assert found.best.transform(data).n == 200
    assert CalibratorComparison.from_dict(found.to_dict()) == found
    assert "(n = 200)" in str(found)


def test_map_that_has_no_meaning_keeps_its_row():
    """Conformal offsets need levels, which Gaussian forecasts do not have."""
    maps = ["conformal-offset", "beta-pit"]
    found = ct.compare_calibrators(gaussian(40), calibrators=maps, n_resamples=99, rng=1)
    assert "levels must be given" in found["conformal-offset"].reason
    assert found.selected in ("identity", "beta-pit")


def test_verdict_names_the_map_that_helps():
    """Forecasts that are too sure are stretched; those that are right are left alone."""
    found = ct.verdict(gaussian(400), n_resamples=99, rng=1)
    helps = dict(found.sentences)["helps"]
    assert "VarianceScaling().fit(forecasts)" in helps
    assert "held-out CRPS" in helps
    law = gaussian(400)
    tiny = ct.Forecasts(1e-9 * law.outcomes, mean=1e-9 * law.mean, scale=1e-9 * law.scale)
    gain = dict(ct.verdict(tiny, n_resamples=99, rng=1).sentences)["helps"]
    assert re.search(r"held-out CRPS [0-9.]+e-09 \([0-9.]+e-1\d better", gain)
    assert Verdict.from_dict(found.to_dict()).sentences == found.sentences
    assert "helps" not in dict(ct.verdict(gaussian(400, 1.0), n_resamples=99, rng=1).sentences)
    asked = {"recalibrate": ["variance-scaling", "isotonic-pit"], "n_resamples": 99, "rng": 1}
    assert "After it" in dict(ct.verdict(gaussian(400), **asked).sentences)["helps"]


@pytest.mark.parametrize(
    ("form", "said"),
    [("mixture", "VarianceScaling()"), ("function", "maps are not compared here"), ("heavy", "")],
)
def test_every_rejected_forecast_that_has_a_crps_is_told_what_helps(form, said):
    rng = np.random.default_rng(1)
    mean = rng.normal(size=60)
    both = Mixture([0.5, 0.5], [NormalLaw(mean - 0.1, 1.0, 60), NormalLaw(mean + 0.1, 1.0, 60)])
    of = {"distribution": stats.t(1.0, mean, 0.2) if form == "heavy" else both}
    of = {"cdf": stats.norm(mean).cdf} if form == "function" else of
    found = ct.verdict(ct.Forecasts(mean + 3 * rng.normal(size=60), **of), n_resamples=99, rng=1)
    assert found.answer in {"some evidence", "strong evidence"}
    helps = dict(found.sentences).get("helps", "")
    assert said in helps
    assert bool(said) == bool(helps)


@pytest.mark.full
def test_a_map_that_rules_outcomes_out_is_not_taken():
    """A law with ends is squeezed by a factor below 1: outcomes beyond the new ones may come."""
    a, rng = np.linspace(1.0, 3.0, 400), np.random.default_rng(3)
    law, y = stats.beta(a, 1.5 * a), rng.beta(2 * a, 3 * a)
    asked = {"calibrators": "variance-scaling", "n_resamples": 99, "rng": 1}
    found = ct.compare_calibrators(ct.Forecasts(y, distribution=law), **asked)
    assert found["variance-scaling"].scores["CRPS"] < found["identity"].scores["CRPS"]
    assert any("density 0" in note for note in found.notes)
    assert (found.selected, set(found["selected"].chosen)) == ("identity", {"identity"})
    words = "Least held-out CRPS of the maps that rule out no more outcomes: identity"
    assert " ".join(str(found).split()).startswith(words)
    best = first_map([ct.Forecasts(y, distribution=law)], 1)
    assert (best.name, best.left_out) == ("beta-pit", ("variance-scaling", "offset and scaling"))
    asked = {"recalibrate": ["variance-scaling"], "n_resamples": 99, "rng": 1}
    told = dict(ct.verdict(ct.Forecasts(y, distribution=law), **asked).sentences)["helps"]
    assert told.endswith("not taken, since outcomes were impossible with it: variance-scaling.")


@pytest.mark.full
def test_ensembles_are_scored_as_what_maps_make_of_them():
    """Quantiles score better than the few members they are: no reason to recalibrate these."""
    helped = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        y, *members = rng.normal(size=(4, 200)) + rng.normal(size=200)
        ensemble = ct.Forecasts(y, members=np.transpose(members))
        helped.append(first_map([ensemble], seed).helps)
    assert helped == [False] * 5
    found = ct.compare_calibrators(ensemble, calibrators="beta-pit", n_resamples=99, rng=1)
    quantiles = ct.Forecasts(y, quantiles=ensemble.law.values, levels=[0.25, 0.5, 0.75])
    assert found["identity"].scores["CRPS"] == pytest.approx(ct.measures.crps(quantiles))
    assert "quantiles that its sorted members are" in str(found).replace("\n    ", " ")


@pytest.mark.full
def test_calibrated_forecasts_are_seldom_given_a_map():
    taken = sum(first_map([gaussian(60, 1.0, seed)], seed).helps for seed in range(40))
    assert taken <= 4
