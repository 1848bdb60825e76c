"""What nulls share."""

from __future__ import annotations

import numpy as np
import pytest

from caltest.nulls.base import positive


@pytest.mark.parametrize("pvalue", [1.0, 0.05, 1e-300])
def test_positive_leaves_a_pvalue_as_it_is(pvalue):
    """It changes only what underflowed."""
    assert positive(pvalue) == pvalue


def test_positive_is_never_zero():
    """A tail that underflows becomes the least positive number of full precision."""
    assert positive(0.0) == np.finfo(float).tiny
