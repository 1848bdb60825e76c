"""Generated predictions may look like a mistake of the user, which they are not."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    """Ignore warnings of suspicious input in the tests of this folder."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning"))
