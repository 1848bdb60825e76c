"""Ranks of calibrators over data sets and classifiers, and their comparison with the paper's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata
from scipy.stats import t as student

from caltest.comparison import Ranking, rank_methods
from paper_checks.check import DIFFERS, FULL_ONLY, Claim, Part, Row
from paper_checks.dirichlet_uci import CALIBRATORS, CLASSIFIERS, CLIPPED, HIGHER_IS_BETTER
from paper_checks.kull_uci_tables import (
    AVERAGE,
    COLUMNS,
    FRIEDMAN,
    MAIN_FRIEDMAN,
    MAIN_RANKS,
    RANKS,
)
from paper_checks.report import markdown_table

CONTROL = "DirL2"
WITH_ZEROS = ("tree", "knn", "forest")  # classifiers that predict probabilities of 0
LEVEL = 0.001  # of a difference, two-sided
NORMAL = float(norm.isf(LEVEL / 2))
PAPER_REPETITIONS = 5
NEAR = 0.5  # of a rank
DIGITS = 9  # beyond which a tie is not broken
QUOTED = tuple(MAIN_RANKS)

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
    means = [
        [sum(methods[name]) / len(methods[name]) for name in names] for methods in found.values()
    ]
    return np.asarray(np.round(means, DIGITS))


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
    half = 0.5 * 10.0**-digits
    tolerance = float(student.isf(LEVEL / 2, len(own) - 1)) * error + half
    reason = f"t of {len(own)} repetitions at {LEVEL:.1%}, and rounding"
    floor = NORMAL * float(np.std(own, ddof=1)) / math.sqrt(PAPER_REPETITIONS) + half
    claim = Claim(place, measure, value, float(np.mean(own)), tolerance, reason, floor=floor)
    return replace(claim, note=note) if claim.verdict == DIFFERS else claim


def _table_claims(
    rows: Sequence[Row],
    measure: str,
    lines: Mapping[str, Sequence[float]],
    place: str,
    names: Sequence[str],
    tried: Clipped,
) -> list[Claim]:
    """Compare a table of average ranks: rows by classifier, and the average over all."""
    found = []
    for key, values in lines.items():
        own = [row for row in rows if key in {AVERAGE, row["classifier"]}]
        by_name = dict(zip(names, values, strict=True))
        claims = _rank_claims(own, measure, by_name, f"{place}, {key}")
        experiment = tried.ranks(measure, key, names)
        found += [
            _explained(claim, name, experiment) for claim, name in zip(claims, names, strict=True)
        ]
    return found


def _explained(claim: Claim, name: str, experiment: dict[str, tuple[float, float]]) -> Claim:
    """Add what the loss of the paper's code does to a rank that differs."""
    if claim.verdict != DIFFERS or name not in experiment:
        return claim
    before, after = (abs(rank - claim.value) for rank in experiment[name])
    note = f"{claim.where}: distance {before:.2f}, as the paper's code does it {after:.2f}"
    return replace(claim, note=note, explained=after <= claim.tolerance < before)


def _rank_claims(
    rows: Sequence[Row], measure: str, values: Mapping[str, float], place: str
) -> list[Claim]:
    """Compare the average ranks of calibrators."""
    names = tuple(values)
    ranks = ranking(rows, measure, names=names).ranks
    digits = max(len(f"{value:.8g}".partition(".")[2]) for value in values.values())
    widths, floors, reason = _rank_widths(rows, measure, names)
    return [
        Claim(
            f"{place}, {name}",
            f"average rank, {measure}",
            values[name],
            rank,
            tolerance=width + 0.5 * 10.0**-digits,
            reason=reason,
            floor=floor + 0.5 * 10.0**-digits,
        )
        for name, rank, width, floor in zip(
            names, ranks.tolist(), widths.tolist(), floors.tolist(), strict=True
        )
    ]


def _rank_widths(
    rows: Sequence[Row], measure: str, names: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
    """Largest difference of the average ranks of two runs, by the jackknife.

    The second is what the paper's repetitions alone leave of it.

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
            return *2 * (np.full(len(names), np.nan),), ""
        without = (values.sum(axis=0) - values) / (k - 1)
        ranks = rankdata(without, axis=2).sum(axis=1) / count
        variance = (k - 1) * ranks.var(axis=0)
        own += variance
        paper += variance * k / PAPER_REPETITIONS
        squares += variance**2 / (k - 1)
    df = own**2 / np.maximum(squares, np.finfo(float).tiny)
    widths = student.isf(LEVEL / 2, np.maximum(df, 1.0)) * np.sqrt(own + paper)
    return (
        widths,
        NORMAL * np.sqrt(paper),
        f"t at {LEVEL:.1%}, jackknife over the repetitions of each set, and rounding",
    )


# ----------------------------------------------------------------------------------------- parts


def main_tables(rows: Sequence[Row], missing: str, tried: Clipped) -> list[Part]:
    """Compare with tables 1 and 2 of the paper: ranks of seven calibrators."""
    titles = {"table 1": "Table 1: ranks by p-cw-ECE", "table 2": "Table 2: ranks by log loss"}
    parts = []
    for (number, measure), lines in MAIN_RANKS.items():
        pvalue = MAIN_FRIEDMAN[measure]
        if missing:
            what = f"{len(lines)} x {len(CALIBRATORS)} average ranks, {measure}"
            parts.append(Part(titles[number], [Claim(number, what, "", missing=missing)], SHUTTLE))
            continue
        found = _table_claims(rows, measure, lines, number, CALIBRATORS, tried)
        cells = len(found)
        near = sum(abs(c.ours - c.value) <= NEAR for c in found)
        agreed = []
        for key, values in lines.items():
            own = [row for row in rows if key in {AVERAGE, row["classifier"]}]
            ranks = ranking(own, measure).ranks.round(1)
            first = {name for name, v in zip(CALIBRATORS, values, strict=True) if v == min(values)}
            ours = {name for name, v in zip(CALIBRATORS, ranks, strict=True) if v == ranks.min()}
            agreed.append(bool(first & ours))
        printed = rank_methods(lines[AVERAGE], n_datasets=pairs(rows)).chi2_pvalue
        found.append(_friedman(number, measure, pvalue, ranking(rows, measure), printed))
        text = (
            f"{SHUTTLE} Of {cells} cells {near} lie within half a rank of the paper's, and the "
            f"best calibrator is the same in {sum(agreed)} of {len(agreed)} rows. In the paper's "
            "table 2 temperature scaling has the ranks of no calibration for trees, neighbours and "
            "forests, to the digit: it left these predictions as they were (in table 6 of the "
            "supplement it did not). The notes have the distance from the paper's rank by caltest, "
            "and with temperature scaling the identity there and Dirichlet calibration by the "
            f"clipped loss of the paper's code, both on {len(tried.sets)} sets, one repetition; a "
            "difference counts as explained where the second is within the tolerance and the first "
            "is not."
        )
        parts.append(Part(titles[number], found, text, fold=True))
    return parts


def _friedman(where: str, measure: str, value: float, found: Ranking, printed: float) -> Claim:
    """Compare the p-values of the chi-squared statistic; `printed` is that of the paper's ranks."""
    return Claim(
        where,
        f"Friedman's p, {measure}",
        f"{value:.2e}: the calibrators differ",
        f"{found.chi2_pvalue:.2e}; of the paper's average ranks {printed:.2e}",
        holds=found.chi2_pvalue < LEVEL,
    )


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


def supplement(rows: Sequence[Row], missing: str, tried: Clipped) -> Part:
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
        found += _table_claims(rows, measure, lines, f"supplement, {number}", COLUMNS, tried)
        printed = rank_methods(lines[AVERAGE], n_datasets=pairs(rows)).chi2_pvalue
        order = ranking(rows, measure, names=COLUMNS)
        found.append(_friedman("supplement, figure 6", measure, FRIEDMAN[measure], order, printed))
    apart = [claim for claim in found if claim.verdict == DIFFERS]
    zeros = sum(any(f", {key}, " in claim.where for key in WITH_ZEROS) for claim in apart)
    averages = sum(f", {AVERAGE}, " in claim.where for claim in apart)
    text = (
        f"{SHUTTLE} Of {len(apart)} numbers that differ, {zeros} are ranks of trees, neighbours "
        f"and forests, and {averages} averages over all classifiers. The notes have the distance "
        "from the paper's rank by caltest's loss and by the loss of the paper's code (next table), "
        f"on the same {len(tried.sets)} sets; a difference counts as explained where the second is "
        "within the tolerance and the first is not."
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


# What stands in for a calibrator where probabilities are 0.
BY_CLIPPED_LOSS = {plain: name for name, plain in CLIPPED.items()}
IN_TABLE_2 = BY_CLIPPED_LOSS | {"TempS": "Uncal"}


class Clipped:
    """Ranks on the fast sets, one repetition each: caltest's, and as the paper's code does it.

    Parameters
    ----------
    rows : sequence of dict
        The rows of the run.
    instead : mapping of str to str
        What stands in for a calibrator where the classifier predicts probabilities of 0.
    """

    def __init__(self, rows: Sequence[Row], instead: Mapping[str, str]) -> None:
        again = [row for row in rows if row["calibrator"] in CLIPPED]
        self.instead = instead
        self.sets = {row["set"] for row in again}
        own = [row for row in rows if row["set"] in self.sets and row["repetition"] == 0]
        self.rows = {key: [row for row in own if row["classifier"] == key] for key in CLASSIFIERS}

    def ranks(self, measure: str, key: str, names: Sequence[str]) -> dict[str, tuple[float, float]]:
        """Return both ranks by calibrator: of a classifier, or the average over all.

        Of classifiers that predict no probabilities of 0 both are the same, and not returned.
        """
        if not self.sets or key not in {AVERAGE, *WITH_ZEROS}:
            return {}
        sign = -1.0 if measure in HIGHER_IS_BETTER else 1.0
        keys = CLASSIFIERS if key == AVERAGE else (key,)
        other = [self.instead.get(name, name) for name in names]
        sums = np.zeros((2, len(names)))
        for one in keys:
            for i, chosen in enumerate((names, other if one in WITH_ZEROS else names)):
                values = sign * table(self.rows[one], measure, chosen)
                sums[i] += rankdata(values, axis=1).mean(axis=0)
        before, after = (sums / len(keys)).tolist()
        return dict(zip(names, zip(before, after, strict=True), strict=True))


def clipped(tried: Clipped) -> Part:
    """Show that the loss of the paper's code explains ranks where probabilities are 0."""
    lines = []
    for (_, measure), by_key in RANKS.items():
        for key in WITH_ZEROS:
            printed = np.array(by_key[key])
            found = tried.ranks(measure, key, COLUMNS)
            both = np.array([found[name] for name in COLUMNS])
            distances = np.abs(both - printed[:, np.newaxis]).mean(axis=0)
            place = COLUMNS.index("TempS")
            numbers = (*(f"{d:.2f}" for d in distances), *(f"{rank:.1f}" for rank in both[place]))
            lines.append([measure, key, *numbers, f"{printed[place]:.1f}"])
    header = ["measure", "classifier", "distance", "distance, clipped"]
    header += ["TempS", "TempS, clipped", "TempS, paper"]
    text = IMPOSSIBLE.format(sets=len(tried.sets)) + markdown_table(header, lines)
    return Part("Why ranks differ where probabilities are 0", [], text)
