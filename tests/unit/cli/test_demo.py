"""`caltest demo`: what it shows, within 80 columns and on stdout alone."""

import re

import pytest

from caltest.cli.app import run


@pytest.fixture(scope="module")
def printed():
    """Run the demo once, with few resamples."""
    with pytest.MonkeyPatch.context() as patch:
        lines = []
        patch.setattr("typer.echo", lambda text="", **_options: lines.append(str(text)))
        assert run(["demo", "--n-resamples", "19"]) == 0
    return "\n".join(lines)


@pytest.mark.full
@pytest.mark.parametrize(
    "name", ["naive Bayes", "random forest", "logistic regression", "forest + temperature"]
)
def test_demo_has_one_line_for_each_model(printed, name):
    """Accuracy, error and three p-values stand behind the name."""
    lines = re.findall(rf"^{re.escape(name)}  +(\d.*)$", printed, flags=re.MULTILINE)
    assert len(lines) == 1
    assert len(re.findall(r"[\d.e-]+", lines[0])) >= 5


@pytest.mark.full
def test_demo_shows_a_whole_test(printed):
    """One full htest block follows the table, whose one number for ten classes is labelled."""
    assert "each class by itself; least of 10 adjusted p-values" in printed
    assert "\tExact test of calibration" in printed
    assert "data:  GaussianNB() (n = 899, m = 10), lens: strong" in printed
    assert "alternative hypothesis: the predictions are not calibrated" in printed


def test_demo_says_what_comes_next(printed):
    """It ends with three commands for one's own file; no line is wider than a terminal."""
    commands = ["test", "report", "compare"]
    last = [f"    caltest {name} predictions.csv --label y --probs p_" for name in commands]
    assert printed.splitlines()[-3:] == last
    assert max(map(len, printed.expandtabs().splitlines())) <= 80


def test_demo_rejects_bad_options(refused):
    assert "--seed must be an integer of at least 0; got -1" in refused("demo", "--seed", "-1")
