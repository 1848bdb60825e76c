"""`caltest calibrate fit`: what is saved, printed and said."""

import json

import numpy as np
import polars as pl
import pytest

from caltest import Predictions
from caltest.calibrators import (
    AutoCalibrator,
    Calibrator,
    OneVsRest,
    TemperatureScaling,
    VectorScaling,
)
from caltest.cli import calibrate

pytestmark = pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")


def fit(*more):
    """Words of the command but the file."""
    return ("--label", "y", "--n-resamples", "19", *more)


@pytest.fixture
def logits_csv(tmp_path):
    """Write sixty rows of logits of three classes, twice too large."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=(60, 3))
    labels = [rng.choice(3, p=row / row.sum()) for row in np.exp(z)]
    columns = {"y": np.array(["ant", "bee", "cat"])[labels]}
    columns |= {f"z_{name}": 2 * z[:, k] for k, name in enumerate(("ant", "bee", "cat"))}
    path = tmp_path / "logits.csv"
    pl.DataFrame(columns).write_csv(path)
    return path


def test_map_is_that_of_python(caltest, predictions_csv, tmp_path):
    path = tmp_path / "map.json"
    finished = caltest(
        "calibrate", "fit", predictions_csv, *fit("--method", "temperature", "-o", path)
    )
    predictions = Predictions.read(predictions_csv, label="y")
    expected = TemperatureScaling().fit(predictions)
    read = Calibrator.from_json(path.read_text(encoding="utf-8"))
    np.testing.assert_array_equal(
        read.predict_proba(predictions), expected.predict_proba(predictions)
    )
    assert finished.status == 0
    assert finished.out.startswith(str(expected.summary(n_resamples=19, rng=0)))
    assert finished.out.endswith("Out of fold: not tested, 8 rows are fewer than 10.\n")


def test_same_file_gives_the_same_map(caltest, logits_csv):
    """Folds are drawn from the seed, whose default is fixed; threads leave no trace."""
    words = ("calibrate", "fit", logits_csv, "--logits", "--probs", "z_")
    words += fit("--method", "matrix", "--set", "lam=0.1,1", "-q")
    first = caltest(*words)
    assert first.status == 0
    assert caltest(*words, "--jobs", "2") == first


@pytest.mark.parametrize(
    ("method", "kind"),
    [("vector", VectorScaling), pytest.param("auto", AutoCalibrator, marks=pytest.mark.full)],
)
def test_logits_are_fitted_as_they_stand(caltest, logits_csv, tmp_path, method, kind):
    """Vector scaling sees more in logits than in their probabilities; auto prints its weights."""
    path = tmp_path / "map.json"
    words = ("--logits", "--probs", "z_", "--method", method, "-o", path)
    finished = caltest("calibrate", "fit", logits_csv, *fit(*words))
    frame = pl.read_csv(logits_csv)
    z = frame.select(pl.col("^z_.*$")).to_numpy()
    expected = kind(from_logits=True, classes=["ant", "bee", "cat"]).fit(z, frame["y"].to_numpy())
    again = calibrate.read_map(path)[0].predict_proba(z)
    rtol = 1e-12 if method == "auto" else 0
    np.testing.assert_allclose(again, expected.predict_proba(z), rtol=rtol)
    assert finished.status == 0
    assert ("w[structured-matrix]" in finished.out) == (method == "auto")


def test_map_of_two_classes_is_fitted_for_each_of_more(caltest, predictions_csv, tmp_path):
    """One-vs-rest with a note on stderr, which --quiet silences."""
    path = tmp_path / "map.json"
    words = ("calibrate", "fit", predictions_csv, *fit("--method", "isotonic", "-o", path))
    note = "caltest: --method isotonic is for two classes: fitted for each class against"
    assert note in caltest(*words).err
    assert caltest(*words, "--quiet") == (0, "", "")
    assert isinstance(calibrate.read_map(path)[0], OneVsRest)


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_summary_leaves_standard_output_to_the_map(caltest, wrong_csv):
    """Without --output the map is on stdout and the summary on stderr."""
    finished = caltest("calibrate", "fit", wrong_csv, *fit("--method", "beta"))
    assert json.loads(finished.out)["calibrator"] == "beta"
    assert "Beta calibration" in finished.err
    assert "log loss" in finished.err


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
@pytest.mark.parametrize(
    ("more", "message"),
    [
        ((), "Missing option '--method'"),
        (("--method", "isotnic"), "; did you mean 'isotonic'?"),
        (("--method", "dirichlet", "--set", "lamb=1"), "did you mean 'lam'?"),
        (("--method", "dirichlet", "--set", "lam=-1"), "lam must be"),
        (("--method", "auto", "--set", "lam=1"), "--set for --method auto"),
        (("--method", "beta", "--seed", "-1"), "--seed must be an integer of at least 0"),
        (("--method", "beta", "--jobs", "0"), "--jobs must be an integer other than 0"),
        (("--method", "beta", "--probs", "q_"), "--probs must be a column"),
    ],
)
def test_mistake_is_one_line(refused, wrong_csv, more, message):
    """Status 2, one line on stderr, nothing on stdout."""
    assert message in refused("calibrate", "fit", wrong_csv, *fit(*more))
