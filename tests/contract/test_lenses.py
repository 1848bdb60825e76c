"""What holds for every lens: redrawn labels follow its probabilities, tests keep a level."""

import re

import pytest

from caltest import Forecasts
from caltest.lenses import REGISTRY
from caltest.testing import check_lens

FILLED = {"R": "2", "...": "0|1+2"}  # of "top-R" and "grouped[...]"


def filled(key):
    """Return the key of a lens with the options that it needs."""
    return re.sub(r"R$|\.\.\.", lambda match: FILLED[match[0]], key)


OF_CLASSES = [key for key, kind in REGISTRY.items() if kind.of is not Forecasts]
OF_TWO = ["strong", "confidence", "classwise", "top-label"]  # others leave more than two
CASES = [(key, 2) for key in OF_TWO] + [(key, m) for m in (3, 4) for key in OF_CLASSES]


@pytest.mark.full
@pytest.mark.parametrize(("key", "m"), CASES)
def test_lens_keeps_size_and_power_and_redraws_in_law(key, m):
    """In 40 calibrated data sets and 20 of each kind that is far off."""
    check_lens(filled(key), n_classes=(m,), n_datasets=40)
