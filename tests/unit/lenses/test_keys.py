"""A lens and its key name each other."""

import pytest

from caltest import Predictions
from caltest.lenses import (
    REGISTRY,
    Classwise,
    Confidence,
    Custom,
    Grouped,
    Largest,
    Lens,
    Strong,
    TopLabel,
    TopRank,
    WithinTop,
    resolve_lens,
)

LENSES = {
    "strong": Strong(),
    "confidence": Confidence(),
    "classwise": Classwise(),
    "classwise[cat]": Classwise("cat"),
    "classwise[a class]": Classwise("a class"),
    "top-label": TopLabel(),
    "top-label[cat]": TopLabel("cat"),
    "top-2": TopRank(2),
    "within-top-12": WithinTop(12),
    "largest-5": Largest(5),
    "grouped[cat+dog|bird]": Grouped([["cat", "dog"], ["bird"]]),
}
CLAIMS = {
    "strong": "P(Y = k | p) = p_k for every class k",
    "confidence": "the largest probability is the probability that its class is right",
    "classwise": "P(Y = k | p_k) = p_k",
    "classwise[cat]": "P(Y = cat | p_cat) = p_cat",
    "top-label[cat]": "where cat is predicted, p_cat is the probability that this is right",
    "top-2": "probability number 2 in size is the probability that its class is right",
    "within-top-3": "the sum of the 3 largest is the probability that the label is among them",
    "largest-3": "the 3 largest and the rest are the probabilities of their classes",
    "grouped[a|b]": "P(Y in G | sums of p over the groups) = sum of p over G, for every group G",
}


@pytest.mark.parametrize("key", LENSES)
def test_key_names_its_lens_and_the_lens_its_key(key):
    assert resolve_lens(key) == LENSES[key]
    assert str(LENSES[key]) == key


def test_resolve_lens_keeps_a_lens():
    lens = TopRank(3)
    assert resolve_lens(lens) is lens


@pytest.mark.parametrize("key", CLAIMS)
def test_claim_says_the_null_hypothesis_in_words(key):
    """The claim is a sentence with the options filled in."""
    assert resolve_lens(key).claim == CLAIMS[key]


@pytest.mark.parametrize("key", REGISTRY)
def test_registry_names_lenses_with_a_title(key):
    """An entry is a class of lenses with a line for lists; its key, filled in, makes one."""
    assert issubclass(REGISTRY[key], Lens)
    assert REGISTRY[key].title
    assert isinstance(resolve_lens(key.replace("R", "2").replace("...", "0")), REGISTRY[key])


@pytest.mark.parametrize("lens", [*LENSES.values(), Custom(max)], ids=str)
def test_only_lenses_left_open_are_families(lens):
    """Without a class, a lens per class is a family; any other is its own only member."""
    assert lens.is_family == (str(lens) in {"classwise", "top-label"})
    if not lens.is_family:
        assert lens.members(Predictions([0.5], [1])) == [lens]
