"""What a user of other libraries types first, before reading a page, and the first that it prints.

Each row is a call and the beginning of its print; an error stands with the name of its type.
"""

# ruff: noqa: F401, the calls are text

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import caltest as ct

rng = np.random.default_rng(0)
n = 200
x = rng.normal(size=(2 * n, 2))
both = (rng.random(2 * n) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
X, y, p3 = x[n:], both[n:], rng.dirichlet([1, 1, 1], n)
clf = LogisticRegression().fit(x[:n], both[:n])
P = clf.predict_proba(X)
p, y3, w = P[:, 1], rng.integers(0, 3, n), rng.random(n)
sex = np.where(X[:, 1] > 0, "f", "m")
words = np.array(["no", "yes"])
named = LogisticRegression().fit(x[:n], words[both[:n]])
df = pd.DataFrame({"age": X[:, 0], "bmi": X[:, 1]})
on_frame = LogisticRegression().fit(pd.DataFrame(x[:n], columns=["age", "bmi"]), both[:n])


class Tensor:
    """A tensor of torch that requires a gradient."""

    def __init__(self, values, *, requires_grad=True):
        self.values, self.requires_grad = values, requires_grad

    def __array__(self, dtype=None, copy=None):
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad")
        return self.values

    def detach(self):
        return Tensor(self.values, requires_grad=False)


class Network:
    """A network of Keras, with one output."""

    def predict(self, X):
        return P[:, 1:].astype("float32")

    __call__ = predict


class Booster:
    """A booster of xgboost."""

    def predict(self, data):
        return p


def test(*data, **options):
    """Test by the quickest test; what is asked here is how data are read."""
    options = {"test": "brier", "n_resamples": 19, "rng": 1} | options
    return ct.test_calibration(*data, **options)


test.__test__ = False


def instead(function, name, ours):
    """Return the error that names the argument that is meant."""
    return f"TypeError: {function}() got an unexpected keyword argument {name!r}; use {ours}="


READ = "No evidence against calibration (p = "
OF_NUMBERS = "InvalidInput: model must have predict_proba; got LinearRegression(); of a regressor"
ATTEMPTS = [
    ("ct.verdict(clf, X, y, rng=1)", READ),
    ("ct.verdict(model=p, y=y, rng=1)", READ),
    ("test(clf, X, y)", READ),
    ("test(clf, X, y=y)", READ),
    ("ct.report(clf, X, y, test='brier', n_resamples=19, rng=1)", "Are the probabilities of Log"),
    ("test(clf, X=X, y=y)", "InvalidInput: y must come with X; got no X; call it as (model, X, y)"),
    ("test((p, y))", READ),
    ("test([P.tolist(), y.tolist()])", READ),
    ("ct.verdict((p, y), rng=1)", READ),
    ("test((y, p))", "InvalidInput: probs must come before labels; got fractions as labels"),
    ("test((p, y[1:]))", "InvalidInput: labels must have one entry per row; got 199"),
    ("test(clf, X)", "InvalidInput: data must be the pair (X, y) where model is a classifier or a"),
    ("test(clf, y, X)", "InvalidInput: data must be (X, y), the features first; got shapes (200,)"),
    ("test(p, X, y)", "InvalidInput: y must be left out where no model predicts X; got type nd"),
    ("test(y, p)", "InvalidInput: probs must come before labels; got fractions as labels and none"),
    ("test(on_frame, df, y)", READ),
    ("test(on_frame, df, pd.DataFrame({'y': y}))", READ),
    ("test(lambda d: P, df.assign(sex=sex), y, by='sex')", "Too few rows to tell (p = 1, n = 200)"),
    ("test(on_frame, df, y='dead')", "InvalidInput: y must hold the labels; got 'dead'; name a"),
    ("test(df.assign(y=y, p=p))", "InvalidInput: label must be one of 'age', 'bmi', 'y', 'p'; got"),
    ("test(df.assign(y=y, p=p), label='y', probs='p')", READ),
    ("test(y_true=y, y_prob=p)", "InvalidInput: options must be taken by a test named"),
    ("ct.verdict(y_true=y, y_prob=p)", instead("verdict", "y_true", "y")),
    ("test(p, y, alpha=0.05)", "InvalidInput: options must be taken by a test named"),
    ("ct.verdict(p, y, alpha=0.05)", instead("verdict", "alpha", "level")),
    ("ct.power(p, n=50, alpha=0.05)", instead("power", "alpha", "level")),
    ("ct.sample_size(p, slope=0.5, alpha=0.05)", instead("sample_size", "alpha", "level")),
    ("ct.power(p, n=50, by=sex)", "TypeError: power() got an unexpected keyword argument 'by'"),
    ("ct.report(p, y, alpha=0.05)", instead("report", "alpha", "level")),
    ("ct.monitor(alpha=0.05)", instead("monitor", "alpha", "level")),
    ("ct.verdict(p, y, random_state=1)", instead("verdict", "random_state", "rng")),
    ("ct.verdict(p, y, sensitive_features=sex)", instead("verdict", "sensitive_features", "by")),
    ("ct.measures.ece(p, y, n_bins=9)", instead("ece", "n_bins", "bins")),
    ("ct.measures.ece(p, y, sample_weight=w)", "0."),
    ("ct.measures.confidence_ece(p3, y3)", "0."),
    ("ct.measures.ks_error(p3, y3)", "NotApplicable: the Kolmogorov-Smirnov calibration error "),
    ("test(p.astype(str), y)", "InvalidInput: probs must be numbers; got '"),
    ("test(p, y.astype(str))", READ),
    ("test(clf, X, y.astype(str))", READ),
    ("test(p, y[:, None])", READ),
    ("test(p[:, None], y)", READ),
    ("test(p, y.astype(bool))", READ),
    ("test(p, pd.Categorical(words[y]))", READ),
    ("test(pd.DataFrame(P, columns=['no', 'yes']), words[y])", READ),
    ("test(named, X, words[y])", READ),
    ("test(named, X, y)", READ),
    ("test(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), X, y)", READ),
    ("test(GridSearchCV(LogisticRegression(), {'C': [1]}, cv=2).fit(X, y), X, y)", READ),
    ("test(LinearSVC().fit(X, y), X, y)", "InvalidInput: model must have predict_proba; got Lin"),
    ("test(LinearRegression().fit(X, y), X, y)", OF_NUMBERS),
    ("test(clf.predict, X, y)", "InvalidInput: model must return probabilities; got the label"),
    ("test(clf.decision_function(X), y)", "InvalidInput: probs must lie in [0, 1]; got -"),
    ("test(clf.decision_function(X), y, from_logits=True)", READ),
    ("test(100 * p, y)", "InvalidInput: probs must lie in [0, 1]; got "),
    ("test(pd.Series(p, dtype='Float64'), pd.Series(y, dtype='Int64'))", READ),
    ("test(pl.Series(p), pl.Series(y))", READ),
    ("test(P.tolist(), y.tolist())", READ),
    ("test(Tensor(P), Tensor(y))", READ),
    ("test(Network(), X, y)", READ),
    ("test(Booster(), X, y)", "InvalidInput: model must have predict_proba; got <"),
    ("test(LogisticRegression(), X, y)", "InvalidInput: model must be fitted; got Logistic"),
    ("test(p, 2 * y - 1)", "InvalidInput: labels must be among the classes 0, 1; got -1 at row "),
    ("test(p3, np.eye(3)[y3])", "Weak evidence against calibration (p = 0.1). Overconfident"),
    ("test(p, y, test='hosmer_lemeshow')", "InvalidInput: test must be one of "),
    ("ct.plots.reliability_diagram(clf, X, y)", "Axes("),
    ("ct.plots.reliability_diagram(p, y, sample_weight=w)", "Axes("),
    ("ct.plots.reliability_diagram(p, y, n_bins=9)", "TypeError: reliability_diagram() got an u"),
]  # fmt: skip


SLOW = ("ct.verdict(clf", "ct.report(clf", "ct.plots.reliability_diagram")  # the first of a process


@pytest.mark.parametrize(
    ("call", "begins"),
    [
        pytest.param(*row, id=row[0], marks=[pytest.mark.full] * row[0].startswith(SLOW))
        for row in ATTEMPTS
    ],
)
def test_first_attempt_is_answered(call, begins):
    """A call that can be understood is; another is told the right one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.SuspectInputWarning)
        try:
            printed = str(eval(call, globals()))  # noqa: S307, a call of the table above
        except (TypeError, ValueError, ct.NotApplicable) as error:
            printed = f"{type(error).__name__}: {error}"
    assert " ".join(printed.split()).startswith(begins)
