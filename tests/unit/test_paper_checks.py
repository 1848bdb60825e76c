"""The runner of paper_checks, which is beside the package and not in the wheel."""

import sys
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from matplotlib.figure import Figure

pytest.importorskip("paper_checks.check", reason="paper_checks is not here")
from paper_checks import __main__ as command
from paper_checks import check, contents, pages, report, runner, verdict_changes
from paper_checks.check import Claim, Part, Setting, Task

CALLS = []


def squares(numbers):
    """Rows of a task of the check below."""
    CALLS.append(numbers)
    if 13 in numbers:
        raise RuntimeError("thirteen")
    return [{"number": number, "square": np.float64(number**2)} for number in numbers]


@pytest.fixture
def toy(monkeypatch):
    """A check of two tasks, by the name "toy"."""
    module = ModuleType("paper_checks.toy")
    module.PAPER = "A paper"
    module.tasks = lambda _setting: [
        Task("first", squares, ([1, 2],)),
        Task("second", squares, ([3],)),
    ]
    module.claims = lambda rows, _setting: [
        Part("Table 1", [Claim("row 1", "sum", 14.0, sum(r["square"] for r in rows), 0.0)])
    ]
    monkeypatch.setitem(sys.modules, "paper_checks.toy", module)
    monkeypatch.setattr(sys.modules["paper_checks"], "toy", module, raising=False)
    items = (
        contents.Item("Table 1", "sums", ("row",), why="The numbers are squared."),
        contents.Item("Figure 1", "a picture", why="No numbers."),
    )
    paper = contents.Paper("toy_1999", "Toy 1999", "Toy (1999)", ("toy",), "it adds up.", items)
    monkeypatch.setattr(pages, "PAPERS", (paper,))
    CALLS.clear()
    return module


@pytest.mark.parametrize(
    ("ours", "verdict"), [(0.9835, "reproduced"), (0.98251, "reproduced"), (0.9824, "differs")]
)
def test_claim_of_a_printed_number_allows_for_its_rounding(ours, verdict):
    """0.983 in print is anything that rounds to it, the borders included."""
    assert Claim("table 3", "log loss", 0.983, ours, **check.rounding(3)).verdict == verdict


def test_claim_asks_for_a_tolerance_or_tells_why_it_has_no_verdict():
    assert Claim("t", "w", 1.0, missing=check.NO_DATA).verdict == "data not available"
    assert Claim("t", "w", None, 1.0).verdict == "paper's value not at hand"
    assert Claim("t", "w", "it grows", "it does not", holds=False).verdict == "differs"
    assert Claim("not in the paper, digits", "w", "it falls", "it does", holds=True).verdict == (
        check.NOT_IN_PAPER
    )
    with pytest.raises(ValueError, match="needs ours and a tolerance"):
        _ = Claim("table 3", "log loss", 0.983, 0.983).verdict


@pytest.mark.parametrize(
    ("tolerance", "verdict"), [(0.02, "reproduced"), (0.15, "not decidable"), (0.005, "differs")]
)
def test_cell_that_most_wrong_columns_pass_is_not_decidable(tolerance, verdict):
    """The other numbers of its row count, those that print the same value do not."""
    row = {"a": 0.2, "b": 0.3, "c": 0.25, "d": 0.9, "e": 0.2}
    cells = [
        Claim(f"table 1, {line}, {name}", "ECE", value + i, value + i + 0.01, tolerance)
        for i, line in enumerate(("tree", "forest"))
        for name, value in row.items()
    ]
    first = check.beside(cells)[0]
    assert first.others == (0.3, 0.25, 0.9)
    assert first.verdict == verdict


def test_order_of_columns_is_tested_row_by_row():
    """Tau, W and the best column of four rows, one of them in another order."""
    from scipy.stats import kendalltau

    from paper_checks.concordance import agreement

    rows = [([1, 2, 3, 4], [2, 3, 5, 6])] * 3 + [([1, 2, 3, 4], [3, 2, 5, 6])]
    claims = [
        {"where": f"table 1, set {i}, {k}", "what": "rank", "paper": str(a), "ours": str(b)}
        for i, both in enumerate(rows)
        for k, (a, b) in enumerate(zip(*both, strict=True))
    ]
    tau, w, same, p = agreement(claims)
    assert tau.startswith(f"{np.mean([kendalltau(*both).statistic for both in rows]):.2f} (")
    assert (w, same) == ("0.97", "3 of 4")
    assert 1e-6 < float(p) < 1e-3


def test_run_in_which_nothing_is_compared_fails(toy, tmp_path, monkeypatch, capsys):
    """As of one without data, whose numbers are all missing."""
    monkeypatch.setattr(command, "CHECKS", ("toy",))
    monkeypatch.setattr(command, "run", partial(runner.run, folder=tmp_path))
    words = ["toy", "--smoke", "--quiet", "--jobs", "1"]
    assert command.main(words) == 0
    assert "1 of 1 numbers and statements compared" in capsys.readouterr().out
    missing = Claim("row 1", "sum", 14.0, missing=check.NO_DATA)
    toy.claims = lambda _rows, _setting: [Part("Table 1", [missing])]
    assert command.main(words) == 1
    assert "Nothing of 1 numbers" in capsys.readouterr().out


def test_sums_of_samples_stand_in_for_them(toy, tmp_path):
    """Of a check that stores no rows of tasks the stored ones are what its claims are made of."""
    report._write_csv(tmp_path / "toy_quick_rows.csv", ("square",), [{"square": 20}])
    outcome = runner.run("toy", Setting(), stored=True, results=tmp_path, quiet=True)
    assert outcome.parts[0].claims[0].ours == 20
    assert not CALLS


def test_readme_counts_a_cell_once(toy, tmp_path):
    """A claim whose place starts with "again" is in the tables and not in the counts."""
    one = Claim("row 1", "sum", 14.0, 14.0, 0.0)
    twice = Claim(f"{check.AGAIN}row 1", "sum, more digits", 14.0, 15.0, 0.0)
    toy.claims = lambda _rows, _setting: [Part("Table 1", [one, twice])]
    report.write(runner.run("toy", Setting(), folder=tmp_path / "kept", quiet=True), tmp_path)
    pages.write(tmp_path, tmp_path)
    assert "| all | 1 | 0 | 0 | 0 | 0 |" in (tmp_path / "README.md").read_text(encoding="utf-8")
    listed = (tmp_path / "toy_quick.md").read_text(encoding="utf-8")
    assert "| again: row 1 | sum, more digits |" in listed


def test_readme_shows_the_full_run_where_there_is_one(toy, tmp_path):
    """Of a check with both runs the quick one is neither counted nor shown."""
    for mode in ("quick", "full"):
        outcome = runner.run("toy", Setting(mode), folder=tmp_path / "kept", quiet=True)
        report.write(outcome, tmp_path)
    pages.write(tmp_path, tmp_path)
    text = (tmp_path / "toy_1999.md").read_text(encoding="utf-8")
    assert "toy_full.csv" in text
    assert "quick" not in text


@pytest.mark.parametrize("text", ["", "{", "[]", '{"key": "first"}', "\xff"])
def test_run_computes_again_what_is_damaged(toy, tmp_path, text):
    """A kept file that is no whole record counts as none."""
    runner.run("toy", Setting(), folder=tmp_path, quiet=True)
    for path in tmp_path.rglob("*.json"):
        path.write_bytes(text.encode("latin-1"))
    assert runner.run("toy", Setting(), folder=tmp_path, quiet=True).parts[0].claims[0].ours == 14
    assert CALLS == 2 * [[1, 2], [3]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing"], "NAME must be one of"),
        (["--jobs", "-1"], "--jobs must be at least 1"),
        (["--data", "nowhere"], "--data must be a folder; got 'nowhere'"),
    ],
)
def test_command_refuses_what_it_cannot_run(arguments, said, capsys):
    """Status 2 and one line that says what was expected."""
    from paper_checks.__main__ import main

    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


def test_run_keeps_the_rows_of_tasks_that_have_ended(toy, tmp_path):
    """A run that stops at the second task starts with it the next time."""
    good = toy.tasks
    toy.tasks = lambda s: [good(s)[0], Task("second", squares, ([13],))]
    with pytest.raises(RuntimeError, match="thirteen"):
        runner.run("toy", Setting(), folder=tmp_path, quiet=True)
    toy.tasks = good
    outcome = runner.run("toy", Setting(), folder=tmp_path, quiet=True)
    assert CALLS == [[1, 2], [13], [3]]
    assert outcome.parts[0].claims[0].verdict == "reproduced"


def test_run_with_fewer_data_leaves_the_kept_results(toy, tmp_path, monkeypatch, capsys):
    """As of a user who does not pass --data."""
    monkeypatch.setattr(command, "CHECKS", ("toy",))
    written = []
    monkeypatch.setattr(command, "_written", lambda outcome: written.append(outcome) or True)
    monkeypatch.setattr(command, "run", partial(runner.run, folder=tmp_path / "kept"))
    outcome = runner.run("toy", Setting(), folder=tmp_path / "kept", quiet=True)
    report.write(outcome, tmp_path)
    monkeypatch.setattr(command.report, "poorer", partial(report.poorer, results=tmp_path))
    assert command.main(["toy", "--quiet"]) == 0
    assert len(written) == 1
    missing = [Claim("row 1", "sum", 14.0, missing=check.NO_DATA)]
    toy.claims = lambda _rows, _setting: [Part("Table 1", missing)]
    assert command.main(["toy", "--quiet"]) == 1
    assert len(written) == 1
    assert "toy: the kept results had more data" in capsys.readouterr().out


def test_run_computes_again_on_request_and_refuses_two_tasks_of_one_key(toy, tmp_path):
    for setting, fresh in ((Setting(), False), (Setting(), True), (Setting("full"), False)):
        runner.run("toy", setting, folder=tmp_path, quiet=True, fresh=fresh)
    assert CALLS == 3 * [[1, 2], [3]]
    toy.tasks = lambda _setting: 2 * [Task("first", squares, ([1],))]
    with pytest.raises(ValueError, match="'first' names two tasks"):
        runner.run("toy", Setting(), folder=tmp_path, quiet=True)


def test_report_has_the_numbers_and_is_the_same_after_a_rerun(toy, tmp_path):
    """Claims, rows and the README; times are not in them."""
    texts = []
    for fresh in (False, True):
        outcome = runner.run("toy", Setting(), folder=tmp_path / "kept", quiet=True, fresh=fresh)
        report.write(outcome, tmp_path)
        pages.write(tmp_path, tmp_path)
        names = ("README.md", "toy_1999.md", "toy_quick.md")
        texts.append([(tmp_path / name).read_text(encoding="utf-8") for name in names])
    assert texts[0] == texts[1]
    readme, page, listed = texts[0]
    assert "| [Toy 1999](toy_1999.md) | 1 | 0 | 0 | 0 | 0 |" in readme
    assert "| Table 1 | sums | 1 |  |  |  |  | The numbers are squared. |" in page
    assert "| Figure 1 | a picture |  |  |  |  |  | No numbers. |" in page
    assert "| row 1 | sum | 14 | 14.00 |" in listed
    rows = (tmp_path / "toy_quick_rows.csv").read_text(encoding="utf-8")
    assert rows.splitlines() == ["number,square", "1,1", "2,4", "3,9"]


def test_stored_rows_stand_in_for_tasks(toy, tmp_path):
    """Nothing is run again; a task that the results do not hold is."""
    kept, results = tmp_path / "kept", tmp_path / "results"
    report.write(runner.run("toy", Setting(), folder=kept, quiet=True), results)
    CALLS.clear()
    both = toy.tasks
    toy.tasks = lambda s: [*both(s), Task("third", squares, ([4],))]
    elsewhere = {"folder": tmp_path / "other", "results": results, "quiet": True}
    outcome = runner.run("toy", Setting(), stored=True, **elsewhere)
    assert CALLS == [[4]]
    assert [row["square"] for row in outcome.rows] == [1, 4, 9, 16]


def test_stored_rows_give_the_same_files(toy, tmp_path):
    """Rows are rounded before they are compared, and pictures of stored rows stay."""
    toy.tasks = lambda _setting: [Task("thirds", lambda: [{"square": k / 3} for k in range(9)])]
    figure, (toy.CAPTIONS, drawn) = Figure(), ({"one": "A picture."}, [])
    toy.figures = lambda *_unused: drawn.append(1) or {"one": figure}
    report.write(runner.run("toy", Setting(), folder=tmp_path / "kept", quiet=True), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("toy_*")}
    elsewhere = {"folder": tmp_path / "other", "results": tmp_path, "quiet": True}
    report.write(runner.run("toy", Setting(), stored=True, **elsewhere), tmp_path)
    assert before == {path.name: path.read_bytes() for path in tmp_path.glob("toy_*")}
    assert len(drawn) == 1
    assert b"A picture." in before["toy_quick.md"]


def test_stored_values_have_their_types(tmp_path):
    """Numbers, flags and text; an empty cell is no value."""
    path = tmp_path / "rows.csv"
    path.write_text("a,b,c,d\n1,0.5,True,x\n,1e-3,False,\n", encoding="utf-8")
    assert runner._read_csv(path) == [
        {"a": 1, "b": 0.5, "c": True, "d": "x"},
        {"b": 1e-3, "c": False},
    ]


@pytest.mark.parametrize("explained", [True, False])
def test_difference_says_whether_its_reason_is_known(toy, tmp_path, explained):
    """In the list of numbers and in the counts."""
    claim = Claim("row 1", "sum", 14.0, 15.0, 0.0, note="one more", explained=explained)
    toy.claims = lambda _rows, _setting: [Part("Table 1", [claim])]
    report.write(runner.run("toy", Setting(), folder=tmp_path / "kept", quiet=True), tmp_path)
    pages.write(tmp_path, tmp_path)
    said = "differs, explained" if explained else "differs, not explained"
    assert f"| {said} |" in (tmp_path / "toy_quick.md").read_text(encoding="utf-8")
    counted = "| all | 0 | 0 | 1 | 0 | 0 |" if explained else "| all | 0 | 0 | 0 | 1 | 0 |"
    assert counted in (tmp_path / "README.md").read_text(encoding="utf-8")


def test_claim_without_a_table_is_refused(toy, tmp_path):
    """Each belongs to a table, a figure or a section of its paper."""
    toy.claims = lambda _rows, _setting: [Part("Table 9", [Claim("column 1", "sum", 1.0, 1.0, 0)])]
    report.write(runner.run("toy", Setting(), folder=tmp_path / "kept", quiet=True), tmp_path)
    with pytest.raises(ValueError, match="toy_1999: no table or figure for 'column 1'"):
        pages.write(tmp_path, tmp_path)


def test_pages_in_the_repository_are_those_of_the_results(tmp_path):
    """What stands in README.md and in the pages of the papers is counted from the CSV files."""
    pages.write(tmp_path)
    for path in tmp_path.iterdir():
        kept = (Path(pages.__file__).parent / path.name).read_text(encoding="utf-8")
        assert path.read_text(encoding="utf-8") == kept, path.name


@pytest.mark.parametrize("paper", contents.PAPERS, ids=lambda paper: paper.key)
def test_changes_of_verdict_end_at_those_of_the_results(paper):
    """Each is a claim of today's results, with today's verdict, once another."""
    today = pages.claims_of(paper)
    for change in verdict_changes.HISTORIES[paper.key].changes:
        found = [
            claim["verdict"]
            for claim in today
            if (claim["where"], claim["what"]) == (change.where, change.what)
            and claim["paper"].startswith(change.statement)
        ]
        assert found == [change.now]
        assert change.before != change.now
        assert {change.before, change.now} <= set(check.VERDICTS)


@pytest.mark.full
@pytest.mark.parametrize("m", [2, 10])
@pytest.mark.parametrize("binning", ["uniform", "median-variance"])
def test_compiled_consistency_resampling_is_the_plain_one(m, binning, monkeypatch):
    """On the same rows and labels the ECE is that of caltest.measures.ece."""
    from caltest.datasets import generative_model
    from caltest.measures import ece
    from paper_checks import consistency

    # Compiling takes longer than all other tests here: the loops run as they are written.
    for name in ("_draw", "_error", "_with_cells"):
        monkeypatch.setattr(consistency, name, getattr(consistency, name).py_func)
    predictions = generative_model("M2", n=100, m=m, rng=0)
    rng = np.random.default_rng(1)
    rows, uniforms = rng.integers(0, 100, (5, 100)), rng.random((5, 100))
    options = {"binning": binning, "bins": 10, "min_size": 5}
    values, labels = consistency.resampled_eces(predictions, options, rows, uniforms)
    plain = [ece(predictions.probs[r], y, **options) for r, y in zip(rows, labels, strict=True)]
    assert values == pytest.approx(plain, rel=1e-12)


def test_estimates_of_the_simulation_are_those_of_skce():
    """The biased estimator is had from the unbiased one."""
    from caltest.measures import skce
    from paper_checks.skce_models import MODELS, seeds
    from paper_checks.skce_simulation import ESTIMATORS, estimates, kernels

    rows = {row["name"]: float(row["values"]) for row in estimates("M2", 10, 0, 1)}
    predictions = MODELS["M2"].draw(10, seeds("M2", 10, 0, 1)[0])
    for rule, kernel in kernels("M2", 10, predictions).items():
        for name, estimator in ESTIMATORS.items():
            plain = skce(predictions, estimator=estimator, kernel=kernel)
            assert rows[f"SKCE{name}_{rule}"] == pytest.approx(plain, rel=1e-8)


def test_median_of_the_paper_has_the_zeros_of_the_diagonal():
    """Of three predictions it is the median of nine distances, three of them zero."""
    from paper_checks.skce_simulation import median_distance

    assert median_distance(np.array([[1.0, 0], [0.9, 0.1], [0, 1]])) == pytest.approx(0.1)


def test_formulas_of_the_networks_are_those_of_caltest_where_rows_sum_to_one():
    """Without the division by the sums nothing changes then; the paper's variance divides by n."""
    from caltest import test_calibration as judge
    from caltest.datasets import generative_model
    from caltest.kernels import Exponential
    from caltest.measures import ece
    from caltest.numerics.tails import normal_sf
    from paper_checks.skce_networks import BINNINGS, _undivided

    predictions = generative_model("M2", n=600, m=3, rng=0)
    found = _undivided(predictions.probs, predictions.labels, 0.5)
    for key, options in BINNINGS.items():
        assert found[f"undivided, {key}"] == pytest.approx(ece(predictions, **options), rel=1e-12)
    options = {"estimator": "linear", "kernel": Exponential(0.5)}
    z = judge(None, predictions, test="skce", null="asymptotic", **options)
    assert found["undivided, SKCE_ul"] == pytest.approx(z.estimate, rel=1e-12)
    pvalue = normal_sf(z.statistic * np.sqrt(300 / 299))
    assert found["undivided, A_l"] == pytest.approx(pvalue, rel=1e-9)


@pytest.mark.parametrize(("model", "seed"), [("M2", 0), ("M1", 2)])
def test_bound_with_the_square_is_caltests_where_the_estimate_is_positive(model, seed):
    """It is written for 250 observations and depends on n t^2; for a negative one it is below 1."""
    from caltest import test_calibration as judge
    from caltest.datasets import generative_model
    from caltest.kernels import Exponential
    from paper_checks.skce_models import N
    from paper_checks.skce_simulation import squared_bound

    predictions = generative_model(model, n=600, m=10, rng=seed)
    options = {"estimator": "linear", "kernel": Exponential(0.8)}
    bound = judge(None, predictions, test="skce", null="distribution-free", **options)
    squared = squared_bound("ul", np.sqrt(600 / N) * bound.estimate)
    if model == "M2":
        assert squared == pytest.approx(bound.pvalue, rel=1e-12)
    else:
        assert bound.estimate < 0
        assert squared < bound.pvalue == 1


def test_curve_of_test_errors_is_one_claim_at_the_level_of_the_largest_difference():
    """Of an uncalibrated model it compares shares of p-values above the level."""
    from paper_checks.skce_errors import _curve
    from paper_checks.skce_simulation import LEVELS

    paper = np.clip(LEVELS, 0, 0.4)
    paper[0] = 0.9  # level 0 is left out
    pvalues = (np.arange(1000) + 0.5) / 1000
    curves = {("M2", 10, "any"): paper, ("M2", 10, "other"): np.ones(101)}
    claim = _curve("figure 2", "D_b", ("M2", 10, "any"), pvalues, curves)
    assert claim.others == pytest.approx((1 - 0.0095,), abs=0.01)
    assert claim.what == "error of D_b at the level 1.00"
    assert (claim.value, claim.ours) == pytest.approx((0.6, 0))
    assert claim.tolerance == pytest.approx(1.95 * np.sqrt(1 / 1000 + 1 / 10_000))


@pytest.mark.parametrize("label", ["M2", "M3", "alpha = 1, pi = 0.25, uniform"])
def test_true_ece_of_the_models_is_the_mean_distance(label):
    """The closed form is the mean of pi TV(g, beta) over drawn predictions g."""
    from paper_checks.skce_models import ALL

    m, model = 5, ALL[label]
    probs = np.random.default_rng(0).dirichlet(np.full(m, model.alpha), 20_000)
    beta = np.eye(m)[0] if model.name == "M2" else np.full(m, 1 / m)
    distances = model.pi * np.abs(probs - beta).sum(axis=1) / 2
    error = distances.std() / np.sqrt(len(distances))
    assert abs(distances.mean() - model.true_ece(m)) < 5 * error


def test_binning_of_the_paper_smooths_frequencies():
    """Of two bins of equal width the values are (events + 1) / (observations + 2)."""
    from paper_checks.dirichlet_uci import PaperBinning

    fitted = PaperBinning(bins=2).fit([0.1, 0.2, 0.3, 0.6, 0.9], [0, 0, 1, 1, 1])
    assert fitted.predict_proba([0.0, 0.4, 0.5, 1.0])[:, 1].tolist() == [2 / 5, 2 / 5, 3 / 4, 3 / 4]


def test_quadratic_discriminant_analysis_is_that_of_normal_laws():
    """Bayes' rule with the shrunk sample covariances; a class of few observations is no error."""
    from scipy.stats import multivariate_normal

    from paper_checks.sklearn_021 import RegularizedQDA

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 4)), np.repeat([0, 1, 2], 30)
    laws = [(X[y == k].mean(0), 0.9 * np.cov(X[y == k].T) + 0.1 * np.eye(4)) for k in range(3)]
    densities = np.column_stack([multivariate_normal.pdf(X, *law) for law in laws])
    expected = densities / densities.sum(axis=1, keepdims=True)
    assert RegularizedQDA().fit(X, y).predict_proba(X) == pytest.approx(expected, rel=1e-9)
    few = RegularizedQDA().fit(X[28:33], y[28:33]).predict_proba(X)
    assert np.isfinite(few).all()
