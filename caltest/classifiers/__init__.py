"""Gaussian-process classifiers as scikit-learn estimators, and baselines for them."""

from caltest.classifiers.base import GPClassifier, KernelClassifier
from caltest.classifiers.dirichlet_gp import DirichletGPClassifier
from caltest.classifiers.gp_regression import GPRegressionClassifier
from caltest.classifiers.nystroem_krr import NystroemKRRClassifier
from caltest.classifiers.variational_gp import VariationalGPClassifier

__all__ = [
    "DirichletGPClassifier",
    "GPClassifier",
    "GPRegressionClassifier",
    "KernelClassifier",
    "NystroemKRRClassifier",
    "VariationalGPClassifier",
]
