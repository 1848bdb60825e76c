"""How long a Dirichlet Gaussian process takes to fit, beside gpytorch on the same data.

    pytest tests/benchmarks/test_gp_speed.py --benchmark-columns=median,rounds --benchmark-sort=name

gpytorch has the Dirichlet likelihood and Titsias' bound (`InducingPointKernel`) with the same
inducing points, which stay fixed, start and tolerance, in double precision on one thread; its
marginal likelihood is maximised by SciPy's L-BFGS too. What each reached is in the JSON file under
extra_info, the bound of the pseudo-observations; gpytorch has another jitter.

gpytorch needs torch, which is a matter of gigabytes; it is measured where it is installed.
"""

from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from caltest.classifiers import DirichletGPClassifier
from caltest.classifiers.dirichlet_gp import _variance_of
from caltest.classifiers.rbf import RBFParameters
from caltest.classifiers.regressions import pseudo_targets, regressions

pytest.importorskip("pytest_benchmark", reason='pip install ".[bench]"')
pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.filterwarnings("ignore"),  # those of other packages
]

ALPHA = 0.01
SHAPES = [(2000, 2, 100), (10_000, 2, 200), (5000, 10, 200)]
every_shape = pytest.mark.parametrize(("n", "m", "M"), SHAPES)


@cache
def data(n, m):
    """Return ten features, some of them informative, and labels."""
    return make_classification(
        n, 10, n_informative=6, n_classes=m, n_clusters_per_class=1, random_state=0
    )


def fit_caltest(n, m, M):
    """Return the fitted classifier."""
    X, y = data(n, m)
    return DirichletGPClassifier(alpha=ALPHA, n_inducing=M, inducing="random", random_state=0).fit(
        X, y
    )


class Gpytorch:
    """Titsias' bound of K regressions with one kernel, heteroskedastic by the likelihood."""

    def __init__(self, n, m, Z):
        gpytorch = pytest.importorskip("gpytorch", reason="it needs torch")
        import torch

        torch.set_num_threads(1)
        X, y = data(n, m)
        self.torch = torch
        inputs = torch.as_tensor(X)
        likelihood = gpytorch.likelihoods.DirichletClassificationLikelihood(
            torch.as_tensor(y), alpha_epsilon=ALPHA, dtype=torch.float64
        )
        ours = pseudo_targets(ALPHA, np.bincount(y))
        targets = torch.as_tensor(np.array([ours.of(k, y)[0] for k in range(m)]))
        centre = torch.as_tensor(ours.centre)[:, None]
        assert torch.allclose(likelihood.transformed_targets, targets + centre)
        kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        class Model(gpytorch.models.ExactGP):
            def __init__(self):
                super().__init__(inputs, targets, likelihood)
                self.mean_module = gpytorch.means.ZeroMean(batch_shape=torch.Size((m,)))
                self.covar_module = gpytorch.kernels.InducingPointKernel(
                    kernel, inducing_points=torch.as_tensor(Z), likelihood=likelihood
                )

            def forward(self, x):
                return gpytorch.distributions.MultivariateNormal(
                    self.mean_module(x), self.covar_module(x)
                )

        self.inputs, self.targets, self.kernel = inputs, targets, kernel
        self.model = Model().double()
        self.model.covar_module.inducing_points.requires_grad = False
        self.marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, self.model)
        self.model.train()
        likelihood.train()

    def negative(self, theta):
        """Return minus the bound per row, and its gradient by log variance and log scale."""
        self.kernel.outputscale, self.kernel.base_kernel.lengthscale = np.exp(theta)
        self.model.zero_grad()
        loss = -self.marginal(self.model(self.inputs), self.targets).sum()
        loss.backward()
        raw = [self.kernel.raw_outputscale, self.kernel.base_kernel.raw_lengthscale]
        # The value is softplus(raw), whose derivative is sigmoid(raw).
        slopes = [float((part.grad / self.torch.sigmoid(part)).sum()) for part in raw]
        return float(loss), np.array(slopes) * np.exp(theta)


def start_of(n, m):
    X, y = data(n, m)
    targets = pseudo_targets(ALPHA, np.bincount(y))
    variance = _variance_of(targets, np.bincount(y))
    return np.log([variance, X.std(axis=0).mean() * np.sqrt(10)])


@every_shape
def test_fit(benchmark, n, m, M):
    """The kernel by L-BFGS, and the posterior."""
    benchmark.group = f"fit, n = {n}, m = {m}, M = {M}"
    fit_caltest(200, 2, 20)
    model = benchmark.pedantic(fit_caltest, (n, m, M), rounds=3)
    kernel = [model.variance_, *model.length_scale_]
    benchmark.extra_info |= {"bound": model.bound_, "kernel": kernel}


@every_shape
def test_fit_of_gpytorch(benchmark, n, m, M):
    """The kernel by L-BFGS, with the same inducing points, start and tolerance."""
    benchmark.group = f"fit, n = {n}, m = {m}, M = {M}"
    Z = fit_caltest(n, m, M).inducing_points_

    def fit():
        peer = Gpytorch(n, m, Z)
        return minimize(
            peer.negative,
            start_of(n, m),
            jac=True,
            method="L-BFGS-B",
            options={"ftol": 1e-7, "gtol": 1e-7, "maxiter": 100},
        )

    done = benchmark.pedantic(fit, rounds=1)
    benchmark.extra_info |= {"bound": -done.fun * n, "kernel": np.exp(done.x).tolist()}


@every_shape
@pytest.mark.parametrize("package", ["caltest", "gpytorch"])
def test_one_evaluation(benchmark, package, n, m, M):
    benchmark.group = f"bound and gradient, n = {n}, m = {m}, M = {M}"
    X, y = data(n, m)
    Z = X[:M] + 0.01
    if package == "gpytorch":
        peer = Gpytorch(n, m, Z)
        benchmark.pedantic(peer.negative, (start_of(n, m),), rounds=3, warmup_rounds=1)
        return
    rows, (variance, *scales) = regressions(X, y, Z, None), np.exp(start_of(n, m))
    arguments = pseudo_targets(ALPHA, np.bincount(y)), RBFParameters(variance, np.array(scales))
    with threadpool_limits(limits=1):
        benchmark.pedantic(rows.evidence, arguments, rounds=5, warmup_rounds=1)
