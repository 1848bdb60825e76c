"""Claims of Widmann et al. (2019) on tests: figure 2 and appendix J.2.4 (figures 35 to 82)."""

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
from paper_checks.skce_simulation import LEVELS, rejection

Sample = NDArray[np.float64]
Key = tuple[str, int, str]

TESTED = (2, 10)  # class counts of the paper's figures of p-values
SUPREMUM = 1.95  # Kolmogorov-Smirnov, level 0.1 %
FIVE_PERCENT = 5  # index in LEVELS
APPENDIX_FIGURES = "Figures 35 to 82 (appendix J.2.4)"
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
        f"{test}, mean distance": name.replace("median", "mean")
        for test, name in FIGURE_2.items()
        if test != "C"
    },
}
NAMES = FIGURE_2 | OTHERS
EXACT = {
    "ECE, uniform bins": "ECE_uniform_exact",
    "ECE, data-dependent bins": "ECE_dynamic_exact",
    "SKCE_uq, median heuristic": "SKCEuq_median_exact",
    "SKCE_uq, mean distance": "SKCEuq_mean_exact",
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
        _errors(tested, setting, f"{APPENDIX_FIGURES}: the tests of figure 2, m = 2", small),
        _errors(tested, setting, f"{APPENDIX_FIGURES}: data-dependent bins, mean distance", others),
        _errors(tested, setting, f"{APPENDIX_FIGURES}: other models", appendix),
        _statements(tested),
        _beside(tested),
    ]


def _errors(tested: dict[Key, Sample], setting: Setting, title: str, keys: list[Key]) -> Part:
    path = setting.reference_file("paper_rejection_rates.csv")
    if path is None:
        return Part(title, [Claim(title, "curves", None, missing=NO_DATA)])
    if not keys:
        return Part(title, [Claim(title, "curves", None, missing=FULL_ONLY)])
    paper = _paper_rates(path)
    figure = title.partition(" (")[0].lower()
    named = {(model, m, NAMES[test]): test for model, m, test in keys}
    listed = [_curve(figure, test, key, tested[key], paper) for key, test in named.items()]
    if figure != "figure 2":
        sizes = sorted({tested[key].size for key in named})
        tolerances = ", ".join(f"{_supremum(n):.3f} for {n} data sets" for n in sizes)
        return Part(title, listed, f"The tolerance is {tolerances} of ours.", fold=True)
    flat = sum(_is_flat(rejection(tested[key])) and _is_flat(paper[key]) for key in named)
    little = (
        f"{flat} of the {len(keys)} curves are 0 or 1 at every level, in the paper and here, and "
        "are uninformative."
    )
    return Part(title, listed, f"{CURVES} {little} {_squares(tested, paper)}")


def _supremum(n: int) -> float:
    """Largest difference of two empirical distributions, of n and of the paper's data sets."""
    return SUPREMUM * math.sqrt(1 / n + 1 / PAPER_SETS)


def _is_flat(rates: Sample) -> bool:
    return bool(np.isin(rates[1:], (0, 1)).all())


CURVES = (
    "The empirical test error is the share of rejections of a calibrated model (M1) and of "
    "non-rejections of the others, as a function of the level. Each curve is one claim: the two "
    "errors at the level, of 0.01, 0.02, ..., 1, where they differ most; the tolerance is the "
    "two-sample Kolmogorov-Smirnov quantile at the level 0.1 %. Level 0 is left out: the paper's "
    "p-values by resampling can be 0, caltest's are (1 + k) / (1 + B), B = 199 (the paper: 1000)."
)


def _squares(tested: dict[Key, Sample], paper: dict[Key, Sample]) -> str:
    """Say what the square of a negative estimate, as in the paper's code, does to the bounds."""
    squared = {
        key: rejection(tested[*key[:2], key[2].replace("distribution_free", "squared_bound")])
        for key in tested
        if key[2].endswith("distribution_free")
    }
    changes = {key: np.abs(rejection(tested[key]) - rates) for key, rates in squared.items()}
    changes = {key: change for key, change in changes.items() if change.any()}
    if not changes:
        return ""
    lowest = min(LEVELS[np.flatnonzero(change)[0]] for change in changes.values())
    key = max(changes, key=lambda key: float(changes[key].max()))
    test = next(test for test, name in NAMES.items() if name == key[2])
    return (
        "For a negative estimate caltest's distribution-free p-values are 1; the paper's code "
        f"squares the estimate. That changes the errors only at levels of {lowest:.2f} and above, "
        f"by at most {changes[key].max():.3f}: for {key[0]}, m = {key[1]}, {test}, where the "
        "largest difference from the paper is "
        f"{_distance(rejection(tested[key]), paper[key]):.3f}, and "
        f"{_distance(squared[key], paper[key]):.3f} with the square."
    )


def _distance(ours: Sample, paper: Sample) -> float:
    return float(np.abs(ours - paper)[1:].max())


def _paper_rates(path: Path) -> dict[Key, Sample]:
    found: dict[Key, list[float]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            for model in models_of(row):
                key = (model, int(row["m"]), row["test"])
                found.setdefault(key, []).append(float(row["rejection_rate"]))
    return {key: np.array(rates) for key, rates in found.items()}


def _curve(figure: str, test: str, key: Key, sample: Sample, paper: dict[Key, Sample]) -> Claim:
    ours, own = rejection(sample), paper[key]
    worst = 1 + int(np.abs(ours - own)[1:].argmax())
    calibrated = ALL[key[0]].pi == 0
    errors = (ours, own) if calibrated else (1 - ours, 1 - own)
    value = float(errors[0][worst])
    wrong = [rates for k, rates in paper.items() if k[:2] == key[:2] and _distance(rates, own) > 0]
    return Claim(
        f"{figure}, {key[0]}, m = {key[1]}",
        f"error of {test} at the level {LEVELS[worst]:.2f}",
        float(errors[1][worst]),
        value,
        _supremum(sample.size),
        f"level 0.1 %, {sample.size} and {PAPER_SETS} data sets",
        others=tuple(value + _distance(ours, rates) for rates in wrong),
        floor=SUPREMUM / math.sqrt(PAPER_SETS),
    )


def _statements(tested: dict[Key, Sample]) -> Part:
    """Statements of sections 7.2 and 7.3."""

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
        "Sections 7.2 and 7.3: statements on the tests, at the 5 % level",
        [
            Claim(
                "section 7.2",
                "type II errors of D_b, D_uq, D_ul, M2 and M3",
                "the distribution-free bounds give tests without much power",
                f"{min(missed):.3f} to {max(missed):.3f}",
                holds=float(np.median(missed)) > 0.5,
            ),
            Claim(
                "section 7.2",
                "type I errors of A_uq, A_l",
                "the empirical test error matches the level",
                ", ".join(f"{s:.4f}" for s in sizes),
                holds=all(abs(s - 0.05) < band for s in sizes),
                note="" if all(abs(s - 0.05) < band for s in sizes) else SMALL_SAMPLE,
                explained=True,
            ),
            Claim(
                "section 7.2",
                "type I error of C, uniform bins",
                "with consistency resampling the calibrated model is rejected too often",
                f"{size('ECE_uniform'):.4f}",
                holds=size("ECE_uniform") > 0.05 + band,
            ),
            Claim(
                "section 7.3",
                "type I error of C for m = 2 and m = 10, uniform; data-dependent bins",
                "its reliability decreases with the number of classes, less with data-dependent "
                "bins",
                "; ".join(f"{a:.3f}, {b:.3f}" for a, b in growth),
                holds=growth[0][1] - growth[0][0] > growth[1][1] - growth[1][0] > 0,
            ),
        ],
        READINGS,
    )


READINGS = (
    'Read as: "without much power", the median of the six type II errors is above 0.5; "matches" '
    f'and "too often", within and beyond {WIDTH} standard errors of 0.05.'
)
SMALL_SAMPLE = (
    f"The limiting distributions are not exact at n = {N}, and 10^4 data sets are enough to see "
    "it. The paper's own curves of M1 in figure 2 have the same deviation: 0.0347 for A_uq, "
    "0.0455 for A_l."
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
