"""SKCE values of other implementations and of papers, to 1e-12 where they are exact."""

import csv
import math

import numpy as np
import pytest
from scipy.special import beta

import caltest as ct
from caltest.kernels import Exponential, Gaussian
from caltest.measures import SKCE, skce
from caltest.nulls import REGISTRY as NULLS
from caltest.numerics.tails import normal_sf

CLOSE = {"rel": 1e-12, "abs": 1e-12}

# CalibrationErrors.jl, test/skce.jl: predictions (1, 0) and (0, 1), SqExponentialKernel x
# WhiteKernel, so that h_12 = -2 e^-1 where both labels are wrong; classes count from 1.
TWO_POINTS = [(1.0, 0.0), (0.0, 1.0)]
UNBIASED = [((1, 2), 0.0), ((1, 1), 0.0), ((2, 1), -0.7357588823428847), ((2, 2), 0.0)]
BIASED = [((1, 2), 0.0), ((1, 1), 0.5), ((2, 1), 0.6321205588285577), ((2, 2), 0.5)]


@pytest.mark.parametrize(("labels", "expected"), UNBIASED)
def test_skce_of_two_points_unbiased(labels, expected):
    value = skce(TWO_POINTS, np.subtract(labels, 1), kernel=Gaussian(bandwidth=1.0))
    assert value == pytest.approx(expected, **CLOSE)


@pytest.mark.parametrize(("labels", "expected"), BIASED)
def test_skce_of_two_points_biased(labels, expected):
    kernel = Gaussian(bandwidth=1.0)
    value = skce(TWO_POINTS, np.subtract(labels, 1), estimator="biased", kernel=kernel)
    assert value == pytest.approx(expected, **CLOSE)


@pytest.mark.parametrize("options", [{"estimator": "linear"}, {"estimator": "block"}])
@pytest.mark.parametrize(("labels", "expected"), UNBIASED)
def test_skce_of_two_points_ten_times_in_blocks_of_two(labels, expected, options):
    """CalibrationErrors.jl 0.6.4, test/skce.jl, "Block: Two-dimensional example", replicated."""
    probs, codes = 10 * TWO_POINTS, np.tile(np.subtract(labels, 1), 10)
    value = skce(probs, codes, kernel=Gaussian(bandwidth=1.0), **options)
    assert value == pytest.approx(expected, **CLOSE)


def test_skce_of_two_points_in_three_classes():
    """pycalibration@0cffb2ec, README, "Sequences of probability vectors": exp(-||p - q||) I."""
    probs = [[0.1, 0.8, 0.1], [0.2, 0.5, 0.3]]
    value = skce(probs, [1, 2], kernel=Exponential(1.0, "euclidean"))
    assert value == pytest.approx(-0.10317943453412069, **CLOSE)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_skce_of_dirichlet_predictions(n_jobs):
    """pycalibration@0cffb2ec, README, as above; the data come from NumPy's seed 1234."""
    rng = np.random.default_rng(1234)
    probs, labels = rng.dirichlet((3, 2, 5), 100), rng.integers(1, 4, 100) - 1
    value = skce(probs, labels, kernel=Exponential(1.0, "euclidean"), n_jobs=n_jobs)
    assert value == pytest.approx(0.02015240706950358, **CLOSE)


def test_skce_of_binary_predictions():
    """pycalibration@0cffb2ec, README, "Sequences of probabilities".

    Julia's h = 2 exp(-|p - q|) (y - p)(y' - q) has the total variation distance of two classes.
    """
    rng = np.random.default_rng(1234)
    probs, labels = rng.random(100), rng.choice([True, False], 100)
    assert skce(probs, labels, kernel=Exponential(1.0)) == pytest.approx(
        0.03320398246523166, **CLOSE
    )


@pytest.mark.parametrize("m", [2, 5])
def test_bootstrapped_statistic_has_two_forms(m):
    """CalibrationTests.jl 0.6.3: n / (n - 1) SKCE_uq - SKCE_b is a mean of h_ij with weights.

    They are (2 n - 1) / (n - 1)^2 for i != j and -1 for i = j.
    """
    predictions = ct.datasets.generative_model("M2", n=40, m=m, rng=0)
    bound = SKCE().bind_all_pairs(predictions)
    n, pairs, diagonal = 40, bound.row_sums().sum(), bound.diagonal().sum()
    mean = ((2 * n - 1) / (n - 1) ** 2 * pairs - diagonal) / n**2
    difference = n / (n - 1) * skce(predictions) - skce(predictions, estimator="biased")
    assert difference == pytest.approx(mean, **CLOSE)


# Widmann et al. (2019), appendix J: the mean total variation of two Dirichlet predictions.
MEAN_TV = {
    (2, 0.1): 0.4889275982237544,
    (10, 0.1): 0.8274012122141459,
    (100, 0.1): 0.8786137343148384,
    (2, 1.0): 1 / 3,
    (10, 1.0): 0.47368421052631615,
    (100, 1.0): 0.49748743718594063,
}


@pytest.mark.parametrize(("m", "alpha"), MEAN_TV)
def test_mean_bandwidth_tends_to_the_mean_total_variation(m, alpha):
    """Over 1500 simulated predictions the rule "mean" is within 5 standard errors of the mean.

    The mean is 2 / a B(m a, m a) / (B(a, a) B((m - 1) a, (m - 1) a)), so Widmann et al. (2019).
    """
    n, others = 1500, (m - 1) * alpha
    exact = 2 / alpha * beta(m * alpha, m * alpha) / (beta(alpha, alpha) * beta(others, others))
    assert exact == pytest.approx(MEAN_TV[m, alpha], rel=1e-12)
    predictions = ct.datasets.generative_model("M1", n=n, m=m, alpha=alpha, rng=1)
    bound = SKCE(kernel=Exponential("mean")).bind(predictions)
    # The mean over pairs is a U-statistic: its variance is at most 2 Var(d) / n <= 1 / (2 n).
    assert abs(bound.parameters["bandwidth"] - exact) < 5 / math.sqrt(2 * n)


# Monte Carlo over 4e7 pairs with the kernel exp(-TV / mean TV) I, m = 10, alpha = 0.1;
# Widmann et al. (2019), figure 1, has means of 0.08953 (M2) and 0.01559 (M3) over 1e4 data sets.
TRUE_SKCE = {"M1": 0.0, "M2": 0.0893735, "M3": 0.0155979}


@pytest.mark.parametrize("model", TRUE_SKCE)
@pytest.mark.parametrize("estimator", ["unbiased", "linear"])
def test_mean_skce_of_the_paper_models_is_the_true_value(model, estimator):
    """Over 200 data sets of n = 250 the estimators are unbiased, within 5 standard errors."""
    kernel = Exponential(MEAN_TV[10, 0.1])
    values = [
        skce(ct.datasets.generative_model(model, rng=seed), estimator=estimator, kernel=kernel)
        for seed in range(200)
    ]
    error = np.std(values, ddof=1) / math.sqrt(len(values))
    assert abs(np.mean(values) - TRUE_SKCE[model]) < 5 * error


# ---- four networks on the test set of CIFAR-10, n = 10,000 --------------------------------------

NETWORKS = ["densenet121", "googlenet", "resnet_orig", "vgg19_bn"]
ESTIMATORS = {"unbiased": "SKCEuq", "biased": "SKCEb", "linear": "SKCEul"}


@pytest.fixture(scope="module")
def networks(data_dir):
    """The predictions of all networks, by name."""
    with np.load(data_dir / "logits" / "widmann_cifar10_14nets_probs.npz") as file:
        return dict(file)


@pytest.fixture(scope="module", params=NETWORKS)
def network(request, networks):
    """A network's name, its predictions and the kernel of the paper.

    The paper's bandwidth is the median of all n^2 distances, zeros of the diagonal included.
    """
    predictions = ct.Predictions(networks[request.param], networks["y"], renormalize=True)
    return request.param, predictions, Exponential(_median_over_all_pairs(predictions.probs))


def _median_over_all_pairs(probs):
    from scipy.spatial.distance import pdist

    distances, n = pdist(probs, "cityblock"), len(probs)
    # Of the n^2 distances n are zero and the others stand twice: their middle is the mean of these.
    middle = [(n**2 // 2 - n - 1) // 2, (n**2 // 2 - n) // 2]
    return np.partition(distances, middle)[middle].mean() / 2


def _row(reference_dir, name, network):
    with (reference_dir / name).open(newline="") as file:
        return next(row for row in csv.DictReader(file) if row["model"] == network)


@pytest.mark.full
@pytest.mark.cases(1, full=3)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_skce_of_cifar10_networks(network, reference_dir, estimator):
    """Widmann et al. (2019), their CIFAR-10 errors (devmotion/CalibrationPaper@a164e8ba)."""
    name, predictions, kernel = network
    row = _row(reference_dir, "widmann2019_cifar10_errors.csv", name)
    value = skce(predictions, estimator=estimator, kernel=kernel, n_jobs=2)
    assert value == pytest.approx(float(row[ESTIMATORS[estimator] + "_median"]), rel=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_distribution_free_bound_of_cifar10_networks(network, reference_dir, estimator):
    """As above, the p-values; where the estimate is negative theirs squares it and ours is 1."""
    name, predictions, kernel = network
    row = _row(reference_dir, "widmann2019_cifar10_pvalues.csv", name)
    outcome = _judge("distribution-free", predictions, kernel, estimator)
    expected = float(row[ESTIMATORS[estimator] + "_median_distribution_free"])
    assert outcome.pvalue == pytest.approx(expected if outcome.estimate > 0 else 1.0, rel=1e-6)


def test_linear_test_of_cifar10_networks(network, reference_dir):
    """As above, the normal limit, where they divide by N and not by N - 1 for the variance."""
    name, predictions, kernel = network
    row = _row(reference_dir, "widmann2019_cifar10_pvalues.csv", name)
    z = _judge("asymptotic", predictions, kernel, "linear").statistic
    expected = float(row["SKCEul_median_asymptotic"])
    assert normal_sf(z * math.sqrt(5000 / 4999)) == pytest.approx(expected, rel=1e-6)


def _judge(null, predictions, kernel, estimator):
    measure = SKCE(estimator=estimator, kernel=kernel)
    return NULLS[null].test(measure, predictions, n_resamples=1, seed=0)
