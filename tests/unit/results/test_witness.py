"""The witness: of length 1, and naming what was planted."""

import numpy as np
import pytest

import caltest as ct
from caltest import InvalidInput, NotApplicable, Predictions
from caltest.kernels import Exponential

TESTS = ("skce", "skce-linear", "skce-block", "kce", "mmce")


def judged(data, **options):
    """Test with few resamples: the witness needs none."""
    return ct.test_calibration(data, **({"test": "skce", "n_resamples": 9, "rng": 0} | options))


def planted(n=4000):
    """Half of the cats predicted above 0.6 are dogs; all else is calibrated."""
    data = ct.datasets.generative_model("M1", n=n, m=5, alpha=0.5, rng=2)
    labels = data.labels.copy()
    sure = (data.probs[:, 2] > 0.6) & (np.random.default_rng(3).random(n) < 0.5)
    labels[sure & (labels == 2)] = 3
    classes = ["ant", "bee", "cat", "dog", "emu"]
    return Predictions(data.probs, np.array(classes)[labels], classes=classes)


@pytest.mark.parametrize("key", TESTS)
def test_mean_error_along_the_witness_is_the_kce(key):
    """The mean of delta_i . f(p_i) is the norm of the mean embedding, f being its direction."""
    data = ct.datasets.generative_model("M2", n=60, m=2, rng=1)
    witness = judged(data, test=key).witness()
    delta = np.eye(2)[data.labels] - data.probs
    kce = np.einsum("ik,ik->", delta, witness(data.probs)) / data.n
    # The matrix of the MMCE's kernel is I / 2, which f contains.
    assert kce == pytest.approx(witness.kce, rel=1e-12)


def test_witness_is_the_definition_with_unit_length():
    """f(s) = sum_i exp(-TV(s, p_i) / nu) delta_i / (n KCE), written out."""
    data = ct.datasets.generative_model("M2", n=30, m=3, rng=1)
    result = judged(data, kernel=Exponential(0.5), test="kce")
    point = np.array([0.2, 0.3, 0.5])
    kappa = np.exp(-np.abs(data.probs - point).sum(axis=1) / 2 / 0.5)
    expected = kappa @ (np.eye(3)[data.labels] - data.probs) / (30 * result.estimate)
    np.testing.assert_allclose(result.witness()([point])[0], expected, rtol=1e-12)


def test_witness_of_m2_names_the_first_class():
    """Half of the labels are class 0 whatever the prediction: it is under-predicted where low."""
    data = ct.datasets.generative_model("M2", n=500, rng=1)
    witness = judged(data).witness()
    worst = witness.regions()[0]
    assert (worst.name, worst.direction, worst.high) == (0, "under-predicted", 0.2)
    assert worst.contribution > 0.8 * witness.skce
    assert witness.by_class()[0].name == 0


def test_witness_names_the_planted_confusion():
    """Cat is over-predicted where it is sure, and dog under-predicted where it is not."""
    first, second = judged(planted()).witness().regions()[:2]
    found = {(r.name, r.direction, r.low >= 0.6, r.high <= 0.2) for r in (first, second)}
    assert {("cat", "over-predicted"), ("dog", "under-predicted")} == {row[:2] for row in found}
    assert ("dog", "under-predicted", False, True) in found
    assert ("cat", "over-predicted", True, False) in found


def test_curve_is_the_witness_on_a_grid():
    """For the confidence it shows the range in which the model is too sure."""
    data = ct.datasets.generative_model("M2", n=200, m=5, rng=1)
    witness = judged(data, lens="confidence").witness()
    grid, values = witness.curve(11)
    np.testing.assert_array_equal(grid, np.linspace(0, 1, 11))
    np.testing.assert_allclose(values, witness(grid)[:, 1])
    assert values[-1] < 0


def test_what_has_no_witness_says_so():
    """Curves of many classes, points off the lens, other tests, predictions without an error."""
    data = ct.datasets.generative_model("M2", n=30, m=3, rng=1)
    with pytest.raises(NotApplicable, match="a curve needs two classes, and the lens shows 3"):
        judged(data).witness().curve()
    witness = judged(ct.datasets.generative_model("M2", n=50, m=3, rng=1), lens="confidence")
    with pytest.raises(InvalidInput, match="points must have a column for each of the 2 classes"):
        witness.witness()([[0.2, 0.3, 0.5]])
    data = ct.datasets.generative_model("M2", n=50, m=2, rng=1)
    with pytest.raises(NotApplicable, match="no witness; use one of the tests 'combined', 'skce'"):
        judged(data, test="ece").witness()
    perfect = Predictions(np.eye(3), [0, 1, 2])
    with pytest.raises(NotApplicable, match="there is nothing to find"):
        judged(perfect).witness()


@pytest.mark.parametrize("backend", ["polars", "pandas"])
def test_frame_has_a_row_for_each_region(backend):
    pytest.importorskip(backend)
    witness = judged(ct.datasets.generative_model("M2", n=50, m=3, rng=1)).witness()
    frame = witness.to_frame(backend=backend)
    assert list(frame["contribution"]) == [r.contribution for r in witness.regions()]
    assert list(frame["class"]) == [r.name for r in witness.regions()]


def test_printing_computes_nothing(monkeypatch):
    """The table is made with the witness."""
    witness = judged(ct.datasets.generative_model("M2", n=50, m=3, rng=1)).witness()
    monkeypatch.setattr(np, "bincount", None)
    assert "too low" in str(witness)
