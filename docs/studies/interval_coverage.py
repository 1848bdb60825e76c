"""Coverage of every confidence interval: simulates and writes docs/studies/interval_coverage.md.

    python -P docs/studies/interval_coverage.py [--repetitions 400] [--seconds 20] [--jobs 2]
        [--keep FILE]

The share of simulated data sets whose 95 % interval holds the true value, first for rare events,
then for `M1` (calibrated) and `M2` of Widmann et al. (2019), for labels drawn from the predictions
at temperature 1.2, and for rating grades. With --keep, what FILE holds is not run again; --seconds
bounds the CPU time of each entry, after 50 data sets.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import joblib
import numpy as np
from scipy import special

import caltest as ct
from caltest.htests import REGISTRY as TESTS
from caltest.intervals import choose
from caltest.measures import REGISTRY as MEASURES
from caltest.measures import Measure

LEVEL = 0.95
N_RESAMPLES = 199
SIZES = (50, 250, 1000)
FEWEST = 50  # data sets, however long they take
TRUTH = 300_000  # rows of the sample that stands for the population
PAGE = Path(__file__).with_suffix(".md")
# Mean total variation distance of the predictions, and SKCE of M2 with it: shared/reference.
BANDWIDTH = {2: 0.4889275982237544, 10: 0.8274012122141459}
SKCE_OF_M2 = {2: 0.1016853, 10: 0.0893735}
PD, RATE, CORRELATION = 0.05, 0.08, 0.12
MODELS = (("M1", 0.0), ("T1.2", 0.0), ("M2", 0.1), ("M2", 0.5))
KERNELS = ("skce", "skce-linear", "skce-block", "kce")
BINARY = (
    "mmce",
    "ucme",
    "ece",
    "mce",
    "debiased-ece",
    "ks",
    "kuiper",
    "smooth-ece",
    "ici",
    "e50",
    "e90",
    "emax",
    "corp",
    "unreliability",
    "ece-lower-bound",
    "overconfidence",
    "underconfidence",
    "brier",
    "log-loss",
    "spherical",
    "mean-calibration",
    "calibration-in-the-large",
    "calibration-slope",
    "expected-observed-ratio",
)
MANY = ("ucme", "classwise-ece", "brier", "log-loss", "spherical")
CONFIDENCE = ("ece", "mce", "debiased-ece", "ks", "smooth-ece", "mmce", "ici", "corp")
SLOW = ("smooth-ece", "ici", "e50", "e90", "emax", "unreliability")
RECALIBRATIONS = ("calibration-in-the-large", "calibration-slope")
GRADES = ("binomial", "jeffreys", "normal")
RARE_SIZES = (30, 100, 500)
RARE = (
    "skce",
    "kce",
    "mmce",
    "skce-block",
    "ece",
    "mce",
    "ks",
    "debiased-ece",
    "corp",
    "unreliability",
    "ici",
    "brier",
    "log-loss",
    "spherical",
    "mean-calibration",
    "expected-observed-ratio",
    "calibration-slope",
    "calibration-in-the-large",
)
GROUP, IN_GROUP, OF_GROUP = 0.05, 0.1, 0.5  # share, prediction and true rate of a wrong group
WRONG = "wrong group"
RARE_MODELS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "beta(1, 60)": lambda rng, n: rng.beta(1, 60, n),
    "PD .1 to .5 %": lambda rng, n: np.exp(rng.uniform(np.log(0.001), np.log(0.005), n)),
    "beta(.1, .1)": lambda rng, n: rng.beta(0.1, 0.1, n),
    "network": lambda rng, n: rng.beta(60, 1, n),
    WRONG: lambda rng, n: np.where(rng.random(n) < GROUP, IN_GROUP, rng.beta(1, 60, n)),
}
RARE_KERNEL = 0.05  # bandwidth


@dataclass(frozen=True)
class Cell:
    """One row of the table; `options` are those of the measure."""

    test: str
    model: str
    m: int
    lens: str = "strong"
    alpha: float = 1.0
    pi: float = 0.0
    options: dict = field(default_factory=dict, hash=False)

    @property
    def words(self) -> str:
        """The model with its share of labels that ignore the prediction."""
        return f"{self.model}, pi = {self.pi:g}" if self.model == "M2" else self.model

    @property
    def measure(self) -> Measure:
        """The measure of the test, or the one with that key."""
        if self.test in TESTS:
            return TESTS[self.test].with_options(self.options)
        return MEASURES[self.test](**self.options)


@dataclass(frozen=True)
class Entry:
    """Coverage for one n: shares below and above the true value, median length, numbers of sets."""

    cell: str
    n: int
    true: float
    below: float
    above: float
    length: float
    sets: int
    without: int
    earlier: bool = False  # of the intervals as they were before they agreed with the test
    counted: bool = True  # whether the number of data sets is known

    @property
    def coverage(self) -> float:
        """The share of intervals that hold the true value."""
        return 1.0 - self.below - self.above


def simulate(cell: Cell, n: int, seed: int) -> ct.Predictions:
    """Draw a data set; "T1.2" draws labels from the predictions at temperature 1.2."""
    if cell.model in {"grade", "factor"}:
        return _grade(cell.model, n, seed)
    if cell.model in RARE_MODELS:
        return _rare(cell.model, n, seed)
    name = "M2" if cell.model == "M2" else "M1"
    pi = cell.pi if cell.model == "M2" else None
    shown = ct.datasets.generative_model(name, n=n, m=cell.m, alpha=cell.alpha, pi=pi, rng=seed)
    if cell.model != "T1.2":
        return shown
    tempered = shown.probs ** (1 / 1.2)
    tempered /= tempered.sum(axis=1, keepdims=True)
    labels = ct.Predictions(tempered, shown.labels).simulate(seed + 1_000_000).labels
    return ct.Predictions(shown.probs, labels)


def _rare(model: str, n: int, seed: int) -> ct.Predictions:
    """Draw rare events; only a wrong group has another rate than predicted."""
    rng = np.random.default_rng(seed)
    event = RARE_MODELS[model](rng, n)
    return ct.Predictions(event, (rng.random(n) < _rate(model, event)).astype(int), classes=[0, 1])


def _rate(model: str, event: np.ndarray) -> np.ndarray:
    """Return the true rates: those of the group, which alone has exactly that prediction."""
    return np.where(event == IN_GROUP, OF_GROUP, event) if model == WRONG else event


def _rare_truth(cell: Cell) -> float | None:
    """Return the true value of rare events where it is known; None where a sample tells it."""
    measure = cell.measure
    if cell.model != WRONG and measure.offers("calibrated_value"):
        constant = cell.test not in {"brier", "log-loss", "spherical"}
        return float(measure.calibrated_value(simulate(cell, 100, 0))) if constant else None
    if cell.model != WRONG:
        return 0.0
    if cell.test not in (*KERNELS, "mmce"):
        return None
    # Only pairs within the group have a mean product of residuals: it has one prediction.
    square = GROUP**2 * (OF_GROUP - IN_GROUP) ** 2 * (1.0 if cell.test == "mmce" else 2.0)
    return float(np.sqrt(square)) if cell.test in {"kce", "mmce"} else square


def _grade(model: str, n: int, seed: int) -> ct.Predictions:
    """Draw defaults of a grade: independent, or with a common normal factor."""
    rng = np.random.default_rng(seed)
    rate = RATE
    if model == "factor":
        factor = np.sqrt(CORRELATION) * rng.standard_normal()
        rate = special.ndtr((special.ndtri(PD) + factor) / np.sqrt(1.0 - CORRELATION))
    return ct.Predictions(np.full(n, PD), (rng.random(n) < rate).astype(int))


def truth(cell: Cell) -> float:
    """Return the true value: in closed form for kernels, else that of a large sample."""
    if cell.model in {"grade", "factor"}:
        return RATE if cell.model == "grade" else PD
    if cell.model in RARE_MODELS and (known := _rare_truth(cell)) is not None:
        return known
    is_error = cell.measure.alternative == "greater" and cell.test not in RECALIBRATIONS
    if cell.model == "M1" and is_error:
        return 0.0
    if cell.test in KERNELS:
        square = SKCE_OF_M2[cell.m] * (cell.pi / 0.5) ** 2
        return float(np.sqrt(square)) if cell.test == "kce" else square
    data = simulate(cell, TRUTH, 10**7)
    result = ct.test_calibration(data, test=cell.measure, lens=cell.lens, n_resamples=1, rng=1)
    return float(result.estimate)


def study(cell: Cell, sizes: tuple[int, ...], repetitions: int, seconds: float) -> list[Entry]:
    """Simulate a cell for some n."""
    value = truth(cell)
    return [covered(cell, n, value, repetitions, seconds) for n in sizes]


def covered(cell: Cell, n: int, value: float, repetitions: int, seconds: float) -> Entry:
    """Count the intervals that hold the true value."""
    found, without = [], 0
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.DegenerateDataWarning)
        for seed in range(repetitions):
            if seed >= FEWEST and time.process_time() - start > seconds:
                break
            data = simulate(cell, n, seed)
            try:
                result = ct.test_calibration(
                    data,
                    test=cell.measure,
                    lens=cell.lens,
                    n_resamples=N_RESAMPLES,
                    rng=seed,
                    n_jobs=1,
                )
                interval = result.confidence_interval(LEVEL, n_resamples=N_RESAMPLES, n_jobs=1)
            except ct.NotApplicable:
                without += 1
                continue
            length = interval.high - interval.low
            found.append((interval.high < value, interval.low > value, length))
    means = (0.0, 0.0, 0.0)
    if found:
        below, above, lengths = np.array(found).T
        means = (float(below.mean()), float(above.mean()), float(np.median(lengths)))
    return Entry(name_of(cell), n, value, *means, len(found), without)


def name_of(cell: Cell) -> str:
    """Return what tells a cell from the others."""
    return f"{cell.test} {cell.lens} {cell.m} {cell.words}"


def cells() -> list[Cell]:
    """List the rows of the table."""
    kernels = {m: {"kernel": ct.kernels.Exponential(nu)} for m, nu in BANDWIDTH.items()}
    blocks = {"skce-block": {"block_size": 10}}
    sharp = [
        Cell(test, model, m, alpha=0.1, pi=pi, options=kernels[m] | blocks.get(test, {}))
        for test, m, (model, pi) in itertools.product(KERNELS, (2, 10), MODELS)
        if model != "T1.2"
    ]
    wide = [
        Cell(test, model, m, lens, pi=pi, options=_at(m) if test == "ucme" else {})
        for tests, m, lens in ((BINARY, 2, "strong"), (MANY, 10, "strong"))
        for test, (model, pi) in itertools.product(tests, MODELS)
    ]
    wide += [
        Cell(test, model, 10, "confidence", pi=pi)
        for test, (model, pi) in itertools.product(CONFIDENCE, MODELS)
    ]
    grades = [Cell(test, "grade", 2) for test in GRADES]
    options = {"correlation": CORRELATION}
    return [*sharp, *wide, *grades, Cell("vasicek", "factor", 2, options=options)]


def rare_cells() -> list[Cell]:
    """List the rows of the first table."""
    kernel = {"kernel": ct.kernels.Exponential(RARE_KERNEL)}
    own = dict.fromkeys(KERNELS, kernel) | {"skce-block": kernel | {"block_size": 10}}
    return [Cell(test, name, 2, options=own.get(test, {})) for test in RARE for name in RARE_MODELS]


def _at(m: int) -> dict[str, object]:
    """Fix the test locations and the bandwidth of the UCME."""
    points = ct.datasets.generative_model("M1", n=5, m=m, alpha=1.0, rng=0)
    return {"locations": (points.probs, points.labels), "kernel": ct.kernels.Exponential(0.5)}


def entries(repetitions: int, seconds: float, jobs: int, keep: Path | None) -> list[Entry]:
    """Simulate all cells for every n, but for those that are kept; what takes long comes last."""
    found = []
    if keep is not None and keep.exists():
        found = [Entry(**json.loads(line)) for line in keep.read_text().splitlines()]
    known = {(entry.cell, entry.n) for entry in found}
    missing = [
        (cell, sizes)
        for some, every in ((rare_cells(), RARE_SIZES), (cells(), SIZES))
        for cell in sorted(some, key=lambda cell: cell.test in SLOW)
        if (sizes := tuple(n for n in every if (name_of(cell), n) not in known))
    ]
    tasks = (joblib.delayed(study)(*one, repetitions, seconds) for one in missing)
    for some in joblib.Parallel(jobs, return_as="generator_unordered")(tasks):
        found += some
        lines = [json.dumps(asdict(entry)) for entry in some]
        print(*lines, sep="\n", flush=True)  # noqa: T201 - progress
        if keep is not None:
            with keep.open("a") as file:
                file.write("".join(f"{line}\n" for line in lines))
    return found


# ---- the page -----------------------------------------------------------------------------------

HEADER = """# Coverage of the confidence intervals

The entries are the {{term}}`coverage` in % and, in brackets, the median length of
`result.confidence_interval(0.95)` over simulated data sets, with the default method of each test, B
= {b} resamples and an exact test of as many. The last column has the numbers of data sets with an
interval; {least}+ stands for 300, or fewer where they take long, but at least {least}. The standard
error of a coverage of 95 % is {error:.1f} points for 300 data sets and {worst:.1f} for {least}.

A dagger (†) marks a coverage more than three standard errors below 95 %: the interval is too short
there. More than 95 is conservative, the price of keeping the coverage where the error is small. "-"
has not been simulated, or has no interval.

## Few events

Two classes, labels drawn from the predictions, so that an error is 0, except for the wrong group.
By construction an interval excludes the value of calibration only where the exact test rejects it.

- beta(1, 60): 1.6 % of events on average, so that 30 rows have none in three data sets of five.
- PD .1 to .5 %: probabilities of default that are even in their logarithm.
- beta(.1, .1): most predictions are near 0 or 1.
- network: beta(60, 1), a confident model whose predicted class is right in 98.4 %.
- wrong group: beta(1, 60), but {group:.0f} % of the rows are predicted {predicted:g} and have a
  rate of {rate_of:g}.

The kernel of skce, kce and skce-block is the exponential with bandwidth {width:g} (blocks of 10).

"""

SECOND = """
## Many events

n = 50, 250 and 1000 rows. M1 is calibrated: the true error is 0. In M2 (Widmann et al. 2019) a
share pi of the labels is the first class. In T1.2 labels are drawn from the predictions at
temperature 1.2. alpha is 0.1 for the tests skce and kce, whose kernel is the exponential with the
mean distance as bandwidth, so that the true value is known (skce-block: blocks of 10); it is 1 for
the others, whose true value is that of {truth:,} rows. The ucme has fixed test locations. "grade":
PD {pd:g}, and independent defaults at a rate of {rate:g}; "factor": the one-factor model with that
PD and correlation {correlation:g}.

‡ marks an entry of the intervals as they were before they agreed with the exact test and knew the
events that few rows lack, which has only made them longer; its length is a mean.

Names that are not keys of tests (`caltest list tests`) are measures, which
`test_calibration(..., test=measure)` takes.

"""

NOTES = """
What the table shows:

- The plug-in ECE is biased upwards, and resampled rows add their own bias: in one setting (15 bins,
  two classes, n = 1000, log odds 0.9 times those predicted) percentile and bias-corrected intervals
  cover the true ECE in 0 % of 300 data sets, the basic bootstrap in 75 %. Hence the method
  "convex", which rests on the triangle inequality for its lower end and on Jensen's inequality for
  its upper end, and is conservative for every error.
- The bootstrap of a supremum (KS, MCE) is not consistent at 0 and where two places attain it;
  "convex" does not need it to be.
- Rare and large errors (M2 with pi = 0.1 and two classes, n = 50: five rows) may hardly occur in
  the data. The upper end of the "u-statistic" adds as many rows with the largest possible error as
  could have been missed; without them the coverage there is 85 %.
- A pair of rows is informative about such errors only where both rows err: where few blocks carry
  the error, "block" takes all pairs, whose mean estimates the same. Intervals from blocks alone
  cover the SKCE in 72 %.
- Scores are skewed. In 1000 data sets of n = 50, M2 with pi = 0.5, BCa covers the log loss in 91.3
  %, Student's interval in 93.2 % and the bootstrap of Student's t, "studentized", in 93.5 %. Where
  a few events decide, all three fail, and "unseen-events" adds a row not yet seen: before it, the
  interval of the Brier score covered 38 % and 79 % for beta(1, 60) with n = 30 and 100.
- Emax and e90 of fewer than 100 rows with large errors: resampled rows vary too little at the ends
  of the loess. The interval is too short there and carries a note.
- The MCE is that of the worst bin. The interval reaches as far as the few rows of a bin allow, and
  a bin without rows is unknown: with n = 30 the bin of the wrong group has none in 13 % of 500 data
  sets, and no interval short of all errors covers its error there. Where it has rows the interval
  covers in 99.5 % (standard error 0.3), and the largest error of the occupied bins in 99.8 %.
- The ICI and the lower bound of the ECE are never below the mean gap, and their upper ends no lower
  than that of the mean gap by "unseen-events": without it they cover the wrong group in 91.2 %
  (ICI, n = 30, 800 data sets) and 87.2 % (lower bound, n = 100, 250 data sets), with it in 99.1 and
  99.2 %. Nor are the ECE, the classwise and the smooth ECE, KS and Kuiper: of 1.1 % predicted and
  3.4 % true, log odds 1.2 too low, a third of the data sets of n = 30 have no event, and without it
  they cover in 59 to 62 % (n = 50: 85 %), with it in all of 50.
- Other errors of the wrong group with n = 30, 100 and 500, from 50 to 250 data sets each: Kuiper's
  is covered in 96, 98 and 98 %, the classwise ECE in 96, 96 and 98 %, the smooth ECE in 97, 94 and
  98 %, the UCME in 100, 100 and 94 %, E50 and E90 in 97 to 100 %, the lower bound of the ECE in
  100, 99 and 97 %. Emax is that of the most extreme prediction: in the population it lies where a
  sample has no rows, and is covered in 35, 17 and 4 %.
- Over- and underconfidence are means over the wrong or the right predictions alone. "mean-of-few"
  adds a row not yet seen at the worst place: resampled rows alone ("bca") cover the overconfidence
  in 47, 78 and 93 % in the wrong group, where 1.2, 4 and 20 of 30, 100 and 500 predictions are
  wrong, with it in 94, 99 and 99 % (1000 data sets).
- "studentized" covers calibration in the large in 91 % for M2 with pi = 0.1 and n = 1000.
- The slope and intercept: profile likelihood alone covers the intercept in 86 % for M2 with pi =
  0.5 and n = 50, where the line does not hold, and the sandwich alone the slope of beta(1, 60) in
  64 % with 1.7 events, 77 % with 4.2, 88 % with 8.3 and 92 % with 16.5 (1000 data sets, standard
  errors of 0.8 to 1.7 points). The wider of both covers 95 to 96 % there. In the wrong group, with
  four events and no line in the log odds, neither does (86 to 87 % with n = 30 and 100): all events
  may fall into the group. With fewer than twenty events of either kind the ends reach as far as an
  event not yet seen would allow, which covers it in 99 to 100 %. Labels without
  an event determine no slope, and are left out; so the data sets of n = 30 that are left are those
  with events, and more of them than expected.
- The upper ends of the debiased ECE, CORP and unreliability add what a cell of rows may hide by its
  exact binomial limits: without that they cover the wrong group in 52 to 74 % at n = 30. They are
  conservative for it, as those of the kernel errors are by rows with the largest error.
- The largest partial sum is skewed by the few events of a wrong group: resampled rows alone cover
  the KS of n = 500 in 90 %. Its upper end is at least that of "unseen-events" at the sum that is
  the largest.
- At the value of calibration the intervals cover nearly always: the lower end is 0 unless the exact
  test rejects, and then at most the error less the noise of redrawn labels.

Statistics that grow with n (Hosmer-Lemeshow, Pigeon-Heyse, Cox's likelihood ratio, CME, T-Cal,
Spiegelhalter's z, le Cessie-van Houwelingen, those of belt and band) do not estimate a quantity;
`confidence_interval` then says so and names a measure that does.

The size of the tolerance tests at their boundary is in [tolerance.md](tolerance.md).

`python -P docs/studies/interval_coverage.py` reproduces the table.
"""

RARE_HEAD = (
    "| test | method | model | true | n = 30 | n = 100 | n = 500 | data sets |\n"
    "|---|---|---|---:|---:|---:|---:|---|\n"
)
HEAD = (
    "| test | method | lens | m | model | true | n = 50 | n = 250 | n = 1000 | data sets |\n"
    "|---|---|---|---:|---|---:|---:|---:|---:|---|\n"
)


def page(found: list[Entry]) -> str:
    """Write the page."""
    header = HEADER.format(
        b=N_RESAMPLES,
        least=FEWEST,
        error=100 * np.sqrt(LEVEL * (1 - LEVEL) / 300),
        worst=100 * np.sqrt(LEVEL * (1 - LEVEL) / FEWEST),
        group=100 * GROUP,
        predicted=IN_GROUP,
        rate_of=OF_GROUP,
        width=RARE_KERNEL,
    )
    second = SECOND.format(truth=TRUTH, pd=PD, rate=RATE, correlation=CORRELATION)
    by_name = {(entry.cell, entry.n): entry for entry in found}
    rare = "".join(rows(by_name, rare_cells(), RARE_SIZES))
    return (
        header + RARE_HEAD + rare + second + HEAD + "".join(rows(by_name, cells(), SIZES)) + NOTES
    )


def rows(
    by_name: dict[tuple[str, int], Entry], some_cells: list[Cell], sizes: tuple[int, ...]
) -> Iterator[str]:
    """Format the rows of which something is known."""
    for cell in some_cells:
        some = [by_name.get((name_of(cell), n)) for n in sizes]
        known = [entry for entry in some if entry is not None]
        if not known:
            continue
        place = () if cell.model in RARE_MODELS else (cell.lens, str(cell.m))
        head = (cell.test, choose(cell.measure).key, *place, cell.words, f"{known[0].true:.3g}")
        yield "| " + " | ".join((*head, *map(shown, some), sets_of(some))) + " |\n"


def sets_of(some: list[Entry | None]) -> str:
    """Format the numbers of data sets with an interval, one for all where they are the same."""
    numbers = [
        "-" if one is None else str(one.sets) if one.counted else f"{FEWEST}+" for one in some
    ]
    return numbers[0] if len(set(numbers)) == 1 else ", ".join(numbers)


def shown(entry: Entry | None) -> str:
    """Format coverage and length, with a dagger where the interval is too short."""
    if entry is None or not entry.sets:
        return "-"
    limit = LEVEL - 3 * np.sqrt(LEVEL * (1 - LEVEL) / entry.sets)
    mark = " †" if entry.coverage < limit else ""
    mark += " ‡" if entry.earlier else ""
    return f"{100 * entry.coverage:.0f}{mark} ({entry.length:.2g})"


def main() -> None:
    """Run the study and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    found = entries(options.repetitions, options.seconds, options.jobs, options.keep)
    PAGE.write_text(page(found))


if __name__ == "__main__":
    main()
