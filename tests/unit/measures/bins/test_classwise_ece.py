"""The classwise ECE: its bins, degenerate data, print and errors."""

import numpy as np
import pytest

import caltest as ct
from caltest.errors import InvalidInput
from caltest.measures import ClasswiseECE, classwise_ece, ece
from caltest.measures.bins.ece import class_bins
from caltest.numerics.labels import resample_keys

pytestmark = pytest.mark.loops


def test_classwise_ece_is_a_mean_over_classes():
    """One bin: |0.5 - 0.4|, |0.5 - 0.35| and |0 - 0.25|."""
    value = classwise_ece([[0.6, 0.4, 0.0], [0.2, 0.3, 0.5]], [0, 1], bins=1)
    assert value == pytest.approx(0.5 / 3)


@pytest.mark.parametrize("binning", ["uniform", "quantile"])
def test_classwise_ece_of_perfect_predictions_is_zero(binning):
    assert classwise_ece(np.eye(4), [0, 1, 2, 3], binning=binning) == 0.0


def test_classwise_ece_of_two_classes_is_the_ece():
    """The other class has the same gaps, in mirrored bins, where none is on an edge."""
    data = ct.datasets.generative_model("M2", n=100, m=2, rng=0)
    assert classwise_ece(data) == pytest.approx(ece(data), rel=1e-12)


@pytest.mark.parametrize(("bins", "dtype"), [(256, np.uint8), (257, np.uint16)])
def test_table_of_bins_takes_the_smallest_type(bins, dtype):
    """One byte for each probability up to 256 bins."""
    data = ct.datasets.generative_model("M1", n=20, m=3, rng=0)
    codes, _ = class_bins(data, ClasswiseECE(bins=bins))
    assert codes.dtype == dtype


@pytest.mark.parametrize("binning", ["median-variance", "sweep", "width"])
def test_classwise_ece_refuses_other_binnings(binning):
    """Of one class they are those of `ece` with lens="classwise"."""
    with pytest.raises(InvalidInput, match="binning must be one of"):
        classwise_ece([0.1, 0.9], [0, 1], binning=binning)


def test_classwise_ece_parameters_name_the_bins():
    data = ct.datasets.generative_model("M1", n=20, m=3, rng=0)
    assert ClasswiseECE().bind(data).parameters == {"binning": "uniform", "bins": 15}
    assert ClasswiseECE(p=2).symbol == "classwise ECE_2"


def test_labels_of_all_classes_are_redrawn_together():
    """In every resample the counts over classes add up to n."""
    data = ct.datasets.generative_model("M1", n=50, m=4, rng=0)
    labels = ClasswiseECE().bind(data).redraw(resample_keys(0, 20))
    assert labels.shape == (20, 50)
    assert labels.max() <= 3
