"""Ordered classes and several labels: simulates and writes the tables beside this file.

    python -P docs/studies/ordinal.py [--repetitions 1000] [--jobs 2]

The text of the page stays; each table is written below the line that names it.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

import joblib
import numpy as np
from scipy import special

import caltest as ct
from caltest.measures.combined.context import ORDERED

LEVEL = 0.05
B = 199  # 0.05 x 200 is whole
SIZES = (8, 50, 500)
N = 300  # rows of the power
THRESHOLDS = np.array([-1.5, -0.5, 0.5, 1.5])
TESTS = ("default, ordinal", "default", "rps", "ordinal-hosmer-lemeshow")
PAGE = Path(__file__).with_suffix(".md")

# ---- ordered classes ----------------------------------------------------------------------------


def probs_of(log_odds: np.ndarray) -> np.ndarray:
    """Return the probabilities of the log odds of P(Y <= k)."""
    return np.diff(special.expit(log_odds), axis=1, prepend=0, append=1)


def swapped(p: np.ndarray) -> np.ndarray:
    """Exchange three quarters of what the third and the fourth class differ by."""
    out = p.copy()
    out[:, 2], out[:, 3] = (0.25 * p[:, j] + 0.75 * p[:, 5 - j] for j in (2, 3))
    return out


def truths(x: np.ndarray) -> dict[str, np.ndarray]:
    """Return what is true where a proportional-odds model predicts by x, by error."""
    log_odds = THRESHOLDS - x[:, None]
    slopes = THRESHOLDS - x[:, None] * np.array([1.35, 1.1, 0.9, 0.7])
    return {
        "calibrated": probs_of(log_odds),
        "all thresholds shifted by 0.35": probs_of(log_odds + 0.35),
        "one threshold shifted by 0.45": probs_of(log_odds + np.array([0, 0.45, 0, 0])),
        "slope 0.75": probs_of(0.75 * log_odds),
        "other slopes at each threshold": probs_of(np.maximum.accumulate(slopes, axis=1)),
        "neighbours swapped": swapped(probs_of(log_odds)),
        "curved": probs_of(log_odds - 0.2 * (np.square(x)[:, None] - 2.25)),
    }


ERRORS = [error for error in truths(np.zeros(1)) if error != "calibrated"]


def simulate(error: str, n: int, seed: int) -> ct.Predictions:
    """Draw predictions of five ordered classes, and labels."""
    rng = np.random.default_rng([seed, n])
    found = truths(1.5 * rng.normal(size=n))
    q = found[error]
    labels = (q.cumsum(axis=1)[:, :-1] < rng.random((n, 1))).sum(axis=1)
    return ct.Predictions(found["calibrated"], labels, ordinal=True)


def pvalues(error: str, n: int, seed: int, *, components: bool) -> dict[str, float]:
    """Return the p-values of the tests, and of the components of the ordinal default."""
    data = simulate(error, n, seed)
    draws = {"n_resamples": B, "rng": seed, "n_jobs": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.DegenerateDataWarning)
        first = ct.test_calibration(data, **draws)
        found = {TESTS[0]: first.pvalue}
        if components:
            found |= {row.test: row.pvalue for row in first.components}
            plain = ct.Predictions(data.probs, data.labels)
            found[TESTS[1]] = ct.test_calibration(plain, **draws).pvalue
        found |= {t: ct.test_calibration(data, test=t, **draws).pvalue for t in TESTS[2:]}
    return found


def rates(
    error: str, n: int, sets: int, jobs: int, *, components: bool = False
) -> dict[str, float]:
    """Return the rejections in % of each test."""
    task = joblib.delayed(pvalues)
    seeds = range(sets)
    found = joblib.Parallel(jobs)(task(error, n, seed, components=components) for seed in seeds)
    return {key: 100 * float(np.mean([one[key] <= LEVEL for one in found])) for key in found[0]}


def size_rows(sets: int, jobs: int) -> list[str]:
    """Format the sizes."""
    tests = (TESTS[0], *TESTS[2:])
    lines = [f"| n | {' | '.join(tests)} |", f"|--:|{'--:|' * len(tests)}"]
    for n in SIZES:
        found = rates("calibrated", n, sets, jobs)
        lines.append(f"| {n} | {' | '.join(f'{found[test]:.1f}' for test in tests)} |")
    return lines


def power_rows(sets: int, jobs: int) -> list[str]:
    """Format the power, with the best single component."""
    lines = [f"| error | {' | '.join(TESTS)} | best component |", f"|---|{'--:|' * len(TESTS)}---|"]
    for error in ERRORS:
        found = rates(error, N, sets, jobs, components=True)
        parts = {key: value for key, value in found.items() if key not in TESTS}
        best = max(parts, key=parts.__getitem__)
        numbers = " | ".join(f"{found[test]:.0f}" for test in TESTS)
        star = "*" * any(best == kind.key for kind in ORDERED)
        lines.append(f"| {error} | {numbers} | {parts[best]:.0f}, {best}{star} |")
    return lines


# ---- several labels -----------------------------------------------------------------------------

LABELS = 10
WORLDS = (  # rows, correlation of the labels, mean log odds, error
    (200, 0.95, -1.0, "none"),
    (200, 0.95, -4.0, "none"),
    (200, 0.0, -1.0, "none"),
    (50, 0.95, -1.0, "none"),
    (200, 0.95, -1.0, "all"),
    (200, 0.0, -1.0, "all"),
)
SHIFT = 0.35  # of the log odds, where all labels are off


def labelled(n: int, rho: float, centre: float, error: str, seed: int) -> ct.Predictions:
    """Draw predictions of labels, and labels that depend through a latent normal variable."""
    rng = np.random.default_rng([seed, n, int(100 * rho)])

    def normal() -> np.ndarray:
        shared, own = rng.normal(size=(n, 1)), rng.normal(size=(n, LABELS))
        return np.sqrt(rho) * shared + np.sqrt(1 - rho) * own

    x = centre + normal()
    truth = special.expit(x + (SHIFT if error == "all" else 0.0))
    return ct.Predictions.multilabel(special.expit(x), (special.ndtr(normal()) < truth).astype(int))


def adjusted(n: int, rho: float, centre: float, error: str, seed: int) -> np.ndarray:
    """Return the smallest adjusted p-value by three methods, and the p-value of all labels."""
    data = labelled(n, rho, centre, error, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ct.DegenerateDataWarning)
        table = ct.test_calibration(data, by=True, test="ks", n_resamples=B, rng=seed, n_jobs=1)
    p = [row.pvalue for row in table]
    return np.array([float(table.adjusted.min()), LABELS * min(p), table.omnibus[0].pvalue])


def label_rows(sets: int, jobs: int) -> list[str]:
    """Format how often a label is called wrong, and all labels together."""
    head = "| n | correlation | mean log odds | labels off | Holm | Bonferroni | all labels |"
    lines = [head, f"|{'--:|' * 7}"]
    for n, rho, centre, error in WORLDS:
        task = joblib.delayed(adjusted)
        found = joblib.Parallel(jobs)(task(n, rho, centre, error, seed) for seed in range(sets))
        numbers = " | ".join(f"{100 * x:.1f}" for x in (np.array(found) <= LEVEL).mean(axis=0))
        lines.append(f"| {n} | {rho:g} | {centre:g} | {error} | {numbers} |")
    return lines


# ---- the page -----------------------------------------------------------------------------------


def write(name: str, lines: Sequence[str]) -> None:
    """Put a table below the line that names it."""
    text = PAGE.read_text(encoding="utf-8")
    table = "\n".join(lines)
    found = re.sub(rf"(<!-- {name} -->\n)(\|.*\n)*", rf"\1{table}\n", text)
    PAGE.write_text(found, encoding="utf-8")


def main() -> None:
    """Simulate and write all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    write("size", size_rows(given.repetitions, given.jobs))
    write("power", power_rows(given.repetitions // 10, given.jobs))
    write("labels", label_rows(given.repetitions // 5, given.jobs))


if __name__ == "__main__":
    main()
