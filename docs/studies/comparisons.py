"""Size and power of the p-values of comparisons: writes docs/studies/comparisons.md.

    python -P docs/studies/comparisons.py [--repetitions 200] [--jobs 2]

Of calibrators: out-of-fold predictions of maps that are calibrated by construction, of maps that
are fitted, and of models that are miscalibrated, tested by four rules. Of models: pairs with the
same expected log loss, and pairs of which one is better, tested by sign flips, by redrawn labels
and by the larger p-value of both.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import joblib
import numpy as np
from scipy import special  # its functions cannot be pickled by themselves
from scipy.optimize import brentq
from sklearn.isotonic import IsotonicRegression

import caltest as ct
from caltest.calibrators import REGISTRY
from caltest.comparison.outcomes import fisher_pvalue
from caltest.comparison.pairs import flipped_sums, redrawn_pvalue
from caltest.comparison.scores import SCORES

N_RESAMPLES = 199
DRAWS = 999  # of the comparison of models
PAGE = Path(__file__).with_suffix(".md")
TESTS = ("combined", "skce", "ks", "ece", "brier")
Floats = np.ndarray
Map = Callable[[Floats], Floats]

# ---- maps ---------------------------------------------------------------------------------------

SPREAD = 1.5  # standard deviation of the true log odds
GRID = np.sort(SPREAD * np.random.default_rng(0).normal(size=200_001))
TOTALS = np.concatenate([[0.0], np.cumsum(special.expit(GRID))])


def log_odds(probs: Floats) -> Floats:
    """Return the log odds of the second of two classes."""
    return special.logit(probs[:, 1])


def steps(edges: Floats) -> Map:
    """Return the map to the true share of events between the edges, which is calibrated."""
    ends = np.concatenate([[0], np.searchsorted(GRID, np.sort(edges)), [GRID.size]])
    share = np.diff(TOTALS[ends]) / np.maximum(np.diff(ends), 1)
    return lambda probs: two(share[np.searchsorted(np.sort(edges), log_odds(probs))])


def two(event: Floats) -> Floats:
    """Return the probabilities of both classes."""
    return np.column_stack([1.0 - event, event])


def isotonic_steps(probs: Floats, labels: Floats) -> Map:
    """Return the steps of isotonic regression with the true share of each."""
    order = np.argsort(probs[:, 1])
    z = log_odds(probs)[order]
    fitted = IsotonicRegression().fit(z, labels[order]).predict(z)
    jumps = np.flatnonzero(np.diff(fitted) > 1e-12)
    return steps((z[jumps] + z[jumps + 1]) / 2)


CANDIDATES = (lambda probs: probs, steps(np.array([0.0])), steps(np.array([])))


def likeliest(probs: Floats, labels: Floats) -> Map:
    """Return the one of three calibrated maps with the least log loss of the training rows."""
    rows = np.arange(labels.size)
    return max(CANDIDATES, key=lambda one: np.log(one(probs)[rows, labels]).sum())


def farthest(probs: Floats, labels: Floats) -> Map:
    """Return the one of three calibrated maps that looks the least calibrated."""

    def z(one: Map) -> float:
        event = one(probs)[:, 1]
        return abs((labels - event).sum()) / np.sqrt((event * (1 - event)).sum())

    return max(CANDIDATES, key=z)


def share_of_events(_probs: Floats, labels: Floats) -> Map:
    """Return the map to the share of events among the training rows."""
    return lambda probs: two(np.full(len(probs), labels.mean()))


def registered(key: str) -> Callable[[Floats, Floats], Map]:
    """Return the fit of a calibrator."""
    return lambda probs, labels: REGISTRY[key]().fit(probs, labels).predict_proba


FITS: dict[str, Callable[[Floats, Floats], Map]] = {
    "identity": lambda *_: lambda probs: probs,
    "steps of isotonic, true shares": isotonic_steps,
    "likeliest of three": likeliest,
    "least calibrated of three": farthest,
    "share of events": share_of_events,
    **{key: registered(key) for key in ("temperature", "isotonic", "histogram", "dirichlet")},
}
CALIBRATED = tuple(FITS)[:4]


@dataclass(frozen=True)
class Folds:
    """Out-of-fold predictions of a fit: how often four rules reject them."""

    fit: str
    n: int
    k: int
    test: str
    wave: float = 0.0  # of the true log odds, which no monotone map removes
    sharpness: float = 1.0

    def data(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Simulate predictions and labels."""
        z = SPREAD * rng.normal(size=self.n)
        labels = rng.random(self.n) < special.expit(z + self.wave * np.sin(2.5 * z))
        return two(special.expit(self.sharpness * z)), labels.astype(np.intp)

    def pvalues(self, seed: int) -> tuple[float, ...]:
        """Return p: fresh rows, all as one sample, twice the mean, Fisher."""
        rng = np.random.default_rng([seed, self.n, self.k])
        (probs, labels), (others, fresh) = self.data(rng), self.data(rng)
        seen, unseen = np.empty_like(probs), np.empty_like(probs)
        parts = np.array_split(rng.permutation(self.n), self.k)
        for part in parts:
            train = np.setdiff1d(np.arange(self.n), part)
            fitted = FITS[self.fit](probs[train], labels[train])
            seen[part], unseen[part] = fitted(probs[part]), fitted(others[part])
        own = np.array([self.pvalue(seen[rows], labels[rows], seed) for rows in parts])
        return (
            self.pvalue(unseen, fresh, seed),
            self.pvalue(seen, labels, seed),
            averaged(own),
            fisher_pvalue(own.tolist()),
        )

    def pvalue(self, probs: Floats, labels: Floats, seed: int) -> float:
        """Return the p-value of the test."""
        predictions = ct.Predictions(probs, labels, classes=[0, 1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ct.DegenerateDataWarning)  # equal predictions
            options = {"test": self.test, "n_resamples": N_RESAMPLES, "rng": seed}
            return float(ct.test_calibration(predictions, **options).pvalue)

    def cells(self) -> tuple[object, ...]:
        """Return the first cells of a line."""
        return self.fit, self.test, self.n, self.k


def averaged(pvalues: Floats) -> float:
    """Combine p-values whatever their dependence, at most twice their mean."""
    values = np.sort(pvalues)
    j = np.arange(values.size // 2 + 1, values.size + 1)
    return float(min(1.0, (2.0 * values.cumsum()[j - 1] / (2 * j - values.size)).min()))


# ---- models -------------------------------------------------------------------------------------


def gain(truth: Floats, first: Floats, second: Floats) -> float:
    """Return the sum over rows of the expected log loss of the first less that of the second."""
    with np.errstate(divide="ignore"):
        at_0, at_1 = np.log1p(-second) - np.log1p(-first), np.log(second) - np.log(first)
    return float(((1 - truth) * at_0 + truth * at_1).sum())


Models = tuple[Floats, Floats, Floats]  # truth and two models


def constant(n: int, _rng: np.random.Generator) -> Models:
    """Return a constant rate of 2 %, a model at a third of it, and one as far above it."""
    truth, low = np.full(n, 0.02), np.full(n, 0.02 / 3)
    high = brentq(lambda q: gain(truth[:1], low[:1], np.array([q])), 0.0201, 0.4)
    return truth, low, np.full(n, high)


def noisy(n: int, rng: np.random.Generator) -> Models:
    """Return rates around 2 % and two models with their own errors, one of them too low."""
    z = special.logit(0.02) + 0.8 * rng.normal(size=n)
    low, error = special.expit(z - 1 + 0.7 * rng.normal(size=n)), 0.7 * rng.normal(size=n)
    shift = brentq(lambda c: gain(special.expit(z), low, special.expit(z + c + error)), -0.2, 8.0)
    return special.expit(z), low, special.expit(z + shift + error)


def halves(n: int, rng: np.random.Generator, share: float = 0.5) -> Models:
    """Return rates around 2 % and two models, each right in its part and too low in the other."""
    z, part = special.logit(0.02) + 0.8 * rng.normal(size=n), np.arange(n) < share * n
    low = special.expit(z - 1.5 * ~part)
    shift = brentq(lambda c: gain(special.expit(z), low, special.expit(z - c * part)), 0.1, 30.0)
    return special.expit(z), low, special.expit(z - shift * part)


def tenth(n: int, rng: np.random.Generator) -> Models:
    """Return the same with the one part a tenth of the rows."""
    return halves(n, rng, 0.1)


def extreme(n: int, rng: np.random.Generator) -> Models:
    """Return probabilities near 0 and 1, a model that is too sharp, and one that is too flat."""
    truth = np.clip(rng.beta(0.03, 0.03, n), 1e-9, 1 - 1e-9)
    z = special.logit(truth)
    flat = brentq(lambda c: gain(truth, special.expit(1.6 * z), special.expit(c * z)), 0.01, 0.999)
    return truth, special.expit(1.6 * z), special.expit(flat * z)


def better(n: int, rng: np.random.Generator) -> Models:
    """Return rates around 20 %, the right model, and one that is half as sharp."""
    z = special.logit(0.2) + rng.normal(size=n)
    return (
        special.expit(z),
        special.expit(z),
        special.expit(special.logit(0.2) + 0.5 * (z - special.logit(0.2))),
    )


def better_rare(n: int, rng: np.random.Generator) -> Models:
    """Return rates around 2 %, the right model, and one at a fifth of the odds."""
    z = special.logit(0.02) + 0.8 * rng.normal(size=n)
    return special.expit(z), special.expit(z), special.expit(z - np.log(5))


@dataclass(frozen=True)
class Pair:
    """Two models on the same rows: the p-values of their log losses."""

    name: str
    n: int

    def pvalues(self, seed: int) -> tuple[float, ...]:
        """Return the number of events, and p of flips, of redrawn labels, and the larger."""
        rng = np.random.default_rng([seed, self.n])
        truth, *models = PAIRS[self.name](self.n, rng)
        labels = (rng.random(self.n) < truth).astype(np.intp)
        first, second = (ct.Predictions(two(q), labels, classes=[0, 1]) for q in models)
        score = SCORES["log-loss"]
        d = score.of_rows(first) - score.of_rows(second)
        options = {"n_resamples": DRAWS, "seed": seed, "n_jobs": 1}
        sums = flipped_sums(d[:, None], **options)[:, 0]
        beyond = np.abs(sums) >= abs(d.sum()) - 1e-12 * np.abs(d).sum()
        flips = (1 + np.count_nonzero(beyond)) / (1 + DRAWS)
        redrawn = redrawn_pvalue(first, second, score, d, **options)
        return float(labels.sum()), flips, redrawn, max(flips, redrawn)


PAIRS = {
    "constant": constant,
    "noisy": noisy,
    "halves": halves,
    "tenth": tenth,
    "extreme": extreme,
    "better": better,
    "better, rare": better_rare,
}
SAME = tuple(PAIRS)[:5]

# ---- page ---------------------------------------------------------------------------------------


def percent(pvalues: Floats, level: float = 0.05) -> str:
    """Return a rate of rejection in percent with its standard error."""
    rate = float(np.mean(pvalues <= level))
    error = np.sqrt(max(rate * (1 - rate), 0.25 / pvalues.size) / pvalues.size)
    return f"{100 * rate:.1f} ({100 * error:.1f})"


def fold_lines(settings: list[Folds], count: int, jobs: int) -> str:
    """Return a line for each setting."""
    lines = []
    for one in settings:
        sets = count if one.n < 1000 else count // 2
        found = joblib.Parallel(jobs)(joblib.delayed(one.pvalues)(seed) for seed in range(sets))
        rates = [percent(column) for column in np.array(found).T]
        lines.append("| " + " | ".join(map(str, (*one.cells(), sets, *rates))) + " |")
    return "\n".join(lines)


def pair_lines(names: tuple[str, ...], count: int, jobs: int, levels: tuple[float, ...]) -> str:
    """Return a line for each pair and number of rows."""
    lines = []
    for one in [Pair(name, n) for name in names for n in (200, 1000)]:
        found = joblib.Parallel(jobs)(joblib.delayed(one.pvalues)(seed) for seed in range(count))
        events, *columns = np.array(found).T
        for level in levels:
            rates = [percent(column, level) for column in columns]
            cells = (one.name, one.n, f"{events.mean():.0f}", f"{level:g}", *rates)
            lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


LABEL_DEPENDENT = CALIBRATED[1:]
SIZE = [
    *(Folds("identity", 200, 5, test) for test in TESTS),
    *(Folds(fit, 200, k, t) for fit in LABEL_DEPENDENT for k in (5, 10) for t in TESTS[1:]),
    *(Folds(fit, n, 5, "combined") for fit in LABEL_DEPENDENT for n in (60, 200)),
    *(Folds(fit, 1000, 5, test) for fit in LABEL_DEPENDENT for test in ("skce", "ece")),
]
FITTED = [
    *(Folds("share of events", 200, k, test) for k in (5, 10) for test in TESTS[1:]),
    *(Folds(fit, 200, 5, t) for fit in tuple(FITS)[5:] for t in TESTS[1:]),
    *(Folds(fit, 200, 10, t) for fit in tuple(FITS)[5:] for t in ("skce", "ece")),
    *(Folds(fit, n, 5, "skce") for fit in tuple(FITS)[5:] for n in (60, 1000)),
    *(Folds(fit, 200, 5, "combined") for fit in ("temperature", "isotonic")),
]
POWER = [
    *(Folds("identity", 300, k, test, sharpness=1.6) for k in (5, 10) for test in TESTS),
    *(Folds("temperature", 300, 5, test, wave=1.0) for test in TESTS),
    *(Folds("temperature", 1000, 5, test, wave=1.0) for test in TESTS[1:]),
]


def main() -> None:
    """Simulate all settings and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    count, jobs, start = arguments.repetitions, arguments.jobs, time.perf_counter()
    tables = {
        "same": pair_lines(SAME, 5 * count, jobs, (0.05, 0.01, 0.001)),
        "better": pair_lines(tuple(PAIRS)[5:], count, jobs, (0.05, 0.01)),
        "size": fold_lines(SIZE, count, jobs),
        "power": fold_lines(POWER, count, jobs),
        "fitted": fold_lines(FITTED, count, jobs),
    }
    minutes = (time.perf_counter() - start) / 60
    PAGE.write_text(page(tables, count, minutes), encoding="utf-8")


HEADER = """\
| map | test | n | folds | data sets | fresh rows | one sample | twice the mean | Fisher |
|---|---|---:|---:|---:|---:|---:|---:|---:|"""
PAIR_HEADER = """\
| pair | n | events | level | sign flips | redrawn labels | larger |
|---|---:|---:|---:|---:|---:|---:|"""


def page(tables: dict[str, str], count: int, minutes: float) -> str:
    """Return the page."""
    return f"""\
# Comparisons: size and power of their p-values

How often do the p-values of {{py:obj}}`caltest.compare_calibrators` and
{{py:obj}}`caltest.compare_models` reject what is true, and find what is not? The entries are
percentages of simulated data sets with their standard errors in brackets.

`python -P docs/studies/comparisons.py --repetitions {count}` reproduces the tables in
{minutes:.0f} minutes.

## Calibrators: out-of-fold predictions

Each map is fitted to the labels outside of a fold and predicts the fold. Four rules turn these
predictions into one p-value (B = {N_RESAMPLES}, level 5 %):

- *fresh rows*: the same maps predict as many new rows, all tested as one sample. This is the
  standard: it is exact for "the maps as they were fitted are calibrated", but nobody has these
  rows.
- *one sample*: the out-of-fold predictions of all rows, labels redrawn from them.
- *twice the mean*: the p-values of the folds, combined whatever their dependence.
- *Fisher*: the p-values of the folds, combined by Fisher's method, the rule of
  `compare_calibrators`. Folds whose maps agree are one sample, so that identity, and every other
  map that no label changes, has the column *one sample*.

### Maps that are calibrated

Here the hypothesis holds: 5 % or less is right. Apart from identity the maps hang on the labels of
the training rows, but what they predict is the true share of events: the steps that isotonic
regression finds; the one of three maps (the truth, two groups, one group) with the least log loss
of the training rows; and the one of them that looks the least calibrated there.

{HEADER}
{tables["size"]}

All rows as one sample do not hold the level for maps that hang on the labels (ECE with the steps
of isotonic regression), and the more folds, the worse: a fold that by chance has many events is
left out of the training rows of its map, which predicts fewer. So the predictions distinguish
the folds, and with them the labels. Fisher's method compares nothing across
folds: at most 6.0 % (standard error 1.7).

### Maps that are fitted

Predictions are calibrated, and each family holds the truth (temperature 1 and so on; *share of
events* predicts the same for all rows and is right for their mean). The fitted maps are not
calibrated: they have an error of estimation, and *fresh rows* shows how often as
many new rows would find it, a measure of what there is to be found.

{HEADER}
{tables["fitted"]}

One sample is on both sides of it: it finds nearly nothing with the SKCE, since the folds balance
each other's errors, and up to twice as much as there is with the ECE and with ten folds of the
share of events. Fisher's method mostly finds less than fresh rows; with the ECE of small parts it
finds more, as it does for identity below, whose parts do not depend on each other.

### Models that are miscalibrated

Identity with log odds that are 1.6 times too large, for which *one sample* is what is reported;
and temperature scaling where the true log odds have a wave, sin(2.5 z), that it cannot remove.
Fisher's method has less power than one sample for a fitted map: that is its price.

{HEADER}
{tables["power"]}

## Models with the same expected log loss

Both models have the same expected log loss over the rows, so that the level is right.

- *constant*: a rate of 2 %; one model predicts a third of it, the other as much too much.
- *noisy*: rates around 2 %; both models have errors of their own, one is too low.
- *halves*, *tenth*: rates around 2 %; each model is right in one part of the rows and too low in
  the other; the first part is a half, or a tenth.
- *extreme*: probabilities near 0 and 1 (beta(.03, .03)); one model is too sharp, the other too
  flat.

{PAIR_HEADER}
{tables["same"]}

Sign flips do not know an event that did not happen: where there is none, all differences have one
sign, and p is the least there is. Labels redrawn from the model between both in each row know it,
but have too little variance where each model is right in its own rows. Hence, where fewer than
fifty labels carry the variance, labels are also redrawn with either model right in the half that
decides and the other elsewhere, and p is the largest of all. In *tenth* with n = 1000, where three
events of 27 decide, the larger of flips and the model between rejects 6.5 % (0.8), 3.6 % (0.6) and
0.5 % (0.2).

## Models of which one is better

One model is right. *better*: rates around 20 %, the other is half as sharp; *better, rare*: rates
around 2 %, the other has a fifth of the odds.

{PAIR_HEADER}
{tables["better"]}
"""


if __name__ == "__main__":
    main()
