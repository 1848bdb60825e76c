"""What holds for every named test under every null that has a meaning for it.

A test that is registered is covered; only exceptions are named, with a reason.
"""

import warnings
from contextlib import suppress

import numpy as np
import pytest

import caltest as ct
from caltest.errors import DegenerateDataWarning, NotApplicable
from caltest.htests import REGISTRY as EVERY
from caltest.nulls import REGISTRY as NULLS
from caltest.numerics.joint import tie_tolerance

RESAMPLES = 49

BLOCKS = "blocks are consecutive rows"
PLACES = "the sampled test locations depend on the order of the columns"
ORDER = "takes the order of the classes"
REFERENCE = "groups are along the probability of the reference class, the first"
KNOTS = "a loess is interpolated between knots that are chosen from the smallest P(Y = 1) on"
EVENT = "defaults are events, the second class"
PARTIAL = "partial sums start at the smallest P(Y = 1), and their largest is not that from the end"
DEPENDS_ON_ROWS = {"skce-linear": BLOCKS, "skce-block": BLOCKS}
SIGN = "the statistic is the same, but its estimate, the intercept, changes sign with the event"
DEPENDS_ON_CLASSES = {
    ("cme", 2): PLACES,
    ("cme", 3): PLACES,
    ("ks", 2): PARTIAL,
    ("cramer-von-mises", 2): PARTIAL,
    ("hosmer-lemeshow", 3): REFERENCE,
    ("rps", 3): ORDER,
    ("ordinal-hosmer-lemeshow", 3): ORDER,
    ("calibration-in-the-large", 2): SIGN,
    ("ici", 2): KNOTS,
    **{(key, 2): EVENT for key in ("binomial", "jeffreys", "normal", "vasicek")},
}

# ---- tests, nulls and data ----------------------------------------------------------------------


def predictions_of(m, n=60):
    """Return uncalibrated predictions without zeros, ones or ties."""
    rng = np.random.default_rng(m)
    return ct.Predictions(rng.dirichlet(np.ones(m), n), rng.integers(m, size=n))


def lens_of(key):
    """Return the first lens under which the test takes predictions of three classes."""
    for lens in ("strong", "confidence"):
        with suppress(NotApplicable):
            REGISTRY[key].with_options({}).bind(ct.lenses.resolve_lens(lens)(predictions_of(3)))
            return lens
    raise AssertionError(f"{key} takes no predictions of three classes under any lens")


full = pytest.mark.full


REGISTRY = {key: test for key, test in EVERY.items() if test.measure.of is not ct.Forecasts}


def cases(*, every_null):
    """Return each test with its nulls; those that are not its default in the full tier alone."""
    return pytest.mark.parametrize(
        ("key", "null"),
        [
            pytest.param(
                *(key, null),
                id=f"{key}, {null}",
                marks=() if every_null or null == test.default_null else full,
            )
            for key, test in REGISTRY.items()
            for null in test.nulls
        ],
    )


every_test = cases(every_null=False)
every_test_and_null = cases(every_null=True)
every_exact_test = pytest.mark.parametrize(
    "key", [key for key, test in REGISTRY.items() if "exact" in test.nulls]
)
two_or_three_classes = pytest.mark.parametrize("m", [2, pytest.param(3, marks=full)])
three_or_two_classes = pytest.mark.parametrize("m", [pytest.param(2, marks=full), 3])


def run(key, null, predictions, **settings):
    """Run a test under the lens that suits it."""
    lens = "strong" if predictions.m == 2 else lens_of(key)
    settings = {"n_resamples": RESAMPLES, "rng": 7} | settings
    return ct.test_calibration(None, predictions, test=key, lens=lens, null=null, **settings)


def attempt(key, null, predictions, **settings):
    """Return the result, or None and the message where the test is not applicable."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        try:
            return run(key, null, predictions, **settings), ""
        except NotApplicable as error:
            return None, str(error)


def assert_same_statistic(result, other):
    """Compare statistics and estimates up to rounding."""
    assert result.statistic == pytest.approx(other.statistic, rel=1e-9, abs=1e-12)
    assert result.estimate == pytest.approx(other.estimate, rel=1e-9, abs=1e-12)


# ---- registries ---------------------------------------------------------------------------------


def test_registries_name_each_test_and_null_once(case):
    """The measure declares the test; a title is one line; a null has the docstring of its page."""
    for key, test in REGISTRY.items():
        with case(key):
            assert test.key == key
            assert test.measure.declared_tests()[key] == test.fixed
            assert test.title.strip() == test.title != ""
            assert "\n" not in test.title
            assert test.default_null in test.nulls
            assert set(test.nulls) <= set(NULLS)
    for key, null in NULLS.items():
        with case(key):
            assert null.key == key
            assert "\n" not in null.title
            assert getattr(null.run, "func", null.run).__doc__


@pytest.mark.parametrize("key", REGISTRY)
def test_null_without_meaning_is_refused_with_alternatives(key, case):
    """The message lists the nulls that have a meaning."""
    refused = f"use (one of )?.*'{REGISTRY[key].default_null}'"
    for null in set(NULLS).difference(REGISTRY[key].nulls):
        with case(null), pytest.raises(NotApplicable, match=refused):
            run(key, null, predictions_of(2))


# ---- few label vectors ------------------------------------------------------------------------


def tail_of_all_vectors(measure, predictions):
    """Return the exact p-value from a value for each of the 2^n label vectors, bound anew."""
    labels = np.indices((2,) * predictions.n).reshape(predictions.n, -1).T
    weights = predictions.probs[np.arange(predictions.n), labels].prod(axis=1)
    bounds = [measure.bind(ct.Predictions(predictions.probs, row)) for row in labels]
    values = np.array([bound.comparable(np.array([bound.value()]))[0] for bound in bounds])
    bound = measure.bind(predictions)
    observed = bound.comparable(np.array([bound.value()]))[0]
    slack = float(tie_tolerance(observed, bound.scale)) if np.isfinite(observed) else 0.0
    upper = weights[values >= observed - slack].sum()
    lower = weights[values <= observed + slack].sum()
    two_sided = measure.alternative == "two-sided"
    return min(1.0, 2 * min(upper, lower)) if two_sided else upper


@every_exact_test
def test_few_label_vectors_are_all_listed(key, case):
    """Where the predictions allow at most B + 1 of them nothing is drawn: p is the exact tail."""
    inside, certain = [0.2, 0.9, 0.35, 0.6, 0.2, 0.75], [0.0, 0.9, 0.35, 0.6, 0.2, 1.0]
    for labels in ([1, 0, 0, 1, 1, 0], [1, 1, 1, 1, 0, 1], [0, 0, 0, 0, 0, 1]):
        with case(labels):
            check_exact_tail(key, ct.Predictions(inside, labels), 64)
    for labels in ([0, 0, 1, 1, 1, 1], [0, 1, 1, 0, 0, 1]):
        with case("certain", labels):
            check_exact_tail(key, ct.Predictions(certain, labels), 16)


def check_exact_tail(key, predictions, count):
    """Compare a p-value with the tail of all label vectors that are possible."""
    result, message = attempt(key, "exact", predictions, n_resamples=63)
    if result is None:
        assert "; " in message
        return
    assert (result.n_resamples, result.seed, result.null_distribution) == (None, None, None)
    assert f"all {count} label vectors" in result.null_text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        tail = tail_of_all_vectors(REGISTRY[key].with_options({}), predictions)
    assert result.pvalue == pytest.approx(tail, rel=1e-9)


# ---- results ------------------------------------------------------------------------------------


@two_or_three_classes
@every_test_and_null
def test_result_is_complete(key, null, m):
    """A p-value in (0, 1], numbers that are numbers, and forms that can be printed and stored."""
    result = run(key, null, predictions_of(m))
    assert 0 < result.pvalue <= 1
    assert np.isfinite([result.statistic, result.estimate]).all()
    assert (result.test, result.null) == (key, null)
    assert result.statistic_name in str(result)
    assert result.to_json()


@three_or_two_classes
@every_test
def test_inputs_are_untouched(key, null, m):
    """Arrays that could be written to are not, and still can be."""
    predictions = predictions_of(m)
    probs, labels = predictions.probs.copy(), predictions.labels.copy()
    lens = "strong" if m == 2 else lens_of(key)
    ct.test_calibration(probs, labels, test=key, lens=lens, null=null, n_resamples=RESAMPLES, rng=0)
    np.testing.assert_array_equal(probs, predictions.probs)
    np.testing.assert_array_equal(labels, predictions.labels)
    assert probs.flags.writeable
    assert labels.flags.writeable


@three_or_two_classes
@every_test
def test_permuted_rows_give_the_same_statistic(key, null, m):
    """The order of the observations carries no information."""
    if key in DEPENDS_ON_ROWS:
        pytest.skip(DEPENDS_ON_ROWS[key])
    predictions = predictions_of(m)
    order = np.random.default_rng(0).permutation(predictions.n)
    assert_same_statistic(run(key, null, predictions), run(key, null, predictions.subset(order)))


@three_or_two_classes
@every_test
def test_relabelled_classes_give_the_same_statistic(key, null, m):
    """Neither do the names of the classes, nor the order of the columns."""
    if (key, m) in DEPENDS_ON_CLASSES:
        pytest.skip(DEPENDS_ON_CLASSES[key, m])
    predictions = predictions_of(m)
    order = np.roll(np.arange(m), 1)
    place = np.argsort(order)
    other = ct.Predictions(predictions.probs[:, order], place[predictions.labels])
    first, second = run(key, null, predictions), run(key, null, other)
    if REGISTRY[key].with_options({}).alternative == "two-sided":
        assert abs(first.statistic) == pytest.approx(abs(second.statistic), rel=1e-9)
    else:
        assert_same_statistic(first, second)


@three_or_two_classes
@every_test
def test_weights_of_one_change_nothing(key, null, m):
    """Or weights are refused with an alternative."""
    plain = predictions_of(m)
    ones = ct.Predictions(plain.probs, plain.labels, sample_weight=np.ones(plain.n))
    weighted, message = attempt(key, null, ones)
    if weighted is None:
        assert "weights" in message
        assert "; use " in message
    else:
        assert_same_statistic(weighted, run(key, null, plain))
        assert weighted.pvalue == run(key, null, plain).pvalue


# ---- degenerate data ----------------------------------------------------------------------------


def degenerate(m, n=30):
    """Map the names of degenerate data sets to their predictions and labels."""
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.ones(m), n), rng.integers(m, size=n)
    corners = np.eye(m)[np.arange(n) % m]
    constant = np.tile(np.arange(1, m + 1) / (m * (m + 1) / 2), (n, 1))
    few = {f"{rows} rows": (probs[:rows], labels[:rows]) for rows in (1, 2, 3)}
    return few | {
        "two right": (np.eye(m)[:2], np.arange(2)),
        "constant": (constant, labels),
        "constant and one class": (constant, np.full(n, m - 1)),
        "uniform": (np.full((n, m), 1 / m), np.arange(n) % m),
        "one class": (probs, np.full(n, 0)),
        "zeros and ones, right": (corners, np.arange(n) % m),
        "zeros and ones, one wrong": (corners, np.append(1, np.arange(1, n) % m)),
        "zeros and ones, wrong": (corners, (np.arange(n) + 1) % m),
        "certain and one class": (np.eye(m)[np.zeros(n, int)], np.full(n, 0)),
        "certain and wrong": (np.eye(m)[np.zeros(n, int)], np.full(n, 1)),
        "few predictions": ((constant + corners) / 2, labels),
        "tiny probabilities": (np.where(corners > 0, 1 - (m - 1) * 1e-300, 1e-300), labels),
    }


@full
@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("key", REGISTRY)
def test_unit_of_weights_does_not_matter(key, m):
    """From 1e-300 to 1e300: the same statistic and p-value, with clusters too."""
    plain = predictions_of(m)
    weights = np.random.default_rng(0).random(plain.n) + 0.1
    for clusters in (None, np.arange(plain.n) // 4):
        found = set()
        for unit in (1.0, 1e-300, 1e-9, 3.0, 1e155, 1e300):
            rows = {"sample_weight": unit * weights, "clusters": clusters}
            data = ct.Predictions(plain.probs, plain.labels, **rows)
            with suppress(NotApplicable):
                one = ct.test_calibration(None, data, test=key, n_resamples=RESAMPLES, rng=0)
                found.add((one.pvalue, f"{one.statistic:.9g}"))
        assert len(found) <= 1


@pytest.mark.parametrize("m", [2, pytest.param(3, marks=full)])
@pytest.mark.parametrize("key", REGISTRY)
def test_rows_of_weight_0_are_none(key, m):
    """Whatever is chosen by the rows, as bins and bandwidths, is as without them."""
    plain = predictions_of(m)
    rng = np.random.default_rng(0)
    weights = (rng.random(plain.n) + 0.1) * (rng.random(plain.n) < 0.6)
    known = {"sample_weight": weights}
    data = ct.Predictions(plain.probs, plain.labels, classes=plain.classes, **known)
    some, _ = attempt(key, None, data)
    if some is not None:
        fewer = run(key, None, data.subset(weights > 0))
        assert_same_statistic(some, fewer)
        if some.components is not None:
            parts = [sorted(x.components, key=lambda part: part.test) for x in (some, fewer)]
            for one, other in zip(*parts, strict=True):
                assert_same_statistic(one, other)


@pytest.mark.filterwarnings("ignore::caltest.errors.DegenerateDataWarning")
@pytest.mark.parametrize("lens", ["by", "top-label"])
@pytest.mark.parametrize("key", REGISTRY)
def test_groups_without_weight_are_left_out(key, lens):
    """Groups and predicted classes; a test that takes no weights says so."""
    plain = predictions_of(3, 90)
    weight = np.where(plain.predicted == 1, 0.0, 1.0)
    data = ct.Predictions(plain.probs, plain.labels, sample_weight=weight)
    asked = {"lens": "top-label"} if lens == "top-label" else {"by": plain.predicted}
    if lens == "by":
        asked["lens"] = "confidence"
    try:
        table = ct.test_calibration(None, data, test=key, n_resamples=RESAMPLES, rng=0, **asked)
    except NotApplicable as error:
        assert "weights" in str(error) or "redrawn" in str(error)  # noqa: PT017
        return
    assert len(table.rows) == 2
    assert "all rows have the weight 0" in " ".join(table.notes)


@two_or_three_classes
@every_test_and_null
def test_degenerate_data_give_a_defined_answer(key, null, m, case):
    """A p-value in (0, 1] and no NaN, perhaps with a DegenerateDataWarning, or NotApplicable."""
    for name, (probs, labels) in degenerate(m).items():
        with case(name):
            data = ct.Predictions(probs, labels, classes=np.arange(m))
            check_answer(*attempt(key, null, data, n_resamples=19))


def check_answer(result, message):
    """Check that a result has numbers, or that the message has a reason and an alternative."""
    if result is None:
        assert "; " in message
        return
    assert 0 < result.pvalue <= 1
    assert not np.isnan([result.statistic, result.estimate]).any()
    assert result.null_distribution is None or not np.isnan(result.null_distribution).any()
    assert "nan" not in str(result).lower()
    assert result.to_json()


@every_exact_test
def test_exact_null_of_predictions_of_zero_and_one(key):
    """Right: redrawn labels are the same, so p = 1. Wrong: no redrawn statistic is as extreme."""
    right = ct.Predictions(np.eye(2)[np.arange(40) % 2], np.arange(40) % 2)
    result, message = attempt(key, "exact", right)
    assert result.pvalue == 1.0, message
    result, _ = attempt(key, "exact", ct.Predictions(np.zeros(40), np.ones(40, int)))
    two_sided = REGISTRY[key].with_options({}).alternative == "two-sided"
    assert result.pvalue == pytest.approx((2 if two_sided else 1) / (RESAMPLES + 1))


@every_test
def test_overwhelming_evidence_gives_no_pvalue_of_zero(key, null):
    """Where a tail underflows the p-value is the least positive number, and prints as < 1e-04."""
    event = np.random.default_rng(0).uniform(0.05, 0.4, 2000)
    labels = (np.arange(2000) % 10 > 0).astype(int)
    result = run(key, null, ct.Predictions(event, labels))
    assert 0 < result.pvalue < 0.05


# ---- tests with a tolerance ---------------------------------------------------------------------

KNOWN = ("skce", "skce-linear", "skce-block", "debiased-ece", "ks")
every_known = pytest.mark.parametrize("key", KNOWN)
both_sides = pytest.mark.parametrize("equivalence", [False, True])
every_number_of_classes = pytest.mark.parametrize("m", [2, 3])


def run_within(key, predictions, **settings):
    """Run a test with a tolerance under a lens that suits it."""
    lens = "confidence" if key == "ks" and predictions.m > 2 else "strong"
    settings = {"tolerance": 0.05, "n_resamples": RESAMPLES, "rng": 7} | settings
    return ct.test_calibration(None, predictions, test=key, lens=lens, **settings)


@pytest.mark.parametrize("key", [key for key in REGISTRY if key not in KNOWN])
def test_unknown_tolerance_is_refused_with_alternatives(key):
    """The message names the tests that know one."""
    with pytest.raises(NotApplicable, match="no test with a tolerance; use .*" + ".*".join(KNOWN)):
        run_within(key, predictions_of(2))


@every_number_of_classes
@both_sides
@every_known
def test_result_within_a_tolerance_is_complete(key, equivalence, m):
    """A p-value in (0, 1], numbers, a hypothesis in words, and forms that can be stored."""
    result = run_within(key, predictions_of(m, 120), equivalence=equivalence)
    assert 0 < result.pvalue <= 1
    assert np.isfinite([result.statistic, result.estimate]).all()
    assert (result.test, result.null) == (key, "tolerance")
    side = "least" if equivalence else "most"
    assert result.claim == f"the {result.estimate_name} is at {side} 0.05"
    assert ct.HTest.from_dict(result.to_dict()) == result


@both_sides
@every_known
def test_seed_gives_the_pvalue_within_a_tolerance_with_any_number_of_threads(key, equivalence):
    data = predictions_of(3, 120)
    one, two = (run_within(key, data, equivalence=equivalence, n_jobs=jobs) for jobs in (1, 2))
    assert one.pvalue == pytest.approx(two.pvalue, rel=1e-9)


@every_number_of_classes
@both_sides
@every_known
def test_permuted_rows_give_the_same_statistic_within_a_tolerance(key, equivalence, m):
    """The order of the observations carries no information, but for blocks."""
    if key in DEPENDS_ON_ROWS:
        pytest.skip(BLOCKS)
    data = predictions_of(m, 120)
    other = data.subset(np.random.default_rng(0).permutation(data.n))
    first, second = (run_within(key, one, equivalence=equivalence) for one in (data, other))
    # The variance at zero is estimated from neighbours in a bin.
    rounding = 0.2 if key == "debiased-ece" else 1e-9
    assert first.statistic == pytest.approx(second.statistic, rel=rounding)


@every_known
def test_weights_within_a_tolerance_are_refused(key):
    """The laws are for independent draws of the same weight."""
    data = predictions_of(2)
    ones = ct.Predictions(data.probs, data.labels, sample_weight=np.ones(data.n))
    with pytest.raises(NotApplicable, match="takes no sample weights; leave out"):
        run_within(key, ones)


@every_number_of_classes
@both_sides
@every_known
def test_degenerate_data_give_a_defined_answer_within_a_tolerance(key, equivalence, m, case):
    """A p-value in (0, 1] and no NaN, or NotApplicable with a remedy."""
    for name, (probs, labels) in degenerate(m).items():
        with case(name), warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateDataWarning)
            data = ct.Predictions(probs, labels, classes=np.arange(m))
            try:
                check_answer(run_within(key, data, equivalence=equivalence), "")
            except NotApplicable as error:
                check_answer(None, str(error))
