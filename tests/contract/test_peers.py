"""The calibrators of other packages under `check_calibrator`; the table of the docs is made here.

`python tests/contract/test_peers.py` prints the rows.
"""

import importlib.metadata

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from caltest.testing import check_calibrator
from caltest.testing.calibrator_checks import CALIBRATOR_PROPERTIES, claim_of

ASKED = ("simplex", "inputs", "repeats", "pickle", "weights", "near-identity", "ranking")


class Peer(BaseEstimator):
    """A calibrator of P(1) with the interface that `check_calibrator` asks for."""

    def fit(self, probs, labels):
        self.inner_ = self.make().fit(probs[:, 1], labels)
        return self

    def predict_proba(self, probs):
        """Return P(1)."""
        return self.inner_.predict(probs[:, 1])


class Weighted(Peer):
    """One whose `fit` takes weights."""

    def fit(self, probs, labels, sample_weight=None):
        self.inner_ = self.make().fit(probs[:, 1], labels, sample_weight=sample_weight)
        return self


class Isotonic(Weighted):
    """scikit-learn, IsotonicRegression."""

    def make(self):
        from sklearn.isotonic import IsotonicRegression

        return IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")


class OfClassifier(BaseEstimator):
    """scikit-learn's CalibratedClassifierCV of a classifier that gives what it is given."""

    method = ""

    def fit(self, probs, labels, sample_weight=None):
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.frozen import FrozenEstimator

        known = FrozenEstimator(AsGiven(labels))
        self.inner_ = CalibratedClassifierCV(known, method=self.method)
        self.inner_.fit(probs, labels, sample_weight=sample_weight)
        return self

    def predict_proba(self, probs):
        return self.inner_.predict_proba(probs)


class AsGiven(BaseEstimator):
    """A classifier whose features are its probabilities."""

    _estimator_type = "classifier"

    def __init__(self, labels=None):
        self.labels = labels
        self.classes_ = np.unique(labels)

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return X

    def predict(self, X):
        return self.classes_[X.argmax(axis=1)]

    def __sklearn_tags__(self):
        """Say that it is a classifier."""
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        return tags


class Sigmoid(OfClassifier):
    """scikit-learn, CalibratedClassifierCV(method="sigmoid")."""

    method = "sigmoid"


class Temperature(OfClassifier):
    """scikit-learn, CalibratedClassifierCV(method="temperature")."""

    method = "temperature"


class Beta(Weighted):
    """betacal, BetaCalibration."""

    def make(self):
        from betacal import BetaCalibration

        return BetaCalibration(parameters="abm")


class VennAbers(BaseEstimator):
    """venn-abers, VennAbers."""

    def fit(self, probs, labels):
        from venn_abers import VennAbers as Venn

        self.inner_ = Venn()
        self.inner_.fit(probs, labels)
        return self

    def predict_proba(self, probs):
        """Return the merged probabilities."""
        return self.inner_.predict_proba(probs)[0]


# The package that each is of, what it breaks, and an error that it raises in whichever property the
# search first comes to it: the table of docs/howto/property_based_tests.md.
PEERS = {
    Isotonic: ("scikit-learn", set(), ""),
    Sigmoid: ("scikit-learn", {"ranking"}, ""),
    Temperature: ("scikit-learn", set(), ""),
    Beta: ("betacal", {"ranking"}, "X has 1 features, but LogisticRegression is expecting 2"),
    VennAbers: ("venn-abers", set(), ""),
}


def broken_by(peer):
    """Return the properties that a peer breaks, with what Hypothesis printed."""
    found = {}
    for name in ASKED:
        if name == "weights" and "sample_weight" not in peer.fit.__code__.co_varnames:
            continue
        try:
            check_calibrator(peer(), properties=[name], n_classes=[2], examples=100, atol=1e-4)
        except AssertionError as error:
            found[name] = "\n".join([str(error).split("\n")[0], *error.__notes__])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("peer", PEERS)
def test_peer_breaks_what_the_docs_say(peer):
    """A release that fixes it, or breaks what held, changes the table."""
    package, expected, raised = PEERS[peer]
    pytest.importorskip({"scikit-learn": "sklearn"}.get(package, package.replace("-", "_")))
    found = broken_by(peer)
    apart = {name for name, told in found.items() if not raised or raised not in told}
    assert apart <= expected <= set(found)
    assert bool(raised) == any(raised in told for told in found.values() if raised)


if __name__ == "__main__":
    for peer, (package, *_) in PEERS.items():
        print(peer.__doc__, importlib.metadata.version(package))  # noqa: T201
        for name, told in broken_by(peer).items():
            print(f"  breaks: {claim_of(CALIBRATOR_PROPERTIES[name])}\n{told}")  # noqa: T201
