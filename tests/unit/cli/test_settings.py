"""`--set KEY=VALUE` as options of tests and calibrators."""

import pytest

from caltest import kernels
from caltest.calibrators import DirichletCalibrator, HistogramBinning
from caltest.cli import settings
from caltest.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10", 10),
        ("-1", -1),
        ("0.5", 0.5),
        ("1e-3", 0.001),
        ("true", True),
        ("No", False),
        ("none", None),
        ("odir", "odir"),
        ("0.1,1,10", [0.1, 1, 10]),
        ("1,", [1]),
        ("'1'", "1"),
        ('"a,b"', "a,b"),
        ("", ""),
    ],
)
def test_value_is_read_from_text(text, value):
    """Numbers, truth values, none, lists, and text where it is nothing else."""
    read = settings.parse_value(text)
    assert (read, type(read)) == (value, type(value))


def test_kernel_is_built_from_its_key():
    """A key with options, options of the default kernel, and none."""
    for texts, kernel in (
        (["kernel=rational-quadratic", "kernel.alpha=2"], kernels.RationalQuadratic(alpha=2)),
        (["kernel.metric=logit"], kernels.Exponential(metric="logit")),
        (["kernel=none"], None),
    ):
        assert settings.test_options(settings.parse(texts), ["skce"]) == {"kernel": kernel}


def test_calibrator_takes_its_options_and_seed():
    """The seed and the threads go where there is a use for them."""
    made = settings.calibrator("dirichlet", settings.parse(["lam=0.1,1"]), seed=3, n_jobs=2)
    assert isinstance(made, DirichletCalibrator)
    assert (made.lam, made.random_state, made.n_jobs) == ([0.1, 1], 3, 2)
    assert settings.calibrator("temperature", {}, seed=3).get_params()["from_logits"] is False


def test_calibrator_inside_of_another_takes_options():
    """One-vs-rest of histogram binning with 5 bins; an ensemble with a grid."""
    inner = settings.parse(["calibrator=histogram", "calibrator.bins=5"])
    made = settings.calibrator("one-vs-rest", inner)
    assert isinstance(made.calibrator, HistogramBinning)
    assert made.calibrator.bins == 5
    grid = settings.parse(["calibrator=dirichlet", "param_grid.lam=0.1,1", "param_grid.mu=2"])
    made = settings.calibrator("ensemble", grid, seed=1)
    assert made.param_grid == {"lam": [0.1, 1], "mu": [2]}


@pytest.mark.parametrize(
    ("test", "texts", "message"),
    [
        ("ece", ["=3"], r"--set must be KEY=VALUE; got '=3'"),
        ("ece", ["bins=3", "bins=4"], r"--set must give an option one value; got bins twice"),
        ("ece", ["bin=3"], r"--set for --test ece .* one of 'binning', .*; did you mean 'bins'\?"),
        ("ece", ["bins.x=3"], r"bins has no options of its own; got '--set bins.x'"),
        ("skce", ["kernel.metrc=tv"], r"--set for kernel=exponential .*; did you mean 'metric'\?"),
        ("skce", ["kernel.bandwidth=0"], r"bandwidth must be"),
        ("skce", ["kernel=none", "kernel.metric=tv"], r"kernel has no options of its own"),
    ],
)
def test_mistake_in_a_setting_is_named(test, texts, message):
    """The message names the option, the tests or the kernel, and what they take."""
    with pytest.raises(InvalidInput, match=message):
        settings.test_options(settings.parse(texts), [test])


@pytest.mark.parametrize(
    ("method", "texts", "message"),
    [
        ("identity", ["lam=1"], r"no meaning for --method identity, which takes no options"),
        ("matrix", ["random_state=1"], r"--set for --method matrix must be one of"),
        ("one-vs-rest", ["calibrator=x"], r"--set calibrator must be one of"),
        ("one-vs-rest", ["calibrator.x=1"], r"--set for calibrator=isotonic must be one of"),
    ],
)
def test_mistake_in_an_option_of_a_calibrator_is_named(method, texts, message):
    """The message lists the options; the seed and the classes have options of their own."""
    with pytest.raises(InvalidInput, match=message):
        settings.calibrator(method, settings.parse(texts))
