"""`caltest list` shows the registries."""

import pytest

from caltest import calibrators, htests, kernels, lenses, measures, nulls
from caltest.cli import completion, list_

REGISTRIES = {
    "tests": htests.REGISTRY,
    "measures": measures.REGISTRY,
    "nulls": nulls.REGISTRY,
    "lenses": lenses.REGISTRY,
    "kernels": kernels.REGISTRY,
    "calibrators": calibrators.REGISTRY | calibrators.FORECAST_MAPS,
}


def test_list_shows_every_key_and_title(caltest, tmp_path):
    """Each with its one line, of one kind too, no line wider than a terminal, in a file too."""
    finished = caltest("list")
    assert (finished.status, finished.err) == (0, "")
    words = " ".join(finished.out.split())
    for kind, registry in REGISTRIES.items():
        for key, entry in registry.items():
            assert f"{key}: {entry.title}" in words
        alone = caltest("list", kind).out
        assert alone.count("\t") == 1
        assert all(f"{key}: " in alone for key in registry)
    assert max(map(len, caltest("list").out.expandtabs().splitlines())) <= 80
    assert caltest("list", "nulls", "-o", tmp_path / "nulls.txt") == (0, "", "")
    assert (tmp_path / "nulls.txt").read_text(encoding="utf-8") == caltest("list", "nulls").out


def test_list_of_one_entry_shows_its_options(caltest):
    """What `--set` may give a test, with what each may be, and the nulls of the test."""
    lines = caltest("list", "tests", "ece").out.splitlines()
    assert "nulls:           exact, consistency" in lines
    assert "--set bins:      int, default 15" in lines
    assert "--set max_bins:  int, default none" in lines
    words = " ".join(caltest("list", "tests", "skce-block").out.split())
    assert "--set kernel: a key of `caltest list kernels`" in words
    assert "estimator" not in words.replace("block estimator", "")
    assert "--set kernel.metric:" in caltest("list", "kernels", "gaussian").out
    words = " ".join(caltest("list", "calibrators", "variance-scaling").out.split())
    assert words == (
        "variance scaling of forecasts calibrator: variance-scaling "
        '--set by: {"crps", "moments"}, default none --set offset: bool, default False'
    )


@pytest.mark.full
@pytest.mark.parametrize("kind", REGISTRIES)
def test_list_of_every_entry_has_its_options(capsys, kind):
    """Each option that a test, measure, kernel or calibrator takes has a line."""
    for key in REGISTRIES[kind]:
        list_.list_(kind=kind, key=key, output=None)
        shown = capsys.readouterr().out
        for name in completion.options_of(kind, key):
            assert f"{name}:" in shown


def test_list_names_a_near_miss(refused):
    """A key that is not there is one line."""
    assert "did you mean 'ece'?" in refused("list", "tests", "ecee")
