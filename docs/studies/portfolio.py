"""Power of the combined test on errors of equal size, against the best test of a battery.

    python -P docs/studies/portfolio.py --logits DIR

prints rows of docs/studies/portfolio.md for the components of the installed caltest; without
`--logits`, those of its size.

Errors of calibration are in six sets, the last two for several classes alone; the page says which
served to choose a portfolio and which to report it. An error is the direction of a tilt: the true
probabilities are proportional to p exp(s D), and s is such that 2 n KL = 12 over all rows; 36 where
the direction is drawn for each row and hides from the predictions.
"""

# All directions have one signature, and their names say what they do.
# ruff: noqa: D103

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # python -P leaves it out
from combined import _inside, draw, evaluate, events, network, rivals

from caltest.errors import NotApplicable

Floats = np.ndarray
Rng = np.random.Generator
Direction = Callable[["Rows"], Floats]

NOTICED, HIDDEN = 12.0, 36.0  # 2 n KL
LARGEST = 60.0  # of a tilt: some directions hardly change the probabilities


class Rows:
    """Predictions, and what directions are made of.

    Attributes
    ----------
    p : (n, m) array
        The predictions.
    c, x, r : (n,) array
        The probability of the second of two classes, or the confidence; its log odds, and the
        share of rows below.
    on : (n, m) array
        1 where a direction of c is added: the second of two classes, or the predicted class.
    """

    def __init__(self, p: Floats, rng: Rng) -> None:
        self.p, self.rng, (self.n, self.m) = p, rng, p.shape
        self.log = np.log(p)
        self.order = np.argsort(-p, axis=1)
        self.top = np.ones(self.n, int) if self.m == 2 else self.order[:, 0]
        self.on = np.eye(self.m)[self.top]
        self.c = p[np.arange(self.n), self.top]
        self.x = np.log(self.c) - np.log1p(-self.c)
        self.r = (np.argsort(np.argsort(self.c)) + 0.5) / self.n

    def fixed(self, seed: int) -> Rng:
        """Return a generator that is the same for all predictions."""
        return np.random.default_rng([seed, self.m])

    def at(self, *ranks: int) -> Floats:
        """Return 1 at the classes of these ranks of a row."""
        return np.eye(self.m)[self.order[:, ranks]].sum(axis=1)

    @property
    def frequent(self) -> Floats:
        """The classes, the most frequently predicted first."""
        return np.argsort(-self.p.sum(axis=0))


def tilted(p: Floats, direction: Floats, goal: float) -> Floats:
    """Return the true probabilities whose 2 n KL is the goal, by a tilt back if need be."""
    log = np.log(p)

    def at(s: float) -> Floats:
        z = log + s * direction
        z = np.exp(z - z.max(axis=1, keepdims=True))
        return z / z.sum(axis=1, keepdims=True)

    def size(q: Floats) -> float:
        return 2.0 * float((q * (np.log(np.maximum(q, 1e-300)) - log)).sum())

    low, high = 0.0, LARGEST / max(float(np.abs(direction).max()), 1e-12)
    if size(at(high)) < goal:
        high = -high
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if size(at(middle)) < goal else (low, middle)
    return at(high)


# ---- directions --------------------------------------------------------------------------------


def of(function: Callable[[Rows], Floats]) -> Direction:
    """Return the direction that a function of c, x or r is for the class of c."""
    return lambda rows: function(rows)[:, None] * rows.on


def signs(rows: Rows, place: Floats, blocks: int, seed: int) -> Floats:
    """Return random signs of blocks of places in [0, 1]."""
    some = rows.fixed(seed).choice([-1.0, 1.0], blocks)
    return some[np.minimum((place * blocks).astype(int), blocks - 1)]


def smooth(place: Floats, width: float, rng: Rng) -> Floats:
    """Return a random smooth function of places."""
    frequency, phase = rng.normal(0.0, 1.0 / width, 60), rng.uniform(0.0, 2.0 * np.pi, 60)
    return np.cos(place[:, None] * frequency + phase).sum(axis=1)


def mixture(other: Callable[[Rows], Floats], share: float = 0.05) -> Direction:
    """Return the direction towards a mixture with other probabilities."""
    return lambda rows: np.log((1.0 - share) * rows.p + share * other(rows)) - rows.log


def uniform(rows: Rows) -> Floats:
    return np.full(rows.p.shape, 1.0 / rows.m)


def one(rows: Rows, k: int) -> Floats:
    """Return 1 at a class: the k-th most frequently predicted."""
    return np.broadcast_to(np.eye(rows.m)[rows.frequent[k]], rows.p.shape)


def by_top(rows: Rows, table: Floats) -> Floats:
    """Return a row of a table for the predicted class."""
    return table[rows.order[:, 0]]


def families(m: int) -> Floats:
    """Return 1 for pairs of classes of a family: three that follow each other, two of three."""
    family = np.arange(m) // min(3, m - 1)
    return 1.0 * (family[:, None] == family)


def moved(rows: Rows) -> Floats:
    """Return the predictions with the most frequent class counted as the next frequent."""
    out, (first, second) = rows.p.copy(), rows.frequent[:2]
    out[:, second] += out[:, first]
    out[:, first] = 0.0
    return out


def entropy(rows: Rows) -> Floats:
    e = -(rows.p * rows.log).sum(axis=1)
    return np.argsort(np.argsort(e)) / rows.n


TWO: dict[int, dict[str, Direction]] = {
    1: {
        "temperature": of(lambda o: o.x),
        "level": of(lambda o: np.ones(o.n)),
        "ten blocks of ranks": of(lambda o: signs(o, o.r, 10, 1)),
        "sine over p": of(lambda o: np.sin(6 * np.pi * o.c)),
        "sine over ranks": of(lambda o: np.sin(6 * np.pi * o.r)),
        "middle fifth": of(lambda o: 1.0 * (abs(o.r - 0.5) < 0.1)),
        "highest tenth": of(lambda o: 1.0 * (o.r > 0.9)),
        "curve": of(lambda o: np.square(o.x - o.x.mean())),
        "opposite halves": of(lambda o: np.sign(o.r - 0.5)),
        "lowest 15 %": of(lambda o: 1.0 * (o.r < 0.15)),
        "mixture with 1/2": mixture(uniform),
        "six blocks of log odds": of(lambda o: signs(o, (o.x - o.x.min()) / np.ptp(o.x), 6, 2)),
        "hidden: temperature of a row": of(lambda o: o.x * o.rng.normal(size=o.n)),
    },
    2: {
        "upper temperature": of(lambda o: np.maximum(o.x - np.median(o.x), 0)),
        "level and temperature": of(lambda o: 1 - (o.x - o.x.mean()) / o.x.std()),
        "twenty blocks of ranks": of(lambda o: signs(o, o.r, 20, 3)),
        "five blocks of p": of(lambda o: signs(o, o.c / o.c.max(), 5, 4)),
        "sine over log odds": of(lambda o: np.sin(1.8 * o.x)),
        "highest fifth": of(lambda o: 1.0 * (o.r > 0.8)),
        "tenth at .7": of(lambda o: 1.0 * (abs(o.r - 0.75) < 0.05)),
        "third power": of(lambda o: np.clip((o.x - o.x.mean()) / o.x.std(), -2.5, 2.5) ** 3),
        "distance from the middle": of(lambda o: abs(o.x - np.median(o.x))),
        "wavelet": of(lambda o: 1.0 * (abs(o.r - 0.55) < 0.05) - 1.0 * (abs(o.r - 0.65) < 0.05)),
        "mixture with the event": mixture(lambda o: np.eye(2)[np.ones(o.n, int)]),
        "smooth over ranks": of(lambda o: smooth(o.r, 0.1, o.fixed(5))),
        "highest 2 %": of(lambda o: 1.0 * (o.r > 0.98)),
        "hidden: temperature of a third": of(lambda o: o.x * (o.rng.random(o.n) < 0.3)),
    },
    3: {
        "rounded": of(lambda o: np.round(2 * o.x) / 2 - o.x),
        "power of p": of(lambda o: np.log(o.c)),
        "sawtooth over p": of(lambda o: (5 * o.c / o.c.max()) % 1 - 0.5),
        "eight alternating blocks": of(lambda o: np.sign(np.sin(8 * np.pi * o.r))),
        "two waves over ranks": of(lambda o: np.sin(4 * np.pi * o.r + 1)),
        "chirp": of(lambda o: np.sin(20 * o.r**2)),
        "dome": of(lambda o: o.r * (1 - o.r) - 0.1),
        "lowest third, highest third": of(lambda o: 1.0 * (o.r < 0.3) - 1.0 * (o.r > 0.7)),
        "random walk": of(
            lambda o: o.fixed(6).normal(size=o.n).cumsum()[np.argsort(np.argsort(o.c))]
        ),
        "smooth over log odds": of(lambda o: smooth(o.x, 0.8, o.fixed(7))),
        "lowest 4 %": of(lambda o: 1.0 * (o.r < 0.04)),
        "of another row": mixture(lambda o: o.p[o.rng.permutation(o.n)], 0.1),
        "level and curve": of(lambda o: 1 + np.clip((o.x - o.x.mean()) / o.x.std(), -3, 3) ** 2),
        "hidden: noise": of(lambda o: o.rng.normal(size=o.n)),
    },
    4: {
        "level of the upper half": of(lambda o: 1.0 * (o.r > 0.5)),
        "temperature about the mean": of(lambda o: o.x - o.x.mean()),
        "compressed odds": of(lambda o: np.tanh(o.x - np.median(o.x))),
        "two opposite tenths": of(
            lambda o: 1.0 * (abs(o.r - 0.25) < 0.05) - 1.0 * (abs(o.r - 0.75) < 0.05)
        ),
        "four waves over p": of(lambda o: np.sin(8 * np.pi * o.c / o.c.max())),
        "bent ranks": of(lambda o: (o.r - 0.5) ** 3),
        "twelve random heights": of(
            lambda o: o.fixed(8).normal(size=12)[np.minimum((12 * o.r).astype(int), 11)]
        ),
        "middle third": of(lambda o: 1.0 * (abs(o.r - 0.5) < 1 / 6)),
        "highest 5 %": of(lambda o: 1.0 * (o.r > 0.95)),
        "mixture with the base rate": mixture(lambda o: np.tile(o.p.mean(axis=0), (o.n, 1))),
        "beta map": of(lambda o: np.log(o.c) + 0.3 * np.log1p(-o.c)),
        "smooth over p": of(lambda o: smooth(o.c / o.c.max(), 0.15, o.fixed(9))),
        "hidden: opposite groups": of(lambda o: o.rng.choice([-1.0, 1.0], o.n)),
    },
}

MORE: dict[int, dict[str, Direction]] = {
    1: {
        "temperature": lambda o: o.log,
        "sine over the confidence": of(lambda o: np.sin(8 * np.pi * o.c)),
        "linear map": lambda o: o.log @ o.fixed(11).normal(size=(o.m, o.m)),
        "prior shift": lambda o: np.tile(o.fixed(12).normal(size=o.m), (o.n, 1)),
        "ten blocks of the confidence": of(lambda o: signs(o, o.r, 10, 13)),
        "confused pair": lambda o: one(o, 1) * (o.order[:, :1] == o.frequent[0]),
        "one class": lambda o: one(o, 2),
        "class temperatures": lambda o: o.log * o.fixed(14).normal(size=o.m),
        "second for third": lambda o: o.at(1) - o.at(2),
        "temperature of the least sure": lambda o: o.log * (o.r < 0.25)[:, None],
        "mixture with uniform": mixture(uniform),
        "one bent class": lambda o: one(o, 0) * o.log,
        "hidden: noise on logits": lambda o: o.rng.normal(size=o.p.shape),
    },
    2: {
        "vector scaling": lambda o: (
            o.log * o.fixed(21).normal(size=o.m) + o.fixed(22).normal(size=o.m)
        ),
        "three waves over the confidence": of(lambda o: np.sin(6 * np.pi * o.r)),
        "random confusions": lambda o: by_top(o, o.fixed(23).normal(size=(o.m, o.m))),
        "half of the classes": lambda o: np.tile(np.sign(np.arange(o.m) % 2 - 0.5), (o.n, 1)),
        "closer top two": lambda o: o.at(1) - o.at(0),
        "steps of the confidence": of(lambda o: signs(o, o.c, 10, 24)),
        "thicker tail": lambda o: 1 - o.at(0, 1),
        "two sharpnesses": lambda o: o.log * np.sign(o.top % 2 - 0.5)[:, None],
        "surest tenth": of(lambda o: 1.0 * (o.r > 0.9)),
        "mixture with the next class": mixture(lambda o: np.roll(o.p, 1, axis=1)),
        "waves of each class": lambda o: np.sin(2 * o.log),
        "rare classes": lambda o: sum(one(o, -k) for k in range(1, 1 + (o.m + 3) // 4)),
        "linear map of rank 1": lambda o: (
            (o.log @ o.fixed(25).normal(size=(o.m, 1))) * o.fixed(26).normal(size=o.m)
        ),
        "hidden: temperature of a third": lambda o: o.log * (o.rng.random((o.n, 1)) < 0.3),
    },
    3: {
        "temperature by the confidence": lambda o: o.log * (o.r - 0.5)[:, None],
        "linear map of probabilities": lambda o: o.p @ o.fixed(31).normal(size=(o.m, o.m)),
        "waves over log odds": of(lambda o: np.sin(2 * o.x)),
        "eight alternating blocks": of(lambda o: np.sign(np.sin(8 * np.pi * o.r))),
        "swapped pair": lambda o: (
            (one(o, 0) - one(o, 1)) * (o.p[:, o.frequent[:1]] - o.p[:, o.frequent[1:2]])
        ),
        "smooth over the confidence": of(lambda o: smooth(o.r, 0.12, o.fixed(32))),
        "prior shift of few classes": lambda o: np.tile(
            o.fixed(33).standard_t(2, size=o.m), (o.n, 1)
        ),
        "one overconfident class": lambda o: o.log * (o.top == o.frequent[0])[:, None],
        "middle entropy": lambda o: o.at(0) * (abs(entropy(o) - 0.6) < 0.15)[:, None],
        "ring of confusions": lambda o: np.eye(o.m)[(o.order[:, 0] + 1) % o.m],
        "lower half of a row": lambda o: o.at(*range(o.m // 2, o.m)),
        "mixture with the prior": mixture(lambda o: np.tile(o.p.mean(axis=0), (o.n, 1))),
        "two bent classes": lambda o: (one(o, 1) - one(o, 2)) * o.log,
        "prior shift of the least sure": lambda o: (
            o.fixed(34).normal(size=o.m) * (o.r < 0.4)[:, None]
        ),
        "hidden: temperature of a row": lambda o: o.log * o.rng.normal(size=(o.n, 1)),
    },
    4: {
        "level of the confidence": of(lambda o: np.ones(o.n)),
        "slope of the confidence": of(lambda o: o.x),
        "curve of the confidence": of(lambda o: np.square(o.x - o.x.mean())),
        "few confusions": lambda o: by_top(o, 1.0 * (o.fixed(47).random((o.m, o.m)) < 0.2)),
        "labels of half of the classes": mixture(
            lambda o: (
                np.where(np.arange(o.m) % 2 == 0, o.p, 0.0)
                + np.roll(np.where(np.arange(o.m) % 2 == 1, o.p, 0.0), 1, axis=1)
            )
        ),
        "level of the first half": lambda o: np.tile(1.0 * (np.arange(o.m) < o.m / 2), (o.n, 1)),
        "temperature of the surest": lambda o: o.log * (o.r > 0.75)[:, None],
        "sparse linear map": lambda o: (
            o.log @ (o.fixed(42).normal(size=(o.m, o.m)) * (o.fixed(43).random((o.m, o.m)) < 0.15))
        ),
        "temperatures of few classes": lambda o: o.log * (o.fixed(44).random(o.m) < 0.3),
        "logarithm of the rank": lambda o: np.log1p(np.argsort(o.order, axis=1)),
        "smooth over log odds": of(lambda o: smooth(o.x, 0.8, o.fixed(45))),
        "random heights of the confidence": of(
            lambda o: o.fixed(46).normal(size=16)[np.minimum((16 * o.r).astype(int), 15)]
        ),
        "mixture with the second": mixture(lambda o: o.at(1)),
        "hidden: opposite groups": lambda o: one(o, 0) * o.rng.choice([-1.0, 1.0], (o.n, 1)),
    },
    5: {
        "slope over p of the confidence": of(lambda o: o.c - o.c.mean()),
        "overconfident above the median": of(lambda o: -np.maximum(o.x - np.median(o.x), 0)),
        "least sure third": of(lambda o: 1.0 * (o.r < 0.3)),
        "second class": lambda o: o.at(1),
        "first three": lambda o: o.at(*range(min(3, o.m - 1))),
        "root of the surprise": lambda o: np.sqrt(-o.log),
        "level of the most frequent class": lambda o: one(o, 0),
        "gamma levels": lambda o: np.tile(o.fixed(51).gamma(0.5, size=o.m), (o.n, 1)),
        "mixture with neighbours": mixture(
            lambda o: 0.5 * (np.roll(o.p, 1, axis=1) + np.roll(o.p, -1, axis=1))
        ),
        "two temperatures": lambda o: o.log * np.sign(np.arange(o.m) % 2 - 0.5),
        "linear map of rank 2": lambda o: (
            (o.log @ o.fixed(52).normal(size=(o.m, 2))) @ o.fixed(53).normal(size=(2, o.m))
        ),
        "smooth over p of the confidence": of(lambda o: smooth(o.c, 0.15, o.fixed(54))),
        "five blocks of the confidence": of(lambda o: signs(o, o.r, 5, 55)),
        "mixture with the tail": mixture(lambda o: o.at(*range(1, o.m)) / (o.m - 1)),
        "hidden: noise on the confidence": of(lambda o: o.rng.normal(size=o.n)),
    },
    6: {
        "smoothed labels": lambda o: -mixture(uniform)(o),
        "balanced for training": lambda o: np.tile(np.log(o.p.mean(axis=0)), (o.n, 1)),
        "confusions within families": lambda o: by_top(o, families(o.m) - np.eye(o.m)),
        "one class taken for another": mixture(moved),
        "sharpness of half of the classes": lambda o: (
            o.log * (o.fixed(61).permutation(o.m) < o.m / 2)[o.order[:, :1]]
        ),
        "second and third": lambda o: o.at(1, 2),
        "temperature of the middle": lambda o: o.log * (abs(o.r - 0.5) < 0.2)[:, None],
        "map near the diagonal": lambda o: (
            o.log @ (np.eye(o.m) + o.fixed(62).normal(size=(o.m, o.m)) / o.m)
            + o.fixed(63).normal(size=o.m)
        ),
        "levels of families": lambda o: np.tile(
            families(o.m) @ o.fixed(64).normal(size=o.m), (o.n, 1)
        ),
        "surest two fifths": of(lambda o: 1.0 * (o.r > 0.6)),
        "margin of the first two": of(lambda o: np.log(o.c) - np.log(np.sort(o.p)[:, -2]) - 1),
        "flat behind the first": lambda o: -o.log * (1 - o.at(0)),
        "one against the rest": lambda o: np.log1p(-o.p),
        "waves against each other": of(
            lambda o: np.sin(4 * np.pi * o.r) * np.sign(o.top % 2 - 0.5)
        ),
        "hidden: drift of the confidence": of(lambda o: o.rng.permutation(o.n) / o.n - 0.5),
    },
}


def truths(p: Floats, number: int, rng: Rng) -> dict[str, Floats]:
    """Return the true probabilities of each error of a set."""
    rows, errors = Rows(p, rng), (TWO if p.shape[1] == 2 else MORE).get(number, {})
    return {
        name: tilted(p, direction(rows), HIDDEN if name.startswith("hidden") else NOTICED)
        for name, direction in errors.items()
    }


# ---- tests -------------------------------------------------------------------------------------

B, PREDICTIONS, LABELS = 299, 9, 30  # the seed of each set of predictions is its number
SETS, VECTORS, SIZE_B = 300, 4, 199  # of the size: predictions, label vectors of each
ALSO = "cox cramer-von-mises pigeon-heyse le-cessie-van-houwelingen"
ALSO_CONFIDENCE = "hosmer-lemeshow calibration-belt calibration-slope calibration-in-the-large"


def cells(folder: Path) -> list[tuple[str, int, Floats]]:
    """Return names, numbers of rows and pools of predictions."""
    rng = np.random.default_rng(11)
    beta = events(rng.beta(0.7, 0.7, 20000))
    rare = events(1 / (1 + np.exp(-rng.normal(-4.4, 1.1, 20000))))
    three = rng.dirichlet(np.full(3, 0.5), 20000)
    lenet = network(folder, "netcal_cifar10_lenet5", 1.0)
    resnet, convnet = (network(folder, f"kull_{k}", 2.0) for k in ("c10_resnet110", "c100_convnet"))
    some = [("beta(.7, .7)", (200, 1000), beta), ("rare 2 %", (200, 1000), rare)]
    some += [("LeNet-5, 10 classes", (100, 500), lenet)]
    some += [("ResNet T = 2, 10 classes", (500, 2000), resnet)]
    some += [("Dirichlet(.5), 3 classes", (500,), three)]
    some += [("ConvNet T = 2, 100 classes", (500,), convnet)]
    return [(name, n, _inside(pool)) for name, sizes, pool in some for n in sizes]


def chi2(codes: Floats, probs: Floats, labels: Floats) -> Floats:
    """Return the chi^2 of how often a code (n, m) of the label occurs, with covariance."""
    size = int(codes.max()) + 1
    chance = np.stack([np.where(codes == r, probs, 0).sum(axis=1) for r in range(size)], axis=1)
    covariance = np.linalg.pinv(np.diag(chance.sum(axis=0)) - chance.T @ chance, rcond=1e-9)
    seen = codes[np.arange(len(probs)), labels]
    gaps = np.stack([(seen == r).sum(axis=1) for r in range(size)], axis=1) - chance.sum(axis=0)
    return np.einsum("bi,ij,bj->b", gaps, covariance, gaps)


def power(probs: Floats, labels: Floats) -> dict[str, Floats]:
    """Return which of the labels after the first B each test rejects."""
    m, found = probs.shape[1], {}
    battery = [("combined", "strong"), *rivals(m)]
    if m == 2:
        battery += [(key, "strong") for key in ALSO.split()]
    else:
        battery += [(key, "confidence") for key in ALSO_CONFIDENCE.split()]
        ranks = np.argsort(np.argsort(-probs, axis=1, kind="stable"), axis=1)
        every = np.broadcast_to(np.arange(m), probs.shape)
        sharp = {
            "frequencies": every,
            "ranks": np.minimum(ranks, 4),
            "more ranks": np.minimum(ranks, 9),
        }
        for name, codes in sharp.items():
            values = chi2(codes, probs, labels)
            found[name] = 1 + (values[:B] >= values[B:, None] - 1e-9).sum(axis=1) <= 0.05 * (B + 1)
    for key, lens in battery:
        try:
            values, two_sided = evaluate(key, lens, probs, labels)
        except NotApplicable:
            continue
        at_least = 1 + (values[:B] >= values[B:, None] - 1e-12).sum(axis=1)
        at_most = 1 + (values[:B] <= values[B:, None] + 1e-12).sum(axis=1)
        count = 2 * np.minimum(at_least, at_most) if two_sided else at_least
        found[f"{key}, {lens}"] = count <= 0.05 * (B + 1)
    return found


TOLD = "told the errors"
MARGINAL = 20  # draws of a hidden error, of whose mean the likelihood is taken


def log_ratios(probs: Floats, number: int, rng: Rng) -> dict[str, Floats]:
    """Return log q / p (n, m) of each error of a set and of its opposite."""
    found = {}
    for name, q in truths(probs, number, rng).items():
        if name.startswith("hidden"):  # what it is in a row is not known: its mean over draws
            draws = (truths(probs, number, rng)[name] for _ in range(MARGINAL))
            found[name] = np.log(sum(draws) / MARGINAL / probs)
            continue
        found[name] = np.log(q / probs)
        direction = found[name] - found[name].mean(axis=1, keepdims=True)
        found[f"opposite of {name}"] = np.log(tilted(probs, -direction, NOTICED) / probs)
    return found


def most_powerful(probs: Floats, labels: Floats, sets: list[int], rng: Rng) -> Floats:
    """Return which labels the test rejects that has the largest mean power over errors of sets.

    By the lemma of Neyman and Pearson it is the mean of their likelihood ratios. It is told the
    errors, though not which of them it is, nor its sign.
    """
    rows, total = np.arange(len(probs)), np.full(len(labels), -np.inf)
    for number in sets:
        for ratio in log_ratios(probs, number, rng).values():
            total = np.logaddexp(total, [ratio[rows, y].sum() for y in labels])
    return 1 + (total[:B] >= total[B:, None]).sum(axis=1) <= 0.05 * (B + 1)


def size(m: int, n: int) -> float:
    """Return the share of calibrated label vectors that the combined test rejects."""
    rejected = []
    for number in range(SETS):
        rng = np.random.default_rng([number, n, m])
        probs = _inside(rng.dirichlet(np.full(m, 0.3), n))
        values, _ = evaluate("combined", "strong", probs, draw(probs, SIZE_B + VECTORS, rng))
        at_least = 1 + (values[:SIZE_B] >= values[SIZE_B:, None] - 1e-12).sum(axis=1)
        rejected.append(at_least <= 0.05 * (SIZE_B + 1))
    return float(np.mean(rejected))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--logits", type=Path, help="for the power; without it, the size")
    parser.add_argument("--sets", type=int, nargs="*", default=[*MORE])
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.logits is None:
        for m in (2, 3, 10, 100):
            rates = " | ".join(f"{100 * size(m, n):.1f}" for n in (8, 30, 100, 500, 2000))
            print(f"| {m} | {rates} |", flush=True)  # noqa: T201
        return
    for base, n, pool in cells(asked.logits):
        rejected: dict[str, list] = {}
        for number in range(PREDICTIONS):
            rng = np.random.default_rng([number, n])
            probs = np.ascontiguousarray(pool[rng.choice(len(pool), n, replace=False)])
            errors = [(k, q) for k in asked.sets for q in truths(probs, k, rng).values()]
            labels = [draw(probs, B, rng), *(draw(q, LABELS, rng) for _, q in errors)]
            seen = np.concatenate(labels)
            tests = power(probs, seen)
            tests[TOLD] = most_powerful(probs, seen, asked.sets, rng)
            for name, hits in tests.items():
                rejected.setdefault(name, []).append(hits.reshape(-1, LABELS).mean(axis=1))
        sets = np.array([k for k, _ in errors])
        rates = {name: np.array(r) for name, r in rejected.items() if len(r) == PREDICTIONS}
        own = rates.pop("combined, strong").mean(axis=0)
        told = rates.pop(TOLD).mean(axis=0)
        single = np.array(list(rates.values()))
        halves = single[:, ::2].mean(axis=1), single[:, 1::2].mean(axis=1)
        at = np.arange(len(sets))
        best = sum(b[a.argmax(axis=0), at] for a, b in (halves, halves[::-1])) / 2
        skce = rates["skce, strong"].mean(axis=0)
        for k in dict.fromkeys(sets):
            some = [100 * x[sets == k].mean() for x in (own, best, skce)]
            rest = f"{some[0]:.0f} | {some[1]:.0f} | {some[2]:.0f} | {some[0] / some[1]:.2f}"
            print(f"| {k} | {base} | {n} | {rest} |", flush=True)  # noqa: T201
        for name, some in (("all", best >= 0), ("found by one test", best >= 0.6)):
            means = (f"{100 * x[some].mean():.0f}" for x in (own, told, best))
            row = " | ".join([base, str(n), name, str(some.sum()), *means])
            print(f"| {row} |", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
