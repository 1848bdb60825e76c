"""What holds for every lens: redrawn labels follow its probabilities, tests keep a level."""

import re

import pytest

from caltest.lenses import REGISTRY
from caltest.testing import check_lens

FILLED = {"R": "2", "...": "0|1+2"}  # of "top-R" and "grouped[...]"


def filled(key):
    """Return the key of a lens with the options that it needs."""
    return re.sub(r"R$|\.\.\.", lambda match: FILLED[match[0]], key)


@pytest.mark.full
@pytest.mark.parametrize("key", REGISTRY)
def test_lens_keeps_size_and_power_and_redraws_in_law(key):
    """With three classes, in 60 calibrated data sets and 20 of each kind that is far off."""
    check_lens(filled(key), n_classes=(3,), n_datasets=60)


OF_TWO = ["strong", "confidence", "classwise", "top-label"]  # others leave more than two


@pytest.mark.full
@pytest.mark.parametrize(("key", "m"), [*((k, 2) for k in OF_TWO), *((k, 4) for k in REGISTRY)])
def test_lens_keeps_size_and_power_with_other_numbers_of_classes(key, m):
    check_lens(filled(key), n_classes=(m,), n_datasets=60)
