"""Gaussian-process classifiers as scikit-learn estimators, and baselines for them."""

from caltest.classifiers.base import GPClassifier, KernelClassifier
from caltest.classifiers.label_regressions import (
    DirichletGPClassifier,
    GPRegressionClassifier,
    NystroemKRRClassifier,
)
from caltest.classifiers.variational_gp import VariationalGPClassifier

__all__ = [
    "DirichletGPClassifier",
    "GPClassifier",
    "GPRegressionClassifier",
    "KernelClassifier",
    "NystroemKRRClassifier",
    "VariationalGPClassifier",
]
