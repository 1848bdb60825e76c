"""Scores and errors of a comparison against the measures, and their standard error."""

import numpy as np
import pytest

from caltest import InvalidInput, NotApplicable, Predictions, measures
from caltest.comparison.scores import SCORES, check_score, mean_score, reported, row_scores
from caltest.datasets import generative_model


@pytest.mark.parametrize("m", [2, 4])
def test_row_scores_have_the_means_of_the_measures(m):
    """Weighted too; the spherical score is turned so that less is better."""
    data = generative_model("M2", n=50, m=m, rng=1)
    weight = np.random.default_rng(0).integers(0, 4, 50)
    data = Predictions(data.probs, data.labels, sample_weight=weight)
    expected = {
        "log loss": measures.log_loss(data),
        "Brier score": measures.brier_score(data),
        "1 - spherical score": 1 - measures.spherical_score(data),
    }
    found = row_scores(data, SCORES["spherical"])
    assert {k: mean_score(v, data.weights) for k, v in found.items()} == pytest.approx(expected)


@pytest.mark.parametrize("score", ["ece", "ks", "skce", "classwise_ece", "accuracy", "ECE"])
def test_score_must_be_proper(score):
    """The message says why a calibration error is no score, and names the choices."""
    with pytest.raises(InvalidInput, match=r"one of 'log-loss', 'brier', 'spherical'.*constant"):
        check_score(score)


def test_what_is_no_score_is_refused():
    """The message has the near miss; an error without a meaning is not left out."""
    with pytest.raises(InvalidInput, match="did you mean 'brier'"):
        check_score("brierr")
    data = generative_model("M2", n=60, m=3, rng=1)
    with pytest.raises(NotApplicable, match="use lens='confidence'"):
        reported(data, {"Kuiper": measures.kuiper_error})
    for value in (None, data.probs):
        with pytest.raises(InvalidInput, match=r"measures\['own'\] must return a number"):
            reported(data, {"own": lambda _, value=value: value})
    with pytest.raises(InvalidInput, match="score must be one of"):
        check_score(np.array(["log-loss", None], dtype=object))
