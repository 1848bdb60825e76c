"""The pages of docs/ print what their code prints."""

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    str(path.relative_to(DOCS).with_suffix("")): path
    for path in sorted(DOCS.rglob("*.md"))
    if not {"_build", "studies"} & set(path.relative_to(DOCS).parts)
}
NEEDS = {"howto/many_rows": "distributed"}  # beyond what every environment has


@pytest.mark.full
@pytest.mark.cases(2, full=999)
@pytest.mark.parametrize("page", PAGES)
def test_page_prints_what_it_shows(page, run_page):
    """Each block of Python and each command is followed by its whole output."""
    if page in NEEDS:
        pytest.importorskip(NEEDS[page])
    for block in run_page(PAGES[page]):
        assert block.printed == block.promised, f"{page}.md, line {block.line}"
