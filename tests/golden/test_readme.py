"""The README prints what its code prints."""

import runpy
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"
DOCS = README.parent / "docs"


@pytest.mark.full
def test_readme_prints_what_it_shows(run_page):
    """Each block of Python and each command is followed by its whole output."""
    shown = run_page(README)
    assert shown
    for block in shown:
        assert block.printed == block.promised


@pytest.mark.full
def test_picture_has_the_numbers_of_its_text():
    """The p-values of the picture are those of its code, of the README and of the first page."""
    drawn = runpy.run_path(str(DOCS / "readme_picture.py"))["draw"]()
    for ax in drawn.axes:
        shown = ax.get_title(loc="left").partition(": ")[2]
        for page in (README, DOCS / "index.md", DOCS / "_static" / "readme.svg"):
            assert shown in page.read_text(encoding="utf-8"), page
