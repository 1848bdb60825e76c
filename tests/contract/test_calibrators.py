"""What holds for every calibrator: inputs, labels, weights, degenerate data, saving, printing."""

import copy
import json
import pickle
import warnings
from functools import cache

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from caltest import InvalidInput, Predictions
from caltest import test_calibration as calibration_test
from caltest.calibrators import REGISTRY, BinaryCalibrator, Calibrator, OneVsRest
from caltest.errors import DegenerateDataWarning
from caltest.testing.strategies import DEGENERATE

SLOW = "vector structured-vector matrix dirichlet structured-matrix ordinal gp auto"  # at m = 1000
INNER = {"one-vs-rest": "platt", "ensemble": "temperature"}
EACH_LOGIT = {"vector", "matrix", "gp"}  # not differences alone
DEFAULTS = {"gp": {"monotone": True}}  # otherwise it warns where its latent mean falls
every_calibrator = pytest.mark.parametrize("key", REGISTRY)
every_number_of_classes = pytest.mark.parametrize(
    "m", [pytest.param(2, marks=pytest.mark.full), 3, pytest.param(5, marks=pytest.mark.full)]
)
two_or_three_classes = pytest.mark.parametrize("m", [2, pytest.param(3, marks=pytest.mark.full)])
degenerate = pytest.mark.filterwarnings("ignore::caltest.errors.DegenerateDataWarning")


def make(key, m=2, **options):
    """Return a calibrator that takes m classes."""
    kind, options = REGISTRY[key], DEFAULTS.get(key, {}) | options
    if key in INNER:
        return kind(REGISTRY[INNER[key]](), **options)
    if m > 2 and issubclass(kind, BinaryCalibrator):
        return OneVsRest(kind(), **options)
    return kind(**options)


def data_of(m, n=80, seed=0):
    """Return overconfident predictions, and labels."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, (n, m))
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    flat = np.sqrt(probs) / np.sqrt(probs).sum(axis=1, keepdims=True)
    codes = (rng.random((n, 1)) > flat.cumsum(axis=1)[:, :-1]).sum(axis=1)
    codes[:m] = np.arange(m)[:n]
    return probs, codes


def anew(key, m):
    """Return a calibrator that is fitted to `data_of(m)`."""
    return make(key, m).fit(*data_of(m))


fitted_once = cache(anew)


def fitted(key, m=2):
    """Return a copy of the calibrator that is fitted to `data_of(m)`, without these data."""
    return copy.deepcopy(fitted_once(key, m))


def edges(m):
    """Return rows with zeros, ones, ties and tiny probabilities, and some of all kinds."""
    rows = np.vstack([np.eye(m), np.full((1, m), 1 / m), np.zeros((3, m))])
    rows[-3, :2] = 0.5
    rows[-2, :2] = 1e-300, 1.0
    rows[-1, :2] = 1 - 1e-16, 1e-16
    return np.vstack([rows, data_of(m, seed=1)[0]])


def assert_probabilities(probs, n, m):
    """Check that rows lie on the simplex."""
    assert probs.shape == (n, m)
    assert probs.dtype == np.float64
    assert probs.min() >= 0
    np.testing.assert_allclose(probs.sum(axis=1), 1, rtol=0, atol=1e-12)


# ---- fit and predict ----------------------------------------------------------------------------


@every_number_of_classes
@every_calibrator
def test_calibrated_rows_lie_on_the_simplex(key, m):
    """Of any input, edges of the simplex too; `transform` and `predict` agree with them."""
    calibrator, rows = fitted(key, m), edges(m)
    probs = calibrator.predict_proba(rows)
    assert_probabilities(probs, len(rows), m)
    np.testing.assert_array_equal(calibrator.transform(rows), probs)
    np.testing.assert_array_equal(calibrator.predict(rows), probs.argmax(axis=1))


@degenerate
@two_or_three_classes
@every_calibrator
def test_zeros_and_ones_can_be_fitted(key, m):
    """Probabilities of 0 on the observed class give a map without NaN."""
    rows = edges(m)
    codes = np.arange(len(rows)) % m
    assert_probabilities(make(key, m).fit(rows, codes).predict_proba(rows), len(rows), m)


@pytest.mark.parametrize("m", [2, 4])
@every_calibrator
def test_labels_may_be_text(key, m, case):
    """Classes are the sorted names, or in the order of `classes`, and predictions are names."""
    probs, codes = data_of(m)
    expected = fitted(key, m)
    for names, given in (("ant bee cat dog", False), ("no maybe yes ever", True)):
        names = np.array(names.split())[:m]  # noqa: PLW2901
        calibrator = make(key, m, **({"classes": names.tolist()} if given else {}))
        calibrator.fit(probs, names[codes])
        with case(names):
            assert calibrator.classes_.tolist() == names.tolist()
            np.testing.assert_array_equal(
                calibrator.predict_proba(probs), expected.predict_proba(probs)
            )
            np.testing.assert_array_equal(calibrator.predict(probs), names[expected.predict(probs)])


@degenerate
@every_calibrator
def test_class_may_be_missing_in_the_calibration_set(key):
    """A class without labels has a defined probability."""
    probs, codes = data_of(4)
    calibrator = make(key, 4).fit(probs, np.where(codes == 2, 0, codes))
    assert calibrator.classes_.tolist() == [0, 1, 2, 3]
    assert_probabilities(calibrator.predict_proba(edges(4)), len(edges(4)), 4)


@two_or_three_classes
@pytest.mark.parametrize("key", [key for key in REGISTRY if key != "gp"])
def test_logarithms_of_probabilities_are_logits(key, m):
    """`from_logits` gives the same map; the kernel of a process is one of distances of scores."""
    probs, codes = data_of(m)
    calibrator = make(key, m, from_logits=True).fit(np.log(probs), codes)
    expected = fitted(key, m).predict_proba(probs)
    np.testing.assert_allclose(calibrator.predict_proba(np.log(probs)), expected, atol=1e-7)


@every_calibrator
def test_one_dimension_is_the_second_class(key):
    """Probabilities, or log odds, of the event of two classes.

    Where the map sees each logit the latter may differ, for that of class 0 is 0.
    """
    probs, codes = data_of(2)
    event, expected = probs[:, 1], fitted(key).predict_proba(probs)
    given = {False: event, True: np.log(event / probs[:, 0])}
    for from_logits in (False, *[True] * (key not in EACH_LOGIT)):
        values = given[from_logits]
        found = make(key, from_logits=from_logits).fit(values, codes).predict_proba(values)
        np.testing.assert_allclose(found, expected, atol=1e-7 if from_logits else 1e-9)


@two_or_three_classes
@every_calibrator
def test_row_of_weight_zero_is_left_out(key, m):
    probs, codes = data_of(m)
    weight = np.random.default_rng(2).uniform(0.5, 2, len(codes))
    expected = make(key, m).fit(probs, codes, sample_weight=weight).predict_proba(probs)
    rows = np.vstack([probs[:3][:, ::-1], np.eye(m), probs])
    labels = np.concatenate([codes[:3], np.arange(m)[::-1], codes])
    weight = np.concatenate([np.zeros(3 + m), weight])
    calibrator = make(key, m).fit(rows, labels, sample_weight=weight)
    np.testing.assert_allclose(calibrator.predict_proba(probs), expected, atol=1e-9)


VARIANTS = [(key, {}) for key in REGISTRY if key not in ("ensemble", "auto")]
VARIANTS += [("histogram", {"binning": "quantile"}), ("dirichlet", {"lam": "auto"})]
VARIANTS += [("spline", {"mode": mode}) for mode in ("class-wise", "within-top-1")]
VARIANTS += [("bbq", {"min_bins": 1, "max_bins": 8}), ("vector", {"from_logits": True})]
VARIANTS += [("temperature", {"from_logits": True}), ("isotonic", {"bound": "auto"})]
VARIANTS += [("centered-isotonic", {"bound": "auto"})]


@degenerate
@two_or_three_classes
@pytest.mark.parametrize(("key", "options"), VARIANTS, ids=str)
def test_weight_is_a_number_of_rows(key, options, m, case):
    """Of 0 too, with ties and without; rows of an ensemble would be in several folds."""
    probs, codes = data_of(m)
    tied = (np.round(5 * probs) + 1) / (np.round(5 * probs) + 1).sum(axis=1, keepdims=True)
    times = np.random.default_rng(1).integers(0, 4, len(codes))
    times[:m] = 1
    for name, rows in {"distinct": probs, "tied": tied}.items():
        rows = np.log(rows) if "from_logits" in options else rows  # noqa: PLW2901
        kind = make(key, 2, **options) if issubclass(REGISTRY[key], BinaryCalibrator) else None
        one = OneVsRest(kind) if kind is not None and m > 2 else kind or make(key, m, **options)
        calibrator = clone(one).fit(rows, codes, sample_weight=times)
        repeated = clone(one).fit(rows.repeat(times, axis=0), codes.repeat(times))
        with case(name):
            np.testing.assert_allclose(
                calibrator.predict_proba(rows), repeated.predict_proba(rows), atol=1e-6
            )
            if hasattr(calibrator, "temperature_stderr_"):
                expected = pytest.approx(repeated.temperature_stderr_, rel=1e-6)
                assert calibrator.temperature_stderr_ == expected


class Tensor:
    """What PyTorch's tensors offer to NumPy."""

    def __init__(self, values):
        self.values = values
        self.shape = values.shape

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


NAMES = [f"p_{k}" for k in range(3)]
KINDS = {
    "list": np.ndarray.tolist,
    "tuple": lambda values: tuple(map(tuple, values.tolist())),
    "pandas": lambda values: pd.DataFrame(values, columns=NAMES),
    "polars": lambda values: pl.DataFrame(values, schema=NAMES),
    "tensor": Tensor,
    "fortran": np.asfortranarray,
    "object": lambda values: values.astype(object),
}


@every_calibrator
def test_input_may_be_of_any_kind(key, case):
    """Lists, tables and tensors give what arrays give."""
    probs, codes = data_of(3)
    expected = fitted(key, 3).predict_proba(probs)
    for kind, made_of in KINDS.items():
        values = made_of(probs)
        with case(kind):
            calibrator = make(key, 3).fit(values, codes.tolist())
            np.testing.assert_array_equal(calibrator.predict_proba(values), expected)
            assert hasattr(calibrator, "feature_names_in_") == (kind in {"pandas", "polars"})


@every_calibrator
def test_predictions_may_be_fitted(key):
    probs, codes = data_of(3)
    weight = np.linspace(1, 2, len(codes))
    predictions = Predictions(probs, codes, classes=["c", "a", "b"], sample_weight=weight)
    calibrator = make(key, 3).fit(predictions)
    relative = predictions.sample_weight
    expected = make(key, 3).fit(probs, codes, sample_weight=relative).predict_proba(probs)
    assert calibrator.classes_.tolist() == ["c", "a", "b"]
    np.testing.assert_array_equal(calibrator.predict_proba(predictions), expected)


@every_calibrator
def test_single_precision_is_read(key):
    """Rows that sum to 1 in float32 need no renormalisation."""
    probs, codes = data_of(3)
    calibrator = make(key, 3).fit(probs.astype(np.float32), codes)
    assert_probabilities(calibrator.predict_proba(probs.astype(np.float32)), len(probs), 3)


@every_calibrator
def test_input_is_left_alone(key):
    """Arrays of the caller are neither changed nor locked; neither are options."""
    probs, codes = data_of(3)
    weight = np.ones(len(codes))
    copies = probs.copy(), codes.copy(), weight.copy()
    calibrator = make(key, 3)
    before = repr(calibrator.get_params())
    calibrator.fit(probs, codes, sample_weight=weight).predict_proba(probs)
    for array, before_it in zip((probs, codes, weight), copies, strict=True):
        np.testing.assert_array_equal(array, before_it)
        assert array.flags.writeable
    assert repr(calibrator.get_params()) == before


@two_or_three_classes
@pytest.mark.parametrize("key", [key for key in REGISTRY if key not in ("ensemble", "auto")])
def test_fit_does_not_depend_on_the_order_of_rows(key, m):
    """Nor a prediction on the rows beside it; an ensemble deals its folds in the order of rows."""
    probs, codes = data_of(m)
    order = np.random.default_rng(0).permutation(len(codes))
    calibrator = make(key, m).fit(probs[order], codes[order])
    expected = fitted(key, m).predict_proba(probs)
    np.testing.assert_allclose(calibrator.predict_proba(probs), expected, atol=1e-9)
    np.testing.assert_allclose(calibrator.predict_proba(probs[3:5]), expected[3:5], atol=1e-9)


@every_calibrator
def test_fit_repeats_and_leaves_the_global_random_state_alone(key):
    """Two fits agree to the last bit."""
    before = np.random.get_state()[1].copy()  # noqa: NPY002, it is what must not change
    first, second = (anew(key, 3).predict_proba(edges(3)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002, see above


# ---- degenerate data ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key", [pytest.param(k, marks=pytest.mark.full if k == "gp" else ()) for k in REGISTRY]
)
def test_degenerate_data_give_a_defined_map(key, case):
    """Probabilities without NaN, and no warning but DegenerateDataWarning; logits too."""
    for name, (probs, codes) in DEGENERATE.items():
        with case(name):
            check_defined_map(key, probs, codes)


def check_defined_map(key, probs, codes):
    """Fit a map to probabilities and to their logits, and apply it."""
    m = probs.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        calibrator = make(key, m).fit(probs, codes)
        assert_probabilities(calibrator.predict_proba(edges(m)), len(edges(m)), m)
        with np.errstate(divide="ignore"):
            logits, rows = np.log(probs), np.log(edges(m))
        calibrator = make(key, m, from_logits=True).fit(logits, codes)
        assert_probabilities(calibrator.predict_proba(rows), len(rows), m)


@pytest.mark.parametrize("weight", [1e-200, 1e200, 1.7e308])
@two_or_three_classes
@every_calibrator
def test_weights_may_be_huge_or_tiny(key, m, weight):
    """Rows on the simplex, without an overflow."""
    probs, codes = data_of(m)
    weights = np.where(np.arange(len(codes)) % 5 == 0, weight, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        calibrator = make(key, m).fit(probs, codes, sample_weight=weights)
    assert_probabilities(calibrator.predict_proba(edges(m)), len(edges(m)), m)


@pytest.mark.full
@pytest.mark.parametrize(
    "key", [pytest.param(key, marks=[pytest.mark.slow] * (key in SLOW.split())) for key in REGISTRY]
)
def test_thousand_classes_can_be_calibrated(key):
    """With fewer rows than classes most are missing."""
    probs, codes = data_of(1000, n=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        calibrator = make(key, 1000).fit(probs, codes)
    assert_probabilities(calibrator.predict_proba(probs[:50]), 50, 1000)


# ---- saving -------------------------------------------------------------------------------------


@every_number_of_classes
@every_calibrator
def test_json_repeats_predictions_to_the_last_bit(key, m):
    """A map can be applied elsewhere without pickle."""
    calibrator = fitted(key, m)
    saved = json.loads(calibrator.to_json())
    again = Calibrator.from_dict(saved)
    assert type(again) is type(calibrator)
    assert repr(again) == repr(calibrator)
    np.testing.assert_array_equal(again.predict_proba(edges(m)), calibrator.predict_proba(edges(m)))
    np.testing.assert_array_equal(again.predict(edges(m)), calibrator.predict(edges(m)))
    assert again.to_dict() == saved
    if hasattr(calibrator, "coefficients"):
        assert again.coefficients() == calibrator.coefficients()


@every_calibrator
def test_json_keeps_names_and_logits(key):
    """Names of classes and columns, and what the inputs are."""
    probs, codes = data_of(3)
    logits = pd.DataFrame(np.log(probs), columns=["a", "b", "c"])
    calibrator = make(key, 3, from_logits=True).fit(logits, np.array(["x", "y", "z"])[codes])
    again = type(calibrator).from_json(calibrator.to_json())
    assert again.classes_.tolist() == ["x", "y", "z"]
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(again.predict_proba(logits), calibrator.predict_proba(logits))


@two_or_three_classes
@every_calibrator
def test_pickle_and_joblib_keep_the_map(key, m, tmp_path):
    calibrator = anew(key, m)
    joblib.dump(calibrator, tmp_path / "map.joblib")
    for again in (
        pickle.loads(pickle.dumps(calibrator)),  # noqa: S301, our own
        joblib.load(tmp_path / "map.joblib"),
    ):
        expected = calibrator.predict_proba(edges(m))
        np.testing.assert_array_equal(again.predict_proba(edges(m)), expected)
        assert not hasattr(again, "_calibration_set")


# ---- printing and testing -----------------------------------------------------------------------


@two_or_three_classes
@every_calibrator
def test_summary_prints_in_every_format(key, m):
    """Errors before and after, on the data of the fit and on others."""
    calibrator = anew(key, m)
    own = calibrator.summary(n_resamples=19, rng=0)
    other = calibrator.summary(*data_of(m, seed=1), n_resamples=19, rng=0)
    assert "those of the fit" in str(own)
    assert "held out" in str(other)
    for text in (str(own), own.to_markdown(), own.to_html(), own.to_latex()):
        assert calibrator.title in text
        assert "nan" not in text.replace("np.nan", "").lower().split()


@every_calibrator
def test_saved_calibrator_has_a_summary_of_parameters(key):
    """The calibration set is not saved, and held-out data can be passed."""
    again = Calibrator.from_json(fitted(key, 3).to_json())
    assert again.title in str(again.summary())
    assert "held out" in str(again.summary(*data_of(3), n_resamples=9, rng=0))


@two_or_three_classes
@every_calibrator
def test_calibrator_can_be_tested(key, m):
    """`test_calibration` takes a calibrator with (probs, labels)."""
    held_out = data_of(m, seed=1)
    calibrator = fitted(key, m)
    result = calibration_test(calibrator, held_out, n_resamples=99, rng=0)
    probs = calibrator.predict_proba(held_out[0])
    expected = calibration_test(probs, held_out[1], n_resamples=99, rng=0)
    assert result.pvalue == expected.pvalue


# ---- bad input ----------------------------------------------------------------------------------

ROWS, LABELS = [[0.2, 0.8], [0.6, 0.4], [0.5, 0.5]], [1, 0, 1]
BAD_PROBS = {
    "nan": ([[0.2, 0.8], [np.nan, 0.4]], r"probs must not be missing; got nan at row 1"),
    "inf": ([[0.2, 0.8], [np.inf, 0.4]], r"probs must lie in \[0, 1\]; got inf at row 1"),
    "negative": ([[0.2, 0.8], [-0.1, 1.1]], r"probs must lie in \[0, 1\]; got -0.1 at row 1"),
    "sum": (
        [[0.2, 0.8], [0.5, 0.9]],
        r"probs must sum to 1 in each row; got a sum of 1.4 at row 1",
    ),
    "text": ([["a", "b"], ["c", "d"]], r"probs must be numbers; got 'a' at row 0"),
    "empty": (np.empty((0, 2)), r"probs must have at least one row; got shape \(0, 2\)"),
    "three-dimensions": (np.full((2, 2, 2), 0.5), r"probs must have shape \(n, m\), or \(n,\)"),
    "ragged": ([[0.5, 0.5], [1.0]], r"probs must be readable as an array"),
    "complex": (np.array([[0.5, 0.5j]]), r"probs must be numbers"),
}
BAD_LABELS = {
    "none": (None, r"y must be given; got None"),
    "short": ([1, 0], r"y must have one entry per row; got 2 for 3 rows"),
    "outside": ([1, 0, 7], r"y must be among the classes 0, 1; got 7 at row 2"),
    "nan": ([1, 0, np.nan], r"y must not be missing; got nan at row 2"),
    "fraction": ([1, 0, 0.5], r"y must be labels of classes, not continuous numbers"),
    "mixed": ([1, "a", 0], r"y must be all strings"),
    "empty": ([], r"y must have one entry per row"),
}


@every_calibrator
def test_bad_probabilities_are_refused(key, case):
    for name, (bad, message) in BAD_PROBS.items():
        with case(name, "fit"), pytest.raises(InvalidInput, match=message):
            make(key).fit(bad, [0, 1])
        with case(name, "predict_proba"), pytest.raises(InvalidInput, match=message):
            fitted(key).predict_proba(bad)


@every_calibrator
def test_bad_labels_and_weights_are_refused(key, case):
    """Swapped arguments too; weights that are negative, missing, too few or all zero."""
    for name, (bad, message) in BAD_LABELS.items():
        with case(name), pytest.raises(InvalidInput, match=message):
            make(key).fit(ROWS, bad)
    with pytest.raises(InvalidInput, match=r"swap the two arguments"):
        make(key).fit(LABELS, [0.2, 0.7, 0.9])
    for bad in ([1, -1, 1], [1, np.nan, 1], [1, 1], [0, 0, 0]):
        with case(bad), pytest.raises(InvalidInput, match=r"sample_weight must"):
            make(key).fit(ROWS, LABELS, sample_weight=bad)


@every_calibrator
def test_other_number_of_columns_is_refused(key):
    with pytest.raises(InvalidInput, match=r"X has 4 features, but .* is expecting 3 features"):
        fitted(key, 3).predict_proba([[0.25] * 4])
    with pytest.raises(InvalidInput, match=r"probs must have 3 columns, as in fit; got shape"):
        fitted(key, 3).predict_proba([0.5, 0.5])


@every_calibrator
def test_calibrator_that_is_not_fitted_says_so(key):
    for method in ("predict", "predict_proba", "transform"):
        with pytest.raises(NotFittedError, match=r"not fitted yet"):
            getattr(make(key), method)(ROWS)
    for method in ("summary", "to_dict", "to_json", "get_feature_names_out"):
        with pytest.raises(NotFittedError, match=r"not fitted yet"):
            getattr(make(key), method)()


# ---- scikit-learn -------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "polars"])
@every_calibrator
def test_transform_gives_tables(key, library):
    """`set_output` names the columns after the classes."""
    probs, _ = data_of(3)
    calibrator = fitted(key, 3).set_output(transform=library)
    table = calibrator.transform(probs)
    assert list(table.columns) == [f"{calibrator.key}_{k}" for k in range(3)]
    np.testing.assert_array_equal(table.to_numpy(), calibrator.predict_proba(probs))


@pytest.mark.full
@degenerate
@every_calibrator
def test_maps_follow_each_other_in_a_pipeline(key):
    probs, codes = data_of(3)
    pipeline = make_pipeline(make("temperature", 3), make(key, 3)).fit(probs, codes)
    assert_probabilities(pipeline.predict_proba(probs), len(probs), 3)
    grid = {"classes": [None, [0, 1, 2]]}
    search = GridSearchCV(make(key, 3), grid, scoring="neg_brier_score", cv=2, error_score="raise")
    assert np.isfinite(search.fit(probs, codes).best_score_)
