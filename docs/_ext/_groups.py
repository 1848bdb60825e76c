"""How the API reference orders modules and groups names; a name in no group comes last."""

from __future__ import annotations

import importlib

from caltest import measures

TITLES = {
    "caltest": "Testing, data and results",
    "caltest.htests": "Named tests",
    "caltest.measures": "Measures",
    "caltest.lenses": "Lenses",
    "caltest.kernels": "Kernels",
    "caltest.nulls": "Nulls",
    "caltest.results": "What results give",
    "caltest.calibrators": "Calibrators",
    "caltest.classifiers": "Gaussian-process and kernel classifiers",
    "caltest.comparison": "Comparisons",
    "caltest.planning": "Planning",
    "caltest.monitoring": "Monitoring",
    "caltest.plots": "Plots",
    "caltest.survival": "Risk with censored times",
    "caltest.metrics": "Scorers for scikit-learn",
    "caltest.integrations": "skore, MLflow and evidently",
    "caltest.testing": "Calibration inside tests",
    "caltest.testing.strategies": "Strategies for Hypothesis",
    "caltest.datasets": "Data sets",
}

GROUPS = {
    "caltest": {
        "Tests": ["verdict", "test_calibration", "test_segments", "test_master_scale"],
        "Data": ["Predictions", "Forecasts", "SurvivalPredictions"],
        "Results": ["HTest", "HTestTable", "GroupsTest", "SegmentsTest", "Segment"],
        "Comparing and calibrating": ["compare_calibrators", "compare_models", "ActiveLearner"],
        "Planning": ["power", "sample_size", "sample_size_for_precision"],
        "Monitoring": ["monitor", "Monitor", "plan_monitoring", "combine_evalues"],
        "Report": ["report"],
        "Errors and warnings": [
            "InvalidInput",
            "NotApplicable",
            "DegenerateDataWarning",
            "SuspectInputWarning",
        ],
    },
    "caltest.lenses": {
        "Lenses": [
            "Strong",
            "Confidence",
            "Classwise",
            "TopLabel",
            "Grouped",
            "TopRank",
            "WithinTop",
            "Largest",
            "Custom",
        ],
        "Of forecasts": ["Exceeds", "BelowQuantile", "Interval", "PIT", "Bands"],
        "For those who add a lens": ["Lens", "resolve_lens"],
    },
    "caltest.kernels": {
        "Scalar kernels": [
            "Exponential",
            "Gaussian",
            "Matern32",
            "Matern52",
            "RationalQuadratic",
        ],
        "Matrix-valued kernels": ["Scaled", "Diagonal", "Sum", "Product"],
        "Norms and upper bounds": ["kernel_norm", "error_bound"],
        "For those who add a kernel": [
            "Kernel",
            "ScalarKernel",
            "MatrixKernel",
            "FittedKernel",
            "as_matrix_kernel",
        ],
    },
    "caltest.nulls": {
        "Nulls": [
            "exact",
            "consistency",
            "bootstrap",
            "asymptotic",
            "convolution",
            "saddlepoint",
            "closed_form",
            "distribution_free",
            "cluster",
        ],
        "For those who add a null": ["Null"],
    },
    "caltest.results": {
        "Of a test": ["Verdict", "Summary", "Interval", "Witness", "Region"],
        "Of a comparison": [
            "CalibratorComparison",
            "ComparedCalibrator",
            "TestedPart",
            "ModelComparison",
            "ComparedModel",
            "ScoreDifference",
        ],
        "For those who add a result": [
            "Printable",
            "Result",
            "Comparison",
            "Parameters",
            "Evidence",
        ],
    },
    "caltest.classifiers": {
        "Classifiers": [
            "DirichletGPClassifier",
            "VariationalGPClassifier",
            "GPRegressionClassifier",
            "NystroemKRRClassifier",
        ],
        "For those who add a classifier": ["KernelClassifier", "GPClassifier"],
    },
    "caltest.plots": {
        "Predictions": [
            "reliability_diagram",
            "reliability_grid",
            "attributes_diagram",
            "decision_curve",
            "calibration_graphs",
            "calibration_belt",
            "confusion_change",
        ],
        "Forecasts": [
            "pit_histogram",
            "coverage_curve",
            "quantile_reliability",
            "spread_against_error",
        ],
        "Results": [
            "null_distribution",
            "pvalues",
            "witness",
            "groups",
            "segments",
            "master_scale",
            "monitor",
        ],
        "Calibrators": [
            "calibration_map",
            "simplex_map",
            "parameter_heatmap",
            "latent_function",
        ],
        "Comparisons and planning": [
            "score_differences",
            "calibration_errors",
            "mcb_dsc",
            "critical_difference",
            "power_curve",
            "size_and_power",
        ],
    },
    "caltest.calibrators": {
        "Any number of classes": [
            "AutoCalibrator",
            "TemperatureScaling",
            "EnsembleTemperatureScaling",
            "VectorScaling",
            "StructuredVectorScaling",
            "MatrixScaling",
            "DirichletCalibrator",
            "StructuredMatrixScaling",
            "SplineCalibrator",
            "GPCalibrator",
            "KernelCalibrator",
            "OrdinalScaling",
            "Identity",
        ],
        "Two classes": [
            "PlattScaling",
            "QuadraticScaling",
            "BetaCalibrator",
            "IsotonicCalibrator",
            "CenteredIsotonicCalibrator",
            "HistogramBinning",
            "ScalingBinning",
            "BBQ",
            "ENIR",
            "VennAbers",
        ],
        "Forecasts of numbers": [
            "VarianceScaling",
            "BetaPIT",
            "IsotonicPIT",
            "ConformalOffset",
            "ForecastIdentity",
        ],
        "Combinations": ["OneVsRest", "EnsembleCalibrator", "CalibratedClassifier"],
        "For those who add a calibrator": ["Calibrator", "BinaryCalibrator", "ForecastCalibrator"],
    },
}
LAST = "More"


def families_of_measures() -> dict[str, list[str]]:
    """Group the measures by family, in the order of the registry; the title is the folder's."""
    groups: dict[str, list[str]] = {}
    objects = {name: getattr(measures, name) for name in measures.__all__}
    objects |= {cls.__name__: cls for cls in measures.REGISTRY.values()}
    for name, value in objects.items():
        family = getattr(value, "__module__", "").split(".")[2:3]
        if family and family[0] not in ("base", "bound", "outcome"):
            folder = importlib.import_module(f"caltest.measures.{family[0]}")
            groups.setdefault(folder.__doc__.partition(":")[0].rstrip("."), []).append(name)
    return groups | {"For those who add a measure": ["Measure", "BoundMeasure", "Outcome", "Part"]}


def grouped(module: str, names: list[str]) -> dict[str, list[str]]:
    """Sort the names of a module into its groups."""
    groups = families_of_measures() if module == "caltest.measures" else GROUPS.get(module, {})
    known = {name for group in groups.values() for name in group}
    found = {title: [n for n in group if n in names] for title, group in groups.items()}
    found[LAST if groups else ""] = [name for name in names if name not in known]
    return {title: group for title, group in found.items() if group}
