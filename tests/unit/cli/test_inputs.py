"""`-` for standard input, formats by name, and standard output by name."""

import json
import os
import threading

import pytest

QUICK = ("--label", "y", "--n-resamples", "19", "--seed", "1")


def test_standard_input_is_read(caltest, predictions_csv, stdin):
    expected = caltest("test", predictions_csv, *QUICK).out
    stdin(predictions_csv.read_bytes())
    finished = caltest("test", "-", *QUICK)
    assert finished == (0, expected.replace("predictions.csv", "standard input"), "")


@pytest.mark.parametrize("command", ["test", "report"])
def test_format_of_standard_input_is_named(caltest, command, stdin):
    rows = [{"y": "ab"[k % 2], "p_a": 0.5, "p_b": 0.5} for k in range(4)]
    stdin("\n".join(map(json.dumps, rows)).encode())
    more = ("--test", "ece", "--lens", "confidence", "--format", "json")
    finished = caltest(command, "-", *QUICK, "--input-format", "jsonl", *more, "-q")
    assert (finished.status, finished.err) == (0, "")
    assert json.loads(finished.out)["schema"].startswith("caltest/")


def test_format_by_name_goes_before_the_suffix(caltest, predictions_csv, tmp_path):
    """A file of another name is read as it is said to be."""
    path = tmp_path / "predictions.txt"
    path.write_bytes(predictions_csv.read_bytes())
    refused = caltest("test", path, *QUICK, "--input-format", "feather")
    assert (refused.status, refused.out) == (2, "")
    assert "FILE must be a valid .feather file" in refused.err
    assert caltest("test", path, *QUICK, "--input-format", "csv").status == 0


@pytest.mark.full
@pytest.mark.parametrize("command", ["test", "report"])
def test_columns_of_groups_are_crossed(caltest, command, tmp_path):
    """Joined by commas, as `by=[...]` in Python; once each."""
    path = tmp_path / "groups.csv"
    rows = [f"{'ab'[k % 2]},0.5,0.5,{'NS'[k % 2]},{2000 + k % 4 // 2}" for k in range(16)]
    path.write_text("\n".join(["y,p_a,p_b,site,p_year", *rows]))
    words = (*QUICK, "--test", "brier", "--format", "json", "-q")
    finished = caltest(command, path, *words, "--by", "site, p_year,site")
    assert (finished.status, finished.err) == (0, "")
    for group in ("N, 2000", "N, 2001", "S, 2000", "S, 2001"):
        assert f'"group": "{group}"' in finished.out


def test_column_of_groups_may_have_a_comma_in_its_name(caltest, tmp_path):
    """A column of that very name goes first, and its values stay what they are."""
    path = tmp_path / "groups.csv"
    path.write_text('y,p_a,p_b,"site, old",site\n' + "a,0.5,0.5,1,N\nb,0.5,0.5,2,S\n" * 4)
    words = (*QUICK, "--test", "brier", "--format", "json", "--by", "site, old")
    finished = caltest("test", path, *words)
    assert [row["group"] for row in json.loads(finished.out)["rows"]] == [1, 2]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_named_pipe_is_read(caltest, predictions_csv, tmp_path):
    """What can be read once only, as in `caltest test <(zcat ...)`."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(predictions_csv.read_bytes(),))
    writer.start()
    finished = caltest("test", pipe, *QUICK, "--input-format", "csv")
    writer.join()
    assert "pipe (n = 8, m = 3)" in finished.out


@pytest.mark.parametrize("command", ["test", "report"])
def test_empty_standard_input_is_one_line(refused, command, stdin):
    """Nothing in the pipe is the user's mistake."""
    stdin(b"")
    assert "FILE - must be given on standard input; got nothing" in refused(command, "-", *QUICK)


def test_output_may_be_standard_output(caltest, predictions_csv):
    """`-o -` is no file of that name."""
    expected = caltest("test", predictions_csv, *QUICK)
    assert caltest("test", predictions_csv, *QUICK, "-o", "-") == expected


@pytest.mark.parametrize("command", ["test", "report"])
def test_input_is_not_written_over(refused, predictions_csv, command):
    """--output that is FILE is refused before anything happens."""
    before = predictions_csv.read_bytes()
    assert "--output must not be a file that is read" in refused(
        command, predictions_csv, *QUICK, "-o", predictions_csv
    )
    assert predictions_csv.read_bytes() == before
