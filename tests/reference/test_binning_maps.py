"""Histogram binning, BBQ and Venn-Abers predictors of other packages and of papers."""

import numpy as np
import pytest
from scipy.special import xlog1py, xlogy

from caltest.calibrators import BBQ, HistogramBinning, VennAbers
from caltest.measures import ece


def softmax_of_kull(logits):
    """NN_calibration's softmax in single precision, with one maximum for all rows."""
    e = np.exp(logits - logits.max())
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("net", ["kull_c10_resnet110", "kull_c10_densenet40"])
def test_histogram_one_vs_rest_of_networks(net, data_dir, stored):
    """NN_calibration, cal_methods.py (Kull et al.): 15 bins per class, 0 in empty ones.

    Its first bin leaves out scores of 0, of which single precision makes some.
    """
    with np.load(data_dir / "logits" / f"{net}.npz") as file:
        logits = {name: file[name] for name in file.files}
    fit, test = softmax_of_kull(logits["logits_val"]), softmax_of_kull(logits["logits_test"])
    labels, y = logits["y_val"].ravel(), logits["y_test"].ravel()
    probs = np.empty_like(test)
    for k in range(10):
        binning = HistogramBinning(empty="zero").fit(fit[:, k], labels == k, fit[:, k] > 0)
        probs[:, k] = binning.predict_proba(test[:, k])[:, 1]
    share = probs / probs.sum(axis=1, keepdims=True)
    # Its log loss is scikit-learn's of then: clipped at 1e-15 before rows are normalised.
    clipped = np.clip(probs, 1e-15, 1 - 1e-15)
    loss = -np.log((clipped / clipped.sum(axis=1, keepdims=True))[np.arange(len(y)), y]).mean()
    expected = stored["one_vs_rest_15_uniform_bins"][net]
    assert 100 * (probs.argmax(axis=1) != y).mean() == pytest.approx(expected["error"], abs=1e-9)
    assert ece(share, y, lens="confidence") == pytest.approx(expected["ece"], abs=5e-7)
    assert loss == pytest.approx(expected["log_loss"], abs=5e-7)


@pytest.mark.parametrize(
    ("calibrator", "name", "within"),
    [
        # netcal.binning.HistogramBinning(bins=10): our bins, and middles in empty ones
        (HistogramBinning(bins=10), "hist10_width_pred5|netcal", 1e-10),
        # probcal.BBQCalibrator() has other priors, cuts and numbers of bins, but the same idea.
        (BBQ(), "bbq_pred5|probcal", 0.07),
        (VennAbers(), "venn_abers_pred5|probcal", 1e-10),  # merged for the log loss
    ],
)
def test_predictions_are_those_of_netcal_and_probcal(beta40, calibrator, name, within):
    scores, labels, values = beta40
    probs = calibrator.fit(scores, labels).predict_proba(scores[:5])
    assert probs[:, 1] == pytest.approx(values[name], abs=within)


def test_bbq_of_netcal_is_a_mean_of_histograms(beta40):
    """netcal.binning.BBQ(): bins of equal width, weighted by BIC, those after the elbow dropped."""
    scores, labels, values = beta40
    models = [HistogramBinning(bins=bins).fit(scores, labels) for bins in range(1, 9)]
    bic = []
    for bins, fitted in enumerate(models, start=1):
        p = fitted.predict_proba(scores)[:, 1]
        bic.append(-2 * (xlogy(labels, p) + xlog1py(1 - labels, -p)).sum() + bins * np.log(40))
    weight = np.exp((min(bic) - np.array(bic)) / 2)
    order = np.argsort(weight)[::-1]
    falls = -np.diff(weight[order]) / weight.var() > 0.001
    kept = order[: (len(order) if falls.all() else np.argmin(falls) + 1)]
    fits = np.array([models[k].predict_proba(scores[:5])[:, 1] for k in kept])
    mean = weight[kept] @ fits / weight[kept].sum()
    assert mean == pytest.approx(values["bbq_pred5|netcal"], abs=1e-6)


def test_bbq_scores_of_pycalib(beta40):
    """The _binning_model_logscore of pycalib for 1 and 2 bins, where its cuts are ours.

    With more bins its cuts are those of numpy.quantile, which divide the gap between two scores
    in another ratio.
    """
    scores, labels, _ = beta40
    bbq = BBQ(min_bins=1, max_bins=2).fit(scores, labels)
    assert bbq.log_scores_ == pytest.approx([-27.581288837721004, -23.439773747867395], abs=1e-12)


def test_venn_abers_interval_of_venn_abers(beta40):
    """p0 and p1 of the package venn-abers."""
    scores, labels, values = beta40
    interval = VennAbers().fit(scores, labels).interval(scores[:5])
    assert interval == pytest.approx(np.array(values["p0p1_first5|venn_abers"]), abs=1e-10)
