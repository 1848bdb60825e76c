"""Gupta et al. 2021: KS errors, ECE and accuracy on the logits of networks."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np

from caltest.calibrators import SplineCalibrator
from caltest.measures import ece, kde_ece, ks_error, mce
from paper_checks import networks
from paper_checks.check import AGAIN, NO_DATA, Claim, Part, Row, Setting, Task, cells, rounding
from paper_checks.gupta_tables import (
    CAPTIONS,
    METHODS,
    METHODS_7,
    TABLE_1,
    TABLE_2,
    TABLE_4,
    TABLE_5,
    TABLE_6,
    TABLE_7,
    Cells,
)
from paper_checks.spline_script import (
    KNOTS,
    Scored,
    ranked,
    recalibrated,
    shuffled,
    sorted_error,
    stored_scores,
    within,
)

PAPER = "Gupta et al. (2021), Calibration of neural networks using splines, ICLR"
TOP_1 = "logits/kull_top1_c10_c100_birds.npz"
IMAGENET = "logits/imagenet_top1_14nets.npz"
NEEDS = (
    networks.NETWORKS["c10_resnet110"],
    networks.NETWORKS["c10_densenet40"],
    TOP_1,
    IMAGENET,
)

WHOLE = ("c10_resnet110", "c10_densenet40")  # networks of which all logits are there
ONLY_TOP_1 = {"c100_resnet110": "resnet110_c100", "c100_densenet40": "densenet40_c100"}
FITTED = METHODS[2:5]
MODES = ("top-1", "top-2", "within-top-2")
SINGLE = ", float32"
TIES = ", ties in random order"
ACCURACY, ECE_25 = "accuracy", "ECE, 25 bins"
ECE_KNOTS, WITHIN_KNOTS = 13, 14
HALF = 25_000  # rows of ImageNet that the paper tests on, of 50,000
DENSENET = "ImageNet_densenet161"


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
        found.append(Task("stored confidences, ECE and accuracy", confidence_others, (path,)))
    path = setting.data_file(IMAGENET)
    if path is not None:
        halves = setting.choose(3, 20, 200)
        found.append(Task(f"densenet161, {halves} halves", imagenet_errors, (path, halves)))
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
    found += [Task(f"{network} {m} others", others, (path, network, m)) for m in METHODS[:-1]]
    ties = setting.choose(2, 20, 100)
    key = f"{network} splines, others, {ties} orders"
    found.append(Task(key, spline_others, (path, network, ties)))
    for name in FITTED:
        orders = setting.choose(0, 3, 10)
        found += [
            Task(
                f"{network} {name} Adam order {seed}, others",
                adam_others,
                (path, network, name, seed),
            )
            for seed in range(orders)
        ]
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


def others(path: Path, network: str, method: str) -> list[Row]:
    """Accuracy and ECE of the test part; before calibration also what the captions have."""
    data = networks.load(path)
    probs = networks.calibrated(data, method, networks.PENALTIES.get((network, method)))
    rows = _other_rows(network, method, probs, data.y_test)
    if method == "Uncal":
        rows += [
            _row(network, method, lens, 100 * float(ks_error(probs, data.y_test, lens=lens)))
            for lens in ("top-3", "within-top-3")
        ]
    return rows


def adam_others(path: Path, network: str, method: str, seed: int) -> list[Row]:
    """Accuracy and ECE of a map that is fitted as by Kull et al."""
    data = networks.load(path)
    probs = networks.by_adam(data, method, networks.PENALTIES.get((network, method)), seed)
    return _other_rows(network, f"{method}, Adam", probs, data.y_test)


def spline_others(path: Path, network: str, orders: int) -> list[Row]:
    """Accuracy after splines for all ranks, ECE with 13 knots, the script within the first two."""
    data = networks.load(path)
    ranks = networks.predicted(data, SplineCalibrator(mode="all-ranks"))
    first = networks.predicted(data, SplineCalibrator(knots=ECE_KNOTS))
    rows = [
        _other_rows(network, "Spline", ranks, data.y_test)[0],
        _other_rows(network, "Spline", first, data.y_test)[1],
    ]
    for method in ("Uncal", "TempS"):
        single = networks.in_single_precision(data, method).astype(np.float32)
        value = sorted_error(*within(single, data.y_test, 2))
        rows.append(_row(network, method + SINGLE, "within-top-2", value))
    parts = [
        within(networks.single_softmax(z), y, 2)
        for z, y in ((data.val, data.y_val), (data.test, data.y_test))
    ]
    rng = np.random.default_rng(1)
    found = _script_rows(network, "within-top-2", parts, knots=WITHIN_KNOTS)
    for _ in range(orders):
        drawn = [shuffled(part, rng) for part in parts]
        found += _script_rows(network, "within-top-2", drawn, TIES, knots=WITHIN_KNOTS)
    return rows + found


def _other_rows(
    network: str, method: str, probs: networks.Floats, labels: networks.Ints
) -> list[Row]:
    values = {
        ACCURACY: 100 * float(np.mean(probs.argmax(axis=1) == labels)),
        ECE_25: 100 * float(ece(probs, labels, lens="confidence", bins=25)),
    }
    return [_row(network, method, mode, value) for mode, value in values.items()]


def confidence_others(path: Path) -> list[Row]:
    """Accuracy and ECE of the first prediction, where only its probability is stored."""
    stored = np.load(path)
    found = []
    for network, name in ONLY_TOP_1.items():
        event = (stored[f"{name}__pred"] == stored[f"{name}__true"]).astype(int)
        score = stored[f"{name}__conf"].astype(float)
        found.append(_row(network, "Uncal", ACCURACY, 100 * float(event.mean())))
        found.append(_row(network, "Uncal", ECE_25, 100 * float(ece(score, event, bins=25))))
    return found


def imagenet_errors(path: Path, halves: int) -> list[Row]:
    """Errors on all of the validation set, and on random halves, of which the paper has one."""
    stored = np.load(path)
    score = stored["tv_densenet161__conf"].astype(float).clip(0, 1)
    event = (stored["tv_densenet161__pred"] == stored["tv_densenet161__true"]).astype(int)
    rng = np.random.default_rng(1)
    parts = [rng.permutation(len(event))[:HALF] for _ in range(halves)]
    found = [_row(DENSENET, "Uncal", name, value) for name, value in _top_1(score, event).items()]
    for rows in parts:
        values = _top_1(score[rows], event[rows])
        found += [_row(DENSENET, "Uncal, halves", name, value) for name, value in values.items()]
    return found


def _top_1(score: networks.Floats, event: networks.Ints) -> dict[str, float]:
    of_events = float(score[event == 1].std())
    return {
        "top-1": 100 * float(ks_error(score, event)),
        ACCURACY: 100 * float(event.mean()),
        ECE_25: 100 * float(ece(score, event, bins=25)),
        # The bandwidth of the authors' code, see `kde_ece`.
        "KDE-ECE": float(kde_ece(score, event, bandwidth=of_events * (2 * len(score)) ** -0.2)),
        "MCE": float(mce(score, event, bins=25)),
        "Brier": float(np.mean((score - event) ** 2)),
    }


def _rows(network: str, method: str, found: dict[str, float]) -> list[Row]:
    return [_row(network, method, name.removeprefix("KS "), found[name]) for name in found]


def _row(network: str, method: str, mode: str, value: float) -> Row:
    return {"network": network, "method": method, "mode": mode, "value": value}


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
        rows += _script_rows(network, "top-1", drawn, TIES)
    val, test = parts = [stored_scores(path, part, 2) for part in ("val", "test")]
    middle = sorted_error(recalibrated(*val, test[0], middle=True), test[1])
    rows.append(_row(network, "Spline, script in the middle", "top-2", middle))
    return rows + _script_rows(network, "top-2", parts)


def _script_rows(
    network: str, mode: str, parts: list[Scored], order: str = "", knots: int = KNOTS
) -> list[Row]:
    val, test = parts
    score = recalibrated(*val, test[0], knots=knots)
    found = {"script": np.clip(score, 0, 1), "script without clipping": score}
    return [
        _row(network, f"Spline, {name}{order}", mode, sorted_error(values, test[1]))
        for name, values in found.items()
    ]


# ---- claims -------------------------------------------------------------------------------------


def claims(rows: list[Row], setting: Setting) -> list[Part]:
    """Compare with tables 1, 2 and 4 to 7, the captions of figures and the text of section 6."""
    found: Found = {}
    for row in rows:
        key = row["network"], row["method"], row["mode"]
        found.setdefault(key, []).append(row["value"])
    parts = [
        Part(
            title,
            [_claim(found, number, *cell) for cell in cells(TABLES[number][0], METHODS)],
            text,
            fold=True,
        )
        for number, (title, text) in TITLES.items()
    ]
    parts[2:2] = [Part("Tables 1 and 2 again, in single precision", _single(found), TEXT_SINGLE)]
    parts += [
        Part("Table 7: other measures on ImageNet", _imagenet(found), TEXT_7),
        Part("Captions of figures 1, 3, 5, 7 and 9", _captions(found), TEXT_CAPTIONS),
        Part("Section 6: statements on the spline", _statements(found), TEXT_6),
        Part("scikit-learn's digits, not in the paper", _digits(found), TEXT_DIGITS),
    ]
    return [part for part in parts if part.claims]


Found = dict[tuple[str, str, str], list[float]]
# Number of the table: its cells, the measure in our rows and in words, printed decimals.
TABLES: dict[int, tuple[Cells, str, str, int]] = {
    1: (TABLE_1, "top-1", "KS error of the first prediction, %", 3),
    2: (TABLE_2, "top-2", "KS error of the second prediction, %", 3),
    4: (TABLE_4, "within-top-2", "KS error within the first two predictions, %", 3),
    5: (TABLE_5, ACCURACY, "accuracy, %", 2),
    6: (TABLE_6, ECE_25, "ECE of the first prediction, 25 bins, %", 3),
}

TEXT_1 = (
    "Networks and methods have the names of Kull et al., whose logits they are: c10_densenet40 is "
    "the paper's CIFAR-10, DenseNet-40, and TempS its Temp. Scaling. The logits of two networks, "
    "the confidences of two more, and those of densenet161 on the whole validation set of ImageNet "
    "are in `--data`. Without calibration and after temperature scaling there is nothing left to "
    "choose: see single precision below. Vector scaling, MS-ODIR and Dir-ODIR are at the minimum "
    "of their loss here, where the authors' fits by Adam stop earlier; the penalties are those "
    "that Kull et al. stored for c10_densenet40, and chosen by cross-validation for c10_resnet110. "
    "A difference counts as explained where Adam as Kull et al. ran it comes to the paper's value "
    "for some order of the rows; other penalties that come to it are noted, but were not shown to "
    "be the authors'. The spline has 6 knots and linear run-out, as in the paper."
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
    "The spline has 14 knots, as in the caption and by caltest's default for this score. The notes "
    "on it have the authors' script with so many knots."
)
TEXT_5 = (
    'The spline\'s column calibrates the predictions of all ranks 1 to K, `mode="all-ranks"`, with '
    "6 knots each. A row of the test part is 0.01."
)
TEXT_ECE = "The spline has 13 knots, as in the caption."
TITLES = {
    1: ("Table 1: KS error of the first prediction, %", TEXT_1),
    2: ("Table 2: KS error of the second prediction, %", TEXT_2),
    4: ("Table 4: KS error within the first two predictions, %", TEXT_4),
    5: ("Table 5: accuracy after calibration, %", TEXT_5),
    6: ("Table 6: ECE of the first prediction, %", TEXT_ECE),
}
TEXT_7 = (
    "The paper has half of ImageNet's validation set to calibrate and half to test, and which half "
    "is not known. `--data` has the confidences of densenet161 on the whole set, before "
    "calibration: ours is the value on it, and the tolerance 3.29 standard deviations over random "
    "halves. The KDE-ECE is `kde_ece` with the bandwidth of the code that the paper cites. With "
    "the event that the prediction is *wrong*, as the two columns of the authors' script would "
    "have it, the bandwidth is larger, and the KDE-ECE of four halves is 0.044 to 0.049."
)
TEXT_CAPTIONS = (
    "All of the uncalibrated c10_densenet40, on the test part. The error within the first two is "
    "2.25551 in single precision, see table 4."
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


def _table(found: Found, number: int) -> list[Claim]:
    return [_claim(found, number, *cell) for cell in cells(TABLES[number][0], METHODS)]


def _claim(found: Found, number: int, network: str, method: str, value: float) -> Claim:
    _, mode, what, digits = TABLES[number]
    where = f"table {number}, row {network}, column {method}"
    ours = _mean(found, network, method, mode)
    if network == DENSENET and ours is not None:
        return _half_claim(found, where, what, value, mode, digits)
    if ours is None:
        return Claim(where, what, value, missing=NO_DATA)
    note, explained = _note(found, network, method, mode, value, digits)
    return Claim(where, what, value, ours, **rounding(digits), note=note, explained=explained)


def _half_claim(found: Found, where: str, what: str, value: float, mode: str, digits: int) -> Claim:
    """Compare the value on all of ImageNet's validation set with that on a half of it."""
    [ours], halves = found[DENSENET, "Uncal", mode], found[DENSENET, "Uncal, halves", mode]
    tolerance = 3.29 * float(np.std(halves, ddof=1)) + 0.5 * 10.0**-digits
    reason = f"level 0.1 %, {len(halves)} random halves"
    return Claim(where, what, value, ours, tolerance, reason)


def _imagenet(found: Found) -> list[Claim]:
    result = []
    for what, table in TABLE_7.items():
        for network, method, value in cells(table, METHODS_7):
            where = f"table 7, row {network}, column {method}"
            if (network, f"{method}, halves", what) in found:
                result.append(_half_claim(found, where, what, value, what, 5))
            else:
                result.append(Claim(where, what, value, missing=NO_DATA))
    return result


def _captions(found: Found) -> list[Claim]:
    result = []
    for (figure, mode), (value, digits) in CAPTIONS.items():
        ours = _mean(found, "c10_densenet40", "Uncal", mode)
        what = f"KS error, {mode}, %" if mode != ACCURACY else "accuracy, %"
        if ours is None:
            result.append(Claim(figure, what, value, missing=NO_DATA))
        else:
            single = found.get(("c10_densenet40", f"Uncal{SINGLE}", mode))
            explained = bool(single) and _inside(single or [], value, digits)
            result.append(Claim(figure, what, value, ours, **rounding(digits), explained=explained))
    return result


def _single(found: Found) -> list[Claim]:
    """Cells without a choice, cut off as the paper's are."""
    result = []
    for number, (mode, table) in enumerate({"top-1": TABLE_1, "top-2": TABLE_2}.items(), start=1):
        for network, method, value in cells(table, METHODS):
            ours = _mean(found, network, method + SINGLE, mode)
            if ours is None:
                continue
            where = f"{AGAIN}table {number}, row {network}, column {method}"
            holds = _cut_off(ours, value)
            what, words = f"KS error, {mode}, %, cut off", f"{value:.3f}"
            result.append(Claim(where, what, words, f"{ours:.5f}", holds=holds))
    return result


def _cut_off(ours: float, value: float, digits: int = 3) -> bool:
    """Tell whether our number is the paper's when it is cut off and not rounded."""
    return math.floor(10**digits * ours) == round(10**digits * value)


def _note(
    found: Found, network: str, method: str, mode: str, value: float, digits: int
) -> tuple[str, bool]:
    """Say what an experiment gives, and whether it gives the paper's value."""
    here = {name: values for (n, name, m), values in found.items() if (n, m) == (network, mode)}
    if f"{method}{SINGLE}" in here:
        single = here[method + SINGLE][0]
        said = f"in single precision {single:.5f}"
        explained = _cut_off(single, value) or _inside([single], value)
    elif f"{method}, Adam" in here:
        said, explained = _note_of_fit(here, method, value, digits)
    elif method == "Spline" and "Spline, script" in here:
        said, explained = _note_of_spline(here, value)
    else:
        [ours] = here[method]
        said, explained = "cut off, it is the paper's", _cut_off(ours, value, digits)
        if not explained:
            return "", False
    twice = "; the paper has 0.598 for c10_densenet40 too, where it fits"
    end = twice if (network, method, mode) == ("c10_resnet110", "MS-ODIR", "top-2") else ""
    return f"{network}, {method}, {mode}: {said}{end}", explained


def _note_of_fit(
    here: dict[str, list[float]], method: str, value: float, digits: int
) -> tuple[str, bool]:
    """How far the place where Adam stops and the penalties move an error."""
    adam = here[f"{method}, Adam"]
    said = f"by Adam as Kull et al. ran it, {len(adam)} orders of the rows: "
    said += _range(adam, value, digits)
    inside = _inside(adam, value, digits)
    other = here.get(f"{method}, penalties")
    if not other:
        return said, inside
    ends = _range(other, value, digits)
    return f"{said}; at the minimum with penalties from 1e-5 to 1e6: {ends}", inside


def _note_of_spline(here: dict[str, list[float]], value: float) -> tuple[str, bool]:
    """What the authors' script gives: with clipping, without, with equal scores in other orders."""
    clipped, raw = (here[f"Spline, script{name}"] for name in ("", " without clipping"))
    said = f"the authors' script in single precision {clipped[0]:.5f}"
    middle = here.get("Spline, script in the middle")
    if middle:
        said += (
            f", without its clipping {raw[0]:.5f}, and with the curve in the middle of its "
            f"steps {middle[0]:.5f}"
        )
        return said, any(_cut_off(one[0], value) for one in (clipped, raw, middle))
    ties, loose = (here[f"Spline, script{name}{TIES}"] for name in ("", " without clipping"))
    said += (
        f" with equal confidences as they are stored, in {len(ties)} other orders "
        f"{_range(ties, value)}; without its clipping {_range(loose, value)}"
    )
    return said, _inside([*clipped, *ties], value)


def _range(values: list[float], value: float, digits: int = 3) -> str:
    inside = ", where the paper's value lies" if _inside(values, value, digits) else ""
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}{inside}"


def _inside(values: list[float], value: float, digits: int = 3) -> bool:
    return round(min(values), digits) <= value <= round(max(values), digits)


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
