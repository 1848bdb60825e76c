"""Hosmer-Lemeshow, Pigeon-Heyse, le Cessie-van Houwelingen and loess errors of R and of peers."""

import csv
import gzip

import numpy as np
import pytest
from scipy.stats import chi2

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.measures import e50, e90, emax, hosmer_lemeshow, ici, pigeon_heyse
from caltest.measures.smooth import lowess

CLOSE = {"rel": 1e-11}

# peers.json, beta40: outputs on Python 3.11 and NumPy 2.4.
P = np.fromstring(  # P(Y = 1)
    """.43155171 .81164906 .66544901 .53177918 .15549116 .16259166 .36480309 .81877874 .94360637
    .73610746 .55979712 .85662239 .38039252 .7806386 .38548359 .7468978 .26136641 .21377051
    .01270956 .05394571 .51571459 .31820521 .65717799 .25428535 .45378324 .62464611 .20519146
    .87777557 .11439908 .53848995 .64487573 .08061064 .46484883 .40406019 .81670188 .9357303
    .40183604 .09328503 .9462795 .26967112""",
    sep=" ",
)
Y = np.array([int(y) for y in "0110000111011000000010000100001001110010"])
DATA = Predictions(P, Y)


def limit(data, test, **options):
    return calibration_test(None, data, test=test, null="asymptotic", **options)


# ---- R: measures.json, R 4.2.2 ------------------------------------------------------------------


def example(reference_dir):
    """Read the example of ResourceSelection::hoslem.test, a glm of one feature and its labels."""
    labels, event = np.loadtxt(
        reference_dir / "hoslem_doc_example.csv", delimiter=",", skiprows=1
    ).T
    return Predictions(event, labels.astype(int))


def test_hosmer_lemeshow_of_r_on_its_example(reference_dir):
    result = limit(example(reference_dir), "hosmer-lemeshow", internal=True)
    assert result.statistic == pytest.approx(4.52271872904907, **CLOSE)
    assert result.parameters["df"] == 8
    assert result.pvalue == pytest.approx(0.807155888854591, **CLOSE)


def test_hosmer_lemeshow_of_r_on_intensive_care_patients(data_dir):
    """SAPS II of 1,000 patients: hoslem.test, and its p-value for external data."""
    with gzip.open(data_dir / "forecasts" / "icu_saps2.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    event = np.array([float(row["probSaps"]) for row in rows])
    data = Predictions(event, [int(float(row["outcome"])) for row in rows])
    external = limit(data, "hosmer-lemeshow")
    assert external.statistic == pytest.approx(56.6218647763724, **CLOSE)
    assert external.pvalue == pytest.approx(1.56960477948331e-08, rel=1e-9)
    internal = limit(data, "hosmer-lemeshow", internal=True)
    assert internal.pvalue == pytest.approx(2.13404793836247e-09, rel=1e-9)


def test_le_cessie_van_houwelingen_of_rms(reference_dir):
    """residuals(lrm(y ~ x), "gof"); the log odds span what the one feature does. Ten digits."""
    data = example(reference_dir)
    result = limit(data, "le-cessie-van-houwelingen", internal=True)
    numbers = [result.parameters[name] for name in ("SSE", "E", "SD")]
    assert numbers == pytest.approx([114.8364771599, 114.9808071738, 0.14649951], rel=2e-9)
    assert result.statistic == pytest.approx(-0.9851911034, rel=1e-9)
    assert result.pvalue == pytest.approx(0.3245302098, rel=1e-9)


def test_loess_errors_of_rms(reference_dir):
    """rms::val.prob: Emax, E90 and Eavg of lowess(p, y, iter = 0)."""
    path = reference_dir / "valprob_doc_example.csv"
    event, labels = np.loadtxt(path, delimiter=",", skiprows=1).T
    data = Predictions(event, labels.astype(int))
    assert emax(data) == pytest.approx(0.0999208009612275, **CLOSE)
    assert e90(data) == pytest.approx(0.0532408501112841, **CLOSE)
    assert ici(data) == pytest.approx(0.0258382180056449, **CLOSE)


# ---- peers: peers.json --------------------------------------------------------------------------


def test_hosmer_lemeshow_of_pycaleva_and_probcal():
    """As pycaleva 0.8.2, both samples, and probcal 0.4.0, which takes g for df as well."""
    result = limit(DATA, "hosmer-lemeshow")
    assert result.statistic == pytest.approx(8.155717987812666, **CLOSE)
    assert result.pvalue == pytest.approx(0.6136296757954256, **CLOSE)
    internal = limit(DATA, "hosmer-lemeshow", internal=True)
    assert internal.pvalue == pytest.approx(0.41840895267343714, **CLOSE)
    assert hosmer_lemeshow(DATA) == result.statistic


def test_pigeon_heyse_of_pycaleva():
    """The statistic, and the p-value for external data."""
    result = limit(DATA, "pigeon-heyse")
    assert result.statistic == pytest.approx(8.20879143129074, **CLOSE)
    assert result.pvalue == pytest.approx(0.6084506156914695, **CLOSE)
    assert result.pvalue == pytest.approx(chi2.sf(pigeon_heyse(DATA), 10), **CLOSE)


def errors_at_rows(span, nearest):
    """Return the sorted errors of a loess with a line at every row and no cut-off of the tricube.

    probcal takes the ceiling of span n for the number of nearest rows, statsmodels and R the floor.
    """
    x, y = np.sort(P), Y[np.argsort(P)]
    radii = lowess.find_radii(x, np.arange(x.size + 1.0), x, nearest(span * P.size))
    edges = lowess.window_edges(x, x, radii, 0.0, 1.0)
    return np.abs(lowess.row_weights(x, np.ones(x.size), (x, radii, edges)) @ y - x)


def test_loess_errors_of_probcal_have_a_line_at_every_row():
    """As probcal 0.4.0, span 0.75; R's cut-off near 0 and 1 and knots change the eighth digit."""
    errors = errors_at_rows(0.75, lambda rows: int(np.ceil(rows)))
    quantiles = np.median(errors), np.quantile(errors, 0.9), errors.max()
    expected = [0.13849310443301255, 0.18477083420612309, 0.18626407431349995]
    assert errors.mean() == pytest.approx(0.1317912336442925, **CLOSE)
    assert quantiles == pytest.approx(expected, **CLOSE)
    ours = [measure(DATA, span=0.75) for measure in (ici, e50, e90, emax)]
    assert ours == pytest.approx([0.1317912336442925, *expected], rel=1e-6)


def test_index_of_calzone_has_half_the_span():
    """calzone-tool 0.1.0: statsmodels with span 0.5, and steps of 0.001 that join no rows here."""
    assert errors_at_rows(0.5, int).mean() == pytest.approx(0.1342556017717093, **CLOSE)
    assert ici(DATA, span=0.5) == pytest.approx(0.1342556017717093, rel=2e-6)
