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
def test_demo_shows_models_and_a_whole_test(printed):
    """Accuracy, error and three p-values of each model; then one full block."""
    for name in ("naive Bayes", "random forest", "logistic regression", "forest + temperature"):
        (line,) = re.findall(rf"^{re.escape(name)}  +(\d.*)$", printed, flags=re.MULTILINE)
        assert len(re.findall(r"[\d.e-]+", line)) >= 5
    assert "each class by itself; least of 10 adjusted p-values" in printed
    assert "\tExact test of calibration" in printed
    assert "data:  GaussianNB() (n = 899, m = 10), lens: strong" in printed
    assert "alternative hypothesis: the predictions are not calibrated" in printed


@pytest.mark.full
def test_demo_says_what_comes_next(printed):
    """It ends with three commands for one's own file; no line is wider than a terminal."""
    commands = ["test", "report", "compare"]
    last = [f"    caltest {name} predictions.csv --label y --probs p_" for name in commands]
    assert printed.splitlines()[-3:] == last
    assert max(map(len, printed.expandtabs().splitlines())) <= 80


def test_demo_rejects_bad_options(refused):
    assert "--seed must be an integer of at least 0; got -1" in refused("demo", "--seed", "-1")
