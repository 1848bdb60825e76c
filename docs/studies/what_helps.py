"""The map that a verdict names, on fresh rows: writes the tables of docs/studies/what_helps.md.

    python -P docs/studies/what_helps.py [--sets 200] [--jobs 2]

Ten kinds of error. Where the test rejects, the map that the verdict names is fitted to as many
fresh rows, and to the rows of the test; its log loss is that of the population.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from unittest.mock import patch

import joblib
import numpy as np
from scipy.special import expit, logit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

import caltest as ct
from caltest.comparison.maps import resolve_calibrators, simple_maps
from caltest.comparison.out_of_fold import first_map

LEVEL, SIZES = 0.05, {200: 1.0, 1000: 1.0, 5000: 0.5}  # n, and the share of the data sets
FEW = min(SIZES)
ONE_ERROR = 0.6827  # the interval of one standard error
FRESH = 2500  # predictions of the population, whose labels are averaged out
POLICIES = ("before", "one error", "named", "simple", "isotonic", "sigmoid")
PAGE = Path(__file__).with_suffix(".md")
Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]
FIXED = np.random.default_rng(7)
TURN, MOVE = np.eye(5) + 0.15 * FIXED.normal(size=(5, 5)), 0.15 * FIXED.normal(size=5)
FIRST = np.arange(5) == 0


def two(truth: Callable, draw: Callable = lambda rng, n: rng.beta(1, 1.5, n)) -> Draw:
    """Draw predictions of two classes, and the true probabilities."""

    def pair(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        p = draw(rng, n).clip(1e-9, 1 - 1e-9)
        q = truth(p).clip(1e-12, 1 - 1e-12)
        return np.column_stack([1 - p, p]), np.column_stack([1 - q, q])

    return pair


def five(truth: Callable, predicted: Callable = lambda z: z) -> Draw:
    """Draw predictions of five classes, and the true probabilities, of logits."""

    def pair(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        z = 1.5 * rng.normal(size=(n, 5))
        return softmax(predicted(z), axis=1), softmax(truth(z), axis=1)

    return pair


WORLDS: dict[str, Draw] = {
    "slope .7": two(lambda p: expit(0.7 * logit(p))),
    "log odds .4 too high": two(lambda p: expit(logit(p) - 0.4)),
    "P > .8 too high by .15": two(lambda p: p - 0.15 * (p > 0.8)),
    "sine of .1": two(lambda p: p + 0.1 * np.sin(2 * np.pi * p)),
    "P in (.3, .5) too low by .15": two(lambda p: p + 0.15 * ((p > 0.3) & (p < 0.5))),
    "2 % events, log odds .6 too high": two(
        lambda p: expit(logit(p) - 0.6), lambda rng, n: rng.beta(0.5, 24.5, n)
    ),
    "temperature 1.4, m = 5": five(lambda z: z / 1.4),
    "one class 1.5 times too sharp, m = 5": five(lambda z: z, lambda z: z * (1 + 0.5 * FIRST)),
    "class 0 scaled by .6, m = 5": five(lambda z: z, lambda z: z + np.log(0.6) * FIRST),
    "linear map of the logits, m = 5": five(lambda z: z @ TURN.T + MOVE),
}


class AsItIs(ClassifierMixin, BaseEstimator):
    """A classifier whose features are its probabilities."""

    def fit(self, X: np.ndarray, y: object) -> AsItIs:
        """Count the classes."""
        self.classes_ = np.arange(X.shape[1])
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return what was given."""
        return X

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the most probable class."""
        return X.argmax(axis=1)


def sigmoid(data: ct.Predictions) -> CalibratedClassifierCV:
    """Fit scikit-learn's default."""
    model = FrozenEstimator(AsItIs().fit(data.probs, data.labels))
    return CalibratedClassifierCV(model).fit(data.probs, data.labels)


def by_thumb(test: ct.HTest) -> str:
    """Return the map that verdicts named before, by the number of rows and what was found."""
    n, m, labels = test.n, test.m, test.evidence.predictions.labels
    if m == 2:
        return "platt" if min(labels.sum(), n - labels.sum()) < 100 else "beta"
    pairs = zip(test.components.rows, test.components.adjusted, strict=True)
    found = any(row.test == "class-frequencies" and p <= LEVEL for row, p in pairs)
    if n < 10 * m or not found:
        return "temperature"
    return "dirichlet" if n >= 100 * m * m else "vector"


def drawn(world: str, n: int, rng: np.random.Generator) -> ct.Predictions:
    """Draw predictions and labels."""
    p, q = WORLDS[world](rng, n)
    labels = (rng.random((n, 1)) > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return ct.Predictions(p, labels, classes=range(p.shape[1]))


@dataclass(frozen=True)
class Outcome:
    """What a data set gave: of each policy the map and what it gains in the population."""

    maps: dict[str, str]
    gains: dict[str, float]
    needed: int | None
    enough: bool | None


def outcome(world: str, n: int, seed: int) -> Outcome | None:
    """Name maps where the test rejects, and fit them; None where it does not."""
    warnings.simplefilter("ignore")
    place = list(WORLDS).index(world)
    rng = np.random.default_rng([place, n, seed])
    data, fresh = drawn(world, n, rng), drawn(world, n, rng)
    test = ct.test_calibration(data, n_resamples=199, rng=seed)
    if test.pvalue > LEVEL:
        return None
    p, q = WORLDS[world](np.random.default_rng(place), FRESH)

    def gain(rows: ct.Predictions, key: str) -> float:
        seen = np.unique(rows.labels).size
        if key == "identity" or (key == "sigmoid" and seen < rows.m):
            return 0.0  # scikit-learn refuses rows without one of the classes
        maps = {key: simple_maps(rows.n, rows.m).get(key, key)}
        kind = sigmoid if key == "sigmoid" else resolve_calibrators(maps, rows.m)[key].fit
        made = kind(rows)
        mapped = np.maximum(made.predict_proba(p), 1e-15)
        return float((q * np.log(mapped / p)).sum(axis=1).mean())

    found = first_map([data], seed)
    with patch.object(sys.modules[first_map.__module__], "LEVEL", ONE_ERROR):
        plain = first_map([data], seed)
    maps = {"before": by_thumb(test), "one error": plain.name, "named": found.name}
    maps |= {"same rows": found.name, "one error, same rows": plain.name}
    maps |= {"simple": "platt" if data.m == 2 else "temperature"}
    maps |= {"isotonic": "isotonic", "sigmoid": "sigmoid"}
    known = cache(lambda key, same: gain(data if same else fresh, key))
    gains = {policy: known(key, "same" in policy) for policy, key in maps.items()}
    enough = None
    if found.needed is not None and n == FEW:
        later = first_map([drawn(world, found.needed, rng)], seed)
        enough = later.name != "identity"
    return Outcome(maps, gains, found.needed, enough)


def share(values: list[bool]) -> str:
    """Return a share in per cent with its standard error; a dash for fewer than five."""
    if len(values) < 5:
        return f"{sum(values)} of {len(values)}" if values else ""
    rate = float(np.mean(values))
    return f"{100 * rate:.0f} ({100 * np.sqrt(rate * (1 - rate) / len(values)):.0f})"


def lowered(outcomes: list[Outcome], policy: str) -> list[bool]:
    """Tell of each map that a policy names whether it lowers the log loss."""
    return [one.gains[policy] > 0 for one in outcomes if one.maps[policy] != "identity"]


def mean_gain(outcomes: list[Outcome], policy: str) -> str:
    """Return the mean gain where the test rejects, in thousandths; that of no map is 0."""
    return f"{1000 * np.mean([one.gains[policy] for one in outcomes]):.1f}" if outcomes else ""


def row(world: str, n: int, every: list[Outcome | None]) -> dict[str, list[str]]:
    """Return the row of each table."""
    found = [one for one in every if one is not None]
    names = Counter(one.maps["named"] for one in found)
    listed = ", ".join(f"{key} {k}" for key, k in names.most_common() if key != "identity")
    head, count = [world, f"{n}"], len(every)
    harmed = sum(not good for good in lowered(found, "named"))
    told = [one for one in found if one.enough is not None]
    times = f"{np.median([one.needed for one in told]) / n:.1f}" if told else ""

    def named(policy: str) -> str:
        return f"{100 * len(lowered(found, policy)) / count:.1f}"

    return {
        "named": [
            *head,
            f"{100 * len(found) / count:.0f}",
            share(lowered(found, "before")),
            named("one error"),
            *(share(lowered(found, policy)) for policy in ("one error", "one error, same rows")),
            named("named"),
            *(share(lowered(found, policy)) for policy in ("named", "same rows")),
            f"{100 * harmed / count:.1f}",
            listed,
        ],
        "alternatives": [
            *head,
            *(share(lowered(found, policy)) for policy in ("simple", "isotonic", "sigmoid")),
        ],
        "gain": [*head, *(mean_gain(found, policy) for policy in POLICIES)],
        "needed": [world, f"{len(told)}", times, share([bool(one.enough) for one in told])],
    }


def main() -> None:
    """Write the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    parallel = joblib.Parallel(n_jobs=asked.jobs)
    tables: dict[str, list[list[str]]] = {}
    for n, part in SIZES.items():
        seeds = range(int(part * asked.sets))
        of_all: list[Outcome | None] = []
        for world in [*WORLDS, "all"]:
            every = of_all
            if world != "all":
                every = parallel(joblib.delayed(outcome)(world, n, seed) for seed in seeds)
                of_all += every
            for key, cells in row(world, n, every).items():
                if key != "needed" or n == FEW:
                    tables.setdefault(key, []).append(cells)
        PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), tables), encoding="utf-8")


def with_tables(text: str, tables: dict[str, list[list[str]]]) -> str:
    """Return a page with other rows in its tables, which lie between lines of comment."""
    for key, rows in tables.items():
        head, begin, rest = text.partition(f"% {key}\n")
        old, end, tail = rest.partition(f"% end {key}\n")
        lines = [*old.splitlines()[:3], *(f"| {' | '.join(cells)} |" for cells in rows), "", ""]
        text = "".join([head, begin, "\n".join(lines), end, tail])
    return text


if __name__ == "__main__":
    main()
