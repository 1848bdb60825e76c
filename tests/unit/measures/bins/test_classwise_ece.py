"""The classwise ECE: its bins, degenerate data, print and errors."""

import numpy as np
import pytest

import caltest as ct
from caltest.measures import ClasswiseECE, classwise_ece, ece
from caltest.measures.bins.ece import ClasswiseBins
from caltest.numerics.labels import resample_keys

pytestmark = pytest.mark.loops


def test_classwise_ece_of_two_classes_is_the_ece():
    """The other class has the same gaps, in mirrored bins, where none is on an edge."""
    data = ct.datasets.generative_model("M2", n=100, m=2, rng=0)
    assert classwise_ece(data) == pytest.approx(ece(data), rel=1e-12)


@pytest.mark.parametrize(("bins", "dtype"), [(256, np.uint8), (257, np.uint16)])
def test_table_of_bins_takes_the_smallest_type(bins, dtype):
    """One byte for each probability up to 256 bins."""
    data = ct.datasets.generative_model("M1", n=20, m=3, rng=0)
    codes, _ = ClasswiseBins(data, ClasswiseECE(bins=bins)).bins
    assert codes.dtype == dtype


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
