"""Tests of predicted risk with censored times: prints the tables of docs/studies/survival.md.

python -P docs/studies/survival.py [--only size power] [--repetitions 1000] [--few 400] [--jobs 2]
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import math
import warnings
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import joblib
import numpy as np
from scipy import special

import caltest as ct
from caltest.measures.recalibration.expected_observed_ratio import ExpectedObservedRatio

LEVEL, B = 0.05, 199  # 0.05 x 200 is whole
FIRST = 20_261_127  # seeds that nothing was chosen on
RATES = {20: 0.3, 50: 1.0, 70: 1.9}  # of censoring, by the rows in % that are lost before 1
COMPETING = 0.3  # hazard of the other event, where there is one
ERRORS = {"calibrated": (1.0, 1.0), "too high by 20 %": (1.2, 1.0), "overconfident": (1.0, 1.4)}
CALTEST = {
    "combined": "combined",
    "ks": "ks",
    "O/E": ExpectedObservedRatio(),
    "ece": "ece",
    "skce": "skce",
    "brier": "brier",
    "calibration-slope": "calibration-slope",
}
MAIN = ("combined", "ks", "O/E")
CHEAP = ("ks", "O/E")
OTHERS = tuple(
    f"{test}, {way}"
    for way in ("weights as known", "pseudo", "multipliers")
    for test in ("O/E", "ks")
)
FORMULAS = ("z of O/E", "GND")
SIZES = (8, 50, 200, 1000)
FACTORS = (1.0, 1.3, 0.7)  # of hazards, as predicted


@dataclass(frozen=True)
class Cell:
    """A distribution of data sets: times with proportional hazards, risks by 1."""

    n: int
    lost: int
    error: str = "calibrated"
    competing: bool = False


def simulate(cell: Cell, seed: int) -> ct.SurvivalPredictions:
    """Draw risks by the horizon 1, times and what happened."""
    rng = np.random.default_rng([zlib.crc32(repr(cell).encode()), seed])
    hazard = 0.45 * np.exp(0.8 * rng.normal(size=cell.n))
    other = COMPETING if cell.competing else 0.0
    total = hazard + other
    risk = hazard / total * -np.expm1(-total)
    first, lost = rng.exponential(1 / total), rng.exponential(1 / RATES[cell.lost], cell.n)
    code = np.where(rng.random(cell.n) * total < hazard, 1, 2)
    factor, slope = ERRORS[cell.error]
    x = np.log(-np.log1p(-risk))
    given = -np.expm1(-np.exp(-0.8 + slope * (x + 0.8)))  # -0.8: where the observed risk is right
    risk = np.minimum(factor * given, 0.99)
    event = np.where(first <= lost, code, 0)
    return ct.SurvivalPredictions(risk, np.minimum(first, lost), event, horizon=1.0)


def pvalues(survival: ct.SurvivalPredictions, tests: Iterable[str], seed: int) -> dict[str, float]:
    """Return the p-values of caltest's tests."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.DegenerateDataWarning)
        for name in tests:
            given = {"test": CALTEST[name], "n_resamples": B, "rng": seed}
            with contextlib.suppress(ct.NotApplicable):  # a kernel needs two known rows
                found[name] = ct.test_calibration(survival, **given).pvalue
    return found


def alternatives(survival: ct.SurvivalPredictions, seed: int) -> dict[str, float]:
    """Return the p-values of other ways to do it, without code of the tests."""
    p = survival.probs[:, 1]
    order = np.argsort(p)
    signs = np.where(np.random.default_rng(seed).random((B, p.size)) < 0.5, -1.0, 1.0)
    weighted = survival.sample_weight * (survival.labels - p)
    pseudo = ct.survival.pseudo_observations(survival) - p
    found = {}
    for name, residuals, factors in (
        ("weights as known", weighted, signs),
        ("pseudo", pseudo, signs),
        ("multipliers", weighted, survival.censoring.multipliers(signs)),
    ):
        every = np.vstack([residuals, factors * residuals])[:, order]
        for test, values in (
            ("O/E", np.abs(every.sum(axis=1))),
            ("ks", np.abs(np.cumsum(every, axis=1)).max(axis=1)),
        ):
            found[f"{test}, {name}"] = float((values >= values[0] - 1e-12).mean())
    return found


def formulas(survival: ct.SurvivalPredictions) -> dict[str, float]:
    """Return the z test of O/E, and the chi^2 of Greenwood, Nam and D'Agostino."""
    p, time, event = survival.probs[:, 1], survival.time, survival.event
    observed, variance = kaplan_meier(time, event)
    z = (observed - p.mean()) / math.sqrt(max(variance, 1e-12))
    chi2, used, groups = 0.0, 0, []
    for rows in np.array_split(np.argsort(p), 10):  # those with few events join the next
        groups.append(rows)
        together = np.concatenate(groups)
        if (event[together] * (time[together] <= 1)).sum() >= 5:
            share, spread = kaplan_meier(time[together], event[together])
            if spread > 0:
                chi2 += (share - p[together].mean()) ** 2 / spread
                groups = []
                used += 1
    gnd = special.chdtrc(max(used - 1, 1), chi2)
    return {"z of O/E": 2 * special.ndtr(-abs(z)), "GND": float(gnd)}


def kaplan_meier(time: np.ndarray, event: np.ndarray) -> tuple[float, float]:
    """Return the risk by 1, and Greenwood's variance."""
    order = np.argsort(time)
    at_risk = np.arange(time.size, 0, -1.0)
    here = (event[order] > 0) & (time[order] <= 1)
    stays = np.prod(1 - 1 / at_risk[here])
    sums = np.sum(1 / (at_risk[here] * np.maximum(at_risk[here] - 1, 1e-9)))
    return 1 - float(stays), float(stays**2 * sums)


# ---- tables -------------------------------------------------------------------------------------


def rejections(
    cell: Cell, seed: int, tests: tuple[str, ...], *, compare: bool, few: int
) -> dict[str, bool]:
    """Return which tests reject; those that take longer in the first few data sets alone.

    None do where no row is observed until the horizon, which is refused.
    """
    try:
        survival = simulate(cell, FIRST + seed)
    except ct.InvalidInput:
        return {}
    found = pvalues(survival, [name for name in tests if seed < few or name in CHEAP], seed)
    if compare:
        found |= alternatives(survival, seed) if seed < few else {}
        found |= formulas(survival)
    return {name: p <= LEVEL for name, p in found.items()}


def rates(
    cells: list[Cell], tests: tuple[str, ...], args: argparse.Namespace, *, compare: bool = False
) -> list:
    """Return the shares of rejections in % with their standard errors, a row for each cell."""
    rows = []
    for cell in cells:
        how = {"compare": compare, "few": args.few}
        seeds = range(args.repetitions)
        work = (joblib.delayed(rejections)(cell, seed, tests, **how) for seed in seeds)
        found = joblib.Parallel(n_jobs=args.jobs)(work)
        row = [f"{cell.n}", f"{cell.lost} %"]
        if cell.error != "calibrated":
            row.insert(0, cell.error)
        for name in max(found, key=len):
            known = [one[name] for one in found if name in one]
            share = np.mean(known)
            error = math.sqrt(max(share * (1 - share), 1e-9) / len(known))
            row.append(f"{100 * share:.1f} ({100 * error:.1f})")
        rows.append(row)
    return rows


def size(args: argparse.Namespace) -> tuple[list[str], list]:
    """Return the sizes of the main tests and of other ways to do it."""
    cells = [Cell(n, lost) for n, lost in itertools.product(SIZES, RATES)]
    header = ["n", "lost", *MAIN, *OTHERS, *FORMULAS]
    return header, rates(cells, MAIN, args, compare=True)


def others(args: argparse.Namespace) -> tuple[list[str], list]:
    """Return the sizes of other tests of caltest."""
    tests = tuple(name for name in CALTEST if name not in MAIN)
    cells = [Cell(n, lost) for n, lost in itertools.product(SIZES, RATES)]
    return ["n", "lost", *tests], rates(cells, tests, args)


def competing(args: argparse.Namespace) -> tuple[list[str], list]:
    """Return the sizes with a competing event."""
    cells = [Cell(n, 50, competing=True) for n in (200, 1000)]
    return ["n", "lost", *MAIN], rates(cells, MAIN, args)


def power(args: argparse.Namespace) -> tuple[list[str], list]:
    """Return the power against risks that are too high, and too extreme."""
    errors = [error for error in ERRORS if error != "calibrated"]
    cells = [Cell(n, lost, e) for e, n, lost in itertools.product(errors, (200, 1000), RATES)]
    header = ["error", "n", "lost", *MAIN, *OTHERS, *FORMULAS]
    return header, rates(cells, MAIN, args, compare=True)


def curves(args: argparse.Namespace) -> tuple[list[str], list]:
    """Return how often survival curves, of hazards times a factor, are rejected."""
    tests = (ct.survival.a_calibration, ct.survival.d_calibration)
    rows, header = [], [f"{title}, {factor:g}" for title in "AD" for factor in FACTORS]
    for n, lost in itertools.product((8, 50, 500), (0, *RATES)):
        found: list[list[bool]] = []
        for seed in range(args.repetitions):
            rng = np.random.default_rng([FIRST, n, lost, seed])
            hazard = 0.45 * np.exp(0.8 * rng.normal(size=n))
            first, last = rng.exponential(1 / hazard), np.full(n, np.inf)
            if lost:
                last = rng.exponential(1 / RATES[lost], n)
            kept, time = first <= last, np.minimum(first, last)
            if kept.any():
                curve = [np.exp(-factor * hazard * time) for factor in FACTORS]
                given = itertools.product(tests, curve)
                found.append([test(own, kept).pvalue <= LEVEL for test, own in given])
        shares = np.mean(found, axis=0)
        errors = np.sqrt(shares * (1 - shares) / len(found))
        cells = [f"{100 * p:.1f} ({100 * e:.1f})" for p, e in zip(shares, errors, strict=True)]
        rows.append([f"{n}", f"{lost} %", *cells])
    return ["n", "lost by 1", *header], rows


TABLES = {"size": size, "others": others, "competing": competing, "power": power, "curves": curves}


def main() -> None:
    """Simulate and print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--few", type=int, default=400, help="data sets for tests that take longer")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", choices=TABLES, default=list(TABLES))
    args = parser.parse_args()
    for name in args.only:
        header, rows = TABLES[name](args)
        print(" | ".join(header))  # noqa: T201
        print("\n".join(" | ".join(row) for row in rows))  # noqa: T201


if __name__ == "__main__":
    main()
