"""What calibrators share: reading of inputs, names of classes, saving, the summary."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning
from sklearn.pipeline import make_pipeline

from caltest import InvalidInput, Predictions
from caltest.calibrators import (
    Calibrator,
    EnsembleCalibrator,
    Identity,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from caltest.calibrators.inputs import Inputs
from caltest.calibrators.output import Saved, decode, encode
from caltest.errors import DegenerateDataWarning

P = np.array([[0.2, 0.8], [0.6, 0.4], [0.5, 0.5], [0.9, 0.1]])

NAMES = {
    "codes": ([0, 1, 1, 0], [0, 1]),
    "booleans": ([False, True, True, False], [False, True]),
    "text": (["no", "yes", "yes", "no"], ["no", "yes"]),
    "minus-one-and-one": ([-1, 1, 1, -1], [-1, 1]),
    "from-one": ([1, 2, 2, 1], [1, 2]),
    "floats": ([1.0, 2.0, 2.0, 1.0], [1, 2]),
    "one-hot": ([[1, 0], [0, 1], [0, 1], [1, 0]], [0, 1]),
}


@pytest.mark.parametrize("case", NAMES)
def test_distinct_labels_name_the_columns_in_sorted_order(case):
    """Whatever they are, where there are as many as columns."""
    labels, names = NAMES[case]
    calibrator = Identity().fit(P, labels)
    assert calibrator.classes_.tolist() == names
    assert calibrator.predict(P[:2]).tolist() == [names[1], names[0]]


def test_column_of_labels_and_one_class_are_told():
    """Rows of weight 0 do not count."""
    with pytest.warns(DataConversionWarning, match=r"A column-vector y was passed"):
        Identity().fit(P, [[1], [0], [1], [0]])
    with pytest.warns(DegenerateDataWarning, match=r"every label is 'yes'"):
        Identity(classes=["no", "yes"]).fit(P, ["yes"] * 4)
    with pytest.warns(DegenerateDataWarning, match=r"every label is 1"):
        Identity().fit(P, [1, 0, 1, 1], sample_weight=[1, 0, 1, 1])


def test_tags_say_what_a_calibrator_takes():
    """Classes beyond two, and negative values as logits."""
    assert not PlattScaling().__sklearn_tags__().classifier_tags.multi_class
    assert OneVsRest(PlattScaling()).__sklearn_tags__().classifier_tags.multi_class
    assert not EnsembleCalibrator(PlattScaling()).__sklearn_tags__().classifier_tags.multi_class
    assert Identity().__sklearn_tags__().input_tags.positive_only
    assert not Identity(from_logits=True).__sklearn_tags__().input_tags.positive_only


# ---- inputs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("from_logits", [False, True])
def test_class_against_rest_has_the_odds_of_the_class(from_logits):
    """From probabilities and from logits, of which those near 0 and 1 are exact."""
    logits = np.array([[800.0, 0, 1], [0, -50, 3], [-900, 2, 2], [1, 1, 1]])
    inputs = Inputs(logits, from_logits=True)
    if not from_logits:
        inputs = Inputs(inputs.probs, from_logits=False)
    for k in range(3):
        binary = inputs.against_rest(k)
        np.testing.assert_allclose(binary.event, inputs.probs[:, k], rtol=1e-12, atol=1e-300)
        if from_logits:
            others = np.logaddexp.reduce(np.delete(logits, k, axis=1), axis=1)
            np.testing.assert_allclose(binary.log_odds, logits[:, k] - others, rtol=1e-12)


@pytest.mark.parametrize("m", [2, 3])
def test_inputs_of_the_largest_logits_are_finite_and_certain(m):
    """Without an overflow, beside a logit of -inf too; the predicted class stays."""
    largest = np.finfo(float).max
    logits = np.full((3, m), -largest)
    logits[0, 1], logits[1, 0], logits[2, 0] = largest, largest / 2, -np.inf
    inputs = Inputs(logits, from_logits=True)
    certain = np.eye(m)[[1, 0]]
    np.testing.assert_array_equal(inputs.probs[:2], certain)
    np.testing.assert_array_equal(inputs.logits[:2].argmax(axis=1), [1, 0])
    for values in (inputs.logits, inputs.log_probs, inputs.against_rest(0).log_odds):
        assert np.isfinite(np.square(values)).all()
    np.testing.assert_array_equal(inputs.against_rest(1).event[:2], certain[:, 1])


# ---- saving -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        "text",
        -0.0,
        5e-324,
        float("inf"),
        float("-inf"),
        [1, "a", [0.1]],
        {"a": 1, 2: [3.5]},
        np.array([0.1, np.inf, -np.inf]),
        np.array([[1, 2], [3, 4]], dtype=np.int32),
        np.array(["no", "yes"]),
        np.array([True, False]),
        np.empty((0, 3)),
    ],
    ids=repr,
)
def test_encoding_keeps_a_value(value):
    again = decode(encode(value), Saved)
    assert repr(again) == repr(value)
    assert getattr(again, "dtype", None) == getattr(value, "dtype", None)


@pytest.mark.parametrize("prefix", ["", "p_"])
def test_columns_of_a_table_name_the_classes(prefix):
    """In their order, which need not be sorted, where the labels are among them."""
    probs = np.random.default_rng(0).dirichlet([1, 1, 1], 60)
    names = np.array(["dog", "emu", "cat"])
    table = pd.DataFrame(probs, columns=[prefix + name for name in names])
    calibrator = TemperatureScaling().fit(table, names[np.arange(60) % 3])
    assert calibrator.classes_.tolist() == names.tolist()
    other = TemperatureScaling().fit(table, np.array(["x", "y", "z"])[np.arange(60) % 3])
    assert other.classes_.tolist() == ["x", "y", "z"]
    with pytest.raises(InvalidInput, match="among the classes 'dog', 'emu', 'cat'; got 'fox'"):
        TemperatureScaling().fit(table, np.array(["dog", "fox", "cat"])[np.arange(60) % 3])


@pytest.mark.parametrize("form", ["{}", "proba_{}", "temperature_{}", "P {}"])
@pytest.mark.parametrize("names", [["cat", "big cat", "ant"], [7, 3, 5]])
def test_columns_that_end_in_the_labels_name_the_classes(names, form):
    """In letters of any case: not the sorted labels, which stand in another order."""
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    y = np.arange(60) % 3
    table = pd.DataFrame(probs, columns=[form.format(name).upper() for name in names])
    fitted = VectorScaling().fit(table, np.array(names)[y])
    assert fitted.classes_.tolist() == names
    expected = VectorScaling().fit(probs, y).predict_proba(probs)
    np.testing.assert_array_equal(fitted.predict_proba(table), expected)


def test_maps_of_a_pipeline_hand_the_names_on():
    names = ["cat", "dog", "ant"]
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 200)
    y = (probs.cumsum(axis=1) < rng.random((200, 1))).sum(axis=1)
    table = pd.DataFrame(probs, columns=names)
    maps = make_pipeline(TemperatureScaling(), VectorScaling()).set_output(transform="pandas")
    found = maps.fit(table, np.array(names)[y]).predict_proba(table)
    first = TemperatureScaling().fit(probs, y).predict_proba(probs)
    expected = VectorScaling().fit(first, y).predict_proba(first)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_map_with_an_attribute_that_it_has_not_is_refused():
    """Other changes are in the contract of reading back, and what is said in unit/cli."""
    values = TemperatureScaling().fit([0.1, 0.4, 0.8], [0, 1, 1]).to_dict()
    values["state"]["predict"] = 1
    with pytest.raises(InvalidInput, match="of temperature must have no key 'predict'; got 1"):
        TemperatureScaling.from_dict(values)


@pytest.mark.parametrize("text", ["{", "[" * 100_000, '{"a":' * 100_000, "1" * 6000, ""])
def test_json_too_deep_or_long_raises_an_error_of_caltest(text):
    """The parser's own limits are no traceback."""
    with pytest.raises(InvalidInput, match=r"text must be JSON; got .*; pass the text of to_json"):
        Calibrator.from_json(text)


def test_predictions_have_the_classes_of_the_map():
    """In the order of the fit, or those that the map was told; no other order is taken for it."""
    names, rng = ["cat", "dog", "ant"], np.random.default_rng(0)
    probs = rng.dirichlet(np.ones(3), 60)
    labels = np.array(names)[(probs.cumsum(axis=1) < rng.random((60, 1))).sum(axis=1)]
    known, table = Predictions(probs, labels, classes=names), pd.DataFrame(probs, columns=names)
    fitted = VectorScaling().fit(table, labels)
    np.testing.assert_array_equal(fitted.predict_proba(known), fitted.predict_proba(table))
    other = Predictions(probs[:, ::-1], labels, classes=names[::-1])
    with pytest.raises(InvalidInput, match="'cat', 'dog', 'ant', in this order; got 'ant', 'dog'"):
        fitted.predict_proba(other)
    with pytest.raises(InvalidInput, match="classes of X must be 'a', 'b', 'c', in this order"):
        Identity(classes=["a", "b", "c"]).fit(known)
    assert Identity(classes=names).fit(known).classes_.tolist() == names
    with pytest.raises(InvalidInput, match="y has no effect without X"):
        fitted.summary(y=labels)
    with pytest.raises(InvalidInput, match=r"y has no effect where X is a Predictions"):
        fitted.summary(known, labels)
