"""A lens of one's own: what it redraws is looked at before it gives a p-value."""

import numpy as np
import pytest

import caltest as ct
from caltest.errors import InvalidInput
from caltest.lenses import Custom, Lens
from caltest.lenses.base import departure
from caltest.numerics.labels import resample_keys
from caltest.predictions.redrawing import Inversion, Redrawing

pytestmark = pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")


class Fixed(Redrawing):
    """Redraws the labels that were observed."""

    def __init__(self, codes):
        self.codes = codes

    def labels(self, keys):
        return np.tile(self.codes.astype(np.uint8), (len(keys), 1))

    def taken(self, rows):
        return Fixed(self.codes[rows])


class Own(Lens):
    """The lens "confidence", with a redrawing of some kind."""

    title = key = null = "own"

    def __init__(self, kind):
        self.kind = kind

    def __call__(self, data):
        value, right = data.probs.max(axis=1), data.labels == data.predicted
        redrawn = {
            "right": data.redrawing.events(data.predicted, data.m),
            "of its own": None,
            "observed": Fixed(right),
            "another class": data.redrawing.events((data.predicted + 1) % data.m, data.m),
            "no labels": Fixed(np.full(data.n, 7)),
        }[self.kind]
        probs, names = np.column_stack([1 - value, value]), np.array(["wrong", "right"])
        codes = right.astype(np.int64)
        return ct.Predictions.trusted(probs, codes, names, like=data, redrawing=redrawn)


def far_off(n=300):
    """Return predictions whose labels are the least likely."""
    probs = np.random.default_rng(1).dirichlet(np.ones(3), n)
    return ct.Predictions(probs, probs.argmin(axis=1), classes=[0, 1, 2])


def pvalue_under(lens, data=None):
    return ct.test_calibration(data or far_off(), lens=lens, n_resamples=99, rng=1).pvalue


@pytest.mark.parametrize("kind", ["right", "of its own"])
def test_right_redrawing_finds_what_is_far_off(kind):
    """A redrawing by the induced probabilities alone is right in law."""
    assert pvalue_under(Own(kind)) == 0.01
    ct.testing.check_lens(Own(kind), n_classes=(3,), n_datasets=20)


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("observed", "the same classes each time"),
        ("another class", "other numbers of the classes"),
        ("no labels", "not codes of 2 classes"),
    ],
)
def test_wrong_redrawing_is_refused(kind, found):
    """It gave p = 1 for labels that are the least likely; the totals may be right."""
    for data in (far_off(), far_off().simulate(1))[: 2 if kind == "observed" else 1]:
        with pytest.raises(InvalidInput, match=rf"the lens 'own' must follow .*{found}"):
            pvalue_under(Own(kind), data)
    with pytest.raises(InvalidInput, match=found):
        ct.test_segments(far_off(), segments={"a": np.arange(300) % 3}, lens=Own(kind), rng=1)
    with pytest.raises(AssertionError, match=rf"own: labels that it redraws have .*{found}"):
        ct.testing.check_lens(Own(kind), n_datasets=20)


@pytest.mark.parametrize(
    ("f", "message"),
    [
        (lambda p, y: (p[:, 0], y == 1), "must follow its probabilities"),
        (lambda p, y: (p[:, 0], (y == 0)[::-1]), "must depend on its own row only"),
        (lambda _, y: ((y == 0) / 2, y == 0), "must not depend on the labels"),
        (lambda p, y: (p, np.sort(y)), "must depend on its own row only"),
    ],
)
def test_function_that_is_no_lens_is_refused(f, message):
    """Its labels must be the events of which it gives the probabilities."""
    with pytest.raises(InvalidInput, match=message):
        pvalue_under(Custom(f, name="f"), far_off().simulate(1))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda data: (data.probs, data.labels), "must return Predictions; got type tuple"),
        (lambda data: ct.Predictions(data.probs, data.labels), "must keep the sample weights"),
    ],
)
def test_lens_that_returns_something_else_or_loses_weights_is_refused(made, message):
    """It said that a tuple has no n, and tested without the weights."""
    lens = type("Made", (Own,), {"__call__": lambda _, data: made(data)})("right")
    data = ct.Predictions(far_off(30).probs, np.arange(30) % 3, sample_weight=np.arange(30))
    with pytest.raises(InvalidInput, match=message):
        pvalue_under(lens, data)
    with pytest.raises(InvalidInput, match=message):
        ct.measures.ece(data, lens=lens)


def test_lens_that_is_blind_has_no_power():
    """Probabilities of 1 for what always happens keep the level, and find nothing."""
    blind = Custom(lambda _, y: (np.ones(len(y)), y >= 0), name="blind")
    with pytest.raises(AssertionError, match=r"blind.*at most 0 of 20 data sets of 2 classes"):
        ct.testing.check_lens(blind, n_datasets=20)


@pytest.mark.parametrize("n", [1, 3, 1000])
@pytest.mark.parametrize("scale", [1e-300, 1e-6, 1e-3, 0.5])
def test_draws_of_rare_events_are_no_departure(n, scale):
    """The bound holds for every number of rows and every probability."""
    p = np.random.default_rng(n).random(n) * scale
    probs = np.column_stack([1 - p, p])
    for seed in range(20):
        assert departure(probs, Inversion(probs).labels(resample_keys(seed, 4))) == ""
