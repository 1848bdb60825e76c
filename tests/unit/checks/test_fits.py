"""Spans and designs."""

import numpy as np
import pytest

from caltest.checks import check_design
from caltest.errors import InvalidInput
from caltest.measures.smooth.ici import check_fraction


@pytest.mark.parametrize("share", [0.01, 0.5, 1, np.float32(1)])
def test_fraction_is_returned_as_a_float(share):
    assert isinstance(check_fraction(share, "span"), float)


def test_design_of_one_feature_becomes_a_column():
    design = check_design([1, 2, 3])
    assert design.shape == (3, 1)
    assert not design.flags.writeable


@pytest.mark.parametrize("design", [np.zeros((2, 2, 2)), [], 3.0])
def test_design_of_another_shape_is_refused(design):
    with pytest.raises(InvalidInput, match="design must have a row for each observation"):
        check_design(design)


def test_design_must_be_finite():
    with pytest.raises(InvalidInput, match="design must be finite; got nan at row 1, column 0"):
        check_design([[1.0, 2.0], [np.nan, 3.0]])
