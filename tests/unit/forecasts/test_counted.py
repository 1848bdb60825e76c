"""Forecasts of very many rows, counted in cells of their PIT: in memory, and batch by batch."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import caltest as ct
from caltest.errors import InvalidInput, NotApplicable
from caltest.forecasts.container import ALONE, FINEST, GROUPED
from caltest.htests import REGISTRY
from caltest.measures.combined.forecasts import FORECASTS, CountedContext, ForecastContext

PIT = [key for key in REGISTRY if key.startswith("pit-")]
COLUMNS = {"label": "y", "mean": "mu", "scale": "sd"}


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def frame(rng, n, spread=1.0, shift=0.0):
    mean, scale = rng.normal(size=n), np.exp(0.3 * rng.normal(size=n))
    outcomes = mean + scale * (spread * rng.normal(size=n) + shift)
    return pl.DataFrame({"other": np.arange(n), "sd": scale, "mu": mean, "y": outcomes})


class TestCells:
    """Where cells begin and end, and what is redrawn in them."""

    @pytest.mark.parametrize("cells", [ALONE, GROUPED, FINEST])
    def test_every_number_is_in_its_cell(self, cells, rng):
        tails = 2.0 ** -rng.uniform(1.0, 53.0, 500)
        v = np.clip(np.concatenate([rng.random(2000), tails, 1.0 - tails]), 2**-53, 1 - 2**-53)
        ends = np.concatenate([[0.0], cells.ends, [1.0]])
        place = cells.of(v)
        assert np.all((ends[place] <= v) & (v <= ends[place + 1]))
        width = np.minimum(2.0**-cells.bits, np.minimum(v, 1.0 - v) / cells.parts)
        assert np.all(cells.widths[place] <= np.maximum(width, 2.0**-cells.bits))
        assert cells.widths.sum() == pytest.approx(1.0, abs=1e-15)


class TestRowsInMemory:
    """Counted by themselves, from 131,072 on."""

    @pytest.mark.parametrize("key", PIT)
    def test_counted_rows_are_tested_as_rows(self, key, rng):
        """The statistic differs by little of its spread, and so do the p-values."""
        data = frame(rng, 140_000, spread=1.003)
        by_cells, by_rows = (
            ct.test_calibration(
                None, data, **COLUMNS, test=key, engine=engine, n_resamples=199, rng=1
            )
            for engine in ("auto", "rows")
        )
        assert "cells" in by_cells.null_text
        assert "cells" not in by_rows.null_text
        spread = by_rows.null_distribution.std()
        assert by_cells.statistic == pytest.approx(by_rows.statistic, abs=0.03 * spread)
        assert by_cells.pvalue == pytest.approx(by_rows.pvalue, abs=0.12)
        assert float(by_cells.parameters["error by cells"].split()[0]) < 0.1 * spread

    @pytest.mark.full
    def test_components_are_those_of_rows(self, rng):
        """Groups of like forecasts keep nearly all of each component."""
        off = []
        for _ in range(10):
            data = ct.Forecasts.from_frame(frame(rng, 132_000), **COLUMNS)
            rows, cells = ForecastContext(data), CountedContext(data.counted(144))
            seen = (rows, rows.observed_rows), (cells, cells.observed)
            off.append([[k.of(one.source).values(v)[0] for k in FORECASTS] for one, v in seen])
        rows, cells = np.moveaxis(off, 0, 2)
        apart = np.sqrt(np.square(rows - cells).mean(axis=1)) / rows.std(axis=1)
        assert [kind.key for kind, far in zip(FORECASTS, apart > 0.35, strict=True) if far] == []

    @pytest.mark.full
    def test_findings_are_those_of_rows(self, rng):
        data = frame(rng, 140_000, spread=1.1, shift=0.2)
        found = [
            ct.test_calibration(None, data, **COLUMNS, engine=engine, n_resamples=19, rng=1)
            for engine in ("auto", "rows")
        ]
        estimates = [{row.test: row.estimate for row in one.components} for one in found]
        for key in ("bias", "too-sure", "skewness", "tails", "slope", "spread-by-mean"):
            assert estimates[0][key] == pytest.approx(estimates[1][key], rel=0.02, abs=0.03)

    def test_groups_are_of_as_many_rows(self, rng):
        data = ct.Forecasts.from_frame(frame(rng, 140_000), **COLUMNS)
        assert np.ptp(data.counted(64).weights) < 0.6 * 140_000 / 64
        alike = ct.Forecasts(np.zeros(140_000), mean=rng.normal(size=140_000), scale=1.0)
        assert alike.counted(64).weights.size == 64
        same = ct.Forecasts(np.zeros(140_000), mean=0.5, scale=1.0).counted(64)
        assert same.told_apart[0].tolist() == [0.5]

    def test_what_is_no_function_of_counts_takes_rows(self, rng):
        data = frame(rng, 140_000)
        for options in ({"test": "pit-berkowitz", "serial": True}, {"test": "crps"}):
            found = ct.test_calibration(None, data, **COLUMNS, n_resamples=9, rng=1, **options)
            assert "cells" not in found.null_text


class TestRowsByChunks:
    """Read batch by batch, few or many."""

    @pytest.mark.cases(1)
    @pytest.mark.parametrize("key", ["pit-ks", "combined"])
    def test_file_is_tested_as_rows_in_memory(self, key, rng, tmp_path):
        data = frame(rng, 140_000)
        data[:50_000].write_parquet(tmp_path / "a.parquet")
        data[50_000:].write_parquet(tmp_path / "b.parquet")
        own = {**COLUMNS, "test": key, "n_resamples": 49, "rng": 1}
        read = ct.test_calibration(None, str(tmp_path / "*.parquet"), **own, engine="chunks")
        held = ct.test_calibration(None, data, **own)
        assert read.statistic == pytest.approx(held.statistic, rel=1e-9)
        assert read.pvalue == held.pvalue
        for name in ("n", "predicted", "observed", "low", "high", "deviation"):
            assert getattr(read.size, name) == pytest.approx(getattr(held.size, name), rel=1e-6)
        assert read.n == 140_000
        assert "cells of the PIT" in str(read)

    @pytest.mark.parametrize("n", [8, 50])
    @pytest.mark.parametrize("key", ["pit-ks", "pit-anderson-darling", "pit-berkowitz", "combined"])
    @pytest.mark.full
    def test_size(self, n, key, rng):
        """Of calibrated forecasts at most the 99.9 % point of 10 % are rejected at that level."""
        own = {**COLUMNS, "test": key, "engine": "chunks", "n_resamples": 19}
        sets = 40 if key == "combined" else 100
        found = [ct.test_calibration(None, frame(rng, n), **own, rng=k).pvalue for k in range(sets)]
        assert np.sum(np.array(found) <= 0.1) <= stats.binom.ppf(0.999, sets, 0.1)

    @pytest.mark.full
    def test_quantiles_and_members(self, rng):
        z = rng.normal(size=(4000, 5))
        levels = {0.1: "a", 0.5: "b", 0.9: "c"}
        given = {"y": z[:, 0], "m_1": z[:, 1], "m_2": z[:, 2], "m_3": z[:, 3]}
        given |= {"a": z[:, 4] * 0 - 1.2816, "b": z[:, 4] * 0.0, "c": z[:, 4] * 0 + 1.2816}
        data = pl.DataFrame(given)
        for columns in ({"members": "m_"}, {"quantiles": levels}):
            for key in ("pit-ks", "combined"):
                own = {"label": "y", "test": key, "n_resamples": 49, "rng": 1, **columns}
                counted = ct.test_calibration(None, data, **own, engine="chunks")
                assert counted.pvalue > 0.01
                off = ct.test_calibration(
                    None, data.with_columns(y=pl.col("y") * 1.3), **own, engine="chunks"
                )
                assert off.pvalue == 0.02

    def test_equal_batches_have_other_randomised_numbers(self):
        """Rows with the same outcomes would otherwise be the same in each batch."""
        chunk = pl.DataFrame({"y": np.zeros(500), "m_1": np.zeros(500), "m_2": np.zeros(500)})
        own = {"label": "y", "members": "m_", "test": "pit-ks", "engine": "chunks", "rng": 1}
        many = ct.test_calibration(None, iter([chunk] * 40), **own, n_resamples=49)
        assert many.n == 20_000
        assert many.pvalue > 0.02

    def test_several_tests_see_the_same_numbers(self, rng):
        own = {**COLUMNS, "engine": "chunks", "n_resamples": 99, "rng": 1}
        data = frame(rng, 3000, spread=1.2).lazy()
        table = ct.test_calibration(None, data, test=["pit-ks", "pit-kuiper", "combined"], **own)
        assert table.correction == "joint"
        assert max(table.adjusted) < 0.05

    def test_lazy_frames_of_very_many_rows_are_counted_by_themselves(self, rng, monkeypatch):
        monkeypatch.setattr("caltest.htests.ways.ROWS", 1000)
        own = {**COLUMNS, "n_resamples": 19, "rng": 1}
        assert "cells" in ct.test_calibration(None, frame(rng, 2000).lazy(), **own).null_text
        assert "cells" not in ct.test_calibration(None, frame(rng, 900).lazy(), **own).null_text
        crps = ct.test_calibration(None, frame(rng, 2000).lazy(), test="crps", **own)
        assert crps.n == 2000

    @pytest.mark.parametrize(
        ("options", "reason"),
        [
            ({"by": "other"}, "no groups"),
            ({"sample_weight": "sd"}, "no sample weights"),
            ({"on_error": "skip"}, "no rows that are left out"),
            ({"lens": "interval[0.9]"}, "no lenses"),
            ({"test": "crps"}, "takes no numbers of rows in cells of the PIT"),
            ({"test": "pit-berkowitz", "serial": True}, "takes no numbers of rows in cells"),
            ({"components": ["bias"]}, "takes no numbers of rows in cells"),
            ({"cluster": "other"}, "needs the rows"),
        ],
    )
    def test_what_needs_the_rows_is_refused(self, options, reason, rng):
        with pytest.raises(NotApplicable, match=reason):
            ct.test_calibration(None, frame(rng, 20), **COLUMNS, engine="chunks", **options)

    def test_iterator_is_read_once(self, rng):
        own = {**COLUMNS, "engine": "chunks", "n_resamples": 19, "rng": 1}
        data = frame(rng, 300)
        found = ct.test_calibration(None, iter([data[:100], data[100:]]), test="pit-ks", **own)
        assert found.statistic == ct.test_calibration(None, data, test="pit-ks", **own).statistic
        with pytest.raises(NotApplicable, match="reads forecasts twice"):
            ct.test_calibration(None, iter([data]), **own)

    @pytest.mark.full
    def test_engines_agree(self, rng):
        duckdb = pytest.importorskip("duckdb")
        data = frame(rng, 3000)
        own = {**COLUMNS, "engine": "chunks", "n_resamples": 19, "rng": 1}
        expected = ct.test_calibration(None, data, **own)
        with duckdb.connect() as connection:
            table = connection.from_arrow(data.to_arrow())
            assert ct.test_calibration(None, table, **own).statistic == expected.statistic
        assert ct.test_calibration(None, data.to_pandas(), **own).pvalue == expected.pvalue

    def test_wrong_rows_are_named(self, rng, tmp_path):
        good, bad = frame(rng, 30), frame(rng, 20)
        bad[7, "sd"] = -1.0
        good.write_csv(tmp_path / "a.csv")
        bad.write_csv(tmp_path / "b.csv")
        own = {**COLUMNS, "engine": "chunks", "test": "pit-ks"}
        with pytest.raises(InvalidInput, match=r"scale must be positive.*line 9 of b\.csv"):
            ct.test_calibration(None, str(tmp_path / "*.csv"), **own)
        with pytest.raises(InvalidInput, match="label must be one of"):
            ct.test_calibration(None, good, mean="mu", scale="sd", engine="chunks")
        with pytest.raises(InvalidInput, match="at least one row"):
            ct.test_calibration(None, good[:0], **own)


def test_design_names_columns(rng, tmp_path):
    """Of a frame, a lazy one, a file and an iterator; the features of a model are a frame too."""
    data = frame(rng, 200).with_columns(age=rng.normal(size=200))
    data = data.with_columns(
        y=pl.col("mu") + (pl.col("y") - pl.col("mu")) * (0.6 * pl.col("age")).exp()
    )
    data.write_csv(tmp_path / "rows.csv")
    own = {**COLUMNS, "n_resamples": 49, "rng": 1}
    expected = ct.test_calibration(None, data, design=data[["age"]], **own)
    assert "values of age" in expected.finding
    given = data, data.lazy(), str(tmp_path / "rows.csv"), iter([data[:50], data[50:]])
    found = [ct.test_calibration(None, one, design=["age"], **own) for one in given]
    assert {one.statistic for one in found} == {expected.statistic}
    assert found[2].data_name == "rows.csv"
    assert "of age" in str(ct.verdict(None, data, design="age", **own))
    with pytest.raises(InvalidInput, match="design must be one of"):
        ct.test_calibration(None, data, design=["agge"], **own)
    with pytest.raises(InvalidInput, match="design must not be the label"):
        ct.test_calibration(None, data, design="y", **own)
    with pytest.raises(InvalidInput, match="design must name columns of a data frame"):
        ct.test_calibration(ct.Forecasts.from_frame(data, **COLUMNS), design=["age"])
