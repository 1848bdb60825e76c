"""Claims of Widmann et al. (2019) on tests: figure 2 and appendix J.2.4."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from paper_checks.check import FULL_ONLY, NO_DATA, Claim, Part, Setting
from paper_checks.report import markdown_table
from paper_checks.skce_estimates import PAPER_SETS, WIDTH, models_of
from paper_checks.skce_models import ALL, MODELS, N
from paper_checks.skce_simulation import LEVELS

Sample = NDArray[np.float64]
Key = tuple[str, int, str]

TESTED = (2, 10)  # class counts of the paper's figures of p-values
SUPREMUM = 1.95  # Kolmogorov-Smirnov, level 0.1 %
FIVE_PERCENT = 5  # index in LEVELS
FIGURE_2 = {
    "C": "ECE_uniform",
    "D_b": "SKCEb_median_distribution_free",
    "D_uq": "SKCEuq_median_distribution_free",
    "D_ul": "SKCEul_median_distribution_free",
    "A_uq": "SKCEuq_median_asymptotic",
    "A_l": "SKCEul_median_asymptotic",
}
OTHERS = {
    "C, data-dependent bins": "ECE_dynamic",
    **{
        f"{test}, mean bandwidth": name.replace("median", "mean")
        for test, name in FIGURE_2.items()
        if test != "C"
    },
}
NAMES = FIGURE_2 | OTHERS
EXACT = {
    "ECE, uniform bins": "ECE_uniform_exact",
    "ECE, data-dependent bins": "ECE_dynamic_exact",
    "SKCE_uq, median bandwidth": "SKCEuq_median_exact",
    "SKCE_uq, mean bandwidth": "SKCEuq_mean_exact",
}


def parts(tested: dict[Key, Sample], setting: Setting) -> list[Part]:
    """Claims on tests.

    Parameters
    ----------
    tested : dict
        P-values by model, number of classes and test.
    setting : Setting
        The setting.
    """
    figure = [(model, 10, test) for test in FIGURE_2 for model in MODELS]
    small = [(model, 2, test) for test in FIGURE_2 for model in MODELS]
    others = [(model, m, test) for m in TESTED for test in OTHERS for model in MODELS]
    drawn = dict.fromkeys((model, m) for model, m, _ in tested if model not in MODELS)
    appendix = [(*key, test) for key in drawn for test in NAMES]
    return [
        _errors(tested, setting, "Figure 2 (m = 10): empirical test error", figure),
        _errors(tested, setting, "Appendix J.2.4: the same for m = 2", small),
        _errors(tested, setting, "Appendix J.2.4: other bins, mean bandwidth", others),
        _errors(tested, setting, "Appendix J.2.4: other models", appendix),
        _statements(tested),
        _beside(tested),
    ]


def rejection(values: Sample) -> Sample:
    """Share of the p-values at or below each level."""
    return np.searchsorted(np.sort(values), LEVELS + 1e-12, side="right") / values.size


def _errors(tested: dict[Key, Sample], setting: Setting, title: str, keys: list[Key]) -> Part:
    path = setting.reference_file("paper_rejection_rates.csv")
    if path is None:
        return Part(title, [Claim(title, "curves", None, missing=NO_DATA)])
    if not keys:
        return Part(title, [Claim(title, "curves", None, missing=FULL_ONLY)])
    paper = _paper_rates(path)
    listed = []
    for model, m, test in keys:
        key = (model, m, NAMES[test])
        listed += _curve(key, test, tested[key], paper[key])
    text = f"{CURVES} {_squares(tested)}" if title.startswith("Figure") else ""
    return Part(title, listed, text, fold=not title.startswith("Figure"))


CURVES = (
    "The error at the 5 % level is the share of rejections of a calibrated model (M1) and of "
    "non-rejections of the others. The distance of two curves is the largest difference at the "
    "levels 0.01, 0.02, ..., 1; its tolerance is the Kolmogorov-Smirnov quantile at the level "
    "0.1 %. Each curve thus has two claims, and where both curves are 0 or 1 these are of little "
    "weight. Level 0 is left out: the paper's p-values by resampling can be 0, caltest's are "
    "(1 + k) / (1 + B), B = 199 (the paper: 1000)."
)


def _squares(tested: dict[Key, Sample]) -> str:
    """Say what the square of a negative estimate, as in the paper's code, does to the bounds."""
    largest = max(
        float(np.abs(rejection(sample) - rejection(tested[model, m, other])).max())
        for (model, m, name), sample in tested.items()
        for other in [name.replace("distribution_free", "squared_bound")]
        if other != name
    )
    return (
        "Where an estimate is negative the paper's code squares it in the bounds, and caltest's "
        f"p-value is 1; that changes no rate at these levels by more than {largest:.4f}."
    )


def _paper_rates(path: Path) -> dict[Key, Sample]:
    found: dict[Key, list[float]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for model in models_of(row):
                key = (model, int(row["m"]), row["test"])
                found.setdefault(key, []).append(float(row["rejection_rate"]))
    return {key: np.array(rates) for key, rates in found.items()}


def _curve(key: Key, test: str, sample: Sample, paper: Sample) -> list[Claim]:
    place = f"{key[0]}, m = {key[1]}"
    ours, inverse = rejection(sample), 1 / sample.size + 1 / PAPER_SETS
    at = FIVE_PERCENT
    calibrated = ALL[key[0]].pi == 0
    errors = (ours[at], paper[at]) if calibrated else (1 - ours[at], 1 - paper[at])
    common = (ours[at] * sample.size + paper[at] * PAPER_SETS) / (sample.size + PAPER_SETS)
    tolerance = WIDTH * math.sqrt(common * (1 - common) * inverse)
    reason = f"{WIDTH} standard errors, {sample.size} and {PAPER_SETS} data sets"
    distance = float(np.abs(ours - paper)[1:].max())
    return [
        Claim(
            place,
            f"{test}: error at the 5 % level",
            float(errors[1]),
            float(errors[0]),
            tolerance,
            reason,
        ),
        Claim(
            place,
            f"{test}: distance of the curves",
            0.0,
            distance,
            SUPREMUM * math.sqrt(inverse),
            "two-sample Kolmogorov-Smirnov, level 0.1 %",
        ),
    ]


def _statements(tested: dict[Key, Sample]) -> Part:
    """Statements of section 8.2."""

    def size(name: str, m: int = 10) -> float:
        return float(rejection(tested["M1", m, name])[FIVE_PERCENT])

    def misses(name: str) -> list[float]:
        return [
            float(1 - rejection(tested[model, 10, name])[FIVE_PERCENT]) for model in ("M2", "M3")
        ]

    bounds = [name for name in FIGURE_2.values() if name.endswith("distribution_free")]
    asymptotic = [FIGURE_2["A_uq"], FIGURE_2["A_l"]]
    n = tested["M1", 10, "ECE_uniform"].size
    band = WIDTH * math.sqrt(0.05 * 0.95 / n)
    sizes = [size(name) for name in asymptotic]
    missed = [value for name in bounds for value in misses(name)]
    growth = [[size(name, m) for m in TESTED] for name in ("ECE_uniform", "ECE_dynamic")]
    return Part(
        "Section 8.2 and 8.3: statements on the tests, at the 5 % level",
        [
            Claim(
                "section 8.2",
                "type II errors of D_b, D_uq, D_ul",
                "the distribution-free bounds have not much power",
                f"{min(missed):.3f} to {max(missed):.3f}",
                holds=float(np.median(missed)) > 0.5,
            ),
            Claim(
                "section 8.2",
                "type I errors of A_uq, A_l",
                "the empirical test error matches the level",
                ", ".join(f"{s:.4f}" for s in sizes),
                holds=all(abs(s - 0.05) < band for s in sizes),
                note="" if all(abs(s - 0.05) < band for s in sizes) else SMALL_SAMPLE,
            ),
            Claim(
                "section 8.2",
                "type I error of C, uniform bins",
                "consistency resampling rejects a calibrated model too often",
                f"{size('ECE_uniform'):.4f}",
                holds=size("ECE_uniform") > 0.05 + band,
            ),
            Claim(
                "section 8.3",
                "type I error of C for m = 2 and m = 10, both binnings",
                "it grows with the number of classes, less with data-dependent bins",
                "; ".join(f"{a:.3f}, {b:.3f}" for a, b in growth),
                holds=growth[0][1] - growth[0][0] > growth[1][1] - growth[1][0] > 0,
            ),
        ],
    )


SMALL_SAMPLE = (
    f'"Matches" is read as within {WIDTH} standard errors of 0.05; the limit laws are not exact at '
    f"n = {N}, and with 10^4 data sets that shows. The paper's own curves have the same deviation: "
    "see the comparison with them above."
)


def _beside(tested: dict[Key, Sample]) -> Part:
    """Table of the exact null beside the paper's tests."""
    columns = [(model, m) for m in TESTED for model in MODELS]
    header = ["error at the 5 % level", *(f"{model}, m = {m}" for model, m in columns)]
    named = {
        **{f"exact, {name}": key for name, key in EXACT.items()},
        **FIGURE_2,
        **OTHERS,
    }
    lines = []
    for name, key in named.items():
        rates = [rejection(tested[*column, key])[FIVE_PERCENT] for column in columns]
        shown = [r if c[0] == "M1" else 1 - r for r, c in zip(rates, columns, strict=True)]
        lines.append([name, *(f"{value:.4f}" for value in shown)])
    n = tested["M1", 10, "ECE_uniform"].size
    text = (
        f"M1 is calibrated: its error should be at most 0.05, give or take "
        f"{WIDTH * math.sqrt(0.05 * 0.95 / n):.3f} ({WIDTH} standard errors of {n} data sets). The "
        "errors of M2 and M3 are misses: the smaller the more powerful.\n\n"
    )
    return Part("Beside the paper: the exact null", [], text + markdown_table(header, lines))
