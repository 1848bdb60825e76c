"""Ranks of calibrators over data sets and classifiers, and their comparison with the paper's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from scipy.stats import t as student

from caltest.comparison import Ranking, rank_methods
from paper_checks.check import DIFFERS, FULL_ONLY, Claim, Part, Row
from paper_checks.dirichlet_uci import CALIBRATORS, CLASSIFIERS, CLIPPED, HIGHER_IS_BETTER
from paper_checks.kull_uci_tables import AVERAGE, COLUMNS, FRIEDMAN, RANKS
from paper_checks.report import markdown_table

CONTROL = "DirL2"
WITH_ZEROS = ("tree", "knn", "forest")  # classifiers that predict probabilities of 0
LEVEL = 0.001  # of a difference, two-sided
PAPER_REPETITIONS = 5

# Average ranks of seven calibrators, last row of tables 1 and 2 of the paper, as a survey of the
# literature quotes them whose author is not known: they are shown, and not compared.
QUOTED = {
    ("table 1", "p-cw-ECE"): {
        "DirL2": 2.34,
        "Beta": 3.15,
        "Isot": 3.27,
        "TempS": 4.37,
        "Uncal": 5.02,
    },
    ("table 2", "log-loss"): {"DirL2": 2.25, "TempS": 4.61},
}
SHUTTLE = (
    "One data set is not the same: the paper's shuttle has 101500 rows (supplement, table 3), "
    "that of `--data` 58000. It is repeated twice here, the other sets five times, as in the "
    "paper."
)
BEST = ("log-loss", "p-cw-ECE", "accuracy")


def table(rows: Sequence[Row], measure: str, names: Sequence[str]) -> NDArray[np.float64]:
    """Mean over the repetitions of a measure: a row per data set and classifier."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for row in rows:
        methods = found.setdefault((row["set"], row["classifier"]), {})
        methods.setdefault(row["calibrator"], []).append(row[measure])
    return np.array([[np.mean(methods[name]) for name in names] for methods in found.values()])


def pairs(rows: Sequence[Row]) -> int:
    """Number of pairs of data set and classifier."""
    return len({(row["set"], row["classifier"]) for row in rows})


def ranking(
    rows: Sequence[Row],
    measure: str,
    *,
    names: Sequence[str] = CALIBRATORS,
    control: str | None = None,
) -> Ranking:
    """Rank the calibrators by a measure over the pairs of data set and classifier."""
    return rank_methods(
        table(rows, measure, names),
        names=names,
        lower_is_better=measure not in HIGHER_IS_BETTER,
        control=control,
    )


# ------------------------------------------------------------------------------------ tolerances


def difference_claim(
    rows: Sequence[Row],
    key: tuple[str, str, str],
    measure: str,
    value: float,
    place: str,
    digits: int,
    *,
    scale: float = 1.0,
    note: str = "",
) -> Claim:
    """Compare a mean over folds; the repetitions tell how much it varies with the folds.

    Parameters
    ----------
    rows : sequence of dict
        The rows of the run.
    key : tuple of str
        Data set, classifier and calibrator.
    measure : str
        The measure.
    value : float
        The paper's mean over five repetitions.
    place : str
        Where it is printed.
    digits : int
        Printed decimals.
    scale : float
        Factor of our measure.
    note : str
        What is known of a difference.
    """
    own = [
        scale * row[measure]
        for row in rows
        if (row["set"], row["classifier"], row["calibrator"]) == key
    ]
    if len(own) < 2:
        return Claim(place, measure, value, missing=FULL_ONLY)
    error = float(np.std(own, ddof=1)) * math.sqrt(1 / len(own) + 1 / PAPER_REPETITIONS)
    tolerance = float(student.isf(LEVEL / 2, len(own) - 1)) * error + 0.5 * 10.0**-digits
    reason = f"t of {len(own)} repetitions at {LEVEL:.1%}, and rounding"
    claim = Claim(place, measure, value, float(np.mean(own)), tolerance, reason)
    return replace(claim, note=note) if claim.verdict == DIFFERS else claim


def _rank_claims(
    rows: Sequence[Row], measure: str, values: Mapping[str, float], place: str
) -> list[Claim]:
    """Compare the average ranks of calibrators."""
    names = tuple(values)
    ranks = ranking(rows, measure, names=names).ranks
    digits = max(len(f"{value:.8g}".partition(".")[2]) for value in values.values())
    widths, reason = _rank_widths(rows, measure, names)
    return [
        Claim(
            f"{place}, {name}",
            f"average rank, {measure}",
            values[name],
            rank,
            tolerance=width + 0.5 * 10.0**-digits,
            reason=reason,
        )
        for name, rank, width in zip(names, ranks.tolist(), widths.tolist(), strict=True)
    ]


def _rank_widths(
    rows: Sequence[Row], measure: str, names: Sequence[str]
) -> tuple[NDArray[np.float64], str]:
    """Largest difference of the average ranks of two runs, by the jackknife.

    The folds of a data set are the same for all classifiers, those of two data sets have nothing
    to do with each other: a repetition is left out of one data set at a time, and the variances
    that the data sets give add up. The degrees of freedom are Satterthwaite's.
    """
    sign = -1.0 if measure in HIGHER_IS_BETTER else 1.0
    by_set: dict[str, dict[int, list[list[float]]]] = {}
    found: dict[tuple[str, str, int], dict[str, float]] = {}
    for row in rows:
        key = (row["set"], row["classifier"], row["repetition"])
        found.setdefault(key, {})[row["calibrator"]] = sign * row[measure]
    for (name, _, number), values in sorted(found.items()):
        repetitions = by_set.setdefault(name, {})
        repetitions.setdefault(number, []).append([values[method] for method in names])
    count = pairs(rows)
    own, paper, squares = (np.zeros(len(names)) for _ in range(3))
    for repetitions in by_set.values():
        values = np.array(list(repetitions.values()))  # repetitions, classifiers, calibrators
        k = len(values)
        if k < 2:
            return np.full(len(names), np.nan), ""
        without = (values.sum(axis=0) - values) / (k - 1)
        ranks = rankdata(without, axis=2).sum(axis=1) / count
        variance = (k - 1) * ranks.var(axis=0)
        own += variance
        paper += variance * k / PAPER_REPETITIONS
        squares += variance**2 / (k - 1)
    df = own**2 / np.maximum(squares, np.finfo(float).tiny)
    widths = student.isf(LEVEL / 2, np.maximum(df, 1.0)) * np.sqrt(own + paper)
    return widths, f"t at {LEVEL:.1%}, jackknife over the repetitions of each set, and rounding"


# ----------------------------------------------------------------------------------------- parts


def quoted(rows: Sequence[Row]) -> str:
    """Average ranks that a secondary source quotes of tables 1 and 2, beside ours."""
    lines = []
    for (number, measure), values in QUOTED.items():
        ranks = dict(zip(CALIBRATORS, ranking(rows, measure).ranks.tolist(), strict=True))
        for name, value in values.items():
            lines.append([number, measure, name, f"{value:.2f}", f"{ranks[name]:.2f}"])
    text = (
        "The paper's tables 1 and 2 were not at hand. A survey of the literature on GitHub, whose "
        "author is not known here, quotes seven of their average ranks: they are shown beside ours "
        f"over {pairs(rows)} pairs of data set and classifier, and not counted. The supplement, "
        "which was at hand, has the ranks among nine calibrators.\n\n"
    )
    header = ["table", "measure", "calibrator", "quoted", "ours"]
    return text + markdown_table(header, lines)


def best(rows: Sequence[Row], missing: str) -> Part:
    """Statement of section 4.1 and of the supplement, E.2."""
    found = []
    for measure in BEST:
        order = sorted(zip(ranking(rows, measure).ranks.tolist(), CALIBRATORS, strict=True))
        (first, name), (second, next_best) = order[:2]
        found.append(
            Claim(
                "section 4.1; supplement, E.2",
                f"average rank by {measure}",
                f"{CONTROL} has the best average rank",
                f"{name} {first:.2f}, {next_best} {second:.2f}, over {pairs(rows)} pairs",
                holds=name == CONTROL,
                missing=missing,
            )
        )
    return Part("Section 4.1: best average rank of seven calibrators", found)


def supplement(rows: Sequence[Row], missing: str) -> Part:
    """Compare with tables 5 to 12 of the supplement: ranks of nine calibrators."""
    title = "Supplement, tables 5 to 12 and figure 6: ranks of nine calibrators"
    if missing:
        found = [
            Claim(
                f"supplement, {number}",
                f"{len(CLASSIFIERS) + 1} x 9 average ranks, {measure}",
                "",
                missing=missing,
            )
            for number, measure in RANKS
        ]
        return Part(title, found, SHUTTLE)
    found = []
    for (number, measure), lines in RANKS.items():
        for key, values in lines.items():
            own = [row for row in rows if key in {AVERAGE, row["classifier"]}]
            by_name = dict(zip(COLUMNS, values, strict=True))
            place = f"supplement, {number}, {key}"
            found += _rank_claims(own, measure, by_name, place)
        pvalue = ranking(rows, measure, names=COLUMNS).pvalue
        found.append(
            Claim(
                "supplement, figure 6",
                f"Friedman's p, {measure}",
                f"{FRIEDMAN[measure]:.2e}: the calibrators differ",
                f"{pvalue:.2e}",
                holds=pvalue < LEVEL,
            )
        )
    apart = [claim.where for claim in found if claim.verdict == DIFFERS]
    zeros = sum(any(f", {key}, " in where for key in WITH_ZEROS) for where in apart)
    averages = sum(f", {AVERAGE}, " in where for where in apart)
    text = (
        f"{SHUTTLE} Of {len(apart)} numbers that differ, {zeros} are ranks of trees, neighbours "
        f"and forests, for which the next table tells why, and {averages} averages over all "
        "classifiers."
    )
    return Part(title, found, text, fold=True)


IMPOSSIBLE = (
    "Trees, nearest neighbours and forests give some labels the probability 0. In the paper's code "
    "(dirichletcal, multinomial.py) the loss clips probabilities at machine epsilon *after* the "
    "softmax: such labels have no gradient, and temperature scaling leaves the predictions nearly "
    "as they are. caltest maximises the likelihood, to which one impossible label matters more "
    "than all others. Here the two losses are compared on {sets} sets, one repetition each: mean "
    "distance of the nine calibrators' average ranks from the supplement's, by caltest's "
    "calibrators, and with temperature, vector and Dirichlet scaling fitted as if their loss were "
    "clipped; and the average rank of temperature scaling.\n\n"
)


def clipped(rows: Sequence[Row]) -> Part:
    """Show that the loss of the paper's code explains ranks where probabilities are 0."""
    again = [row for row in rows if row["calibrator"] in CLIPPED]
    keys = list(dict.fromkeys(row["classifier"] for row in again))
    sets = {row["set"] for row in again}
    own = [row for row in rows if row["set"] in sets and row["repetition"] == 0]
    lines = []
    for (_, measure), by_key in RANKS.items():
        for key in keys:
            printed = np.array(by_key[key])
            found = [
                ranking([row for row in own if row["classifier"] == key], measure, names=names)
                for names in (COLUMNS, [_by_clipped_loss(name) for name in COLUMNS])
            ]
            distances = [float(np.abs(one.ranks - printed).mean()) for one in found]
            place = COLUMNS.index("TempS")
            ranks = [*(float(one.ranks[place]) for one in found), float(printed[place])]
            numbers = (*(f"{d:.2f}" for d in distances), *(f"{rank:.1f}" for rank in ranks))
            lines.append([measure, key, *numbers])
    header = ["measure", "classifier", "distance", "distance, clipped"]
    header += ["TempS", "TempS, clipped", "TempS, paper"]
    text = IMPOSSIBLE.format(sets=len(sets)) + markdown_table(header, lines)
    return Part("Why ranks differ where probabilities are 0", [], text)


def _by_clipped_loss(name: str) -> str:
    return next((key for key, plain in CLIPPED.items() if plain == name), name)
