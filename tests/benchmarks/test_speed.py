"""How long what has a goal takes, beside other packages on the same data in the same run.

    pytest tests/benchmarks --benchmark-columns=median,rounds --benchmark-sort=name

prints a table for each work; the number in brackets is the ratio to the fastest. All have two
cores. "caltest" is given Predictions where it tests, which are checked once; "caltest, arrays" and
the other packages are given arrays. Everything is called once before it is timed, unless it takes
seconds. The extra `bench` installs the packages. A package that computes the same must give the
same number; of maps the mean log loss on their own rows is in the extra info of the JSON file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import expit, logit, softmax

import caltest as ct
from caltest import calibrators, measures
from caltest.classifiers import DirichletGPClassifier
from caltest.measures.recalibration.belt import CalibrationBelt

pytest.importorskip("pytest_benchmark", reason='pip install ".[bench]"')
pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.filterwarnings("ignore"),  # those of other packages
]

BINS = 15
SPAN = 0.75


class Work(NamedTuple):
    """What each library is asked to do on the same data."""

    name: str
    data: Callable[[], tuple]
    ours: Callable
    peers: Mapping[str, Callable] = MappingProxyType({})  # name of the package -> its call
    differ: tuple[str, ...] = ()  # the peers that do not give our number
    rounds: int = 5  # 1: the call takes seconds and is not warmed up
    close: float = 1e-6


# ---- data ---------------------------------------------------------------------------------------


@cache
def binary(n):
    """Return P(class 1) and labels of calibrated predictions."""
    rng = np.random.default_rng(0)
    event = rng.random(n)
    return event, (rng.random(n) < event).astype(np.int64)


@cache
def multiclass(n, m):
    """Return probabilities and labels of calibrated predictions of m classes."""
    predictions = ct.datasets.generative_model("M1", n=n, m=m, alpha=1.0, rng=0)
    return np.array(predictions.probs), np.array(predictions.labels)


@cache
def rare(n):
    """Return calibrated P(class 1), most of it small, and labels."""
    rng = np.random.default_rng(1)
    p = rng.beta(2, 5, n)
    return p, (rng.random(n) < p).astype(int)


@cache
def wrong(n):
    """Return overconfident P(class 1) and labels, related by a beta calibration map."""
    rng = np.random.default_rng(0)
    event = expit(rng.normal(-0.3, 2, n))
    truth = expit(0.7 * np.log(event) - 0.5 * np.log1p(-event) + 0.1)
    return event, (rng.random(n) < truth).astype(np.int64)


@cache
def wrong_classes(n, m):
    """Return overconfident probabilities and labels of m classes of different temperatures."""
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 1.5, (n, m))
    scores[np.arange(n), rng.integers(m, size=n)] += 1 + np.log(m)
    truth = np.cumsum(softmax(scores, axis=1), axis=1)
    labels = np.minimum((truth < rng.random((n, 1))).sum(axis=1), m - 1)
    return softmax(scores * rng.uniform(1.3, 2, m) + rng.normal(0, 0.3, m), axis=1), labels


def columns(n, number, values, *, text=False):
    """Return rare events with columns of groups, as arguments of a scan of segments."""
    rng = np.random.default_rng(2)
    made = rng.integers(0, values, (number, n)).astype(np.uint8)
    return *rare(n), {
        f"c{j}": column.astype(str) if text else column for j, column in enumerate(made)
    }


def two_columns(probs):
    """Return P(class 0) and P(class 1), where only the latter is given."""
    return probs if probs.ndim == 2 else np.column_stack([1 - probs, probs])


# ---- measures and limit laws --------------------------------------------------------------------


def package(name, path, of_result=lambda result: result, **options):
    """Return a call of a function of another package with labels and P(class 1)."""

    def call(event, labels):
        module = pytest.importorskip(f"{name}.{path.rpartition('.')[0]}".strip("."))
        return of_result(getattr(module, path.rpartition(".")[2])(labels, event, **options))

    return call


def np_sort(event, labels):
    """Sort the scores: the yardstick of the measures that sort them."""
    np.sort(event)


def relplot(name, **options):
    """Return a call of a metric of relplot."""
    return lambda event, labels: getattr(pytest.importorskip("relplot.metrics"), name)(
        event, labels, **options
    )


def verified_debiased_ece(event, labels):
    """Return the root of the debiased squared ECE over bins of equal mass, 0 if negative."""
    verified = pytest.importorskip("calibration")
    return verified.get_calibration_error(event, labels, p=2, debias=True)


def calzone_spiegelhalter(event, labels):
    """Return the two-sided p-value."""
    metrics = pytest.importorskip("calzone.metrics")
    return metrics.spiegelhalter_z_test(labels, two_columns(event))[1]


def calzone_hosmer_lemeshow(event, labels):
    """Return the p-value, ten bins of equal mass, df = 10."""
    metrics = pytest.importorskip("calzone.metrics")
    bins = metrics.reliability_diagram(
        labels, two_columns(event), num_bins=10, class_to_plot=1, is_equal_freq=True
    )
    return metrics.hosmer_lemeshow_test(*bins[:2], bins[3], df=10)[1]


def calzone_ici(event, labels):
    """Return the ICI of statsmodels, in steps of 0.001."""
    metrics = pytest.importorskip("calzone.metrics")
    return metrics.lowess_regression_analysis(labels, two_columns(event), span=SPAN)[0]


def calzone_cox(event, labels):
    """Fit intercept and slope with statsmodels; there is no ratio."""
    pytest.importorskip("calzone.metrics").cox_regression_analysis(labels, two_columns(event))


def sklearn_corp(event, labels):
    """Return the miscalibration by scikit-learn's isotonic regression."""
    fitted = sklearn_isotonic(event, labels)(event)
    return np.mean((labels - event) ** 2) - np.mean((labels - fitted) ** 2)


def pvalue(*data, test, **options):
    """Return the p-value of a test of Predictions or of arrays."""
    return ct.test_calibration(*data, test=test, rng=0, n_jobs=2, **options).pvalue


def checked(data, labels=None):
    """Return Predictions, which data may be."""
    return data if labels is None else ct.Predictions(data, labels)


def limit(test):
    """Return the call of the p-value of the limit law for external data."""
    return partial(pvalue, test=test, null="asymptotic")


MILLION = partial(binary, 10**6)
VALUES = [
    Work(
        "ECE, n = 10^6 (goal 0.002 s)",
        MILLION,
        measures.ece,
        {"relplot": relplot("binnedECE", nbins=BINS)},
    ),
    Work(
        "classwise ECE, n = 10^4, m = 1000 (goal 0.05 s)",
        partial(multiclass, 10**4, 1000),
        measures.classwise_ece,
    ),
    Work(
        "debiased ECE, n = 10^6 (goal 0.02 s)",
        MILLION,
        measures.debiased_ece,
        {"uncertainty-calibration": verified_debiased_ece},
        differ=("uncertainty-calibration",),
    ),
    Work(
        "smooth ECE, n = 10^6 (goal 0.02 s)",
        MILLION,
        measures.smooth_ece,
        {"relplot": relplot("smECE")},  # on a grid, to 0.001
        differ=("relplot",),
    ),
    Work(
        "smooth ECE, exact, n = 10^6",
        MILLION,
        partial(measures.smooth_ece, method="exact"),
        rounds=3,
    ),
    Work("MMCE, n = 10^4, m = 10 (goal 0.003 s)", partial(multiclass, 10**4, 10), measures.mmce),
    *(
        Work(
            f"{name}, n = 10^7 (goal twice the time of sorting)",
            partial(binary, 10**7),
            getattr(measures, name),
            {"np.sort": np_sort},
            differ=("np.sort",),
            rounds=3,
        )
        for name in ("ece", "ks_error", "brier_score")
    ),
    Work(
        "KS with Brownian p, n = 10^6 (goal 1.5 times the time of sorting)",
        MILLION,
        limit("ks"),
        {
            "np.sort": np_sort,
            "mapie": package("mapie", "metrics.calibration.kolmogorov_smirnov_p_value"),
        },
        differ=("np.sort",),
    ),
    Work(
        "Spiegelhalter, n = 10^6 (goal 0.004 s)",
        MILLION,
        limit("spiegelhalter"),
        {
            "mapie": package("mapie", "metrics.calibration.spiegelhalter_p_value"),  # one-sided
            "calzone": calzone_spiegelhalter,
        },
        differ=("mapie",),
    ),
    Work(
        "Hosmer-Lemeshow, n = 10^6 (goal the fastest)",
        MILLION,
        limit("hosmer-lemeshow"),
        {
            "probcal": package("probcal", "metrics.hosmer_lemeshow", lambda one: one.p_value),
            "calzone": calzone_hosmer_lemeshow,
        },
    ),
    Work("Pigeon-Heyse, n = 10^6", MILLION, limit("pigeon-heyse")),
    Work(
        "ICI, n = 10^6 (goal the fastest)",
        MILLION,
        partial(measures.ici, span=SPAN),
        {"probcal": package("probcal", "metrics.ici", frac=SPAN), "calzone": calzone_ici},
        rounds=1,
        close=2e-2,  # other knots and steps of the loess
    ),
    Work(
        "belt p-value, n = 10^6 (goal 0.52 s)",
        MILLION,
        limit("calibration-belt"),
        {"probcal": package("probcal", "calibration_belt", lambda one: one.p_value)},
    ),
    Work(
        "belt of 200 points at 80 % and 95 %, n = 10^6",
        MILLION,
        lambda *data: measures.calibration_belt_curve(*data).pvalue,
    ),
    Work(
        "belt, bind and fit, n = 10^6",
        MILLION,
        lambda *data: CalibrationBelt().bind(checked(*data)).value(),
    ),
    Work(
        "CORP miscalibration, n = 10^6",
        MILLION,
        measures.corp_miscalibration,
        {"scikit-learn": sklearn_corp},
    ),
    *(
        Work(name, data, lambda *data: measures.confidence_band_curve(*data).lower[-1])
        for name, data in {
            "band of 1000 distinct predictions": partial(binary, 1000),
            "band, rounded, n = 10^6": MILLION,
        }.items()
    ),
    Work(
        "Cox, n = 10^6 (goal 0.19 s)",
        partial(wrong, 10**6),
        measures.cox,
        {
            "probcal": package("probcal", "metrics.calibration_test", lambda one: one.statistic),
            "calzone": calzone_cox,
        },
        differ=("calzone",),
    ),
    *(
        Work(f"unbiased SKCE, {shape}", data, partial(measures.skce, n_jobs=2), rounds=3)
        for shape, data in {
            "n = 10^4, m = 2": partial(binary, 10**4),
            "n = 10^4, m = 10 (goal 0.4 s)": partial(multiclass, 10**4, 10),
            "n = 3 10^4, m = 10 (goal 3.5 s)": partial(multiclass, 3 * 10**4, 10),
            "n = 1000, m = 1000 (goal 0.06 s)": partial(multiclass, 1000, 1000),
            "n = 10^7, m = 2 (goal 3 s)": partial(binary, 10**7),
        }.items()
    ),
]


# ---- redrawn labels -----------------------------------------------------------------------------


def resampled(test, size, goal="", *, n_resamples=999, rounds=1, **options):
    """Return the work of a p-value from redrawn labels."""
    data = partial(multiclass if len(size) > 1 else binary, *size)
    shape = ", ".join(f"{letter} = {number}" for letter, number in zip("nm", size, strict=False))
    name = f"{test or 'default'} p-value, {n_resamples} resamples, {shape} {goal}"
    return Work(
        name, data, partial(pvalue, test=test, n_resamples=n_resamples, **options), rounds=rounds
    )


def segments(data, **options):
    p, y, groups = data
    return ct.test_segments(p, y, segments=groups, rng=1, n_jobs=2, **options).n


def matrix(share):
    """Return 20,000 rows with a matrix of 2000 segments."""
    return *rare(20_000), np.random.default_rng(1).random((20_000, 2000)) < share


PVALUES = [
    resampled("ece", (10**5,), "(goal 0.3 s)", n_resamples=1000, rounds=3),
    resampled("classwise-ece", (10**4, 10), "(goal 0.5 s)", n_resamples=1000, rounds=3),
    resampled("classwise-ece", (10**4, 100), "(goal 4 s)", n_resamples=1000),
    resampled("t-cal", (10**4,), "(goal 0.05 s)", n_resamples=1000, rounds=3),
    resampled("smooth-ece", (10**5,), "(goal 0.5 s)", rounds=3),
    *(
        resampled(test, (n,), goal, lens="confidence" if test == "ece" else "strong")
        for n, goal in ((10**5, "(goal 1 s)"), (10**6, "(goal 10 s)"))
        for test in ("ks", "mmce", "skce", "brier", "ece")
    ),
    resampled("skce", (250, 10), "(goal 0.01 s)", rounds=20),
    resampled("skce", (10**4, 10), "(goal 5 s)"),
    resampled("skce", (10**5,), "(goal 0.6 s)", rounds=3),
    *(
        resampled(test, (10**6,), n_resamples=99)
        for test in ("hosmer-lemeshow", "pigeon-heyse", "ici", "brier")
    ),
    *(
        resampled(test, (n,), null="exact")
        for n in (10**3, 10**5, 10**6)
        for test in ("calibration-belt", "corp")
    ),
    resampled("confidence-band", (1000,), null="exact"),
    *(resampled("cox", (n,)) for n in (10**4, 10**6)),
    resampled("cox", (10**4, 10), n_resamples=99),
    resampled(None, (50_000, 100), "(goal 5 s of CPU time)"),
]
SCANS = {
    "76,401 segments of 10^6 rows (goal 120 s)": (
        partial(columns, 10**6, 20, 20, text=True),
        {"n_resamples": 199},
    ),
    "76,401 segments of 10^6 rows, two statistics": (
        partial(columns, 10**6, 20, 20, text=True),
        {"n_resamples": 199, "statistic": ["mean", "cumulative"]},
    ),
    "2000 segments of 20,000 rows, 5 % each (goal 10 s)": (
        partial(matrix, 0.05),
        {"n_resamples": 499},
    ),
    "2000 segments of 20,000 rows, 50 % each (goal 10 s)": (
        partial(matrix, 0.5),
        {"n_resamples": 499},
    ),
    "80,000 segments of 20,000 rows (goal 8 s of CPU time)": (
        partial(columns, 20_000, 100, 4),
        {},
    ),
}


# ---- maps and classifiers -----------------------------------------------------------------------


def ours(name, **options):
    """Return the fit by a class of caltest."""
    return getattr(calibrators, name)(**options).fit


def probcal(name, **options):
    """Return the fit by a class of probcal, which has two classes only."""

    def fit(probs, labels):
        module = pytest.importorskip("probcal")
        return getattr(module, name)(**options).fit(probs, labels).predict_proba

    return fit


def sklearn_temperature(probs, labels):
    """Fit the map inside of CalibratedClassifierCV(method="temperature")."""
    from sklearn.calibration import _TemperatureScaling

    fitted = _TemperatureScaling().fit(two_columns(probs), labels)
    return lambda probs: fitted.predict(two_columns(probs))


def sklearn_platt(probs, labels):
    """Fit the sigmoid of CalibratedClassifierCV to log odds; it smooths the targets."""
    from sklearn.calibration import _SigmoidCalibration

    fitted = _SigmoidCalibration().fit(logit(probs), labels)
    return lambda event: fitted.predict(logit(event))


def sklearn_isotonic(probs, labels):
    from sklearn.isotonic import IsotonicRegression

    return IsotonicRegression(out_of_bounds="clip").fit(probs, labels).predict


def sklearn_logistic(probs, labels):
    """Fit multinomial logistic regression on log p, whose penalty is another."""
    from sklearn.linear_model import LogisticRegression

    fitted = LogisticRegression(max_iter=1000).fit(np.log(probs), labels)
    return lambda probs: fitted.predict_proba(np.log(probs))


def betacal(probs, labels):
    return pytest.importorskip("betacal").BetaCalibration("abm").fit(probs, labels).predict


def splinecalib(probs, labels):
    """Fit SplineCalib: logistic regression on a spline, penalised by cross-validation."""
    fitted = pytest.importorskip("splinecalib").SplineCalib()
    fitted.fit(probs, labels)
    return fitted.calibrate


def venn_abers(probs, labels):
    fitted = pytest.importorskip("venn_abers").VennAbers()
    fitted.fit(two_columns(probs), labels)
    return lambda event: fitted.predict_proba(two_columns(event))[0]


def classes(calibrator, m, goal, *, rounds=5, peers=MappingProxyType({}), **options):
    """Return the fit of a map to 10^4 predictions of m classes."""
    name = f"{calibrator}, n = 10^4, m = {m} (goal {goal} s)"
    return Work(
        name, partial(wrong_classes, 10**4, m), ours(calibrator, **options), peers, (), rounds
    )


WRONG = partial(wrong, 10**6)
SMALLER = partial(wrong, 10**5)
LOGISTIC = {"scikit-learn": sklearn_logistic}
FITS = [
    *(
        classes(
            "TemperatureScaling",
            m,
            goal,
            rounds=rounds,
            peers={"scikit-learn": sklearn_temperature},
        )
        for m, goal, rounds in ((10, 0.006, 15), (100, 0.04, 5), (1000, 0.5, 3))
    ),
    *(classes("VectorScaling", m, goal) for m, goal in ((10, 0.05), (100, 0.3))),
    *(
        # ODIR with 1e-3 in dirichletcal's units: the paper takes means over weights, it takes sums.
        classes(name, m, goal, peers=LOGISTIC, reg="odir", lam=1e-3 * m * (m - 1), mu=1e-3 * m)
        for name in ("MatrixScaling", "DirichletCalibrator")
        for m, goal in ((10, 0.06), (100, 3))
    ),
    Work(
        "temperature, n = 10^6, m = 2 (goal 0.1 s)",
        WRONG,
        ours("TemperatureScaling"),
        {"probcal": probcal("TemperatureCalibrator"), "scikit-learn": sklearn_temperature},
    ),
    Work(
        "Platt, n = 10^6 (goal 0.12 s)",
        WRONG,
        ours("PlattScaling"),
        {"probcal": probcal("PlattCalibrator"), "scikit-learn": sklearn_platt},
    ),
    Work(
        "beta, n = 10^6 (goal 0.15 s)",
        WRONG,
        ours("BetaCalibrator"),
        {"betacal": betacal, "probcal": probcal("BetaCalibrator")},
    ),
    Work(
        "isotonic, n = 10^6",
        WRONG,
        ours("IsotonicCalibrator"),
        {"probcal": probcal("IsotonicCalibrator"), "scikit-learn": sklearn_isotonic},
    ),
    *(
        Work(
            f"histogram, {binning} bins, n = 10^6 (goal 0.04 s)",
            WRONG,
            ours("HistogramBinning", bins=BINS, **options),
            {
                "probcal": probcal(
                    "HistogramBinningCalibrator", n_bins=BINS, shrinkage=None, **theirs
                )
            },
        )
        for binning, options, theirs in (
            ("equal", {}, {"strategy": "width"}),
            ("quantile", {"binning": "quantile"}, {}),
        )
    ),
    Work("BBQ, n = 10^5 (goal 0.1 s)", SMALLER, ours("BBQ"), {"probcal": probcal("BBQCalibrator")}),
    Work(
        "spline, n = 10^5 (goal 0.03 s)",
        SMALLER,
        ours("SplineCalibrator", mode="class-wise"),  # of two classes, the second
        {"probcal": probcal("SplineCalibrator"), "splinecalib": splinecalib},
        rounds=1,
    ),
    Work(
        "Venn-Abers, n = 10^5",
        SMALLER,
        ours("VennAbers"),
        {"probcal": probcal("VennAbersCalibrator"), "venn_abers": venn_abers},
    ),
]


# ---- the tables ---------------------------------------------------------------------------------


def cases(works, *own):
    """Return a case for each work and library."""
    return [
        pytest.param(work, library, id=f"{work.name}-{library}")
        for work in works
        for library in (*own, *work.peers)
    ]


def timed(benchmark, work, library, data):
    benchmark.group = work.name
    call = work.peers.get(library, work.ours)
    return benchmark.pedantic(call, data, rounds=work.rounds, warmup_rounds=int(work.rounds > 1))


@pytest.mark.parametrize(
    ("work", "library"),
    cases(VALUES, "caltest", "caltest, arrays") + cases(PVALUES, "caltest"),
)
def test_value(work, library, benchmark):
    arrays = work.data()
    data = (ct.Predictions(*arrays),) if library == "caltest" else arrays
    benchmark.extra_info["value"] = value = timed(benchmark, work, library, data)
    if library in work.peers and library not in work.differ:
        assert value == pytest.approx(work.ours(*arrays), rel=work.close)


@pytest.mark.parametrize("name", SCANS)
def test_scan_of_segments(name, benchmark):
    data, options = SCANS[name]
    benchmark.group = name
    benchmark.pedantic(segments, (data(),), options, rounds=1)


@pytest.mark.parametrize(("work", "library"), cases(FITS, "caltest"))
def test_fit(work, library, benchmark):
    probs, labels = work.data()
    fitted = timed(benchmark, work, library, (probs, labels))
    calibrated = two_columns(np.squeeze(getattr(fitted, "predict_proba", fitted)(probs)))
    taken = calibrated[np.arange(len(labels)), labels]
    loss = -np.log(np.clip(taken, np.finfo(np.float64).eps, 1)).mean()
    benchmark.extra_info["objective"] = float(loss)
    assert np.isfinite(loss)


@pytest.mark.parametrize(
    ("n", "m", "inducing"), [(2000, 2, 100), (10_000, 2, 200), (5000, 10, 200)]
)
def test_fit_of_a_gaussian_process(n, m, inducing, benchmark):
    """The kernel by L-BFGS, and the posterior."""
    from sklearn.datasets import make_classification

    model = DirichletGPClassifier(
        alpha=0.01, n_inducing=inducing, inducing="random", random_state=0
    )
    X, y = make_classification(
        n, 10, n_informative=6, n_classes=m, n_clusters_per_class=1, random_state=0
    )
    benchmark.group = f"fit, n = {n}, m = {m}, M = {inducing}"
    benchmark.pedantic(model.fit, (X, y), rounds=3)
    benchmark.extra_info["bound"] = model.bound_
