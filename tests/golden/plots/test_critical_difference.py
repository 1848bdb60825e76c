"""Pictures of Demsar's diagram."""

from caltest import plots


def test_critical_difference_looks_as_it_did(assert_same_picture):
    ranks = [1.9, 2.4, 3.6, 5.3, 4.1, 5.9, 4.8]
    names = ["Dirichlet", "matrix", "vector", "none", "temperature", "isotonic", "Platt"]
    for control, name in ((None, "critical_difference"), ("temperature", "bonferroni_dunn")):
        ax = plots.critical_difference(ranks, names=names, n_datasets=15, control=control)
        assert_same_picture(ax.figure, name)
