"""The README prints what its code prints."""

from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.full
def test_readme_prints_what_it_shows(run_page):
    """Each block of Python and each command is followed by its whole output."""
    shown = run_page(README)
    assert shown
    for block in shown:
        assert block.printed == block.promised
