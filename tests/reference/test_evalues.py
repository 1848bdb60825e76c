"""E-values of R's eprob, in the replication files of other authors."""

import numpy as np
import pandas as pd
import pytest

from caltest.monitoring import comparison_evalues
from caltest.monitoring.evalues import _even_log_score

FILE = "evalues_lag1.csv"
HYPOTHESES = {  # forecast that is not worse under the hypothesis, and the other one
    "HCLR/IDR": ("pop_idr", "pop_hclr"),
    "IDR/HCLR['-']": ("pop_hclr_noscale", "pop_idr"),
    "HCLR/HCLR['-']": ("pop_hclr_noscale", "pop_hclr"),
}


def test_comparisons_of_precipitation_forecasts(reference_dir):
    """Running products of four airports and three hypotheses, 19,677 with the days without data.

    eprob/replication_material/precip_fcs/evalues_lag1.csv of the repository
    yjchoe/ComparingForecasters: forecasts of Henzi and Ziegel (2022), one day ahead, as R's eprob
    compared them. The table is no part of the article.
    """
    if not (reference_dir / FILE).exists():
        pytest.skip(f"{FILE} of yjchoe/ComparingForecasters is not in the reference folder")
    table = pd.read_csv(reference_dir / FILE)
    assert set(table["hypo"]) == set(HYPOTHESES)
    largest = 0.0
    for (_, hypothesis), rows in table.sort_values("date").groupby(["airport", "hypo"]):
        first, second = (rows[name] for name in HYPOTHESES[hypothesis])
        known = rows[["y", first.name, second.name]].notna().all(axis=1)
        factors = np.ones(len(rows))
        factors[known] = comparison_evalues(first[known], second[known], rows["y"][known])
        largest = max(largest, float(np.abs(factors.cumprod() / rows["eval"] - 1.0).max()))
    assert len(table) == 19_677
    assert largest < 1e-10  # 1.2e-12


@pytest.mark.parametrize(
    ("score", "bets", "stopped", "expected"),
    [
        ("brier", 0, True, [0.0409, 0.1194, 0.341]),
        ("brier", 1, False, [0.0007, 0.1246, 0.8375]),
        ("log", 0, True, [0.0422, 0.1305, 0.3971]),
        ("log", 3, True, [0.0382, 0.4536, 0.97]),
    ],
)
def test_rejections_of_comparisons_in_a_simulation(score, bets, stopped, expected):
    """Shares of 600 rows whose e-value is 20, at any row or the last, where mu is 0.5, 0.6 and 0.7.

    replication_material/simulation_1.R and simulation_1_results.rda of AlexanderHenzi/eprob, 10,000
    streams: both forecasts are uniform, the truth is mu of the way from even to the second one;
    bets are on the second forecast, or on parts of the way to it, averaged.
    """
    streams, rows = 1500, 600
    rng = np.random.default_rng(1)
    for mu, share in zip((0.5, 0.6, 0.7), expected, strict=True):
        p, q = rng.random((2, streams * rows))
        even = 0.5 * (p + q) if score == "brier" else _even_log_score(p, q)
        y = (rng.random(p.size) < even + 2.0 * (mu - 0.5) * (q - even)).astype(float)
        parts = [j / (bets + 1) for j in range(1, bets + 1)] or [1.0]
        products = np.zeros((streams, rows))
        for part in parts:
            bet = even + part * (q - even)
            factors = comparison_evalues(p, q, y, alternative=bet, score=score)
            products += factors.reshape(streams, rows).cumprod(axis=1) / len(parts)
        found = products.max(axis=1) if stopped else products[:, -1]
        error = np.sqrt(share * (1.0 - share) * (1.0 / streams + 1e-4))
        assert abs(np.mean(found >= 20.0) - share) < 3.5 * error + 1.0 / streams
