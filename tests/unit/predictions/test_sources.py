"""Models, tables and files give their arrays."""

import gzip

import numpy as np
import polars as pl
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from caltest import Predictions
from caltest.errors import InvalidInput
from caltest.predictions import ModelData
from caltest.predictions.models import describe, is_model, predict
from caltest.predictions.tables import is_table

ROWS = np.array([[0.125, 0.25, 0.625], [0.5, 0.25, 0.25], [0.75, 0.125, 0.125]])
CODES = [2, 0, 1]
NAMES = np.array(["emu", "cat", "dog"])
TABLE = pl.DataFrame(
    {
        "y": ["dog", "emu", "cat"],
        "p_emu": ROWS[:, 0],
        "p_cat": ROWS[:, 1],
        "p_dog": ROWS[:, 2],
        "site": ["u", "v", "u"],
        "weight": [1.0, 2.0, 0.5],
    }
)
COLUMNS = {name: np.array(TABLE[name].to_list()) for name in TABLE.columns}
X = np.array([[0.0, 1.0], [2.0, 0.5], [3.0, 1.5], [1.0, 1.0]])
Y = np.array(["no", "yes", "yes", "no"])


def assert_is_table(predictions, source):
    """Assert that predictions are those of TABLE, with its groups and weights."""
    np.testing.assert_array_equal(predictions.probs, ROWS)
    assert predictions.labels.tolist() == CODES
    assert predictions.classes.tolist() == NAMES.tolist()
    assert predictions.groups.tolist() == ["u", "v", "u"]
    np.testing.assert_allclose(predictions.sample_weight, np.array([6, 12, 3]) / 7)  # over the mean
    assert predictions.source == source


# ---- files --------------------------------------------------------------------------------------


def write_gz(path, separator=","):
    with gzip.open(path, "wb") as file:
        TABLE.write_csv(file, separator=separator)


WRITERS = {
    "t.csv": TABLE.write_csv,
    "t.tsv": lambda path: TABLE.write_csv(path, separator="\t"),
    "t.csv.gz": write_gz,
    "t.tsv.gz": lambda path: write_gz(path, separator="\t"),
    "t.parquet": TABLE.write_parquet,
    "t.feather": TABLE.write_ipc,
    "t.arrow": TABLE.write_ipc,
    "t.ipc": lambda path: TABLE.write_ipc(path, compression="lz4"),
    "t.jsonl": TABLE.write_ndjson,
    "t.ndjson": TABLE.write_ndjson,
    "t.npz": lambda path: np.savez(path, **COLUMNS),
}


@pytest.mark.parametrize("name", WRITERS)
def test_read_takes_back_what_was_written(name, tmp_path):
    WRITERS[name](tmp_path / name)
    read = Predictions.read(tmp_path / name, label="y", groups="site", sample_weight="weight")
    assert_is_table(read, source=name)


@pytest.mark.parametrize("form", ["codes", "names", "one-hot"])
def test_read_takes_matrices_from_npz(form, tmp_path):
    """An NPZ file may hold the probabilities as one array, and labels of any kind."""
    labels = {"codes": CODES, "names": NAMES[CODES], "one-hot": np.eye(3)[CODES]}[form]
    np.savez(tmp_path / "t.npz", probs=ROWS.astype(np.float32), labels=labels)
    read = Predictions.read(str(tmp_path / "t.npz"), label="labels", classes=NAMES)
    np.testing.assert_array_equal(read.probs, ROWS)
    assert read.labels.tolist() == CODES


def test_read_finds_the_type_of_a_label_late_in_the_file(tmp_path):
    """Labels are text if the last row is, however many numbers come before."""
    rows = ["1,0.5,0.25,0.25"] * 12_000 + ["unknown,0.5,0.25,0.25"]
    (tmp_path / "t.csv").write_text("\n".join(["y,p_0,p_1,p_unknown", *rows]))
    read = Predictions.read(tmp_path / "t.csv", label="y")
    assert read.classes.tolist() == ["0", "1", "unknown"]
    assert read.labels[[0, -1]].tolist() == [1, 2]


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".npz", ".jsonl"])
def test_read_quotes_the_reader_on_a_broken_file(suffix, tmp_path):
    """A file that is not what its name says is bad input, not a crash."""
    path = tmp_path / f"t{suffix}"
    path.write_text("not a table")
    with pytest.raises(InvalidInput, match=rf"path must be a valid {suffix} file; got 't\S+'; the"):
        Predictions.read(path, label="y")


def test_read_takes_blanks_after_commas(tmp_path):
    (tmp_path / "t.csv").write_text("y , p_cat, p_dog\n cat, 0.25, 0.75\ndog, 1, 0\n")
    read = Predictions.read(tmp_path / "t.csv", label="y")
    assert read.probs.tolist() == [[0.25, 0.75], [1, 0]]
    assert (read.labels.tolist(), read.classes.tolist()) == ([0, 1], ["cat", "dog"])


# ---- tables -------------------------------------------------------------------------------------


def pandas_frame():
    """Make TABLE with pandas, by way of its columns."""
    pd = pytest.importorskip("pandas")
    return pd.DataFrame({name: TABLE[name].to_list() for name in TABLE.columns})


def arrow_table():
    pa = pytest.importorskip("pyarrow")
    return pa.table({name: TABLE[name].to_list() for name in TABLE.columns})


@pytest.mark.parametrize(
    "make", [lambda: TABLE, TABLE.lazy, pandas_frame, arrow_table], ids=lambda f: f.__name__
)
def test_from_frame_takes_any_table(make):
    made = Predictions.from_frame(make(), label="y", groups="site", sample_weight="weight")
    assert_is_table(made, source="data frame")


@pytest.mark.parametrize("probs", ["p_", "p", ["p_emu", "p_cat", "p_dog"]], ids=str)
def test_from_frame_finds_columns_by_prefix_or_name(probs):
    made = Predictions.from_frame(TABLE, label="y", probs=probs)
    np.testing.assert_array_equal(made.probs, ROWS)
    assert made.classes.tolist() == NAMES.tolist()


@pytest.mark.parametrize(
    ("columns", "labels", "classes"),
    [
        (["p_0", "p_1", "p_2"], [2, 0, 1], [0, 1, 2]),
        (["p_1", "p_2", "p_3"], [3, 1, 2], [1, 2, 3]),
        (["p_10", "p_9", "p_1"], [1, 10, 9], [10, 9, 1]),
        (["p_a", "p_b", "p_c"], ["c", "a", "b"], ["a", "b", "c"]),
        (["p_a", "p_b", "p_c"], [2, 0, 1], ["a", "b", "c"]),
        (["prob_a", "prob_b", "prob_c"], ["c", "a", "b"], ["a", "b", "c"]),
        (["p0", "p1", "p2"], [2, 0, 1], [0, 1, 2]),
        (["Prob.3", "Prob.1", "Prob.2"], [2, 3, 1], [3, 1, 2]),
        (["class_0", "class_1", "class_2"], ["2", "0", "1"], ["0", "1", "2"]),
    ],
    ids=str,
)
def test_from_frame_names_the_classes_after_the_columns(columns, labels, classes):
    """What follows the prefix is the class: a label where it is one, a name of codes if not."""
    table = pl.DataFrame(dict(zip(columns, ROWS.T, strict=True)) | {"y": labels})
    made = Predictions.from_frame(table, label="y")
    assert made.labels.tolist() == CODES
    assert made.classes.tolist() == classes


@pytest.mark.parametrize("names", [["p0", "p1", "prob2"], ["p0", "p2", "p4"], ["x0", "x1", "x2"]])
def test_from_frame_takes_no_columns_that_do_not_count_classes(names):
    """Numbers of one prefix alone, from 0 or 1 without a gap, stand for classes."""
    table = pl.DataFrame(dict(zip(names, ROWS.T, strict=True)) | {"y": CODES})
    with pytest.raises(InvalidInput, match="probs must be a column or the prefix of columns"):
        Predictions.from_frame(table, label="y")


@pytest.mark.parametrize("columns", [["p_False", "p_True"], ["p_0", "p_1"], ["p_no", "p_yes"]])
def test_from_frame_reads_boolean_labels(columns):
    """Booleans are matched with columns called false and true, or are codes."""
    table = pl.DataFrame({columns[0]: [0.75, 0.5], columns[1]: [0.25, 0.5], "y": [True, False]})
    assert Predictions.from_frame(table, label="y").labels.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("column", "labels", "classes"),
    [
        ("p_died", ["died", "lives"], ["lives", "died"]),
        ("p_lives", ["died", "lives"], ["died", "lives"]),
        ("p_risk", ["died", "lives"], ["died", "lives"]),
        ("p_0", [0, 1], [1, 0]),
        ("p_1", [0, 1], [0, 1]),
        ("p_risk", [0, 1], [0, 1]),
        ("p_risk", [False, True], [False, True]),
    ],
)
def test_from_frame_takes_a_single_column_for_the_class_it_names(column, labels, classes):
    """One column is the probability of the label in its name, else of the second class."""
    made = Predictions.from_frame(pl.DataFrame({"y": labels, column: [0.25, 0.75]}), label="y")
    assert made.classes.tolist() == classes
    assert made.probs[:, 1].tolist() == [0.25, 0.75]


def test_from_frame_takes_columns_that_pandas_numbers():
    """Columns called 0, 1, 2 are found by number or text, and name the classes."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(ROWS).assign(y=CODES)
    for probs in ([0, 1, 2], ["0", "1", "2"]):
        made = Predictions.from_frame(frame, label="y", probs=probs)
        np.testing.assert_array_equal(made.probs, ROWS)
        assert made.classes.tolist() == [0, 1, 2]


def test_from_frame_refuses_two_columns_of_one_name():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([[0, 0.5, 0.5]], columns=["y", "p_0", "p_0"])
    with pytest.raises(InvalidInput, match=r"df must name each column once; got 'p_0' 2 times"):
        Predictions.from_frame(frame, label="y")


# ---- models -------------------------------------------------------------------------------------


def test_predict_lets_the_errors_of_the_model_through():
    """What the model says about X is passed on as it is."""
    with pytest.raises(ValueError, match="X has 3 features") as caught:
        predict(GaussianNB().fit(X, Y), np.ones((2, 3)))
    assert not isinstance(caught.value, InvalidInput)


def test_describe_names_a_model_in_one_line():
    """A pipeline goes by its steps, a function by its name; what is long is cut."""
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(C=0.5))
    assert describe(pipeline) == "Pipeline(StandardScaler, LogisticRegression)"
    assert len(describe(CalibratedClassifierCV(pipeline))) == 60
    assert len(describe(make_pipeline(*[StandardScaler()] * 9))) == 60
    assert describe(GaussianNB()) == "GaussianNB()"
    assert describe(np.exp) == "exp"
    assert describe(object()) == "<object object>"  # nothing that differs from run to run


def test_models_are_told_from_arrays_and_tables():
    """An array, a list, a table and a column are data; a table has columns, lazy or not."""
    for model in (GaussianNB(), np.exp, GaussianNB):
        assert is_model(model)
        assert not is_table(model)
    for value in (ROWS, ROWS.tolist(), None, TABLE, TABLE["y"]):
        assert not is_model(value)
        assert is_table(value) == (value is TABLE)
    assert is_table(TABLE.lazy())


@pytest.mark.parametrize(
    ("probs", "rule"),
    [(1, "be a name or a list"), (np.array(0.5), "be a name or a list"), ([], "name at least one")],
    ids=str,
)
def test_columns_must_be_names(probs, rule):
    """A number is neither a name nor a list, and an empty list names none."""
    with pytest.raises(InvalidInput, match=f"probs must {rule}"):
        Predictions.from_frame(TABLE, label="y", probs=probs)


def test_model_is_not_asked_about_no_rows():
    """Before a model says so in words of its own."""
    X = np.array([[0.0], [1.0]])
    with pytest.raises(InvalidInput, match="X must have at least one row"):
        Predictions.from_model(GaussianNB().fit(X, [0, 1]), X[:0], [])


@pytest.mark.parametrize("columns", [["p_true", "p_false"], ["p_false", "p_true"]], ids=str)
@pytest.mark.parametrize("label", [pl.Boolean, pl.Int64, pl.Float64], ids=str)
def test_columns_of_truth_values_name_the_labels_0_and_1(columns, label):
    """p_true is the probability of 1 in any order of the columns and type of the labels."""
    values = {"p_true": [0.9, 0.2], "p_false": [0.1, 0.8]}
    table = pl.DataFrame({name: values[name] for name in columns} | {"y": [1, 0]})
    found = Predictions.from_frame(table.with_columns(pl.col("y").cast(label)), label="y")
    assert found.probs[np.arange(2), found.labels].tolist() == [0.9, 0.8]


@pytest.mark.parametrize("as_table", [True, False])
def test_missing_value_of_a_dictionary_of_arrow_is_none_of_its_words(as_table):
    """The arrays of pyarrow have the last word in its place; two chunks may have others."""
    pa = pytest.importorskip("pyarrow")
    chunks = [pa.array(words).dictionary_encode() for words in (["a", "b"], ["b", None, "a"])]
    labels, p = pa.chunked_array(chunks), [0.1, 0.9, 0.8, 0.3, 0.2]
    data = (pa.table({"y": labels, "p": p}),) if as_table else (p, labels)
    with pytest.raises(InvalidInput, match="labels must not be missing; got None at row 3"):
        ModelData(*data, label="y" if as_table else None).predictions()


@pytest.mark.parametrize("make", [pl.DataFrame.to_pandas, pl.DataFrame.to_arrow, pl.DataFrame])
def test_from_frame_takes_a_list_in_each_row(make):
    """One column has the probabilities of all classes; its rows are of one length."""
    rows = pl.DataFrame({"y": CODES, "probs": ROWS.tolist()})
    predictions = Predictions.from_frame(make(rows), label="y")
    np.testing.assert_array_equal(predictions.probs, ROWS)
    assert predictions.labels.tolist() == CODES
    rows = rows.with_columns(probs=pl.Series([[0.5, 0.5], *ROWS.tolist()[1:]]))
    with pytest.raises(InvalidInput, match="rows of unequal length"):
        Predictions.from_frame(make(rows), label="y")
