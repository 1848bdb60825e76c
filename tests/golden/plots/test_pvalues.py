"""Picture of a table of p-values."""

from caltest import plots, test_master_scale

PD = [0.0005, 0.002, 0.01, 0.03, 0.1, 0.3]
D, N = [0, 7, 25, 66, 82, 75], [900, 2000, 2000, 1500, 800, 200]


def table_of(**options):
    grades = ["AAA", "AA", "A", "B", "C", "a grade with a long name"]
    return test_master_scale(PD, D, N, grades=grades, **options)


def test_pvalues_look_as_they_did(assert_same_picture):
    """Two tests of each grade, those of all, and a level."""
    table = table_of(test=["jeffreys", "binomial"], level=0.05)
    assert_same_picture(plots.pvalues(table).figure, "pvalues")
