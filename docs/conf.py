"""Settings of Sphinx: `sphinx-build -n -W -b html docs OUT` builds the site, without a network."""

from __future__ import annotations

import gc
import os
import sys
from importlib.metadata import distribution
from pathlib import Path

from jinja2 import FileSystemLoader
from jinja2.sandbox import SandboxedEnvironment
from numpydoc import docscrape_sphinx

import caltest

# A build needs little garbage collection; numpydoc would compile its template for each docstring.
gc.set_threshold(200_000, 50, 100)
_TEMPLATES = FileSystemLoader(Path(docscrape_sphinx.__file__).with_name("templates"))
_DOCSTRINGS = SandboxedEnvironment(loader=_TEMPLATES)
docscrape_sphinx.SandboxedEnvironment = lambda **_: _DOCSTRINGS

_EXTENSIONS = Path(__file__).parent / "_ext"
sys.path.insert(0, str(_EXTENSIONS))

# For a quick look at a page: neither API pages nor pictures, and links to the former unchecked.
_FAST = bool(os.environ.get("CALTEST_DOCS_FAST"))

project = "caltest"
author = "the caltest developers"
release = caltest.__version__
version = release
language = "en"

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    *sorted(file.stem for file in _EXTENSIONS.glob("[!_]*.py")),
]
exclude_patterns = ["_build", "_ext", "_static"]
caltest_docs_fast = _FAST
nitpicky = not _FAST
smartquotes = False  # a quote is a key here, and -- begins an option

# Docstrings: types stand under Parameters, and a name in single backticks is a link if it can be.
autodoc_typehints = "none"
autodoc_member_order = "bysource"
default_role = "api"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
toc_object_entries_show_parents = "hide"

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True
suppress_warnings: list[str] = []

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
# What a block prints is not there to be copied.
copybutton_selector = "div:not(.highlight-text):not(.highlight-none) > div.highlight > pre"

html_theme = "pydata_sphinx_theme"
html_title = f"caltest {release}"
# MathJax lies beside the pages, so that formulas need no network: one file, its glyphs included.
_MATHJAX = "sphinx-mathjax-offline"
_FORMULAS = distribution(_MATHJAX).locate_file(f"{_MATHJAX}/static/mathjax/tex-svg.js")
mathjax_path = "tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}}  # else each formula is a stop of the Tab key
html_static_path = ["_static", str(_FORMULAS)]
html_css_files = ["caltest.css"]
html_js_files = ["caltest.js"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "caltest"},
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 10,
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "navigation_with_keys": False,
}
# No sections beside pages that stand alone, nor beside the wide tables of the studies.
_ALONE = (
    *("index", "installation", "tour", "tutorial", "dossier", "gallery", "glossary"),
    *("command_line", "stability", "changelog", "citation", "studies/*"),
)
html_sidebars: dict[str, list[str]] = {page: [] for page in _ALONE}
copyright = "the caltest developers, MIT license"  # noqa: A001 - Sphinx's name for it
