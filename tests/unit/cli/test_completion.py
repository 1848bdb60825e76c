"""What the shell offers on TAB, by the protocol that Typer's script for bash speaks."""

import pytest

from caltest import calibrators, htests, nulls
from caltest.cli import completion
from caltest.cli.app import run


@pytest.fixture
def complete(capsys, monkeypatch):
    """Return what is offered for the last word of a command line."""

    def call(line):
        words = line.split(" ")
        monkeypatch.setenv("_CALTEST_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(words) - 1))
        assert run([]) == 0
        return capsys.readouterr().out.split()

    return call


@pytest.mark.parametrize(
    ("kind", "registry"),
    [
        ("tests", htests.REGISTRY),
        ("nulls", nulls.REGISTRY),
        ("calibrators", calibrators.REGISTRY | calibrators.FORECAST_MAPS),
    ],
)
def test_keys_read_off_the_sources_are_those_of_the_registry(kind, registry):
    """What is not imported is not left out either."""
    assert completion.keys(kind) == sorted(registry)


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("caltest calibrate ", {"fit", "apply"}),
        ("caltest test x.csv --test sk", {"skce", "skce-linear", "skce-block"}),
        ("caltest test x.csv --test ece,k", {"ece,ks", "ece,kce", "ece,kuiper"}),
        ("caltest test x.csv --lens conf", {"confidence"}),
        ("caltest test x.csv --null e", {"exact"}),
        ("caltest test x.csv --correction h", {"holm", "holm-sidak", "hommel"}),
        ("caltest test x.csv --format m", {"markdown"}),
        ("caltest test x.csv --input-format p", {"parquet"}),
        ("caltest test x.csv --test mmce --set ", {"width="}),
        ("caltest test x.csv --set b", {"block_size="}),
        ("caltest report x.csv --recalibrate t", {"temperature"}),
        ("caltest report x.csv --format m", {"markdown"}),
        ("caltest calibrate fit x.csv --method d", {"dirichlet"}),
        ("caltest calibrate fit x.csv --method au", {"auto"}),
        ("caltest calibrate fit x.csv --method beta --set p", {"parameters="}),
        ("caltest calibrate fit x.csv --method variance-scaling --set o", {"offset="}),
        (
            "caltest compare x.csv --calibrators temperature,v",
            {"temperature,v" + end for end in ("ariance-scaling", "ector", "enn-abers")},
        ),
        ("caltest power x.csv --test sk", {"skce", "skce-linear", "skce-block"}),
        ("caltest sample-size x.csv --test ece --set d", {"distance="}),
        ("caltest pr", {"precision"}),
        ("caltest list ker", {"kernels"}),
        ("caltest list tests sk", {"skce", "skce-linear", "skce-block"}),
        ("caltest schema htest-", {"htest-table"}),
    ],
)
def test_keys_are_offered(complete, line, offered):
    """Keys of the registries, words of choices, names of options."""
    assert set(complete(line)) == offered


@pytest.mark.parametrize("option", ["--label", "--by", "--probs", "--weight"])
def test_columns_of_the_file_are_offered(complete, predictions_csv, option):
    """The header of a text file that was typed before the option."""
    assert complete(f"caltest test {predictions_csv} {option} w") == ["ward"]


def test_file_that_cannot_be_read_offers_nothing(complete, tmp_path):
    (tmp_path / "bad.csv").write_bytes(b"\xff\xfe\x00")
    for name in ("bad.csv", "no.csv", "x.parquet"):
        assert complete(f"caltest test {tmp_path / name} --label y") == []


def test_script_for_the_shell_is_shown(caltest, monkeypatch):
    """Typer's own option prints what goes into the profile of bash, wherever the tests run."""
    monkeypatch.setattr("shellingham.detect_shell", lambda: ("bash", "/bin/bash"))
    assert caltest("--show-completion", "bash").status == 0
