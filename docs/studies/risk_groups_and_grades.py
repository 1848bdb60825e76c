"""Where the textbook nulls of grouped tests fail, as docs/studies/risk_groups_and_grades.md.

    python -P docs/studies/risk_groups_and_grades.py [--repetitions 2000] [--jobs 2]

Tests over risk groups are simulated on calibrated data and on development samples; tests of rating
grades are summed over the distribution of the number of defaults: their sizes have no error.
"""

from __future__ import annotations

import argparse
import bisect
import itertools
import warnings
from collections.abc import Callable
from pathlib import Path

import joblib
import numpy as np
from scipy import special
from scipy.stats import binom, norm
from sklearn.linear_model import LogisticRegression

import caltest as ct
from caltest.htests import REGISTRY

LEVEL = 0.05
N_RESAMPLES = 199  # 0.05 x 200 is whole
PAGE = Path(__file__).with_suffix(".md")

# ---- risk groups --------------------------------------------------------------------------------


def external(probs: np.ndarray, rng: np.random.Generator) -> ct.Predictions:
    """Draw labels from the predictions."""
    m = 2 if probs.ndim == 1 else probs.shape[1]
    return ct.Predictions(probs, np.arange(len(probs)) % m).simulate(rng)


def fitted(rng: np.random.Generator, n: int, intercept: float) -> ct.Predictions:
    """Fit a logistic regression of one feature, and predict the sample that it was fitted to."""
    X = rng.normal(size=(n, 1))
    y = (rng.random(n) < special.expit(intercept + X[:, 0])).astype(int)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-8).fit(X, y)
    return ct.Predictions(model.predict_proba(X)[:, 1], y)


def one_feature(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw probabilities of four classes that one feature tells."""
    return special.softmax(np.outer(rng.normal(size=n), [0, 0.5, 1, 0.2]), axis=1)


MODELS: dict[str, Callable[[np.random.Generator, int], ct.Predictions]] = {
    "risks 0 to 100 %": lambda rng, n: external(rng.random(n), rng),
    "risks 0.1 to 2.1 %": lambda rng, n: external(rng.uniform(0.001, 0.021, n), rng),
    "M1, two classes": lambda rng, n: external(rng.beta(0.1, 0.1, n), rng),
    "4 classes, one feature": lambda rng, n: external(one_feature(rng, n), rng),
    "4 classes, Dirichlet(3)": lambda rng, n: external(rng.dirichlet(np.full(4, 3.0), n), rng),
    "fitted, half are events": lambda rng, n: fitted(rng, n, 0.0),
    "fitted, 4.5 % are events": lambda rng, n: fitted(rng, n, -3.5),
}
EXTERNAL = (
    ("risks 0 to 100 %", 1000),
    ("risks 0 to 100 %", 100),
    ("risks 0.1 to 2.1 %", 10_000),
    ("risks 0.1 to 2.1 %", 1000),
    ("risks 0.1 to 2.1 %", 100),
    ("M1, two classes", 250),
    ("4 classes, one feature", 2000),
    ("4 classes, Dirichlet(3)", 2000),
)
DEVELOPMENT = (
    ("fitted, half are events", 1000),
    ("fitted, half are events", 100),
    ("fitted, 4.5 % are events", 5000),
    ("fitted, 4.5 % are events", 200),
)
COLUMNS: tuple[dict, ...] = (
    {"test": "hosmer-lemeshow", "null": "asymptotic"},
    {"test": "hosmer-lemeshow", "null": "asymptotic", "internal": True},
    {"test": "hosmer-lemeshow", "null": "exact"},
    {"test": "pigeon-heyse", "null": "asymptotic"},
    {"test": "pigeon-heyse", "null": "asymptotic", "internal": True},
    {"test": "le-cessie-van-houwelingen", "null": "asymptotic"},
    {"test": "le-cessie-van-houwelingen", "null": "asymptotic", "internal": True},
)


def sizes(model: str, n: int, sets: int) -> list[tuple[int, int]]:
    """Return, for each column, how many data sets have a p-value and how many are rejected."""
    found = np.zeros((len(COLUMNS), 2), dtype=int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.DegenerateDataWarning)
        for seed in range(sets):
            data = MODELS[model](np.random.default_rng([seed, n]), n)
            for column, options in enumerate(COLUMNS):
                try:
                    found[column] += 1, pvalue(data, seed, options) <= LEVEL
                except ct.NotApplicable:
                    continue
    return [(int(done), int(rejected)) for done, rejected in found]


def pvalue(data: ct.Predictions, seed: int, column: dict) -> float:
    """Return one p-value."""
    return ct.test_calibration(data, n_resamples=N_RESAMPLES, rng=seed, **column).pvalue


def group_row(model: str, n: int, counts: list[tuple[int, int]], sets: int) -> str:
    """Format the sizes for one kind of data."""
    probs = MODELS[model](np.random.default_rng([0, n]), n).probs
    events = [group.sum() for group in np.array_split(np.sort(probs[:, -1]), 10)]
    expected = f"{min(events):.2g} to {max(events):.2g}" if probs.shape[1] == 2 else "-"
    entries = " | ".join(marked(*count, sets) if count[0] else "-" for count in counts)
    return f"| {model} | {n} | {expected} | {entries} |"


def marked(done: int, rejected: int, sets: int) -> str:
    """Format a size, with a mark more than three standard errors off the level."""
    away = (rejected / done - LEVEL) / np.sqrt(LEVEL * (1 - LEVEL) / done)
    mark = " †" if away > 3 else " ‡" if away < -3 else ""
    return f"{100 * rejected / done:.1f}{'°' * (done < sets)}{mark}"


# ---- rating grades ------------------------------------------------------------------------------

GRADES = (
    (200, 0.0003),
    (100, 0.01),
    (1000, 0.001),
    (1000, 0.01),
    (10_000, 0.001),
    (1000, 0.05),
    (10_000, 0.01),
)
RHO = 0.05
CREDIT = {
    "binomial": REGISTRY["binomial"].with_options({}),
    "Jeffreys": REGISTRY["jeffreys"].with_options({}),
    "normal": REGISTRY["normal"].with_options({}),
    f"Vasicek, {RHO}": REGISTRY["vasicek"].with_options({"correlation": RHO}),
    "Vasicek, corporate": REGISTRY["vasicek"].with_options({"correlation": "corporate"}),
}


def fewest_rejected(test: str, n: int, pd: float) -> int:
    """Return the least number of defaults that is rejected; p falls as they grow."""
    judge = CREDIT[test].judge_grade
    return bisect.bisect_left(range(n + 1), -LEVEL, key=lambda d: -judge(d, n, pd).pvalue)


def chance_of(defaults: int, n: int, pd: float, rho: float) -> float:
    """Return the probability of at least so many defaults, by the trapezoid rule over the factor.

    Given the factor z, defaults are independent with probability
    Phi((Phi^-1(PD) + rho^(1/2) z) / (1 - rho)^(1/2)).
    """
    z = np.linspace(-8, 8, 4001)
    pi = norm.cdf((norm.ppf(pd) + np.sqrt(rho) * z) / np.sqrt(1 - rho))
    return float(np.trapezoid(binom.sf(defaults - 1, n, pi) * norm.pdf(z), z))


def grade_row(n: int, pd: float, rho: float) -> str:
    """Format the sizes of the tests of one grade, and the defaults from which they reject."""
    entries = []
    for test in CREDIT:
        defaults = fewest_rejected(test, n, pd)
        size = chance_of(defaults, n, pd, rho)
        entries.append(f"{100 * size:.1f}{' †' if size > LEVEL + 1e-9 else ''} ({defaults})")
    return f"| {rho:g} | {n} | {100 * pd:g} % | {n * pd:g} | " + " | ".join(entries) + " |"


# ---- the page -----------------------------------------------------------------------------------

INTRODUCTION = """# Risk groups and rating grades: where the textbook nulls fail

Sizes in % at level 5 %: how often calibrated predictions are rejected. `python -P
docs/studies/risk_groups_and_grades.py` reproduces the tables.

## Hosmer-Lemeshow: where the chi-square limit fails

Sizes are over {sets} data sets; † is more than three standard errors ({se:.2f} points each) above 5
%, ‡ below, and ° leaves out data sets without a p-value. HL is "hosmer-lemeshow", PH
"pigeon-heyse", CH "le-cessie-van-houwelingen". External is for data that the model was not fitted
to, internal (`internal=True`) for the sample that it was fitted to: chi^2 with g and g - 2 degrees
of freedom for HL and g and g - 1 for PH, times m - 1 for m classes; for CH the normal limit, with
the variance that is left after fitting. There are g = 10 groups. The exact null redraws labels from
the predictions, B = {b}. Events are those expected in a tenth of the rows, in one data set.
"""
TITLES = (
    "Data that the model was not fitted to: external is right, internal is wrong",
    "Development samples, logistic regression of one feature: internal is right, external is wrong",
)
GROUPS = """
### {title}

| data | n | events | {head} |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
"""
HEAD = "HL, ext. | HL, int. | HL, exact | PH, ext. | PH, int. | CH, ext. | CH, int."
READING = """
- Sparse groups: with 2 to 20 expected events in a group the chi^2 limit holds, with 0.2 to 2 it
  rejects 8 % and with 0.02 to 0.2 it rejects 17 %, since an event in a group that expects few adds
  more than the limit allows for. Below 5 expected events results carry a note. Where groups of
  nearly certain rows expect no events at all (M1), they add nothing either, and the size is about
  right.
- The exact null keeps the level in each of these: 6.5 % in the row of 100 rare events is chance,
  since 6000 more data sets gave 5.2 %.
- Internal degrees of freedom on other data reject 11 % where groups are not sparse (11.5 % in the
  limit), 13 to 20 % with four classes. The internal variance of CH is that of a sample in which
  fitting removed most of the deviation: on other data it rejects most calibrated models.
- External limits on the development sample reject 2 % (HL, PH) or never (CH), since a model is
  closer to the labels that it was fitted to. So would the exact null, since no model is fitted to
  the labels that it redraws; it is for data that the model has not seen, and the tests refuse it
  with `internal=True`. PH with g - 1 is conservative, since fitting uses up more than one degree of
  freedom.
- Four classes, Dirichlet(3): predictions differ within groups, and the chi^2 limit is conservative.
"""
GRADED = """
## Rating grades: rare and correlated defaults

All obligors of a grade have its PD. Defaults are independent, or correlated through the one-factor
normal model with correlation {rho:g}. Sizes are sums over the distribution of the number of
defaults: they have no simulation error, and † is any size above 5 %. In brackets is the smallest
number of defaults that leads to rejection, alternative "greater". Vasicek's test is run with the
correlation {rho:g} and with that of Basel for corporates, {low:.2f} to {high:.2f} here.

"""
CREDIT_READING = """
- Correlation: tests that assume independent defaults reject 18 to 30 % of grades whose PD is right
  where ten to a hundred defaults are expected, and more of them the more obligors there are. The
  exact null is no exception: it redraws labels independently. Vasicek's test with the right
  correlation keeps the level.
- A larger correlation than the true one makes the test lenient (below 1 % from ten expected
  defaults on), except where defaults are rarest: correlated defaults come together, so that a
  single one is less likely, and it leads to rejection.
- Rare defaults: the binomial test never exceeds the level where defaults are independent. Jeffreys'
  test does not guarantee that: its p-value is near the mid-p value, and with about one expected
  default it rejects 8 %, as the normal test does; with a hundred, 5.1 %.
"""


def page(tables: list[dict[tuple[str, int], list[tuple[int, int]]]], sets: int) -> str:
    """Write the whole page."""
    text = INTRODUCTION.format(
        sets=sets, se=100 * np.sqrt(LEVEL * (1 - LEVEL) / sets), b=N_RESAMPLES
    )
    for title, table in zip(TITLES, tables, strict=True):
        text += GROUPS.format(title=title, head=HEAD)
        text += "".join(group_row(*key, counts, sets) + "\n" for key, counts in table.items())
    correlations = [CREDIT["Vasicek, corporate"].correlation_at(pd) for _, pd in GRADES]
    text += READING + GRADED.format(rho=RHO, low=min(correlations), high=max(correlations))
    head = ("correlation", "n", "PD", "expected", *CREDIT)
    text += f"| {' | '.join(head)} |\n|" + "--:|" * len(head) + "\n"
    grid = itertools.product((0.0, RHO), GRADES)
    return text + "".join(grade_row(*one, rho) + "\n" for rho, one in grid) + CREDIT_READING


def main() -> None:
    """Run the study and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    sets = arguments.repetitions
    workers = joblib.Parallel(arguments.jobs, batch_size=1)
    keys = EXTERNAL + DEVELOPMENT
    rates = workers(joblib.delayed(sizes)(*key, sets) for key in keys)
    found = dict(zip(keys, rates, strict=True))
    tables = [{key: found[key] for key in part} for part in (EXTERNAL, DEVELOPMENT)]
    PAGE.write_text(page(tables, sets))


if __name__ == "__main__":
    main()
