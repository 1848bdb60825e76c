"""Gupta et al. 2021: KS errors of the first and second prediction on the logits of networks."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np

from caltest.calibrators import SplineCalibrator
from caltest.measures import ks_error
from paper_checks import networks
from paper_checks.check import AGAIN, NO_DATA, Claim, Part, Row, Setting, Task, rounding
from paper_checks.gupta_tables import METHODS, TABLE_1, TABLE_2, Cells
from paper_checks.spline_script import (
    KNOTS,
    Scored,
    ranked,
    recalibrated,
    shuffled,
    sorted_error,
    stored_scores,
)

PAPER = "Gupta et al. (2021), Calibration of neural networks using splines, ICLR"
TOP_1 = "logits/kull_top1_c10_c100_birds.npz"
NEEDS = (networks.NETWORKS["c10_resnet110"], networks.NETWORKS["c10_densenet40"], TOP_1)

WHOLE = ("c10_resnet110", "c10_densenet40")  # networks of which all logits are there
ONLY_TOP_1 = {"c100_resnet110": "resnet110_c100", "c100_densenet40": "densenet40_c100"}
FITTED = METHODS[2:5]
MODES = ("top-1", "top-2", "within-top-2")
SINGLE = ", float32"


# ---- tasks --------------------------------------------------------------------------------------


def tasks(setting: Setting) -> list[Task]:
    """List a task for each network and method whose logits are there."""
    found = [Task("scikit-learn's digits", digits_errors)]
    for network in WHOLE:
        path = setting.data_file(networks.NETWORKS[network])
        if path is not None:
            found += _tasks(setting, path, network)
    path = setting.data_file(TOP_1)
    if path is not None:
        found.append(Task("stored confidences", confidence_errors, (path,)))
    return found


def _tasks(setting: Setting, path: Path, network: str) -> list[Task]:
    found = [Task(f"{network} {name}", errors, (path, network, name)) for name in METHODS[:-1]]
    found.append(Task(f"{network} in single precision", single_errors, (path, network)))
    found.append(Task(f"{network} splines", spline_errors, (path, network)))
    orders = setting.choose(2, 20, 200)
    found.append(Task(f"{network} script, {orders} orders", script_errors, (path, network, orders)))
    for name in FITTED:
        # Vector scaling varies most and takes least.
        orders = setting.choose(0, 3, 50 if name == "VecS" else 10)
        for seed in range(orders):
            arguments = (path, network, name, seed)
            found.append(Task(f"{network} {name} Adam order {seed}", adam_errors, arguments))
    step = setting.choose(11, 4, 1)
    for name in FITTED[1:]:
        key = f"{network} {name} penalties, step {step}"
        found.append(Task(key, penalty_errors, (path, network, name, step)))
    return found


def errors(path: Path, network: str, method: str) -> list[Row]:
    """KS errors of the test part after a method of Kull et al."""
    data = networks.load(path)
    probs = networks.calibrated(data, method, networks.PENALTIES.get((network, method)))
    return _rows(network, method, networks.ks_errors(probs, data.y_test))


def spline_errors(path: Path, network: str) -> list[Row]:
    """KS errors after a spline for each score; within the first two also with 6 knots."""
    data = networks.load(path)
    rows = [_row(network, "Spline", mode, _spline_error(data, mode)) for mode in MODES]
    fewer = _spline_error(data, "within-top-2", KNOTS)
    return [*rows, _row(network, "Spline, 6 knots", "within-top-2", fewer)]


def _spline_error(data: networks.Network, mode: str, knots: int | None = None) -> float:
    probs = networks.predicted(data, SplineCalibrator(mode=mode, knots=knots))
    return 100 * float(ks_error(probs, data.y_test, lens=networks.KS_LENSES[mode]))


def adam_errors(path: Path, network: str, method: str, seed: int) -> list[Row]:
    """KS errors of a map that is fitted as by Kull et al."""
    data = networks.load(path)
    probs = networks.by_adam(data, method, networks.PENALTIES.get((network, method)), seed)
    return _rows(network, f"{method}, Adam", networks.ks_errors(probs, data.y_test))


def penalty_errors(path: Path, network: str, method: str, step: int) -> list[Row]:
    """Smallest and largest KS error over penalties: the powers of ten of Kull et al."""
    data = networks.load(path)
    powers = 10.0 ** np.arange(-5, 7, step)
    found = [
        networks.ks_errors(networks.calibrated(data, method, pair), data.y_test)
        for pair in itertools.product(powers, powers)
    ]
    ends = [(mode, end) for mode in MODES[:2] for end in (min, max)]
    return [
        _row(network, f"{method}, penalties", mode, end(one[f"KS {mode}"] for one in found))
        for mode, end in ends
    ]


def digits_errors() -> list[Row]:
    """KS errors of naive Bayes on scikit-learn's digits, which needs no files."""
    data = networks.digits()
    found = []
    for method in ("Uncal", "TempS"):
        probs = networks.calibrated(data, method)
        found += _rows("digits", method, networks.ks_errors(probs, data.y_test))
    return found + [_row("digits", "Spline", mode, _spline_error(data, mode)) for mode in MODES]


def confidence_errors(path: Path) -> list[Row]:
    """KS errors of the first prediction, where only its probability is stored."""
    stored = np.load(path)
    found = []
    for network, name in ONLY_TOP_1.items():
        score = stored[f"{name}__conf"]
        event = (stored[f"{name}__pred"] == stored[f"{name}__true"]).astype(int)
        value = 100 * float(ks_error(score.astype(float), event))
        found.append(_row(network, "Uncal", "top-1", value))
        found.append(_row(network, f"Uncal{SINGLE}", "top-1", sorted_error(score, event)))
    return found


def _rows(network: str, method: str, found: dict[str, float]) -> list[Row]:
    return [_row(network, method, name.removeprefix("KS "), found[name]) for name in found]


def _row(network: str, method: str, mode: str, value: float) -> Row:
    return {"network": network, "method": method, "mode": mode, "KS error %": value}


# ---- the authors' arithmetic --------------------------------------------------------------------


def single_errors(path: Path, network: str) -> list[Row]:
    """KS errors before and after temperature scaling, summed in single precision."""
    data = networks.load(path)
    found = []
    for method, rank in itertools.product(("Uncal", "TempS"), (1, 2)):
        probs = networks.in_single_precision(data, method).astype(np.float32)
        value = sorted_error(*ranked(probs, data.y_test, rank))
        found.append(_row(network, method + SINGLE, f"top-{rank}", value))
    return found


def script_errors(path: Path, network: str, orders: int) -> list[Row]:
    """KS errors of the authors' spline, with and without its clipping to [0, 1].

    The script takes equal scores as its sorting leaves them, where caltest takes them together. In
    float32 many confidences are equal, and 1: so those of the first prediction come in several
    orders, first as the rows are stored. Those of the second prediction are different in the
    calibration part.
    """
    parts = [stored_scores(path, part, 1) for part in ("val", "test")]
    rows = _script_rows(network, "top-1", parts)
    rng = np.random.default_rng(1)
    for _ in range(orders):
        drawn = [shuffled(part, rng) for part in parts]
        rows += _script_rows(network, "top-1", drawn, ", ties in random order")
    val, test = parts = [stored_scores(path, part, 2) for part in ("val", "test")]
    middle = sorted_error(recalibrated(*val, test[0], middle=True), test[1])
    rows.append(_row(network, "Spline, script in the middle", "top-2", middle))
    return rows + _script_rows(network, "top-2", parts)


def _script_rows(network: str, mode: str, parts: list[Scored], order: str = "") -> list[Row]:
    val, test = parts
    score = recalibrated(*val, test[0])
    found = {"script": np.clip(score, 0, 1), "script without clipping": score}
    return [
        _row(network, f"Spline, {name}{order}", mode, sorted_error(values, test[1]))
        for name, values in found.items()
    ]


# ---- claims -------------------------------------------------------------------------------------


def claims(rows: list[Row], setting: Setting) -> list[Part]:
    """Compare with tables 1, 2 and 4 and with the text of section 6."""
    found: Found = {}
    for row in rows:
        key = row["network"], row["method"], row["mode"]
        found.setdefault(key, []).append(row["KS error %"])
    first = [_claim(found, 1, TABLE_1, "top-1", *cell) for cell in CELLS]
    second = [_claim(found, 2, TABLE_2, "top-2", *cell) for cell in CELLS]
    parts = [
        Part("Table 1: KS error of the first prediction, %", first, TEXT_1, fold=True),
        Part("Table 2: KS error of the second prediction, %", second, TEXT_2, fold=True),
        Part("Tables 1 and 2 again, in single precision", _single(found), TEXT_SINGLE),
        Part("Table 4: KS error within the first two predictions, %", _within(found), TEXT_4),
        Part("Section 6: statements on the spline", _statements(found), TEXT_6),
        Part("scikit-learn's digits, not in the paper", _digits(found), TEXT_DIGITS),
    ]
    return [part for part in parts if part.claims]


Found = dict[tuple[str, str, str], list[float]]
CELLS = list(itertools.product(TABLE_1, METHODS))  # of both tables

TEXT_1 = (
    "The paper's numbers are those of its submission to ICLR (openreview.net, eQe8DEWNN2W; "
    "`gupta_tables.py`). Networks and methods have the names of Kull et al., whose logits they "
    "are: c10_densenet40 is the paper's CIFAR-10, DenseNet-40, and TempS its Temp. Scaling. The "
    "logits of two networks, and the confidences of two more, are in `--data`. Without "
    "calibration and after temperature scaling there is nothing left to choose: see single "
    "precision below. Vector scaling, MS-ODIR and Dir-ODIR are at the minimum of their loss here, "
    "where the authors' fits by Adam stop earlier; the penalties are those that Kull et al. stored "
    "for c10_densenet40, and chosen by cross-validation for c10_resnet110. The spline has 6 knots "
    "and linear run-out, as in the paper."
)
TEXT_2 = (
    "The scores that the spline is fitted to are all different here, so that their order is fixed. "
    "What matters is clipping to [0, 1]: of the test part a fifth (c10_resnet110) and a quarter "
    "(c10_densenet40) of the recalibrated scores are below 0. caltest clips them, and so does the "
    "script that the authors published in March 2021. Without clipping that script gives the "
    "paper's 0.695, but 0.346 for 0.347; with the curve in the middle of its steps, both. Of 216 "
    "ways to place steps, fractiles and interpolation, tried without clipping, this and three more "
    "gave both; which one the authors had is not known."
)
TEXT_SINGLE = (
    "The ten cells of both tables where nothing is left to choose, from probabilities and sums in "
    "single precision, as in the authors' script. All agree, if the paper's numbers are cut off "
    "after three decimals and not rounded. caltest sums in double precision; that changes about "
    "0.001 at most."
)
TEXT_4 = (
    "The paper's numbers are missing: the copy at hand ends before the supplement. The authors' "
    "repository and stored web pages, code, documentation and GitHub issues were searched for the "
    "title, arXiv 2006.12800, the OpenReview id, the caption and the errors below; of ar5iv, the "
    "ICLR text and the LaTeX source (SPIQA) only other passages are stored. The spline has 14 "
    "knots here, caltest's default for this score; the notes give it with 6, as in the script."
)
TEXT_6 = (
    "The statements are checked on the two networks whose logits are available. The paper says "
    "that its spline is better than MS-ODIR and Dir-ODIR in all experiments; its own table 1 has "
    "an exception, c10_resnet_wide32 with 0.367 against 0.305 and 0.291."
)
TEXT_DIGITS = (
    "Naive Bayes is fitted, calibrated and tested on a third each. This check needs no files."
)


def _mean(found: Found, network: str, method: str, mode: str) -> float | None:
    values = found.get((network, method, mode))
    return float(np.mean(values)) if values else None


def _claim(found: Found, number: int, table: Cells, mode: str, network: str, method: str) -> Claim:
    where = f"table {number}, row {network}, column {method}"
    what = f"KS error of the {'first' if mode == 'top-1' else 'second'} prediction, %"
    value = table[network][METHODS.index(method)]
    ours = _mean(found, network, method, mode)
    if ours is None:
        return Claim(where, what, value, missing=NO_DATA)
    note = _note(found, network, method, mode, value)
    return Claim(where, what, value, ours, **rounding(3), note=note)


def _single(found: Found) -> list[Claim]:
    """Cells without a choice, cut off as the paper's are."""
    result = []
    for number, (mode, table) in enumerate({"top-1": TABLE_1, "top-2": TABLE_2}.items(), start=1):
        for network, method in CELLS:
            ours = _mean(found, network, method + SINGLE, mode)
            if ours is None:
                continue
            where = f"{AGAIN}table {number}, row {network}, column {method}"
            value = table[network][METHODS.index(method)]
            holds = math.floor(1000 * ours) == round(1000 * value)
            what, words = f"KS error, {mode}, %, cut off", f"{value:.3f}"
            result.append(Claim(where, what, words, f"{ours:.5f}", holds=holds))
    return result


def _within(found: Found) -> list[Claim]:
    result = []
    for network, method in itertools.product(WHOLE, METHODS):
        ours = _mean(found, network, method, "within-top-2")
        if ours is None:
            continue
        where = f"table 4, row {network}, column {method}"
        fewer = _mean(found, network, f"{method}, {KNOTS} knots", "within-top-2")
        note = f"{network}, {method}: {fewer:.5f} with {KNOTS} knots" if fewer else ""
        result.append(Claim(where, "KS error within top-2, %", None, round(ours, 5), note=note))
    return result


def _note(found: Found, network: str, method: str, mode: str, value: float) -> str:
    """Say what an experiment gives; empty where there was none."""
    here = {name: values for (n, name, m), values in found.items() if (n, m) == (network, mode)}
    if f"{method}{SINGLE}" in here:
        said = f"in single precision {here[method + SINGLE][0]:.5f}"
    elif f"{method}, Adam" in here:
        said = _note_of_fit(here, method, value)
    elif method == "Spline" and "Spline, script" in here:
        said = _note_of_spline(here, value)
    else:
        return ""
    twice = "; the paper has 0.598 for c10_densenet40 too, where it fits"
    end = twice if (network, method, mode) == ("c10_resnet110", "MS-ODIR", "top-2") else ""
    return f"{network}, {method}, {mode}: {said}{end}"


def _note_of_fit(here: dict[str, list[float]], method: str, value: float) -> str:
    """How far the place where Adam stops and the penalties move an error."""
    adam = here[f"{method}, Adam"]
    said = f"by Adam as Kull et al. ran it, {len(adam)} orders of the rows: {_range(adam, value)}"
    other = here.get(f"{method}, penalties")
    if not other:
        return said
    return f"{said}; at the minimum with penalties from 1e-5 to 1e6: {_range(other, value)}"


def _note_of_spline(here: dict[str, list[float]], value: float) -> str:
    """What the authors' script gives: with clipping, without, with equal scores in other orders."""
    clipped, raw = (here[f"Spline, script{name}"] for name in ("", " without clipping"))
    said = f"the authors' script in single precision {clipped[0]:.5f}"
    middle = here.get("Spline, script in the middle")
    if middle:
        return (
            f"{said}, without its clipping {raw[0]:.5f}, and with the curve in the middle of its "
            f"steps {middle[0]:.5f}"
        )
    ties, loose = (
        here[f"Spline, script{name}, ties in random order"] for name in ("", " without clipping")
    )
    return (
        f"{said} with equal confidences as they are stored, in {len(ties)} other orders "
        f"{_range(ties, value)}; without its clipping {_range(loose, value)}"
    )


def _range(values: list[float], value: float) -> str:
    low, high = min(values), max(values)
    inside = round(low, 3) <= value <= round(high, 3)
    return f"{low:.3f} to {high:.3f}" + (", where the paper's value lies" if inside else "")


def _statements(found: Found) -> list[Claim]:
    """Statements of section 6, on the networks that are there."""
    result = []
    for network in WHOLE:
        e = {m: value for m in METHODS if (value := _mean(found, network, m, "top-1")) is not None}
        second = _mean(found, network, "Spline", "top-2")
        if len(e) < len(METHODS) or second is None:
            continue
        others = ("TempS", "MS-ODIR", "Dir-ODIR")
        limits = [("first", "1 %", e["Spline"], 1.0), ("second", "1 %", second, 1.0)]
        limits += [("first", method, e["Spline"], e[method]) for method in others]
        for which, what, spline, limit in limits:
            ours = f"{spline:.3f}" + ("" if what == "1 %" else f" against {limit:.3f}")
            place, words = f"section 6, {network}", f"spline below {what}"
            of = f"KS error of the {which} prediction, %"
            result.append(Claim(place, of, words, ours, holds=spline < limit))
    return result


def _digits(found: Found) -> list[Claim]:
    result = []
    for mode in MODES:
        before, after = (_mean(found, "digits", m, mode) for m in ("Uncal", "Spline"))
        if before is not None and after is not None:
            ours, words = f"before {before:.2f} %, after {after:.2f} %", "the spline lowers it"
            what = f"KS error, {mode}"
            result.append(
                Claim("not in the paper, digits", what, words, ours, holds=after < before)
            )
    return result
