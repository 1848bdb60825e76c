"""Picture of a master scale."""

from caltest import plots, test_master_scale

PD = [0.0005, 0.002, 0.01, 0.03, 0.1, 0.3]
D, N = [0, 7, 31, 80, 102, 60], [900, 2000, 2000, 1500, 800, 200]


def table_of():
    grades = ["AAA", "AA", "A", "B", "C", "a grade with a long name"]
    return test_master_scale(PD, D, N, grades=grades, lights=(0.5, 0.2, 0.05))


def test_master_scale_looks_as_it_did(assert_same_picture):
    """All four lights, and a grade without defaults."""
    table = table_of()
    assert len(set(table.traffic_lights)) == 4
    assert_same_picture(plots.master_scale(table).figure, "master_scale")
