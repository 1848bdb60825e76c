"""What a new test needs beside its file and its line, said where it is missing."""

import re
from pathlib import Path

import pytest

from caltest.htests import REGISTRY

ROOT = Path(__file__).parents[2]
STUDIES = ("size_and_power", "risk_groups_and_grades", "forecasts")

pytestmark = pytest.mark.skipif(
    not (ROOT / "docs").exists(), reason="the pages are in the repository only"
)


def missing_for(key):
    """What is still to be written for a test, each with how to write it."""
    page = ROOT / f"docs/tests/{key}.md"
    if not page.exists():
        yield f"docs/tests/{key}.md: its theory page; docs/tests/ks.md has the sections"
    elif not re.search(
        r"^## Example\n.*?```text\n", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    ):
        yield f"docs/tests/{key}.md: an example with what it prints, in the section Example"
    index = (ROOT / "docs/tests/index.md").read_text("utf-8")
    if f"| [{key}]({key}.md) |" not in index or not re.search(rf"^{key}$", index, re.MULTILINE):
        yield "docs/tests/index.md: a row in its table, and a line in the navigation"
    if not (ROOT / f"tests/golden/prints/{key}.txt").exists():
        yield f"a golden print: `python tests/golden/test_prints.py {key}`, then read it"
    studies = [(ROOT / f"docs/studies/{name}.md").read_text("utf-8") for name in STUDIES]
    if not any(re.search(rf"\| {key} \|", text) for text in studies):
        yield "rows of its size and power: `python docs/studies/size_and_power.py`, a long run"


@pytest.mark.parametrize("key", REGISTRY)
def test_new_test_has_its_page_its_print_and_its_study(key):
    """A test is complete when a reader can look up what it does and how often it errs."""
    missing = list(missing_for(key))
    assert not missing, "\n".join([f"the test {key!r} still needs", *missing])


def test_what_a_test_without_anything_needs_is_said():
    """All four are asked for at once."""
    assert len(list(missing_for("unheard-of"))) == 4
