import json
import warnings

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

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


@pytest.mark.parametrize(("letter", "is_there"), [("\u1d15", True), ("\u4e2d", False)])
def test_letters_that_the_usual_font_has_not(letter, is_there, monkeypatch):
    """They are of another font that is installed, else a warning says what is missing."""
    own = [font for font in fontManager.ttflist if "matplotlib" in font.fname]
    monkeypatch.setattr(fontManager, "ttflist", own)
    ax = ct.plots.reliability_diagram(DATA)
    ax.set_xlabel(letter)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ax.figure.draw_without_rendering()
    told = [f"no font that is installed has {letter}"] * (not is_there)
    assert [str(one.message).partition(",")[0] for one in caught] == told
    assert len(ax.xaxis.label.get_fontfamily()) == 1 + is_there


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
