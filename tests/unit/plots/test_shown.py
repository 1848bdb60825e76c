import json

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import caltest as ct

DATA = ct.datasets.generative_model("M1", n=100, m=3, rng=1)
PNG = b"\x89PNG"


def test_what_plots_return_shows_itself():
    """Axes, their figure and arrays of axes have a picture."""
    ax = ct.plots.reliability_diagram(DATA)
    grid = ct.plots.reliability_grid(DATA)
    assert isinstance(ax, Axes)
    for drawn in (ax, ax.figure, grid, grid[:2]):
        assert drawn._repr_png_().startswith(PNG)


def test_axes_of_the_caller_are_left_to_them():
    """A figure that the notebook knows of is shown by the notebook."""
    ax = Figure().add_subplot()
    assert not hasattr(ct.plots.reliability_diagram(DATA, ax=ax), "_repr_png_")
    assert type(ct.plots.reliability_grid(DATA, fig=Figure())) is np.ndarray


@pytest.mark.slow
def test_notebook_shows_one_picture(tmp_path):
    """Executed by nbclient, a cell that ends with a plot has one picture."""
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    code = (
        "import caltest as ct\n"
        "data = ct.datasets.generative_model('M1', n=100, m=2, rng=1)\n"
        "ct.test_calibration(data, n_resamples=99, rng=1).plot()"
    )
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbclient.NotebookClient(notebook, timeout=120).execute()
    outputs = notebook.cells[0].outputs
    assert [json.loads(json.dumps(out))["output_type"] for out in outputs] == ["execute_result"]
    assert "image/png" in outputs[0].data
