"""What holds for every measure: one code path for observed and redrawn labels, one value."""

import ast
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import caltest as ct
from caltest.errors import NotApplicable
from caltest.htests import REGISTRY as TESTS
from caltest.intervals import REGISTRY as INTERVALS
from caltest.measures import REGISTRY as EVERY_MEASURE
from caltest.measures import Measure
from caltest.measures.base import keys_offering
from caltest.numerics.labels import resample_keys
from caltest.numerics.loops import threads

REGISTRY = {key: kind for key, kind in EVERY_MEASURE.items() if kind.of is not ct.Forecasts}

# Infinite where a threshold separates redrawn labels: its arc tangent has a mean.
INFINITE = {"calibration-slope"}
every_measure = pytest.mark.parametrize("key", REGISTRY)
every_number_of_classes = pytest.mark.parametrize(
    "m", [pytest.param(2, marks=pytest.mark.full), 3, pytest.param(20, marks=pytest.mark.full)]
)


def predictions_of(m):
    """Return predictions with ties, zeros and ones and calibrated labels, in two classes or m."""
    rng = np.random.default_rng(m)
    counts = rng.multinomial(6, np.ones(m) / m, 70)
    counts[:, 0] += counts.sum(axis=1) == 0
    probs = counts / counts.sum(axis=1, keepdims=True)
    return ct.Predictions(probs, np.zeros(70, int), classes=np.arange(m)).simulate(rng)


def bind(key, predictions):
    """Bind a measure with default options, under the first lens that it takes."""
    for lens in ("strong", "confidence"):
        with suppress(NotApplicable):
            return REGISTRY[key]().bind(ct.lenses.resolve_lens(lens)(predictions))
    raise AssertionError(f"{key} takes no predictions of {predictions.m} classes under any lens")


def test_key_and_function_name_one_measure(case):
    """The function stands beside its class; titles and symbols are one line each."""
    for key, kind in REGISTRY.items():
        measure = kind()
        with case(key):
            assert kind.key == key
            function = getattr(ct.measures, kind.function_name(), None)
            assert function is None or function.__module__ == kind.__module__
            for text in (kind.title, measure.title, measure.symbol, measure.description):
                assert text.strip() == text != ""
                assert "\n" not in text


@every_number_of_classes
@every_measure
def test_redrawn_values_are_those_of_new_predictions(key, m):
    """All that a bound measure keeps depends on the predictions alone: labels can be exchanged.

    Its own among them: `value` and a row of `values` are the same number.
    """
    predictions = predictions_of(m)
    bound = bind(key, predictions)
    others = [bound, *(bind(key, predictions.simulate(seed)) for seed in range(5))]
    expected = [other.value() for other in others]
    rows = np.array([other.observed for other in others])
    np.testing.assert_allclose(bound.values(rows), expected, rtol=1e-9, atol=1e-12)


@every_number_of_classes
@every_measure
def test_values_do_not_depend_on_how_rows_are_batched(key, m):
    """Rows at a time, and threads, change nothing."""
    bound = bind(key, predictions_of(m))
    labels = bound.redraw(resample_keys(0, 21))
    whole = bound.values(labels)
    single = np.concatenate([bound.values(row[None]) for row in labels])
    np.testing.assert_allclose(single, whole, rtol=1e-9, atol=1e-13)
    with threads(2):
        np.testing.assert_allclose(bound.values(labels), whole, rtol=1e-9, atol=1e-13)


@pytest.mark.full
@every_number_of_classes
@every_measure
def test_redrawn_values_have_the_law_of_simulated_predictions(key, m):
    """Labels redrawn in the order of the bound measure, and `Predictions.simulate`: equal means."""
    predictions = predictions_of(m)
    bound = bind(key, predictions)
    bounded = np.arctan if key in INFINITE else np.asarray
    n_resamples = 100 if key == "e-likelihood-ratio" else 400  # each value is of many fits
    redrawn = bounded(bound.values(bound.redraw(resample_keys(0, n_resamples))))
    # Other seeds than that of the predictions, on which its labels would depend.
    values = [bind(key, predictions.simulate(seed)).value() for seed in range(100, 140)]
    simulated = bounded(values)
    error = redrawn.std() * np.sqrt(1 / 40 + 1 / n_resamples)
    assert abs(redrawn.mean() - np.mean(simulated)) < 5 * error + 1e-12


# ---- weights and classes ------------------------------------------------------------------------

# Where a weight is no number of rows.
NO_COUNT = {
    "combined": "some places are drawn",
    "ucme": "places are drawn",
    "skce": "pairs are of different rows",
    "sharpness": "n / (n - 1) has the number of rows",
    "debiased-ece": "what is taken off the error of a bin falls with its rows",
    "spiegelhalter": "the variance has the squares of the weights",
    "le-cessie-van-houwelingen": "the variance has the squares of the weights",
    "unreliability": "2 / n is taken off",
}
DRAWN = {"combined", "ucme"}  # from all rows
FIXED = {"kde-ece": {"bandwidth": 0.05}}  # otherwise it depends on n


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize("m", [2, 3])
@every_measure
def test_integer_weights_are_repeated_rows(key, m):
    """A weight of 0 is no row; sums of rows are in units of the mean weight."""
    data = bind(key, predictions_of(m)).predictions
    times = np.random.default_rng(1).integers(0, 4, data.n)
    measure = REGISTRY[key](**FIXED.get(key, {}))
    weighted = replaced(data, np.arange(data.n), times)
    try:
        value = measure.evaluate(weighted)
    except NotApplicable as error:
        assert "sample weights; use " in str(error)  # noqa: PT017
        return
    if key not in DRAWN:
        some = times > 0
        alone = measure.evaluate(replaced(data, some, times[some]))
        assert value == pytest.approx(alone, rel=1e-12, abs=1e-15)
    if key not in NO_COUNT:
        repeated = measure.evaluate(replaced(data, np.repeat(np.arange(data.n), times), None))
        unit = times[times > 0].mean()
        nearer = min((repeated, repeated / unit), key=lambda other: abs(other - value))
        assert value == pytest.approx(nearer, rel=1e-7, abs=1e-12)


def replaced(data, rows, weights):
    """Return some rows of the predictions with weights."""
    classes = np.arange(data.m)
    return ct.Predictions(
        data.probs[rows], data.labels[rows], classes=classes, sample_weight=weights
    )


@every_measure
def test_measure_of_one_dimension_names_itself_and_lenses(key):
    measure = REGISTRY[key]()
    try:
        measure.bind(predictions_of(3))
    except NotApplicable as error:
        assert "takes one-dimensional predictions" in str(error)  # noqa: PT017
        assert "use lens='confidence', 'classwise' or 'top-2'" in str(error)  # noqa: PT017


FUNCTIONS = {
    key: function
    for key, measure in REGISTRY.items()
    if (function := getattr(ct.measures, measure.function_name(), None)) is not None
}


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize("key", FUNCTIONS)
def test_family_of_lenses_has_a_value_for_each(key):
    """An array of the values of the lenses by themselves, which are numbers."""
    data = ct.datasets.generative_model("M3", n=60, m=3, rng=0)
    values = FUNCTIONS[key](data, lens="classwise")
    one = FUNCTIONS[key](data, lens="classwise[1]")
    assert isinstance(values, np.ndarray)
    assert isinstance(one, float)
    assert (values.shape, values[1]) == ((3,), one)


# ---- what a measure offers ----------------------------------------------------------------------


@every_measure
def test_measure_has_intervals_or_names_what_has_one(key):
    """Methods that exist, and what the first needs of the measure."""
    measure, predictions = REGISTRY[key](), predictions_of(2)
    if measure.interval_instead is not None:
        return
    method = measure.intervals[0]
    assert set(measure.intervals) <= set(INTERVALS)
    assert set(measure.own_intervals) <= set(INTERVALS)
    asked = {"convex": measure.gaps, "studentized": lambda _: measure.least_score}
    if method in measure.own_intervals:
        assert measure.own_interval(predictions, level=0.9).low < np.inf
    elif method in asked:
        assert asked[method](predictions) is not None


@every_measure
def test_nearest_measure_for_few_rows_is_defined_for_one(key):
    """With and without weights, or it is the measure itself."""
    measure = REGISTRY[key]()
    variant = measure.few_rows()
    if variant != measure:
        row = ct.Predictions([[0.3, 0.7]], [1], classes=[0, 1])
        assert np.isfinite(variant.bind(row).value())
    assert isinstance(measure.few_rows(weighted=True), Measure)


def test_lists_of_tests_are_those_of_the_registry():
    """What a message recommends is what overrides the default."""
    witnesses = " ".join(keys_offering("witness_kernel"))
    assert witnesses == "combined skce skce-linear skce-block kce mmce"
    offered = keys_offering("tolerance")
    assert offered == ("skce", "skce-linear", "skce-block", "debiased-ece", "ks")
    known = {key for key, test in TESTS.items() if test.with_options({}).tolerance}
    assert known == set(offered)


@pytest.mark.parametrize("m", [2, 3])
def test_tests_that_are_named_for_clusters_take_them(m):
    """Blocks of rows and numbers have no place among them."""
    data = ct.datasets.generative_model("M1", n=60, m=m, rng=1)
    with pytest.raises(ct.NotApplicable, match="'combined', 'skce', 'kce'") as caught:
        ct.test_calibration(None, data, test="t-cal", cluster=np.arange(60) // 2)
    named = re.findall("'([^']+)'", str(caught.value))
    for key in named:
        measure = TESTS[key].with_options({})
        seen = ct.lenses.resolve_lens("confidence")(data)
        assert measure.residual_statistics(seen), key
    assert "pit-ks" not in named
    with pytest.raises(ct.NotApplicable, match=r"one of the tests 'combined', 'skce'$"):
        measure.bind_chunks(None, "ab")


# ---- asked of the measure -----------------------------------------------------------------------

SOURCE = Path(ct.__file__).parent
FILES = [
    path.relative_to(SOURCE).as_posix()
    for path in sorted(SOURCE.rglob("*.py"))
    if path.relative_to(SOURCE).parts[0] != "measures"
]
MAKERS = {"NamedTest"}  # they take the class of a measure to make it


def families(cls=Measure):
    """Yield the names of all measures, and of what families of them share."""
    for child in cls.__subclasses__():
        if child.__module__.startswith("caltest."):
            yield child.__name__
            yield from families(child)


def names_in(*nodes):
    """Count the names in parts of a syntax tree."""
    parts = (part for node in nodes if node is not None for part in ast.walk(node))
    return Counter(part.id for part in parts if isinstance(part, ast.Name))


def asked_for(source):
    """Return the measures that a module uses other than to make one, and other than as a type."""
    tree, allowed = ast.parse(source), Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            maker = getattr(node.func, "id", "") in MAKERS
            allowed += names_in(node.func, *(node.args if maker else ()))
        elif isinstance(node, ast.arg | ast.AnnAssign):
            allowed += names_in(node.annotation)
        elif isinstance(node, ast.FunctionDef):
            allowed += names_in(node.returns)
    return set(families()) & set(names_in(tree) - allowed)


@pytest.mark.full
def test_no_file_outside_measures_asks_which_measure_it_is():
    """`isinstance`, `match`, and tables and tuples of measures."""
    found = {path: asked_for((SOURCE / path).read_text(encoding="utf-8")) for path in FILES}
    asking = [
        f"caltest/{path}: {', '.join(sorted(names))}" for path, names in found.items() if names
    ]
    assert not asking, (
        f"these files ask which measure it is: {'; '.join(asking)}. Ask the measure itself: "
        "override a member of `Measure` (caltest/measures/base.py) beside the class, or declare a "
        "new one there with a default for all others, and call it here"
    )


@pytest.mark.parametrize(
    "line",
    [
        "isinstance(measure, KSError | SKCE)",
        "issubclass(kind, KernelMeasure)",
        "type(measure) is KSError",
        "TABLE = {KSError: 'scaled=False'}",
        "BINNED = (BinErrors, TCal)",
    ],
)
def test_questions_by_class_are_found(line):
    """The check finds them, and leaves alone what makes a measure or is a type."""
    assert asked_for(line)
    assert not asked_for("def run(measure: KSError = KSError()) -> SKCE: return SKCE(size=2)")
