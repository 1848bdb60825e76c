"""Small reports, made once."""

import datetime as dt
from functools import partial

import pytest

import caltest as ct

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(scope="session")
def make():
    """Make reports that take little time and are the same every time."""
    noon = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)
    return partial(ct.report, n_resamples=19, rng=1, time=noon)


@pytest.fixture(scope="session")
def three_classes():
    """Return a hundred predictions of three classes that are not calibrated, in two groups."""
    data = ct.datasets.generative_model("M2", n=100, m=3, rng=1)
    return data.with_groups(["a", "b"] * 50)


@pytest.fixture(scope="session")
def page(make, three_classes):
    """Return a report with all its sections."""
    return make(three_classes, by=True, recalibrate="temperature", level=0.05, author="Ann")


@pytest.fixture(scope="session")
def html(page):
    return page.to_html()


@pytest.fixture(scope="session")
def plain(make, three_classes):
    return make(three_classes)


@pytest.fixture(scope="session")
def hostile(make):
    """Return a report on data in which every name is a script."""
    plain = ct.datasets.generative_model("M2", n=60, m=3, rng=1)
    data = ct.Predictions(
        plain.probs,
        plain.labels,
        classes=[f"{SCRIPT}{k}" for k in range(3)],
        groups=[f"{SCRIPT}left", f"{SCRIPT}right"] * 30,
        source=f"{SCRIPT}.csv",
    )
    names = {"title": f"{SCRIPT} title", "author": f"{SCRIPT} author", "command": SCRIPT}
    return make(data, by=True, recalibrate="temperature", **names)
