"""Power of the combined test against single tests: simulates and writes docs/studies/combined.md.

    python -P docs/studies/combined.py run OUT [--logits DIR] [--n 100 500 2000] [--sets 1 2 3 4]
    python -P docs/studies/combined.py write OUT
    python -P docs/studies/combined.py size OUT

`run` adds one JSON file for each base, n and set of alternatives to the folder OUT; `write` makes
the page of those that are there, and `size` prints the table of sizes. Labels are drawn from known
true probabilities, also for the networks of --logits, the folder of logits (npz) of CIFAR
networks: their temperature-scaled probabilities are the predictions. Predictions are drawn 4 times,
labels 25 times from each; all tests see the same labels and the same B = 199 redrawn ones.
"""

# All changes have one signature, and their names say what they do.
# ruff: noqa: ARG001, ARG005, D103

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import caltest as ct
from caltest.errors import NotApplicable
from caltest.htests.run import REGISTRY
from caltest.lenses import resolve_lens

LEVEL, B, PREDICTIONS, LABELS = 0.05, 199, 4, 25
PAGE = Path(__file__).with_suffix(".md")
Probs = np.ndarray
Rng = np.random.Generator
Change = Callable[[Probs, Rng, float], Probs]

ONE_DIMENSION = (
    "skce kce ks kuiper ece debiased-ece t-cal smooth-ece mmce brier log-loss spiegelhalter "
    "calibration-slope calibration-in-the-large calibration-belt hosmer-lemeshow"
)
SEVERAL = "skce skce-linear skce-block kce cme ece mce classwise-ece brier log-loss spiegelhalter"
UNDER_CONFIDENCE = "skce ks kuiper ece debiased-ece t-cal smooth-ece mmce spiegelhalter"


# ---- predictions -------------------------------------------------------------------------------


def softmax(z: Probs) -> Probs:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def network(folder: Path, name: str, temperature: float) -> Probs:
    data = np.load(folder / f"{name}.npz")
    if "probs_test" in data:
        return data["probs_test"].astype(float)
    return softmax(data["logits_test"].astype(float) / temperature)


def events(p: np.ndarray) -> Probs:
    return np.column_stack([1 - p, p])


def bases(folder: Path | None) -> dict[str, Probs]:
    """Pools of predictions by name."""
    rng = np.random.default_rng(1)
    found = {
        "m = 2, beta(.6, .6)": events(rng.beta(0.6, 0.6, 20000)),
        "m = 2, rare": events(1 / (1 + np.exp(-rng.normal(-3.2, 1.2, 20000)))),
        "m = 10, Dirichlet(.3)": rng.dirichlet(np.full(10, 0.3), 20000),
        "m = 100, Dirichlet(.05)": rng.dirichlet(np.full(100, 0.05), 20000),
    }
    if folder is not None:
        resnet = network(folder, "kull_c10_resnet110", 2.395)
        found |= {
            "m = 2, confidence of ResNet-110": events(
                network(folder, "kull_c10_resnet110", 1.5).max(axis=1)
            ),
            "m = 10, ResNet-110": resnet,
            "m = 10, LeNet-5": network(folder, "netcal_cifar10_lenet5", 1.0),
            "m = 100, ConvNet": network(folder, "kull_c100_convnet", 2.758),
        }
    return {name: _inside(probs) for name, probs in found.items()}


def _inside(probs: Probs) -> Probs:
    probs = np.maximum(probs, 1e-12)
    return probs / probs.sum(axis=1, keepdims=True)


# ---- alternatives: the true probabilities, of predictions; `s` is the size, 1 at n = 500 ---------


def temperature(t: float) -> Change:
    return lambda p, rng, s: softmax(np.log(p) / t)


def reweighed(p: Probs, w: np.ndarray) -> Probs:
    q = p * w
    return q / q.sum(axis=1, keepdims=True)


def doubt(p: Probs) -> float:
    """How much there is to be wrong about: 1 for a mean confidence of 70 %."""
    return float(np.clip((1 - p.max(axis=1)).mean() / 0.3, 0.08, 1))


def with_top(p: Probs, new: np.ndarray) -> Probs:
    """Change the probability of the predicted class, the others in proportion."""
    top, c, rows = p.argmax(axis=1), p.max(axis=1), np.arange(len(p))
    q = p * ((1 - new) / np.maximum(1 - c, 1e-12))[:, None]
    q[rows, top] = new
    return q


def tempered(p: Probs, rows: np.ndarray, t: float) -> Probs:
    q = p.copy()
    q[rows] = softmax(np.log(p[rows]) / t)
    return q


def one_class(p: Probs, rng: Rng, s: float) -> Probs:
    w = np.ones(p.shape[1])
    w[1] = np.exp(-0.5 * s)
    return reweighed(p, w)


def prior_shift(p: Probs, rng: Rng, s: float) -> Probs:
    m = p.shape[1]
    size = 0.35 if m > 2 else 0.42
    return reweighed(p, np.exp(size * s * np.random.default_rng(5).normal(size=m)))


def confused_pair(p: Probs, rng: Rng, s: float) -> Probs:
    q, top, m = p.copy(), p.argmax(axis=1), p.shape[1]
    first, second = (0, 1) if m == 2 else np.argsort(-np.bincount(top, minlength=m))[:2]
    share = min((0.1 if m == 2 else 0.12 if m <= 10 else 0.5) * s, 0.9)
    rows = top == first
    q[rows, second] += share * q[rows, first]
    q[rows, first] *= 1 - share
    return q


def middle_confidence(p: Probs, rng: Rng, s: float) -> Probs:
    c = p.max(axis=1)
    return with_top(p, np.where((c > 0.5) & (c < 0.9), c - 0.13 * min(s, 3.0), c))


def first_class_noise(
    p: Probs, rng: Rng, s: float
) -> Probs:  # M2 of Widmann et al. with a small share
    share = 0.06 * s * doubt(p)
    q = (1 - share) * p
    q[:, 0] += share
    return q


def uniform_noise(p: Probs, rng: Rng, s: float) -> Probs:  # M3 with a small share
    share = 0.12 * s * doubt(p)
    return (1 - share) * p + share / p.shape[1]


def top_three_noise(p: Probs, rng: Rng, s: float) -> Probs:
    share, first = 0.07 * s * doubt(p), np.argsort(-p, axis=1)[:, : min(3, p.shape[1])]
    q = (1 - share) * p
    add = np.take_along_axis(q, first, axis=1) + share / first.shape[1]
    np.put_along_axis(q, first, add, axis=1)
    return q


def subgroup(p: Probs, rng: Rng, s: float) -> Probs:
    return tempered(p, rng.random(len(p)) < 0.15, 1 + 2 * s * doubt(p) ** 0.5)


def rare_class(p: Probs, rng: Rng, s: float) -> Probs:
    w = np.ones(p.shape[1])
    w[np.argsort(p.mean(axis=0))[0 if p.shape[1] < 100 else 10]] = np.exp(0.7 * s)
    return reweighed(p, w)


def class_temperatures(p: Probs, rng: Rng, s: float) -> Probs:
    slope = np.exp(0.22 * s * np.random.default_rng(8).normal(size=p.shape[1]))
    return softmax(np.log(p) * slope)


def second_for_third(p: Probs, rng: Rng, s: float) -> Probs:
    if p.shape[1] == 2:
        return softmax(np.log(p) / (1 + 0.15 * s))
    rank, rows, q = np.argsort(-p, axis=1), np.arange(len(p)), p.copy()
    moved = min(0.3 * s, 1.0) * q[rows, rank[:, 1]]
    q[rows, rank[:, 1]] -= moved
    q[rows, rank[:, 2]] += moved
    return q


def waves(p: Probs, rng: Rng, s: float) -> Probs:
    c = p.max(axis=1)
    height = 0.09 * s * np.sin(8 * np.pi * c) * np.minimum(1, (1 - c) / 0.05)
    return with_top(p, np.clip(c + height, 1e-3, 1 - 1e-9))


def very_sure(p: Probs, rng: Rng, s: float) -> Probs:
    c = p.max(axis=1)
    return with_top(p, np.where(c > np.quantile(c, 0.6), c - min(0.03 * s, 0.3), c))


def two_sharpnesses(p: Probs, rng: Rng, s: float) -> Probs:
    low = p.argmax(axis=1) < (p.shape[1] + 1) // 2
    return tempered(tempered(p, low, 1 + 0.25 * s), ~low, 1 / (1 + 0.25 * s))


def matrix(p: Probs, rng: Rng, s: float) -> Probs:
    m = p.shape[1]
    noise = 0.25 * s / np.sqrt(m) * np.random.default_rng(3).normal(size=(m, m))
    return softmax(np.log(np.maximum(p, 1e-6)) @ (np.eye(m) + noise).T)


def ring(p: Probs, rng: Rng, s: float) -> Probs:
    q, top, rows = p.copy(), p.argmax(axis=1), np.arange(len(p))
    moved = 0.05 * s * p[rows, top]
    q[rows, top] -= moved
    q[rows, (top + 1) % p.shape[1]] += moved
    return q


def unsure(p: Probs, rng: Rng, s: float) -> Probs:
    c = p.max(axis=1)
    return tempered(p, c < np.quantile(c, 0.25), 1 + 0.5 * s)


def outliers(p: Probs, rng: Rng, s: float) -> Probs:
    share = 0.03 * s * doubt(p)
    return (1 - share) * p + share / p.shape[1]


def second_prior(p: Probs, rng: Rng, s: float) -> Probs:
    return reweighed(p, np.exp(0.25 * np.random.default_rng(15).normal(size=p.shape[1])))


def middle_entropy(p: Probs, rng: Rng, s: float) -> Probs:
    entropy = -(p * np.log(p)).sum(axis=1)
    low, high = np.quantile(entropy, [0.4, 0.75])
    share = 0.18 * min(s, 3.0) * doubt(p) ** 0.5
    inside = ((entropy > low) & (entropy < high))[:, None]
    return np.where(inside, (1 - share) * p + share / p.shape[1], p)


def swapped_pairs(p: Probs, rng: Rng, s: float) -> Probs:
    q, e, f = p.copy(), 0.07 * s, np.argsort(-p.mean(axis=0))
    for a, b in [(f[0], f[1]), (f[2], f[3])] if p.shape[1] > 3 else [(f[0], f[1])]:
        q[:, a], q[:, b] = (1 - e) * p[:, a] + e * p[:, b], (1 - e) * p[:, b] + e * p[:, a]
    return q


def one_sharp_class(p: Probs, rng: Rng, s: float) -> Probs:
    top = p.argmax(axis=1)
    return tempered(p, top == np.bincount(top).argmax(), 1 + 0.7 * s)


def floor(p: Probs, rng: Rng, s: float) -> Probs:
    q = np.maximum(p, 0.02 * s * doubt(p))
    return q / q.sum(axis=1, keepdims=True)


def bent(p: Probs, rng: Rng, s: float) -> Probs:
    return with_top(p, np.clip(p.max(axis=1) ** (1 + 0.25 * s), 1e-6, 1 - 1e-12))


def every_second_class(p: Probs, rng: Rng, s: float) -> Probs:
    return reweighed(p, np.exp(0.22 * s * (2 * (np.arange(p.shape[1]) % 2) - 1)))


def most_certain(p: Probs, rng: Rng, s: float) -> Probs:
    c = p.max(axis=1)
    return with_top(p, np.where(c >= np.quantile(c, 0.9), c * (1 - min(0.06 * s, 0.5)), c))


def of_another_row(p: Probs, rng: Rng, s: float) -> Probs:
    share = 0.06 * s
    return (1 - share) * p + share * p[rng.permutation(len(p))]


def closer_top_two(p: Probs, rng: Rng, s: float) -> Probs:
    rank, rows, q = np.argsort(-p, axis=1), np.arange(len(p)), p.copy()
    moved = 0.12 * s * np.minimum(p[rows, rank[:, 0]], p[rows, rank[:, 1]])
    q[rows, rank[:, 0]] -= moved
    q[rows, rank[:, 1]] += moved
    return q


def row_temperatures(p: Probs, rng: Rng, s: float) -> Probs:
    return softmax(np.log(p) * np.exp(0.5 * s**0.5 * rng.normal(size=(len(p), 1))))


def noisy_logits(p: Probs, rng: Rng, s: float) -> Probs:
    return softmax(np.log(p) + 0.6 * s**0.5 * rng.normal(size=p.shape))


def thicker_tail(p: Probs, rng: Rng, s: float) -> Probs:
    first = np.argsort(-p, axis=1)[:, : min(2, p.shape[1] - 1)]
    w = np.full(p.shape, 1 + 0.4 * s)
    np.put_along_axis(w, first, 1.0, axis=1)
    return reweighed(p, w)


def runner_up(p: Probs, rng: Rng, s: float) -> Probs:
    rank, rows, q = np.argsort(-p, axis=1), np.arange(len(p)), p.copy()
    moved = 0.05 * s * doubt(p) ** 0.5 * p[rows, rank[:, 0]]
    q[rows, rank[:, 0]] -= moved
    q[rows, rank[:, 1]] += moved
    return q


def merged_pair(p: Probs, rng: Rng, s: float) -> Probs:
    q, e = p.copy(), min(0.2 * s, 1.0)
    a, b = np.argsort(-p.mean(axis=0))[:2]
    mean = 0.5 * (p[:, a] + p[:, b])
    q[:, a], q[:, b] = (1 - e) * p[:, a] + e * mean, (1 - e) * p[:, b] + e * mean
    return q


def rarest_quarter(p: Probs, rng: Rng, s: float) -> Probs:
    w = np.ones(p.shape[1])
    w[np.argsort(p.mean(axis=0))[: (p.shape[1] + 3) // 4]] = np.exp(0.4 * s)
    return reweighed(p, w)


def one_vague_class(p: Probs, rng: Rng, s: float) -> Probs:
    top = p.argmax(axis=1)
    rows = top == np.argsort(-np.bincount(top, minlength=p.shape[1]))[1]
    share = min(0.25 * s, 1.0) * doubt(p) ** 0.5
    return np.where(rows[:, None], (1 - share) * p + share / p.shape[1], p)


def steps(p: Probs, rng: Rng, s: float) -> Probs:
    c = p.max(axis=1)
    height = 0.07 * s * np.where(np.floor(10 * c) % 2 == 0, 1, -1) * np.minimum(1, (1 - c) / 0.05)
    return with_top(p, np.clip(c + height, 1e-3, 1 - 1e-9))


def next_class(p: Probs, rng: Rng, s: float) -> Probs:
    share = 0.05 * s * doubt(p)
    return (1 - share) * p + share * np.roll(p, 1, axis=1)


def sure_and_unsure(p: Probs, rng: Rng, s: float) -> Probs:
    sure = p.max(axis=1) > np.median(p.max(axis=1))
    return tempered(tempered(p, sure, 1 + 0.3 * s), ~sure, 1 / (1 + 0.3 * s))


def one_bent_class(p: Probs, rng: Rng, s: float) -> Probs:
    q, k = p.copy(), np.argmax(p.mean(axis=0))
    q[:, k] = p[:, k] ** (1 + 0.4 * s)
    return q / q.sum(axis=1, keepdims=True)


SETS: dict[int, dict[str, Change]] = {
    1: {
        "temperature .8": temperature(0.8),
        "temperature 1.2": temperature(1.2),
        "one class too often": one_class,
        "prior shift": prior_shift,
        "confused pair": confused_pair,
        "confidences .5 to .9": middle_confidence,
        "M2, small share": first_class_noise,
        "M3, small share": uniform_noise,
        "label noise": top_three_noise,
        "subgroup": subgroup,
        "rare class": rare_class,
    },
    2: {
        "temperature 1.1": temperature(1.1),
        "temperature .9": temperature(0.9),
        "class temperatures": class_temperatures,
        "second for third": second_for_third,
        "waves": waves,
        "very sure rows": very_sure,
        "two sharpnesses": two_sharpnesses,
        "matrix": matrix,
        "ring of confusions": ring,
        "unsure rows": unsure,
        "outliers": outliers,
        "another prior shift": second_prior,
    },
    3: {
        "temperature 1.15": temperature(1.15),
        "temperature .85": temperature(0.85),
        "middle entropy": middle_entropy,
        "swapped pairs": swapped_pairs,
        "one sharp class": one_sharp_class,
        "small ones larger": floor,
        "bent confidence": bent,
        "every second class": every_second_class,
        "most certain rows": most_certain,
        "of another row": of_another_row,
        "closer top two": closer_top_two,
    },
    4: {
        "row temperatures": row_temperatures,
        "noisy logits": noisy_logits,
        "thicker tail": thicker_tail,
        "runner-up": runner_up,
        "merged pair": merged_pair,
        "rarest quarter": rarest_quarter,
        "one vague class": one_vague_class,
        "steps": steps,
        "next class": next_class,
        "sure and unsure": sure_and_unsure,
        "one bent class": one_bent_class,
    },
}


# ---- tests -------------------------------------------------------------------------------------


def rivals(m: int) -> list[tuple[str, str]]:
    """Single tests and their lenses."""
    if m == 2:
        return [(key, "strong") for key in ONE_DIMENSION.split()]
    strong = [(key, "strong") for key in SEVERAL.split()]
    return strong + [(key, "confidence") for key in UNDER_CONFIDENCE.split()]


def draw(q: Probs, size: int, rng: np.random.Generator) -> np.ndarray:
    limits = np.cumsum(q, axis=1)[:, :-1]
    uniform = rng.random((size, len(q)))
    out = np.zeros(uniform.shape, np.uint8)
    for i, row in enumerate(limits):
        out[:, i] = np.searchsorted(row, uniform[:, i], side="right")
    return out


def rejections(null: np.ndarray, observed: np.ndarray, *, two_sided: bool) -> np.ndarray:
    upper = 1 + (null >= observed[:, None] - 1e-12).sum(axis=1)
    lower = 1 + (null <= observed[:, None] + 1e-12).sum(axis=1)
    p = np.minimum(upper, lower) * 2 / (B + 1) if two_sided else upper / (B + 1)
    return p <= LEVEL


def evaluate(key: str, lens: str, probs: Probs, labels: np.ndarray) -> tuple[np.ndarray, bool]:
    predictions = ct.Predictions(probs, labels[0], classes=range(probs.shape[1]))
    measure = REGISTRY[key].with_options({})
    bound = measure.bind(resolve_lens(lens)(predictions))
    if lens == "confidence":
        labels = (labels == predictions.predicted).astype(np.uint8)
    rows = labels if bound.order is None else labels[:, bound.order]
    values = bound.comparable(bound.values(np.ascontiguousarray(rows)))
    return values, measure.alternative == "two-sided"


def simulate(pool: Probs, n: int, changes: dict[str, Change]) -> dict[str, dict[str, float]]:
    """Return the share of rejections of each test for each alternative, and for calibrated."""
    size = np.sqrt(500 / n)
    counts: dict[str, dict[str, list]] = {}
    for number in range(PREDICTIONS):
        rng = np.random.default_rng([number, n])
        probs = np.ascontiguousarray(pool[rng.choice(len(pool), n, replace=False)])
        truths = {"calibrated": probs}
        truths |= {name: change(probs, rng, size) for name, change in changes.items()}
        labels = [draw(probs, B, rng), *(draw(q, LABELS, rng) for q in truths.values())]
        for key, lens in [("combined", "strong"), *rivals(probs.shape[1])]:
            try:
                values, two_sided = evaluate(key, lens, probs, np.concatenate(labels))
            except NotApplicable:
                continue
            name = key if lens == "strong" else f"{key}, {lens}"
            null, observed = values[:B], values[B:].reshape(len(truths), LABELS)
            for truth, row in zip(truths, observed, strict=True):
                hits = rejections(null, row, two_sided=two_sided)
                counts.setdefault(name, {}).setdefault(truth, []).extend(hits.tolist())
    return {
        name: {truth: float(np.mean(hits)) for truth, hits in rates.items()}
        for name, rates in counts.items()
    }


def run(out: Path, folder: Path | None, sizes: list[int], sets: list[int]) -> None:
    out.mkdir(exist_ok=True)
    for n in sizes:
        for number in sets:
            for base, pool in bases(folder).items():
                path = out / f"{base.replace(' ', '_')}_{n}_{number}.json"
                if path.exists():
                    continue
                start = time.time()
                result = simulate(pool, n, SETS[number])
                seconds = round(time.time() - start, 1)
                path.write_text(json.dumps({"base": base, "n": n, "set": number, "rates": result}))
                print(base, n, number, seconds, flush=True)  # noqa: T201


def size(m: int, n: int, sets: int, *, weighted: bool = False) -> float:
    """Return the share of rejections of calibrated data sets, each with predictions of its own."""
    rejected = 0
    for number in range(sets):
        rng = np.random.default_rng([number, n, m])
        probs = rng.dirichlet(np.full(m, 0.3), n)
        weight = rng.exponential(size=n) if weighted else None
        data = ct.Predictions(probs, np.zeros(n, int), classes=range(m), sample_weight=weight)
        bound = REGISTRY["combined"].with_options({}).bind(data)
        labels = draw(probs, B + 1, rng)
        rows = labels if bound.order is None else labels[:, bound.order]
        values = bound.values(np.ascontiguousarray(rows))
        rejected += int(rejections(values[1:][None], values[:1], two_sided=False)[0])
    return rejected / sets


def print_sizes() -> None:
    for m in (2, 3, 100):
        rates = [100 * size(m, n, 2000 if n < 500 else 1000) for n in (8, 50, 500)]
        print(f"| {m} |", " | ".join(f"{rate:.1f}" for rate in rates), "|", flush=True)  # noqa: T201
    for m in (2, 3):
        print(m, "weighted", 100 * size(m, 50, 2000, weighted=True), flush=True)  # noqa: T201


# ---- the page ----------------------------------------------------------------------------------


def summary(one: dict) -> dict:
    """Reduce the rates of a base to means over the alternatives."""
    rates = {k: {a: r for a, r in v.items() if a != "calibrated"} for k, v in one["rates"].items()}
    single = {k: v for k, v in rates.items() if k != "combined"}
    means = {k: np.mean(list(v.values())) for k, v in single.items()}
    best = {a: max(v[a] for v in single.values()) for a in rates["combined"]}
    hard = {a: rates["combined"][a] / b for a, b in best.items() if b >= 0.5}
    low = [
        (a, f"{100 * rates['combined'][a]:.0f}", f"{100 * best[a]:.0f}")
        for a, share in hard.items()
        if share < 0.5
    ]
    loudest = max(means, key=means.get)
    worst = min(hard, key=hard.get) if hard else ""
    return {
        "size": one["rates"]["combined"]["calibrated"],
        "combined": float(np.mean(list(rates["combined"].values()))),
        "skce": float(means["skce"]),
        "best": loudest,
        "best power": float(means[loudest]),
        "oracle": float(np.mean(list(best.values()))),
        "worst": f"{worst} ({hard[worst]:.2f})" if hard else "-",
        "hard": len(hard),
        "low": low,
    }


def write(out: Path) -> None:
    rows = [json.loads(path.read_text()) for path in sorted(out.glob("*.json"))]
    rows.sort(key=lambda row: (row["set"], row["n"], row["base"]))
    lines, groups, low, hard = [], {}, [], 0
    for row in rows:
        s = summary(row)
        groups.setdefault((row["set"], row["n"]), []).append(s)
        cells = [
            *(str(row["set"]), str(row["n"]), row["base"], f"{100 * s['size']:.0f}"),
            *(f"{100 * s['combined']:.0f}", f"{100 * s['skce']:.0f}"),
            *(f"{s['best']}: {100 * s['best power']:.0f}", f"{100 * s['oracle']:.0f}"),
            *(f"{s['combined'] / s['oracle']:.2f}", s["worst"]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
        low += [f"| {' | '.join([*cells[:3], *some])} |" for some in s["low"]]
        hard += s["hard"]
    means = []
    for (number, n), some in groups.items():
        total = {k: np.mean([s[k] for s in some]) for k in ("size", "combined", "skce", "oracle")}
        best = np.mean([s["best power"] for s in some])
        means.append(
            f"| {number} | {n} | {len(some)} | {100 * total['size']:.1f} | "
            f"{100 * total['combined']:.1f} | {100 * total['skce']:.1f} | {100 * best:.1f} | "
            f"{100 * total['oracle']:.1f} | {total['combined'] / total['oracle']:.2f} |"
        )
    text = PAGE.read_text() if PAGE.exists() else "<!-- means -->\n<!-- rows -->\n"
    print(len(low), "of", hard, "below half of the best test")  # noqa: T201
    for name, table in (("means", means), ("low", low), ("rows", lines)):
        before, _, rest = text.partition(f"<!-- {name} -->\n")
        head = rest.split("\n\n")[0].splitlines()[:2]
        after = rest.partition("\n\n")[2]
        text = f"{before}<!-- {name} -->\n" + "\n".join([*head, *table]) + "\n\n" + after
    PAGE.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["run", "write", "size"])
    parser.add_argument("out", type=Path)
    parser.add_argument("--logits", type=Path)
    parser.add_argument("--n", type=int, nargs="+", default=[500, 100, 2000])
    parser.add_argument("--sets", type=int, nargs="+", default=[1, 2, 3, 4])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.command == "size":
        print_sizes()
    elif args.command == "write":
        write(args.out)
    else:
        run(args.out, args.logits, args.n, args.sets)


if __name__ == "__main__":
    main()
