"""`compare_calibrators` against plain loops over folds, and what it refuses."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import combine_pvalues
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.naive_bayes import GaussianNB

import caltest as ct
from caltest import InvalidInput, NotApplicable, Predictions, measures
from caltest.calibrators import (
    DirichletCalibrator,
    EnsembleCalibrator,
    Identity,
    IsotonicCalibrator,
    OneVsRest,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from caltest.comparison.maps import FittedMap, compared_by_default
from caltest.comparison.outcomes import folds_that_agree
from caltest.results import CalibratorComparison


def sharp(n, m=3, seed=0, temperature=2.0):
    """Simulate calibrated logits, and predict with a multiple of them."""
    rng = np.random.default_rng(seed)
    logits = 1.5 * rng.normal(size=(n, m))
    labels = (logits + rng.gumbel(size=(n, m))).argmax(axis=1)
    weights = np.exp(temperature * logits)
    return Predictions(weights / weights.sum(axis=1, keepdims=True), labels)


DATA = sharp(240)
ONE = Predictions(DATA.probs, DATA.labels, sample_weight=np.arange(240) == 7)
CLASSES = DATA.classes
QUICK = {"n_resamples": 19, "rng": 1}


STRUCTURED = ["structured-vector", "structured-matrix"]


def compare(data=DATA, calibrators=("temperature", "vector"), model=None, **options):
    options = {"calibrators": list(calibrators), **QUICK, **options}
    return ct.compare_calibrators(model, data, **options)


def test_first_line_names_the_map_with_the_least_score():
    """With how much less it is, or that none has less."""
    found = compare()
    less, error = -found[found.selected].difference, found[found.selected].stderr
    assert f", {less:.4g} less than identity (s.e. {error:.4g})." in " ".join(str(found).split())
    same = compare(sharp(240, seed=1, temperature=1.0), ["vector"])
    assert f"identity ({same['identity'].scores['log loss']:.4g}); no map has less." in str(same)


def held_out(calibrator, data, train, test):
    """Fit by the public methods and predict the other rows."""
    fitted = calibrator.fit(data.subset(train))
    return Predictions(fitted.predict_proba(data.subset(test)), data.labels[test], classes=CLASSES)


def test_scores_are_those_of_a_plain_loop_over_folds():
    """Mean over the held-out rows, the difference from the uncalibrated model, its error."""
    pairs = list(KFold(4).split(DATA.probs))
    row = compare(cv=pairs)["temperature"]
    losses = np.empty(DATA.n)
    for train, test in pairs:
        part = held_out(TemperatureScaling(), DATA, train, test)
        losses[test] = -np.log(part.probs[np.arange(part.n), part.labels])
    gain = losses + np.log(DATA.probs[np.arange(DATA.n), DATA.labels])
    assert row.scores["log loss"] == pytest.approx(losses.mean())
    assert row.difference == pytest.approx(gain.mean())
    assert row.stderr == pytest.approx(gain.std(ddof=1) / np.sqrt(DATA.n))


def test_errors_are_those_of_all_held_out_rows_together():
    """Not means over folds, whose bias would be larger."""
    pairs = list(KFold(3).split(DATA.probs))
    row = compare(cv=pairs, score="brier")["vector"]
    parts = [held_out(VectorScaling(), DATA, *pair) for pair in pairs]
    pooled = Predictions(
        np.concatenate([part.probs for part in parts]),
        np.concatenate([part.labels for part in parts]),
    )
    assert row.measures["ECE"] == pytest.approx(measures.ece(pooled, lens="confidence"))
    assert list(row.scores) == ["Brier score", "log loss"]


def test_pvalue_is_made_of_those_of_the_held_out_parts():
    """Two parts, combined by Fisher's method; without random numbers, for a loop."""
    pairs = list(KFold(2).split(DATA.probs))
    row = compare(cv=pairs, test="skce-linear", null="asymptotic", lens="confidence")["vector"]
    expected = [
        ct.test_calibration(
            held_out(VectorScaling(), DATA, *pair),
            test="skce-linear",
            null="asymptotic",
            lens="confidence",
        ).pvalue
        for pair in pairs
    ]
    assert row.tests[0].fold_pvalues == pytest.approx(expected)
    assert row.tests[0].pvalue == pytest.approx(combine_pvalues(expected).pvalue)


def test_uncalibrated_model_is_tested_with_all_rows():
    """It is not fitted, so that its test is that of test_calibration, with the same seed."""
    result = compare(test=["skce", "ks"], lens="confidence")
    options = {"lens": "confidence", "n_resamples": result.n_resamples, "rng": result.seed}
    for found in result["identity"].tests:
        expected = ct.test_calibration(DATA, test=found.test, **options)
        assert (found.pvalue, found.estimate) == (expected.pvalue, pytest.approx(expected.estimate))


def test_same_predictions_have_the_same_pvalue_whatever_the_calibrator():
    """An average of maps that no label changes is identity, and is judged by the same rule."""
    plain = EnsembleCalibrator(Identity())
    result = ct.compare_calibrators(DATA, calibrators={"averaged": plain}, test="skce", **QUICK)
    own, other = (result[name].tests[0] for name in ("identity", "averaged"))
    assert own.pvalue == other.pvalue
    assert len(own.fold_pvalues) == len(other.fold_pvalues) == 1


def test_selected_is_tested_as_what_it_selected():
    """Where every fold selects the same calibrator, there is nothing new to be tested."""
    result = compare(sharp(240, temperature=3.0), calibrators=["temperature"])
    assert set(result["selected"].chosen) == {"temperature"}
    [one], [other] = (result[name].tests for name in ("selected", "temperature"))
    assert (one.pvalue, one.fold_pvalues) == (other.pvalue, other.fold_pvalues)


def test_folds_whose_maps_agree_are_found():
    """By what the maps predict for the same rows; a map without a probe agrees with none."""
    probes = [np.array([[0.2, 0.8]]), np.array([[0.3, 0.7]]), np.array([[0.2, 0.8 - 1e-12]])]
    parts = [FittedMap(np.ones((1, 2)), probe=probe) for probe in probes]
    assert folds_that_agree(parts) == [(0, 2), (1,)]
    assert folds_that_agree([FittedMap(None), FittedMap(None)]) == [(0,), (1,)]


def test_selection_is_that_of_a_plain_nested_loop():
    """In each fold the least inner score wins, and its held-out predictions are judged."""
    data = sharp(120, seed=3, temperature=1.05)
    outer, inner = list(KFold(3).split(data.probs)), KFold(4)
    made = {"identity": Identity, "temperature": TemperatureScaling, "vector": VectorScaling}
    result = compare(data, cv=outer, inner_cv=inner)
    chosen, losses = [], []
    for train, test in outer:
        part = data.subset(train)
        scores = {
            name: np.average(
                [measures.log_loss(held_out(kind(), part, *pair)) for pair in inner.split(train)],
                weights=[len(pair[1]) for pair in inner.split(train)],
            )
            for name, kind in made.items()
        }
        chosen.append(min(scores, key=scores.get))
        losses.append(measures.log_loss(held_out(made[chosen[-1]](), data, train, test)))
    assert result["selected"].chosen == tuple(chosen)
    assert result["selected"].scores["log loss"] == pytest.approx(np.mean(losses))


def test_selected_has_the_least_score_and_best_is_fitted_to_all_rows():
    """What is selected with all rows is what the column of scores shows."""
    result = compare()
    scores = {row.name: row.scores["log loss"] for row in result.rows[:-1]}
    assert result.selected == min(scores, key=scores.get)
    expected = type(result.best)().fit(DATA).predict_proba(DATA)
    assert result.best.predict_proba(DATA) == pytest.approx(expected)


def test_calibrators_may_be_keys_objects_and_named():
    """A key, an object, a list, a dict; Identity is there anyway, once."""
    names = [row.name for row in compare(calibrators=["identity", PlattScaling()]).rows]
    assert names == ["identity", "platt", "selected"]
    named = {"mild": DirichletCalibrator(lam=0.1), "strong": DirichletCalibrator(lam=10.0)}
    result = ct.compare_calibrators(DATA, calibrators=named, cv=2, **QUICK)
    assert [row.name for row in result.rows[1:3]] == ["mild", "strong"]
    assert "lam=10.0" in result["strong"].calibrator


def test_map_of_two_classes_is_put_into_one_vs_rest():
    result = compare(calibrators=["platt"], cv=2)
    assert result["platt"].calibrator.startswith("OneVsRest(")
    pairs = list(KFold(2).split(DATA.probs))
    expected = [measures.log_loss(held_out(OneVsRest(PlattScaling()), DATA, *p)) for p in pairs]
    assert compare(calibrators=["platt"], cv=pairs)["platt"].scores["log loss"] == pytest.approx(
        np.mean(expected)
    )


@pytest.mark.full
@pytest.mark.parametrize(
    ("m", "names"),
    [
        (2, ["temperature", "platt", "beta", "venn-abers", "quadratic", "kernel", "auto"]),
        (3, ["temperature", *STRUCTURED, "dirichlet", "quadratic", "kernel", "auto"]),
        (60, ["temperature", *STRUCTURED, "quadratic", "auto"]),
    ],
)
def test_what_auto_mixes_is_compared_by_default(m, names):
    """And auto itself."""
    result = ct.compare_calibrators(sharp(60, m=m), cv=2, inner_cv=2, **QUICK)
    assert [row.name for row in result.rows] == ["identity", *names, "selected"]


@pytest.mark.full
def test_auto_is_left_out_beyond_the_limit_on_time_which_is_said():
    """By an estimate from rows, classes and folds; as the best it says what it is made of."""
    result = compare(calibrators=["auto"], cv=2, inner_cv=2)
    assert result.selected == "auto"
    told = result.best.composition()
    assert result.best.weights_.max() == pytest.approx(float(told.split()[3]), abs=0.005)
    both = zip(result.best.weights_, result.best.calibrators_, strict=True)
    mixed = sorted(vars(one).get("calibrator", one).key for weight, one in both if weight)
    assert sorted(told.replace(",", "").split()[4::2]) == mixed
    assert any(f"best: {told}; each held-out part is predicted" in note for note in result.notes)
    result = ct.compare_calibrators(sharp(150, m=3), cv=2, inner_cv=2, time_limit=0.01, **QUICK)
    assert not {"kernel", "auto"} & {row.name for row in result.rows}
    text = "kernel and auto; 7 fits to 75 rows of 3 classes take about 0 s, the limit is 0.01 s"
    assert any(f"left out: {text}" in note for note in result.notes)
    names, (note,) = compared_by_default(4000, 100, 31, 60.0)
    assert names == ("temperature", *STRUCTURED, "quadratic")
    assert "take about 394 s, the limit is 60 s" in note
    assert compared_by_default(4000, 100, 31, None)[0][-1] == "auto"
    with pytest.raises(InvalidInput, match="time_limit must be a positive number"):
        ct.compare_calibrators(sharp(150, m=3), time_limit=0)


def test_isotonic_does_not_lose_by_one_row_of_probability_zero():
    """By its key, it keeps 1 / (n + 2) for what it has not seen."""
    data = sharp(60, m=2, temperature=0.2, seed=3)
    result = compare(data, calibrators=["isotonic"])
    assert np.isfinite(result["isotonic"].scores["log loss"])
    assert "bound='auto'" in result["isotonic"].calibrator


def test_infinite_loss_is_said_and_not_selected():
    """Isotonic regression predicts 0 where it saw no event, and then there is one."""
    data = sharp(60, m=2, temperature=0.2, seed=3)
    result = compare(data, calibrators=[IsotonicCalibrator(), "temperature"])
    assert result["isotonic"].scores["log loss"] == np.inf
    assert result["isotonic"].stderr is None
    assert result.selected != "isotonic"
    assert any(
        "isotonic: a class of probability 0 was observed in" in note for note in result.notes
    )


@pytest.mark.parametrize("bound", [0.0, "auto"])
def test_a_selected_map_that_excludes_classes_is_noted(bound):
    """Its Brier score is the least, and its log loss one label away from infinity."""
    data = sharp(60, m=2, temperature=0.2, seed=3)
    result = compare(data, calibrators=[IsotonicCalibrator(bound=bound)], score="brier")
    zero = (result.best.predict_proba(data) == 0).any(axis=1).sum()
    said = [note for note in result.notes if note.startswith(f"best: in {zero} of 60 rows a class")]
    assert (result.selected, len(said)) == ("isotonic", int(bound == 0.0))


class Picky(TemperatureScaling):
    """A calibrator that refuses some training sets."""

    key = "picky"

    def _fit(self, data):
        if data.codes[0] == DATA.labels[0]:
            raise NotApplicable("the first label is not liked; take another")
        super()._fit(data)


def test_calibrator_that_cannot_be_fitted_keeps_its_row():
    """The others are not lost, and it is never selected."""
    result = compare(calibrators=[Picky(), "temperature"], cv=4)
    row = result["picky"]
    assert (row.scores, row.difference, row.tests) == ({}, None, ())
    assert "not fitted in" in row.reason
    assert "the first label is not liked" in row.reason
    assert result.selected == "temperature"
    assert "note: picky: not fitted in" in str(result)


def test_test_without_meaning_leaves_the_scores():
    """Parts that are too small for a test are said, and scored all the same."""
    result = compare(sharp(12), cv=6, test="skce-block", block_size=5)
    assert result["temperature"].tests == ()
    assert result["temperature"].scores
    assert any("temperature: not tested" in note for note in result.notes)


def test_uncalibrated_model_is_tested_where_parts_are_too_small():
    """All rows at once are enough for a test of which one row is not."""
    result = compare(sharp(12), cv=12, inner_cv=2, test="skce")
    expected = ct.test_calibration(sharp(12), test="skce", n_resamples=19, rng=1)
    assert result["identity"].tests[0].estimate == pytest.approx(expected.estimate)
    assert result["temperature"].tests == ()
    assert not any("identity: not tested" in note for note in result.notes)
    assert "squared kernel calibration error" in result.method


def test_print_has_no_adjustment_or_codes_where_there_is_none():
    result = compare(cv=2, inner_cv=2)
    bare = replace(result, rows=tuple(replace(row, tests=()) for row in result.rows))
    assert "Signif. codes" in str(result)
    assert "Signif. codes" not in str(bare)
    text = str(compare(correction=None, lens=["confidence", "top-2"], cv=2))
    assert "adjusted" not in text
    assert "p (combined, confidence)  p (combined, top-2)" in text


def test_difference_of_two_infinite_scores_is_no_number():
    """The model itself gives probability 0 to what happened."""
    probs = np.vstack([[0.0, 1.0], sharp(60, m=2).probs])
    data = Predictions(probs, np.append(0, sharp(60, m=2).labels))
    result = compare(data, calibrators=["temperature"], cv=3)
    assert result["identity"].difference is None
    assert result["temperature"].difference == -np.inf
    assert "nan" not in str(result)
    assert CalibratorComparison.from_dict(json.loads(result.to_json())) == result


def test_folds_by_label_are_noted():
    """They leave the labels of a held-out part less room than its predictions do."""
    notes = [compare(cv=kind(2), inner_cv=2).notes for kind in (StratifiedKFold, KFold)]
    assert [any("folds by label" in note for note in each) for each in notes] == [True, False]


def test_splitter_gets_the_groups():
    """Rows of a group are held out together."""
    groups = np.arange(DATA.n) // 8
    data = DATA.with_groups(groups)
    pairs = list(GroupKFold(3).split(DATA.probs, groups=groups))
    expected = compare(cv=pairs, inner_cv=GroupKFold(2), data=data)
    assert compare(data, cv=GroupKFold(3), inner_cv=GroupKFold(2)) == expected


@pytest.mark.full
def test_rows_of_weight_0_change_nothing():
    """The same rows twice, the second time without weight."""
    pairs = list(KFold(3).split(DATA.probs))
    doubled = Predictions(
        np.concatenate([DATA.probs, DATA.probs]),
        np.concatenate([DATA.labels, DATA.labels]),
        sample_weight=np.repeat([1.0, 0.0], DATA.n),
    )
    first = compare(cv=pairs, inner_cv=KFold(2))
    second = compare(doubled, cv=[(a, b) for a, b in pairs], inner_cv=KFold(2))
    for name in ("temperature", "selected"):
        assert second[name].difference == pytest.approx(first[name].difference, rel=1e-6)


@pytest.mark.full
def test_folds_may_be_a_generator_or_a_numpy_integer():
    pairs = list(KFold(3).split(DATA.probs))
    assert compare(cv=(pair for pair in pairs)) == compare(cv=pairs)
    assert compare(cv=np.int64(3)) == compare(cv=3)


def test_single_split_needs_no_combination():
    """One held-out part has one p-value, which stays as it is."""
    result = compare(cv=[(np.arange(160), np.arange(160, 240))])
    test = result["vector"].tests[0]
    assert result.n_folds == 1
    assert "Calibrators compared by a held-out part" in str(result)
    assert (test.pvalue,) == test.fold_pvalues


@pytest.mark.full
def test_result_does_not_depend_on_n_jobs_and_can_be_repeated():
    """The seed says all; another deals the rows anew."""
    first = compare()
    assert compare(n_jobs=2) == first
    assert compare(rng=first.seed) == first
    assert compare(rng=2)["temperature"].difference != first["temperature"].difference


def test_model_and_data_are_those_of_test_calibration():
    """A fitted classifier with (X, y), an array with labels, a data frame."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    model = GaussianNB().fit(X[:100], y[:100])
    probs = model.predict_proba(X[100:])
    options = {"calibrators": "temperature", "cv": 2, **QUICK}
    first = ct.compare_calibrators(model, (X[100:], y[100:]), **options)
    assert first.data_name == "GaussianNB()"
    assert first.rows == ct.compare_calibrators(probs, y[100:], **options).rows
    logits = np.log(probs)
    again = ct.compare_calibrators(logits, y[100:], from_logits=True, **options)
    assert again["temperature"].difference == pytest.approx(first["temperature"].difference)


@pytest.mark.full
def test_logits_reach_the_calibrators_as_they_are():
    """Vector scaling sees more in logits than in their softmax; best takes logits too."""
    logits = 3.0 * np.log(np.maximum(DATA.probs, 1e-9)) + np.arange(DATA.n)[:, None] % 7
    pairs = list(KFold(3).split(logits))
    names = ["vector", VectorScaling(from_logits=True)]
    for name in names:
        result = ct.compare_calibrators(
            logits, DATA.labels, calibrators=name, cv=pairs, from_logits=True, **QUICK
        )
        losses = [
            measures.log_loss(
                VectorScaling(from_logits=True)
                .fit(logits[train], DATA.labels[train])
                .predict_proba(logits[test]),
                DATA.labels[test],
            )
            for train, test in pairs
        ]
        assert result["vector"].scores["log loss"] == pytest.approx(np.mean(losses))
        assert result.best.from_logits
        assert result.best.predict_proba(logits).shape == (DATA.n, 3)


@pytest.mark.full
def test_logits_may_come_from_a_function_a_table_or_beside_predictions():
    logits = np.log(DATA.probs)
    options = {"calibrators": "vector", "cv": 2, "from_logits": True, **QUICK}
    expected = ct.compare_calibrators(logits, DATA.labels, **options).rows
    frame = pl.DataFrame({"y": DATA.labels, **{f"z_{k}": logits[:, k] for k in range(3)}})
    features = pl.DataFrame({"y": DATA.labels, **{f"x{k}": DATA.probs[:, k] for k in range(3)}})
    weighted = Predictions(DATA.probs, DATA.labels, sample_weight=np.full(DATA.n, 2.0))
    for given in (
        ct.compare_calibrators(np.log, (DATA.probs, DATA.labels), **options),
        ct.compare_calibrators(np.log, DATA, **options),
        ct.compare_calibrators(frame, label="y", probs="z_", **options),
        ct.compare_calibrators(None, frame, label="y", probs="z_", **options),
        ct.compare_calibrators(logits, frame, label="y", **options),
        ct.compare_calibrators(lambda X: np.log(X.to_numpy()), features, label="y", **options),
        ct.compare_calibrators(logits, weighted, **options),
    ):
        for name in ("identity", "vector"):
            found = next(row for row in given.rows if row.name == name)
            own = next(row for row in expected if row.name == name)
            assert found.scores == pytest.approx(dict(own.scores))


@pytest.mark.full
def test_adjustment_is_over_all_rows_and_tests():
    result = compare(test=["skce", "ks"], lens="confidence", correction="bonferroni")
    for row in result.rows:
        for test in row.tests:
            assert test.adjusted == pytest.approx(min(1.0, 8 * test.pvalue))
    assert compare(correction=None)["vector"].tests[0].adjusted > 0


def test_progress_counts_to_the_end():
    steps = []
    compare(cv=2, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(k, 6) for k in range(1, 7)]


def test_input_is_not_mutated():
    """Neither the arrays nor the calibrators that were given."""
    probs, labels = DATA.probs.copy(), DATA.labels.copy()
    calibrator = TemperatureScaling()
    ct.compare_calibrators(probs, labels, calibrators=calibrator, cv=2, **QUICK)
    assert np.array_equal(probs, DATA.probs)
    assert not hasattr(calibrator, "temperature_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "ece"}, "score must be a proper score"),
        ({"calibrators": ["temperatur"]}, "did you mean 'temperature'"),
        ({"calibrators": ["ensemble"]}, "calibrators must be one of"),
        ({"calibrators": []}, "calibrators must name at least one"),
        ({"calibrators": [TemperatureScaling]}, "add parentheses"),
        ({"calibrators": ["platt", PlattScaling()]}, "got 'platt' twice"),
        ({"calibrators": [TemperatureScaling(from_logits=True)]}, "must take probabilities"),
        ({"model": np.zeros((5, 3)), "data": DATA, "from_logits": True}, "the rows and classes"),
        ({"cv": 1}, "cv must be an integer of at least 2"),
        ({"cv": ShuffleSplit(5, random_state=0)}, "hold out each row at most once"),
        ({"cv": [(range(9), range(8, 20))]}, "among the training rows of their fold; got row 8"),
        ({"cv": GroupKFold(3)}, "cv must split these rows; got The 'groups' parameter should not"),
        ({"inner_cv": 1}, "inner_cv must be an integer of at least 2"),
        ({"inner_cv": [(range(9), range(9, 20))]}, "inner_cv must be a number of folds or a"),
        ({"lens": "classwise"}, "not be a family of lenses here; got classwise"),
        ({"measures": {"ECE": measures.ece}}, "measures must have new names"),
        ({"measures": ["ece"]}, "measures must be a dict"),
        ({"level": 5}, "pass 0.05 for 5 %"),
        ({"bins": 3}, "options must be taken by a test"),
        ({"data": DATA.subset(np.arange(8))}, "data must have at least 10 rows"),
        ({"data": ONE}, "data must have at least 10 rows, .*; got 1; .* weight 0 do not count"),
    ],
)
def test_illegal_call_has_a_message(options, message):
    """Each names the argument, the rule and the remedy."""
    with pytest.raises(InvalidInput, match=message):
        compare(**options)


def test_named_calibrator_may_not_take_a_name_of_the_comparison():
    with pytest.raises(InvalidInput, match="none of 'identity', 'selected'"):
        ct.compare_calibrators(DATA, calibrators={"selected": "platt"})


def test_row_is_found_by_name_or_place():
    """A name that is not there is answered with those that are."""
    result = compare(cv=2)
    assert result[0] is result["identity"]
    with pytest.raises(InvalidInput, match="name must be one of"):
        result["beta"]


def test_clusters_of_arrays_are_those_of_predictions():
    """Held-out rows come fold after fold, and so do their clusters."""
    cluster = np.repeat(np.arange(40), 6)
    held = Predictions(DATA.probs, DATA.labels, clusters=cluster)
    found = compare(model=DATA.probs, data=DATA.labels, cluster=cluster, test="brier")
    expected = compare(held, test="brier")
    assert found.rows == expected.rows
