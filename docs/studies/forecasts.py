"""Tests of forecasts of numbers: writes the tables of docs/studies/forecasts.md.

python -P docs/studies/forecasts.py [--sizes 400] [--powers 200] [--counts 200] [--counted 150]
    [--streams 2000] [--changes 200] [--jobs 2]
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import joblib
import numpy as np
import polars as pl
from scipy import stats

import caltest as ct

PAGE = Path(__file__).with_suffix(".md")
LEVEL, B = 0.05, 199  # 0.05 x 200 is whole
TESTS = (
    "combined",
    "pit-ks",
    "pit-kuiper",
    "pit-cramer-von-mises",
    "pit-anderson-darling",
    "pit-neyman",
    "pit-berkowitz",
    "crps",
    "log-score",
    "forecast-skce",
)
SIZES = (8, 50, 500)
N = 100  # of the table of power
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MEMBERS = 10


def gaussian(rng: np.random.Generator, n: int) -> ct.Forecasts:
    """Draw calibrated Gaussian forecasts."""
    mean, scale = rng.normal(size=n), np.exp(0.4 * rng.normal(size=n))
    return ct.Forecasts(mean + scale * rng.normal(size=n), mean=mean, scale=scale)


def poisson(rng: np.random.Generator, n: int) -> ct.Forecasts:
    """Draw calibrated forecasts of counts."""
    law = stats.poisson(np.exp(rng.normal(size=n)))
    return ct.Forecasts(law.rvs(random_state=rng), distribution=law)


def ensemble(rng: np.random.Generator, n: int) -> ct.Forecasts:
    """Draw outcomes that are one more member."""
    members = rng.normal(size=(n, 1)) + rng.normal(size=(n, MEMBERS + 1))
    return ct.Forecasts(members[:, 0], members=members[:, 1:])


def quantiles(rng: np.random.Generator, n: int) -> ct.Forecasts:
    """Draw calibrated quantiles."""
    mean = rng.normal(size=n)
    values = mean[:, None] + stats.norm.ppf(QUANTILES)
    return ct.Forecasts(mean + rng.normal(size=n), quantiles=values, levels=QUANTILES)


KINDS = {"Gaussian": gaussian, "Poisson": poisson, "ensemble": ensemble, "quantiles": quantiles}
WITHOUT = {"ensemble": {"log-score"}, "quantiles": {"crps", "log-score"}}

Error = Callable[[np.ndarray, np.ndarray, np.ndarray, np.random.Generator], np.ndarray]
# Standardised outcomes of standard normal numbers z, means m and scales s of the forecasts.
ERRORS: dict[str, Error] = {
    "location": lambda z, _m, _s, _rng: z + 0.3,
    "shift in units": lambda z, _m, s, _rng: z + 0.25 / s,
    "too sure": lambda z, _m, _s, _rng: 1.25 * z,
    "not sure enough": lambda z, _m, _s, _rng: 0.82 * z,
    "skewed": lambda z, _m, _s, rng: (rng.gamma(1.6, size=z.size) - 1.6) / np.sqrt(1.6),
    "heavy tails": lambda z, _m, _s, rng: rng.standard_t(2.9, size=z.size) * np.sqrt(0.9 / 2.9),
    "slope": lambda z, m, _s, _rng: z + 0.3 * m,
    "spread by mean": lambda z, m, _s, _rng: z * np.exp(0.22 * m),
    "spread by scale": lambda z, _m, s, _rng: z * np.exp(0.55 * np.log(s)),
    "curved": lambda z, m, _s, _rng: z + 0.21 * (m * m - 1),
    "bimodal": lambda z, _m, _s, rng: rng.choice([-1, 1], z.size) * np.sqrt(0.75) + z / 2,
    "outliers": lambda z, _m, _s, rng: np.where(rng.random(z.size) < 0.03, 6 * np.sign(z), z),
}
Counts = Callable[[np.ndarray, np.random.Generator], np.ndarray]
# Counts for forecast means m; the sizes are such that the best of the tests finds about a half.
COUNTS: dict[str, Counts] = {
    "too low": lambda m, rng: rng.poisson(m * (1 + 0.22 / np.sqrt(m.mean()))),
    "too high": lambda m, rng: rng.poisson(m * (1 - 0.22 / np.sqrt(m.mean()))),
    "too sure": lambda m, rng: rng.negative_binomial(m / 0.45, 1 / 1.45),
    "not sure enough": lambda m, rng: rng.binomial(size := np.ceil(m / 0.4).astype(int), m / size),
    "zeros": lambda m, rng: np.where(
        rng.random(m.size) < (p := 0.16 / (1 + m.mean()) ** 0.6), 0, rng.poisson(m / (1 - p))
    ),
    "outliers": lambda m, rng: rng.poisson(
        np.where(rng.random(m.size) < 0.03, m + 3 * np.sqrt(m.mean()), m)
    ),
    "slope": lambda m, rng: rng.poisson(m.mean() * (m / m.mean()) ** (1 - 0.8 / np.sqrt(m.mean()))),
}
COUNTED = 20_000  # rows of which a share has the error
SHARES = {"too sure": 0.035, "skewed": 0.03, "heavy tails": 0.02, "outliers": 0.01}
SHARE = 0.06  # of the others


# What changes in a stream: the outcome, and the log likelihood ratio that a CUSUM knows.
CHANGES = {
    "location 0.2": (lambda z, _m, _rng: z + 0.2, lambda z, _m: 0.2 * z - 0.02),
    "location 0.5": (lambda z, _m, _rng: z + 0.5, lambda z, _m: 0.5 * z - 0.125),
    "scatter 1.2": (
        lambda z, _m, _rng: 1.2 * z,
        lambda z, _m: ratio_to_normal(z, stats.norm(0, 1.2)),
    ),
    "scatter 0.8": (
        lambda z, _m, _rng: 0.8 * z,
        lambda z, _m: ratio_to_normal(z, stats.norm(0, 0.8)),
    ),
    "slope -0.3": (lambda z, m, _rng: z - 0.3 * m, lambda z, m: -0.3 * m * z - 0.045 * m * m),
    "t of 3 degrees": (
        lambda z, _m, rng: rng.standard_t(3, size=z.size) / np.sqrt(3),
        lambda z, _m: ratio_to_normal(z, stats.t(3, scale=1 / np.sqrt(3))),
    ),
}
WATCHED, AFTER, RATE = 500, 3000, 1e-3


def ratio_to_normal(z: np.ndarray, law: object) -> np.ndarray:
    """Return log likelihood ratios of a law to the standard normal one."""
    return law.logpdf(z) - stats.norm.logpdf(z)


def wrong(rng: np.random.Generator, error: str) -> ct.Forecasts:
    """Draw forecasts with an error."""
    mean, scale = rng.normal(size=N), np.exp(0.4 * rng.normal(size=N))
    outcomes = mean + scale * ERRORS[error](rng.normal(size=N), mean, scale, rng)
    return ct.Forecasts(outcomes, mean=mean, scale=scale)


def rejected(forecasts: ct.Forecasts, seed: int, without: Collection[str]) -> dict[str, float]:
    """Return whether each test rejects, and for each component of the default test."""
    found = {}
    for name in TESTS:
        if name in without:
            continue
        result = ct.test_calibration(forecasts, test=name, n_resamples=B, rng=seed)
        found[name] = float(result.pvalue <= LEVEL)
        if result.components is not None:
            parts = zip(result.components.rows, result.components.pvalues, strict=True)
            found |= {f"component {row.test}": float(p <= LEVEL) for row, p in parts}
    return found


def rates(
    make: Callable[[int], ct.Forecasts], sets: int, jobs: int, without: Collection[str] = ()
) -> dict[str, float]:
    """Return the share of data sets that each test rejects."""

    def one(seed: int) -> dict[str, float]:
        return rejected(make(seed), seed, without)

    found = joblib.Parallel(jobs)(joblib.delayed(one)(seed) for seed in range(sets))
    return {name: 100 * float(np.mean([one[name] for one in found])) for name in found[0]}


def size_rows(sets: int, jobs: int) -> list[str]:
    """Format the sizes."""
    lines = [f"| kind | n | {' | '.join(TESTS)} |", f"|---|{'--:|' * (1 + len(TESTS))}"]
    for kind, make in KINDS.items():
        for n in SIZES:
            without = WITHOUT.get(kind, set())
            found = rates(
                lambda seed, make=make, n=n: make(np.random.default_rng([seed, n, 7]), n),
                sets,
                jobs,
                without,
            )
            numbers = " | ".join(f"{found[t]:.1f}" if t in found else "" for t in TESTS)
            lines.append(f"| {kind} | {n} | {numbers} |")
    return lines


def power_rows(sets: int, jobs: int) -> list[str]:
    """Format the power, and the best component of the default test."""
    lines = [f"| error | {' | '.join(TESTS)} | best component |", f"|---|{'--:|' * len(TESTS)}---|"]
    for number, error in enumerate(ERRORS):
        found = rates(
            lambda seed, error=error, number=number: wrong(
                np.random.default_rng([seed, number, 11]), error
            ),
            sets,
            jobs,
        )
        parts = {name: rate for name, rate in found.items() if name.startswith("component")}
        best = max(parts, key=lambda name: parts[name])
        numbers = " | ".join(f"{found[test]:.0f}" for test in TESTS)
        words = best.removeprefix("component ")
        lines.append(f"| {error} | {numbers} | {parts[best]:.0f} {words} |")
    return lines


def count_row(mean: float, error: str, sets: int, jobs: int) -> str:
    """Format the power of the default test for counts, and of exact tests of one error each."""
    rate = mean * np.exp(0.4 * np.random.default_rng(31).normal(size=N) - 0.08)
    law = stats.poisson(rate)
    off = {"mean": lambda y: y - rate, "dispersion": lambda y: (y - rate) ** 2 / rate}

    def one(seed: int) -> dict[str, float]:
        rng = np.random.default_rng([seed, 37, *error.encode()])
        y = COUNTS[error](rate, rng) if error else law.rvs(random_state=rng)
        found = rejected(ct.Forecasts(y, distribution=law), seed, set(TESTS) - {"combined"})
        redrawn = np.vstack([y, law.rvs(size=(B, N), random_state=rng)])
        for name, residuals in off.items():
            sums = residuals(redrawn).sum(axis=1)
            tails = np.mean(sums >= sums[0]), np.mean(sums <= sums[0])
            found[name] = float(2 * min(tails) <= LEVEL)
        return found

    every = joblib.Parallel(jobs)(joblib.delayed(one)(seed) for seed in range(sets))
    share = {name: 100 * float(np.mean([found[name] for found in every])) for name in every[0]}
    best = max(
        (name for name in share if name.startswith("component")), key=lambda name: share[name]
    )
    numbers = " | ".join(f"{share[name]:.0f}" for name in ("combined", *off))
    words = best.removeprefix("component ")
    return f"| {mean:g} | {error or 'none'} | {numbers} | {share[best]:.0f} {words} |"


def count_rows(sets: int, jobs: int) -> list[str]:
    """Format the power for counts of three means."""
    lines = ["| mean | error | combined | mean | dispersion | best component |"]
    lines.append("|--:|---|--:|--:|--:|---|")
    for mean in (0.3, 3.0, 30.0):
        lines += [count_row(mean, "", 2 * sets, jobs)]
        lines += [count_row(mean, error, sets, jobs) for error in COUNTS]
    return lines


def many(seed: int, error: str) -> pl.LazyFrame:
    """Draw very many forecasts, some with an error, or with none where it has no name."""
    rng = np.random.default_rng([seed, 29, *error.encode()])
    mean, scale = rng.normal(size=COUNTED), np.exp(0.4 * rng.normal(size=COUNTED))
    z = rng.normal(size=COUNTED)
    if error:
        off = ERRORS[error](rng.normal(size=COUNTED), mean, scale, rng)
        z = np.where(rng.random(COUNTED) < SHARES.get(error, SHARE), off, z)
    return pl.LazyFrame({"y": mean + scale * z, "mean": mean, "scale": scale})


def counted_rows(sets: int, sizes: int, jobs: int) -> list[str]:
    """Format how often the default test rejects by rows and by counts of rows in cells."""

    def one(seed: int, error: str) -> list[bool]:
        frame, columns = many(seed, error), {"label": "y", "mean": "mean", "scale": "scale"}
        options = {"n_resamples": B, "rng": seed}
        return [
            ct.test_calibration(frame, **columns, engine=engine, **options).pvalue <= LEVEL
            for engine in ("rows", "chunks")
        ]

    lines = ["| error | by rows | counted | only by rows | only counted |", "|---|--:|--:|--:|--:|"]
    for error in ("", *ERRORS):
        count = sets if error else sizes
        each = joblib.Parallel(jobs)(joblib.delayed(one)(seed, error) for seed in range(count))
        rows, counted = np.array(each).T
        shares = (rows, counted, rows & ~counted, counted & ~rows)
        numbers = " | ".join(f"{100 * np.mean(share):.1f}" for share in shares)
        lines.append(f"| {error or 'none'} | {numbers} |")
    return lines


def alarm_rows(streams: int) -> list[str]:
    """Format the share of calibrated streams with an alarm at any time."""
    lines = ["| kind | alarms at 5 % | at 20 % |", "|---|--:|--:|"]
    for kind, make in KINDS.items():
        seen = [
            ct.monitor().update(make(np.random.default_rng([seed, 13]), WATCHED))
            for seed in range(streams)
        ]
        shares = (100 * np.mean([watch.alarm(level) for watch in seen]) for level in (0.05, 0.2))
        lines.append(f"| {kind} | {' | '.join(f'{share:.1f}' for share in shares)} |")
    return lines


def cusum(terms: np.ndarray) -> np.ndarray:
    """Return Page's statistic after each row of log likelihood ratios."""
    sums = np.concatenate([[0.0], np.cumsum(terms)])
    return (sums - np.minimum.accumulate(sums))[1:]


def delay_rows(streams: int, changes: int) -> list[str]:
    """Format the rows until the alarm after a change, of the monitor and of a CUSUM that knows it.

    The CUSUM has as many alarms before the change as the monitor.
    """
    before = [
        ct.monitor(restart=True, level=RATE).update(
            gaussian(np.random.default_rng([k, 17]), WATCHED)
        )
        for k in range(streams)
    ]
    share = float(np.mean([watch.alarm() for watch in before]))
    lines = ["| change | monitor | 90 % | CUSUM | 90 % |", "|---|--:|--:|--:|--:|"]
    for name, (move, ratio) in CHANGES.items():
        rng = np.random.default_rng(19)
        null = [
            cusum(ratio(rng.normal(size=WATCHED), rng.normal(size=WATCHED))).max() for _ in before
        ]
        threshold, delays = np.quantile(null, 1.0 - share), []
        for k in range(changes):
            rng = np.random.default_rng([k, 23])
            watch = ct.monitor(restart=True, level=RATE).update(gaussian(rng, WATCHED))
            if watch.alarm():
                continue
            m, z = rng.normal(size=AFTER), rng.normal(size=AFTER)
            z = move(z, m, rng)
            watch.update(ct.Forecasts(m + z, mean=m, scale=1.0))
            rows = np.flatnonzero(cusum(ratio(z, m)) >= threshold)
            delays.append(
                [(watch.alarm_after or np.inf) - WATCHED, rows[0] + 1 if rows.size else np.inf]
            )
        numbers = [np.quantile(np.array(delays), q, axis=0) for q in (0.5, 0.9)]
        cells = [f"{numbers[q][k]:.0f}" for k in (0, 1) for q in (0, 1)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def write(name: str, lines: Sequence[str]) -> None:
    """Put a table below the line that names it."""
    text = PAGE.read_text(encoding="utf-8")
    table = "\n".join(lines)
    PAGE.write_text(re.sub(rf"(<!-- {name} -->\n)(\|.*\n)*", rf"\1{table}\n", text), "utf-8")


def main() -> None:
    """Simulate and write all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, default=400)
    parser.add_argument("--powers", type=int, default=200)
    parser.add_argument("--counts", type=int, default=200)
    parser.add_argument("--counted", type=int, default=150)
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("--changes", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    if given.sizes:
        write("size", size_rows(given.sizes, given.jobs))
    if given.powers:
        write("power", power_rows(given.powers, given.jobs))
    if given.counts:
        write("counts", count_rows(given.counts, given.jobs))
    if given.counted:
        write("counted", counted_rows(given.counted, 4 * given.counted, given.jobs))
    if given.streams:
        write("alarms", alarm_rows(given.streams))
        write("delays", delay_rows(given.streams, given.changes))


if __name__ == "__main__":
    main()
