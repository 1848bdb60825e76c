"""How the API reference orders modules and groups names; a name in no group comes last."""

from __future__ import annotations

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
    "caltest.plots": "Plots",
    "caltest.datasets": "Data sets",
}

GROUPS = {
    "caltest": {
        "Tests": ["test_calibration", "test_master_scale"],
        "Data": ["Predictions"],
        "Results": ["HTest", "HTestTable"],
        "Comparing and calibrating": ["compare_calibrators", "compare_models"],
        "Planning": ["power", "sample_size"],
        "Report": ["report"],
        "Errors and warnings": ["InvalidInput", "NotApplicable", "DegenerateDataWarning"],
    },
    "caltest.measures": {
        "Kernel errors": ["skce", "kce", "mmce", "ucme", "cme"],
        "Binned errors": [
            "ece",
            "mce",
            "classwise_ece",
            "debiased_ece",
            "t_cal",
            "reliability_bins",
            "ReliabilityBins",
        ],
        "Errors without bins": ["ks_error", "kuiper_error", "smooth_ece"],
        "Scores and their decompositions": [
            "brier_score",
            "log_loss",
            "spherical_score",
            "spiegelhalter_z",
            "score_decomposition",
            "ScoreDecomposition",
        ],
        "Over- and underconfidence": ["overconfidence", "underconfidence", "ece_lower_bound"],
        "Logistic recalibration": [
            "calibration_in_the_large",
            "calibration_intercept",
            "calibration_slope",
            "cox",
            "unreliability",
            "expected_observed_ratio",
            "expected_observed_interval",
            "ExpectedObserved",
        ],
        "Goodness of fit of risks": [
            "hosmer_lemeshow",
            "pigeon_heyse",
            "le_cessie_van_houwelingen",
        ],
        "Curves, belts and bands": [
            "ici",
            "e50",
            "e90",
            "emax",
            "calibration_belt",
            "CalibrationBelt",
            "calibration_belt_statistic",
            "corp_curve",
            "CorpCurve",
            "corp_band",
            "CorpBand",
            "corp_miscalibration",
            "confidence_band",
            "ConfidenceBand",
            "confidence_band_statistic",
        ],
        "Numbers of defaults": ["Binomial", "Jeffreys", "Normal", "Vasicek"],
        "For those who add a measure": ["Measure", "BoundMeasure"],
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
            "closed_form",
            "distribution_free",
        ],
        "For those who add a null": ["Null", "Judgement"],
    },
    "caltest.results": {
        "Of a test": ["Summary", "Interval", "Witness", "Region"],
        "Of a comparison": [
            "CalibratorComparison",
            "ComparedCalibrator",
            "JudgedPart",
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
            "calibration_graphs",
            "calibration_belt",
            "confusion_change",
        ],
        "Results": ["null_distribution", "pvalues", "witness", "master_scale"],
        "Calibrators": [
            "calibration_map",
            "simplex_map",
            "parameter_heatmap",
            "latent_function",
        ],
        "Comparisons and planning": [
            "score_differences",
            "critical_difference",
            "power_curve",
            "size_and_power",
        ],
    },
    "caltest.calibrators": {
        "Any number of classes": [
            "TemperatureScaling",
            "VectorScaling",
            "MatrixScaling",
            "DirichletCalibrator",
            "SplineCalibrator",
            "GPCalibrator",
            "Identity",
        ],
        "Two classes": [
            "PlattScaling",
            "BetaCalibrator",
            "IsotonicCalibrator",
            "HistogramBinning",
            "BBQ",
            "ENIR",
            "VennAbers",
        ],
        "Combinations": ["OneVsRest", "EnsembleCalibrator", "CalibratedClassifier"],
        "For those who add a calibrator": ["Calibrator", "BinaryCalibrator"],
    },
}
LAST = "More"


def grouped(module: str, names: list[str]) -> dict[str, list[str]]:
    """Sort the names of a module into its groups."""
    groups = GROUPS.get(module, {})
    known = {name for group in groups.values() for name in group}
    found = {title: [n for n in group if n in names] for title, group in groups.items()}
    found[LAST if groups else ""] = [name for name in names if name not in known]
    return {title: group for title, group in found.items() if group}
