"""Mistakes of users: one line on stderr in words of the command line, and status 2."""

import numpy as np
import pytest

from caltest.cli.app import in_words_of_the_command_line

GOOD = "y,p_a,p_b,w\n" + "a,0.7,0.3,1\nb,0.2,0.8,2\na,0.6,0.4,1\nb,0.4,0.6,2\n" * 3


def run_on(caltest, tmp_path, content, *words):
    """Test a file with this content, and check all that every mistake has in common."""
    path = tmp_path / "mistake.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    options = ("--label", "y", "--n-resamples", "9", "--seed", "1")
    finished = caltest("test", path, *options, *words)
    assert (finished.status, finished.out) == (2, "")
    assert finished.err.startswith("caltest: ")
    assert finished.err.count("\n") == 1
    assert "Traceback" not in finished.err
    return finished.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "FILE must be a valid .csv file; got 'mistake.csv'; the reader reports: empty"),
        ("\n\n", "empty CSV; correct the file"),
        ("y,p_a,p_b\n", "probs must have at least one row"),
        (b"\x00\x01\x02\n\xff\xfe", "which holds binary data; convert the file"),
        (b"PAR1\x00\x01\x00\x02", "binary data; name its format by --input-format parquet"),
        ("y,p_a,p_b\na,70%,30%\n", "got '70%' at line 2; write 0.7 for 70%"),
        ('y,p_a,p_b\na,"0,7","0.3"\n', "got '0,7' at line 2; write decimal points, 0.7"),
        ('y,p_a,p_b\na,"1,234",0.3\n', "got '1,234' at line 2; write 1234, without commas"),
        (
            'y,p_a,p_b\na,0.5,0.5\n\n"a\nb",0.5,0.5\na,0.5,0.5,7\n',
            "as many fields as its header; got 4 for 3 at line 6 of 'mistake.csv'; correct",
        ),
        ("y,p_a,p_b\na,0.5,0.5\n\na,NA,1\n", "probs must not be missing; got nan at line 4"),
        ("y,p_a,p_a\na,0.5,0.5\n", "'p_a' names two columns; correct the file"),
        ("1,0.4,0.4\n0,0.2,0.3\n", "must name its columns; got '1', '0.4', '0.4'; write"),
        ("y,a,b\na,0.5,0.5\n", "got no p_... and no prob_... among 'y', 'a', 'b'; pass --probs"),
        ("x,p_a,p_b\na,0.5,0.5\n", "--label must be one of 'x', 'p_a', 'p_b'; got 'y'"),
        (
            "y,p_a,p_b\na,high,low\n",
            "got 'high' at line 2; correct that row, or choose another column",
        ),
        ("y,p_a,p_b\na,0.5,0.5\nb,NaN,0.5\n", "probs must not be missing; got nan at line 3"),
        ("y,p_a,p_b\na,0.5,0.6\n", "sum to 1 in each row; got a sum of 1.1 at line 2"),
        ("y,p_a,p_b\na,2,-1\n", "got 2 at line 2, class 'a'; pass probabilities, or --logits"),
        ("y,p_a,p_b\na,50,50\n", "divide by 100 if they are percentages"),
        ("y,p_1\n0,20\n1,70.5\n", "divide by 100 if they are percentages, or pass --logits"),
        ("y,p_a,p_b\na,0.5,0.5\nc,0.5,0.5\n", "pass --classes a,c if the columns stand in that"),
        ("y,p_a,p_b\n,0.5,0.5\nb,0.5,0.5\n", "labels must not be missing; got None at line 2"),
        ("y,p_a\na,1.0\na,1.0\n", "pass --classes NAMES, the names of the columns"),
        ("p_1,y\n0,0.5\n1,0.6\n", "--label must name the labels and --probs the probabilities"),
        (
            "y,p_1,p_2,p_3\n1,0.5,0.3,0.2\n7,0.6,0.2,0.2\n",
            "or pass --classes NAMES with one name per column",
        ),
    ],
)
def test_mistake_in_a_file_is_one_line(caltest, tmp_path, content, message):
    """The message says what is wrong, where it stands and what to do."""
    assert message in run_on(caltest, tmp_path, content)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--test hosmer", "did you mean 'hosmer-lemeshow'?"),
        ("--test xyz", "--test must be one of 'combined'"),
        ("--lens classwise[z]", "--lens must name one of the classes; got 'z'"),
        ("--lens top", "did you mean 'top-R'?"),
        ("--lens ,", "lens must name at least one"),
        ("--null exakt", "did you mean 'exact'?"),
        ("--probs q_", "q_"),
        ("--test ece --set bin=10", "--set for --test ece must be one of"),
        ("--test ece --set bins=ten", "bins must be an integer of at least 1; got 'ten'"),
        ("--test brier --set bins=3", "no meaning for --test brier, which takes no options"),
        ("--set kernel=gauss", "did you mean 'gaussian'?"),
        ("--test cox --set reference=z", "--set reference has no effect without --set slopes=ref"),
        ("--test cox --set slopes=reference", "--set slopes has no effect where the lens leaves"),
        ("--test hosmer-lemeshow --set reference=z", "--set reference has no effect where the"),
        ("--set bins", "--set must be KEY=VALUE; got 'bins'; write it as in --set bins=10"),
        ("--level 2", "--level must lie strictly between 0 and 1; got 2.0"),
        ("--jobs 0", "--jobs must be an integer other than 0; got 0; pass -1 for all cores"),
        ("--n-resamples 0", "--n-resamples must be an integer of at least 1"),
        ("--seed x", "Invalid value for '--seed': it must be a whole number. Try --help."),
        ("--seed -1", "--seed must be an integer of at least 0; got -1"),
        ("--test ece --null asymptotic", "--null asymptotic has no meaning for"),
        ("--test ece --tolerance 0.1", "use --test 'skce'"),
        ("--tolerance -1", "--tolerance must be a positive number"),
        ("--tolerance 0.1 --null exact", "--null must be left out where a tolerance is given"),
        ("--equivalence", "--equivalence must come with a tolerance; got none; pass --tolerance"),
        ("--by y", "--by must not be the label column"),
        ("--by ward", "--by must be one of"),
        ("--cluster ward", "--cluster must be one of"),
        ("--time ward --lag 1", "--time must be one of"),
        ("--by w,ward", "--by must be one of 'y', 'p_a', 'p_b', 'w'; got 'ward'"),
        ("--by w,y", "--by must not be the label column"),
        ("--by ,", "--by must name at least one"),
        ("--weight ward", "--weight must be one of"),
        ("--weight y", "--weight must not be the label column"),
        ("--probs y", "--probs must not be the label column"),
        ("--encoding x", "--encoding must be one that Python knows; got 'x'; pass utf-8"),
        ("--label p_b --mean p_a", "got --mean without --scale; pass --scale too"),
        ("--probs p_a,p_c", "--probs must be one of"),
        ("--classes a,b,c", "--classes must name each column of probs"),
        ("--input-format xls", "--input-format must be one of"),
        ("--input-format parquet", "FILE must be a valid .parquet file"),
        ("--format pdf", "--format must be one of"),
        ("--alpha 0.05", "caltest test has no option --alpha; did you mean --level?"),
        ("--target y", "did you mean --label?"),
        ("--n_bins 5", "did you mean --set bins=10?"),
        ("--group w", "did you mean --by?"),
        ("--probs p_a p_b", "(p_b); join names by commas, and put a pattern"),
        ("--sep ;;", "--sep must be one ASCII character; got ';;'; pass ';' or 'tab'"),
        ("--sep ;", "--sep must stand in the first line, 'y,p_a,p_b"),
        ("--decimal x", "--decimal must be one of '.', ','; got 'x'"),
        ("--badge b.png", "the suffix of --badge must be one of '.svg', '.json'; got '.png'"),
        ("--correction x", "--correction must be one of"),
        ("--on-error x", "--on-error must be one of 'raise', 'skip'; got 'x'"),
        ("--output x.pdf", "must be one of .txt, .html, .htm, .md, .tex, .json, .csv where no"),
        ("--design w", "use --by or --segments for probabilities of classes"),
        ("--time w", "--time and --lag must be given together; got --time alone"),
        ("--engine cells --ordinal", "--ordinal needs the rows; use --engine rows"),
        ("--engine cells --logits", "--logits needs the rows; use --engine rows"),
        ("--engine cells --null bootstrap", "--null needs the rows; use --engine rows"),
        ("--engine cells --lens confidence --n-resamples adaptive", "--n-resamples adaptive"),
        ("--null cluster", "pass --cluster, or --time and --lag; for rows that do not"),
        ("--segments w --design w", "--segments has no effect with --design; got 'w'"),
        (
            "--label w --mean p_a --scale p_b --lens strong --segments y",
            "shows numbers; use --lens",
        ),
        (
            "--label w --mean p_a --scale p_b --test pit-ks --tolerance 0.1",
            "has no test with a tolerance; use a lens that leaves classes",
        ),
    ],
)
def test_mistake_in_an_option_is_one_line(caltest, tmp_path, words, message):
    """The message names the option as it was typed, not an argument of Python."""
    assert message in run_on(caltest, tmp_path, GOOD, *words.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("rows.csv", "caltest has no command rows.csv. Try caltest test rows.csv."),
        ("check rows.csv", "caltest has no command check. Try caltest test FILE."),
        ("version", "Try --version."),
        ("test rows.csv", "--label must name the column of the observed classes; got none for"),
        (
            "test https://a.org/rows.csv",
            "FILE must name a file; got 'https:/a.org/rows.csv'; downl",
        ),
    ],
)
def test_first_words_are_answered_with_what_is_meant(
    caltest, tmp_path, monkeypatch, words, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text("default,risk\n0,0.1\n1,0.8\n")
    finished = caltest(*words.split())
    assert (finished.status, finished.out, finished.err.count("\n")) == (2, "", 1)
    assert message in finished.err


@pytest.mark.filterwarnings("default::caltest.errors.ReadAsWarning")
@pytest.mark.parametrize(
    "words", ["y_true,risk", "label,p", "Target,y_prob", "y,prob_1", "outcome;probability"]
)
def test_usual_names_of_columns_are_found(caltest, tmp_path, words):
    """The label is told, and so is the separator."""
    path = tmp_path / "rows.csv"
    path.write_text(f"{words}\n0,0.1\n1,0.8\n".replace(",", ";" if ";" in words else ","))
    finished = caltest("test", path, "--n_resamples", "9", "--test", "brier")
    assert finished.status == 0
    assert f"the labels are taken from {words.replace(';', ',').split(',')[0]!r}" in finished.err


@pytest.mark.parametrize("place", ["folder", "missing.csv"])
def test_file_that_is_none_is_one_line(refused, tmp_path, place):
    """A folder, and a file that is not there."""
    (tmp_path / "folder").mkdir()
    assert "FILE must name a file" in refused("test", tmp_path / place, "--label", "y")
    (tmp_path / "rows.parquet").write_text("none")
    for engine in ("cells", "rows"):
        words = refused("test", tmp_path / "rows.parquet", "--label", "y", "--engine", engine)
        assert "rows.parquet" in words


@pytest.mark.parametrize(
    ("python", "words"),
    [
        ("pass classes=['a', 'b'] now", "pass --classes a,b now"),
        ("pass classes=['a, b', 'c'] if", """pass --classes '"a, b",c' if"""),
        ("pass classes=[0, 1] if", "pass --classes 0,1 if"),
        ("pass classes=[...], the names", "pass --classes NAMES, the names"),
        ("pass classes=range(1, 4) if", "pass --classes 1,2,3 if"),
        ("pass classes=range(1, 101) if", "pass --classes 1,2,...,100 if"),
        ("sorted, or pass classes=", "sorted, or pass --classes"),
        ("name them by classes=, correct", "name them by --classes, correct"),
        ("use null='exact'", "use --null exact"),
        ("use engine='rows', or test without by=", "use --engine rows, or leave out --by"),
        ("correct it, or pass on_error='skip'", "correct it, or pass --on-error skip"),
        ("use test='skce' or 'ks'", "use --test 'skce' or 'ks'"),
        ("pass internal=True", "pass --set internal=true"),
        ("rows_per_day must be a positive number", "--rows-per-day must be a positive number"),
        ("models must be an integer", "--n-models must be an integer"),
        ("memory has no effect on a monitor", "--memory has no effect on a monitor"),
        ("probs has no effect with forecasts", "--probs has no effect with forecasts"),
        ("from_logits has no effect with forecasts", "--logits has no effect with forecasts"),
        ("members must be a column", "--members must be a column"),
        ("got mean= and members=; pass", "got --mean and --members; pass"),
        ("cluster= needs the rows", "--cluster needs the rows"),
        ("leave out segments=", "leave out --segments"),
        ("probs must lie in [0, 1]", "probs must lie in [0, 1]"),
    ],
)
def test_arguments_are_named_as_options(python, words):
    """What is no argument stays as it is."""
    assert in_words_of_the_command_line(python) == words


@pytest.mark.filterwarnings("default::caltest.SuspectInputWarning")
@pytest.mark.parametrize("command", ["test", "report"])
def test_other_event_is_told_once_in_words_of_the_command_line(caltest, command, tmp_path):
    """One line on standard error, with the option that says what is meant."""
    rng = np.random.default_rng(0)
    p = rng.beta(2, 3, 300)
    words = np.where(rng.random(300) < p, "bad", "good")
    file = tmp_path / "rows.csv"
    file.write_text("y,p\n" + "".join(f"{y},{v}\n" for y, v in zip(words, p, strict=True)))
    options = ["--label", "y", "--probs", "p", "--test", "brier", "-o", tmp_path / "out.md"]
    done = caltest(command, file, *options)
    told = [line for line in done.err.splitlines() if "warning" in line]
    assert len(told) == 1
    assert "pass --classes good,bad, the event last, or 1 - probs" in told[0]
