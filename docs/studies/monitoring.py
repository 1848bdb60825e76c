"""False alarms, delays and dates of `caltest.monitor`: writes docs/studies/monitoring.md.

    python -P docs/studies/monitoring.py [--streams 2000] [--rows 10000] [--changes 100] [--jobs 2]

In the first table the predictions are right and depend on the past; the e-value is looked at after
each row. In the second they are too sure, and the intervals are looked at after each row. In the
third binary predictions are wrong from the first row, or from the 2000th. In the fourth they are
wrong after some that were right, and the row that an alarm names is compared with the true one.
With `--peer`, probcal's `CalibrationMonitor` sees the same streams in the same batches; it must be
installed. Rows of a table that are done stay in the file that `--keep` names, and are not computed
again; with `--dates` the fourth table alone is written anew.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numba
import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

import caltest as ct
from caltest.monitoring import loops
from caltest.monitoring.evalues import exponents_left, log_mixture
from caltest.monitoring.stream import SLOPES, Stream, bets_for

PAGE = Path(__file__).with_suffix(".md")
CLASSES = (2, 3, 10)
LEVELS = (0.1, 0.05, 0.01)
LEVEL = 0.05  # of the confidence sequences
BATCH = 100
LATE = 2000  # rows before the change
TEMPERATURE = 1.5  # of the labels, where intervals are looked at
MOST = 10_000  # rows of a stream that is wrong
DAYS, DAY = 10, 200  # days of a stream, and their rows, where days are counted often
DECIMALS = (17, 3, 2)
DATED = 6000  # rows of a stream after a change that is dated
CHANGES = {
    "temperature 1.3": ("temperature", 1.3),
    "temperature 1.5": ("temperature", 1.5),
    "log odds + 0.3": ("shift", 0.3),
    "log odds + 0.6": ("shift", 0.6),
    "location + 0.3": ("location", 0.3),
    "scale 1.3": ("scale", 1.3),
}
DATES = {2: [*CHANGES][:4], 10: [*CHANGES][:4], 0: [*CHANGES][4:]}
Floats = NDArray[np.float64]
advance = loops.advance.dispatcher()


def adaptive(
    rng: np.random.Generator, n: int, m: int, temperature: float = 1.0
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Draw predictions whose sharpness and mean depend on the outcomes of the batch before.

    Returns predictions, what is true, and labels.
    """
    probs, truths, labels = [], [], []
    scale = np.full(m, 1.0)
    for _ in range(n // BATCH):
        p = rng.dirichlet(scale, BATCH)
        true = p ** (1.0 / temperature)
        true /= true.sum(axis=1, keepdims=True)
        y = (rng.random(BATCH)[:, None] > true.cumsum(axis=1)).sum(axis=1).clip(0, m - 1)
        share = np.bincount(y, minlength=m) / BATCH
        scale = 0.1 + m * (1.0 - share) * rng.choice([0.2, 1.0, 3.0])
        probs.append(p)
        truths.append(true)
        labels.append(y)
    return np.concatenate(probs), np.concatenate(truths), np.concatenate(labels)


def false_alarm(m: int, n: int, seed: int, *, restart: bool) -> float:
    """Return the p-value of a calibrated stream, or the rows until an alarm of the detector."""
    probs, _, labels = adaptive(np.random.default_rng([seed, m]), n, m)
    watch = ct.monitor(level=0.001, restart=restart).update(probs, labels)
    return float(watch.alarm_after or n) if restart else watch.pvalue


def misses(m: int, n: int, seed: int) -> list[bool]:
    """Tell of which of the confidence sequences the truth was ever outside, after any row."""
    probs, truths, labels = adaptive(np.random.default_rng([seed, m, 1]), n, m, TEMPERATURE)
    top = probs.argmax(axis=1)
    own = (np.arange(n), top)
    last = m - 1
    return [
        misses_gap(probs[own], truths[own], labels == top),
        misses_gap(probs[:, last], truths[:, last], labels == last),
        misses_temperature(probs, truths, labels),
    ]


def misses_gap(chance: Floats, true: Floats, happened: NDArray[np.bool_]) -> bool:
    """Tell whether the interval of a mean residual ever misses, by its e-process at the truth."""
    residuals = chance - happened
    before = np.concatenate([[0.0], residuals.cumsum()[:-1]]) / np.maximum(
        np.arange(chance.size), 1
    )
    squares = ((residuals - np.clip(before, chance - 1.0, chance)) ** 2).cumsum()
    sums = np.abs((true - happened).cumsum())
    bound = math.log(2.0 / LEVEL)
    near = sums**2 > 2.0 * squares * bound  # elsewhere the e-process is below the bound
    return bool((log_mixture(sums[near], squares[near], LEVEL) > bound).any())


def misses_temperature(probs: Floats, truths: Floats, labels: NDArray[np.int64]) -> bool:
    """Tell the same of the temperature; intervals are computed where its e-process is 1 / level.

    Between the places of the grid they are wider than what the e-process leaves, never narrower.
    """
    n, m = probs.shape
    bets = bets_for(m)
    stream = Stream(bets, (LEVEL,), restart=False, memory=1.0, whole=True)
    wealth = np.empty((n, bets.game.weights.size))
    write_wealth(probs, labels, stream.game, loops.State(**stream.state), wealth)
    grid = wealth[:, : SLOPES.size]
    recalibrated = wealth[:, bets.game.part_of == bets.parts.index("recalibration")][:, 0]
    learned = np.logaddexp(logsumexp(grid, axis=1) - math.log(SLOPES.size), recalibrated)
    numerator = learned - math.log(2.0)
    own = (np.arange(n), labels)
    against = numerator - np.log(truths[own] / probs[own]).cumsum()
    for t in np.flatnonzero(against >= -math.log(LEVEL)):
        left = exponents_left(SLOPES, grid[t], float(numerator[t]), LEVEL)
        if left is None or not left[0] <= 1.0 / TEMPERATURE <= left[1]:
            return True
    return False


@numba.njit()
def write_wealth(
    probs: Floats, labels: NDArray[np.int64], game: loops.Game, state: loops.State, wealth: Floats
) -> None:
    """Write the logarithm of the wealth of each bet after each row."""
    for i in range(len(labels)):
        advance(probs[i : i + 1], labels[i : i + 1], game, state, np.empty(0))
        wealth[i] = state.log_wealth + np.log(state.product)


# ---- errors -------------------------------------------------------------------------------------


def slope(z: Floats) -> Floats:
    """Too extreme: the true log odds are 0.7 of the predicted."""
    return 0.7 * z


def flat(z: Floats) -> Floats:
    """Not extreme enough."""
    return 1.4 * z


def offset(z: Floats) -> Floats:
    """Too low by 0.3 in log odds."""
    return z + 0.3


def local(z: Floats) -> Floats:
    """Too high by 0.8 for the fifth of the rows above a probability of 0.4."""
    return z - 0.8 * (z > math.log(0.4 / 0.6))


def waves(z: Floats) -> Floats:
    """Too high and too low in turns."""
    return z + 0.6 * np.sign(np.sin(3.0 * z))


PEER_IN_WORDS = f"""; of probcal's `CalibrationMonitor` (0.4.0) at level 0.05 on the same
streams, and by how many rows on average its alarm came later than that of the monitor (streams
without an alarm count with {MOST:,} rows)"""
# Ensemble size, bias and dispersion of the ensemble; shares of the e-values "empirical" and
# "betabinom" that were ever 20, in simulation_results.rda of AlexanderHenzi/epit (5000 streams).
RANKS = 720
EPIT = {
    (10, 0.0, 0.0): (0.039, 0.032),
    (10, 0.2, 0.0): (0.2058, 0.8978),
    (10, 0.3, 0.0): (0.8762, 0.9986),
    (10, 0.0, 0.4): (0.1172, 0.771),
    (10, 0.0, -0.4): (0.7476, 0.998),
    (20, 0.0, 0.0): (0.0332, 0.038),
    (20, 0.2, 0.0): (0.0818, 0.9242),
    (20, 0.3, 0.0): (0.5466, 0.9996),
    (20, 0.0, 0.4): (0.0704, 0.9118),
    (20, 0.0, -0.4): (0.626, 0.9998),
}
ERRORS: dict[str, Callable[[Floats], Floats]] = {
    "slope 0.7": slope,
    "slope 1.4": flat,
    "log odds + 0.3": offset,
    "local, - 0.8 above 0.4": local,
    "waves of 0.6": waves,
}


def cusum(steps: Floats, bound: float) -> int | None:
    """Return after how many steps their sum since its lowest point first is at the bound."""
    sums = steps.cumsum()
    above = sums - np.minimum.accumulate(np.append(0.0, sums[:-1]))
    return int(np.argmax(above >= bound)) + 1 if above.max() >= bound else None


def delays(error: str, late: int, seed: int, *, peer: bool) -> list[float]:
    """Return rows from the change to the alarm: monitor, detector, CUSUM and the peer."""
    rng = np.random.default_rng([seed, late, *error.encode()])
    n = late + MOST
    probs = rng.beta(2, 5, n)
    z = np.log(probs) - np.log1p(-probs)
    right, wrong = (1.0 / (1.0 + np.exp(-one)) for one in (z, ERRORS[error](z)))
    happened = (rng.random(n) < np.where(np.arange(n) < late, right, wrong)).astype(int)
    alarms = [
        ct.monitor(**options).update(probs, happened).alarm_after
        for options in ({"level": 0.05}, {"level": 1e-5, "restart": True})
    ]
    gain = np.where(happened == 1, wrong / probs, (1.0 - wrong) / (1.0 - probs))
    found = []
    for after in (*alarms, cusum(np.log(gain), math.log(1e5))):
        # Batches are looked at, as the peer's are.
        batch = math.inf if after is None else math.ceil(after / BATCH) * BATCH - late
        found.append(batch if batch > 0 else math.nan)
    if peer:
        from probcal.monitor import CalibrationMonitor

        other = CalibrationMonitor(alpha=0.05)
        after = math.inf
        for stop in range(BATCH, n + 1, BATCH):
            rows = slice(stop - BATCH, stop)
            other.update(happened[rows].astype(float), probs[rows], label=str(stop))
            if other.report().alarm_at is not None:
                after = stop - late
                break
        found.append(after if after > 0 else math.nan)
    return found


# ---- dates --------------------------------------------------------------------------------------


def dated(error: str, m: int, late: int, seed: int, *, restart: bool) -> list[float]:
    """Return the row named at an alarm less the true one, the range less it, and that of a CUSUM.

    The CUSUM is of residuals, and lowest at the row it names; NaN where there is no alarm, or a
    false one.
    """
    rng = np.random.default_rng([seed, late, m, *error.encode()])
    n, (what, size) = late + DATED, CHANGES[error]
    wrong = np.arange(n) >= late
    if m:
        probs = rng.dirichlet(np.full(m, 0.3), n) if m > 2 else rng.beta(2, 5, (n, 1))
        probs = np.column_stack([1.0 - probs, probs]) if m == 2 else probs.clip(1e-6, 1.0)
        logs = np.log(probs / probs.sum(axis=1, keepdims=True))
        true = logs / np.where(wrong, size, 1.0)[:, None] if what == "temperature" else logs.copy()
        true[:, -1] += wrong * size * (what == "shift")
        true = np.exp(true - logsumexp(true, axis=1, keepdims=True))
        probs = np.exp(logs)
        labels = (rng.random(n)[:, None] > true.cumsum(axis=1)[:, :-1]).sum(axis=1)
        rows: Any = ct.Predictions(probs, labels, classes=range(m))
        is_top = labels == probs.argmax(axis=1)
        residual = labels == m - 1 if what == "shift" else ~is_top
        residual = residual - (probs[:, -1] if what == "shift" else 1.0 - probs.max(axis=1))
    else:
        mean, z = rng.normal(size=(2, n))
        z = z + size * wrong if what == "location" else z * np.where(wrong, size, 1.0)
        rows = ct.Forecasts(mean + z, mean=mean, scale=1.0)
        residual = z if what == "location" else z * z - 1.0
    options: Any = {"level": 1e-5, "restart": True} if restart else {"level": 0.05}
    after = ct.monitor(**options).update(rows).alarm_after or 0
    if after <= late:
        return [math.nan] * 4
    seen = min(n, math.ceil(after / BATCH) * BATCH)
    named = ct.monitor(**options).update(rows.subset(np.arange(seen))).since()
    lowest = int(np.argmin(np.append(0.0, np.cumsum(residual[:seen]))))
    return [float(row - late) for row in (*named, lowest)]


def dates(kept: Kept, count: int) -> str:
    """Return the section of the page on the rows that are named."""
    lines = []
    for m, errors in DATES.items():
        for error in errors:
            for late in (500, 2000, 10_000):
                columns = []
                for restart in (False, True):
                    found = np.array(kept.each(count, dated, error, m, late, restart=restart))
                    found = found[~np.isnan(found[:, 0])]
                    row, low, high, lowest = found.T
                    holds = 100 * np.mean((low <= 0) & (high >= 0))
                    columns += [spread(row), f"{holds:.0f}", f"{np.median(high - low):,.0f}"]
                columns.append(spread(lowest))
                lines.append(f"| {m or 'numbers'} | {error} | {late:,} | {' | '.join(columns)} |")
    return f"""## The row that is named

Predictions from beta(2, 5), of ten classes from a Dirichlet distribution with parameters 0.3, and
normal forecasts of numbers, right before the change and wrong for up to {DATED:,} rows after it. At
the alarm, looked at every {BATCH} rows: the row named less the true one, 5 %, median and 95 % of
{count} streams, those with a false alarm or none left out; the percentage whose range holds the
true row; and the median width of that range. Last, what a user has who looks, at the alarm of the
detector, for the row at which the sum of residuals was lowest: of the events, of their spread, or
of whether the predicted class is wrong.

| m | error | right before | monitor | holds | width | detector | holds | width | residuals |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|
{chr(10).join(lines)}

A change of the log odds by 0.6 is dated to a few hundred rows, a weak one that is found after
thousands of rows only to a thousand or more: the range says so. It misses most where the error is
so weak that few streams have an alarm at all, those in which chance helped. The sum of residuals
wanders as far in good times as after the change, and the longer, the farther.
"""


def spread(values: Floats) -> str:
    """Write 5 %, median and 95 % of differences of rows."""
    return " / ".join(f"{value:z,.0f}" for value in np.quantile(values, [0.05, 0.5, 0.95]))


def ranked(members: int, bias: float, dispersion: float, seed: int) -> bool:
    """Tell whether there is an alarm about the ranks of outcomes in ensembles, as epit draws them.

    The predictions are that each of the ranks is as probable as the others.
    """
    rng = np.random.default_rng([seed, members, int(100 * bias) + 200, int(100 * dispersion) + 200])
    outcome = rng.standard_normal((RANKS, 1))
    spread = math.sqrt(1.0 + dispersion)
    ranks = (bias + spread * rng.standard_normal((RANKS, members)) < outcome).sum(axis=1)
    probs = np.full((RANKS, members + 1), 1.0 / (members + 1))
    return ct.monitor(classes=range(members + 1)).update(probs, ranks).alarm()


def delivered(times: int, seed: int) -> bool:
    """Tell whether there is an alarm where the model is right and each day is counted often."""
    rng, watch = np.random.default_rng([seed, 3]), ct.monitor()
    for _ in range(DAYS):
        p = rng.beta(2, 5, DAY)
        happened = (rng.random(DAY) < p).astype(int)
        for _ in range(times):
            watch.update(p, happened, again=True)
    return watch.alarm()


def rounded(decimals: int, n: int, seed: int) -> bool:
    """Tell whether there is an alarm where the model is right and its predictions are rounded."""
    rng = np.random.default_rng([seed, 7])
    p = rng.beta(0.5, 20, n)
    happened = (rng.random(n) < p).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.DegenerateDataWarning)  # which says that it may
        return ct.monitor().update(np.round(p, decimals), happened).alarm()


# ---- the page -----------------------------------------------------------------------------------


def share(happened: NDArray[np.bool_]) -> str:
    """Write the percentage of streams with its standard error."""
    p = float(np.mean(happened))
    return f"{100 * p:.1f} ({100 * math.sqrt(p * (1 - p) / len(happened)):.1f})"


def mean(values: Floats | list[float]) -> str:
    """Write a mean with its standard error."""
    return f"{np.mean(values):,.0f} ({np.std(values, ddof=1) / math.sqrt(len(values)):,.0f})"


def behind(found: Floats) -> Floats:
    """Return by how many rows the peer was later; streams without an alarm count with their rows.

    Streams on which one of the two raised a false alarm before the change are left out.
    """
    pairs = np.minimum(found[:, [0, 3]], MOST)
    return (pairs[:, 1] - pairs[:, 0])[~np.isnan(pairs).any(axis=1)]


def middle(values: Floats) -> str:
    """Write the median and the ninth decile; streams without an alarm count as infinite."""
    kept = values[~np.isnan(values)]
    ends = [float(np.quantile(kept, q, method="higher")) for q in (0.5, 0.9)]
    return " / ".join(f"{end:,.0f}" if math.isfinite(end) else f"> {MOST:,}" for end in ends)


class Kept:
    """Rows of the tables that are done, in a file: what was asked for, and what was found.

    Parameters
    ----------
    file : Path or None
        A line of JSON for each row; none keeps nothing.
    jobs : int
        Processes.
    """

    def __init__(self, file: Path | None, jobs: int) -> None:
        self.file, self.run = file, joblib.Parallel(n_jobs=jobs)
        lines = file.read_text("utf-8").splitlines() if file and file.exists() else []
        self.done = dict(json.loads(line) for line in lines)

    def each(self, count: int, function: Callable[..., Any], *given: Any, **options: Any) -> Any:
        """Call a function with each of `count` seeds, or read what it returned before."""
        key = json.dumps([count, function.__name__, *given, options])
        if key not in self.done:
            job = joblib.delayed(function)
            found = self.run(job(*given, seed, **options) for seed in range(count))
            self.done[key] = found
            if self.file:
                with self.file.open("a", encoding="utf-8") as kept:
                    kept.write(json.dumps([key, found]) + "\n")
        return self.done[key]


def main() -> None:
    """Run the studies and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--changes", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--dates", action="store_true")
    asked = parser.parse_args()
    kept = Kept(asked.keep, asked.jobs)
    named = dates(kept, asked.changes)
    if asked.dates:
        old = re.compile(r"## The row that is named.*?(?=## Ranks)", re.DOTALL)
        PAGE.write_text(old.sub(f"{named}\n", PAGE.read_text("utf-8")), encoding="utf-8")
        return
    changed, sooner = [], []
    for late in (0, LATE):
        for error in ERRORS:
            found = np.array(kept.each(asked.changes, delays, error, late, peer=asked.peer))
            columns = [middle(column) for column in found.T]
            if asked.peer:
                sooner.append(behind(found))
                columns.append(mean(sooner[-1]))
            changed.append(f"| {error} | {late:,} | {' | '.join(columns)} |")
    if asked.peer:
        changed.append(f"| all | | | | | | {mean(np.concatenate(sooner))} |")
    alarms, covered = [], []
    for m in CLASSES:
        found = kept.each(asked.streams, false_alarm, m, asked.rows, restart=False)
        shares = " | ".join(share(np.array(found) <= level) for level in LEVELS)
        after = kept.each(asked.streams, false_alarm, m, asked.rows, restart=True)
        alarms.append(f"| {m} | {shares} | {mean(after)} |")
        missed = np.array(kept.each(asked.streams, misses, m, asked.rows))
        covered.append(f"| {m} | {' | '.join(share(column) for column in missed.T)} |")
    beside = []
    for (members, bias, dispersion), theirs in EPIT.items():
        found = np.array(kept.each(asked.streams, ranked, members, bias, dispersion))
        columns = [f"{100 * value:.1f}" for value in theirs] + [share(found)]
        beside.append(f"| {members + 1} | {bias:g} | {dispersion:g} | {' | '.join(columns)} |")
    often = [share(np.array(kept.each(asked.streams, delivered, k))) for k in (1, 2, 3)]
    coarse = [share(np.array(kept.each(asked.streams, rounded, k, asked.rows))) for k in DECIMALS]
    given = (alarms, covered, changed, beside, [" | ".join([*often, *coarse])], [named])
    PAGE.write_text(page(asked, *given), encoding="utf-8")


def page(asked: argparse.Namespace, *tables: list[str]) -> str:
    """Return the text of the page."""
    alarms, covered, changed, beside, broken, named = tables
    peer = " probcal | probcal later by |" if asked.peer else ""
    rule = "---:|---:|" if asked.peer else ""
    option = " --peer" if asked.peer else ""
    same = PEER_IN_WORDS if asked.peer else ""
    return f"""# Monitoring: false alarms and delays

How often does {{py:obj}}`caltest.monitor` raise a false alarm, do its intervals hold at all times,
how soon does it find an error, and which row does it name?
`python -P docs/studies/monitoring.py --streams {asked.streams} --changes {asked.changes}{option}`
writes this page. Standard errors are in parentheses.

## False alarms

{asked.streams:,} streams of {asked.rows:,} rows, m classes, predictions right; their sharpness and
mean depend on the outcomes of the {BATCH} rows before. The e-value is looked at after each row.
Percentages of streams that ever raised an alarm; last, the mean number of rows until a false alarm
of the detector (`restart=True`) at level 0.001, which is at least 1000: a stream that raised none
counts with its length.

| m | level 0.1 | level 0.05 | level 0.01 | detector: rows until an alarm |
|---:|---:|---:|---:|---:|
{chr(10).join(alarms)}

## Rows that are counted twice, and rounded

Percentages of {asked.streams:,} streams that ever raised an alarm at level 0.05, with predictions
that are right. First {DAYS} days of {DAY} rows from beta(2, 5), each of which is counted once,
twice and three times (`again=True`; without it a batch that comes again is refused). Then
{asked.rows:,} rows from beta(0.5, 20) as they are, and rounded to three and to two decimals.

| once | twice | three times | not rounded | three decimals | two decimals |
|---:|---:|---:|---:|---:|---:|
| {broken[0]} |

## Confidence sequences

The predictions of the first table, with labels of temperature {TEMPERATURE}. A look after each row:
an interval misses the truth where the e-process that it comes from is 1 / level at the truth, which
is cheaper to compute than the interval. Percentages of streams on which the truth was outside after
any row, at level {LEVEL}: of the accuracy less the mean confidence, of the frequency of the last
class less its mean probability, of the temperature.

| m | confidence | mean | temperature |
|---:|---:|---:|---:|
{chr(10).join(covered)}

## Delays

Two classes, predictions from beta(2, 5), wrong from the first row or after {LATE:,} that were
right, and looked at every {BATCH} rows. Rows from the change to the alarm, median / ninth decile of
{asked.changes} streams: of the monitor at level 0.05, of the detector at level 10^-5 (at least
100,000 rows between false alarms); of the CUSUM of the likelihood ratio of this very error, which
only those who know the error can take, with the same guarantee{same}.

| error | right before | monitor | detector | CUSUM |{peer}
|---|---:|---:|---:|---:|{rule}
{chr(10).join(changed)}

A slope or a shift is found no later than by that CUSUM, since bets on them are there from the first
row; the shape of the other two errors has to be learned.

{named[0]}
## Ranks beside epit

The R package epit (Arnold, Henzi and Ziegel 2023) watches ranks of outcomes in ensembles, which are
uniform if the ensemble is right; the monitor does so with m classes of equal probabilities.
Ensembles of m - 1 normal members with a bias and an excess of variance, {RANKS} rows, outcomes
standard normal. Percentages of streams that ever raised an alarm at level 0.05: of epit's e-values
"empirical" and "betabinom" as its repository stores them for 5,000 streams
(`replication_material/simulation_results.rda`), and of the monitor for {asked.streams:,} streams.

| m | bias | dispersion | epit, empirical | epit, beta-binomial | monitor |
|---:|---:|---:|---:|---:|---:|
{chr(10).join(beside)}

With equal probabilities all bets of the monitor are on how frequent each rank is. It finds the
errors more often than "empirical", which knows no shape of them either, and less often than the
beta-binomial distribution, which is nearly their shape.
"""


if __name__ == "__main__":
    main()
