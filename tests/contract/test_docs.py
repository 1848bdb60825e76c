"""What is public has its page in docs/: names, keys of registries, plots, commands."""

import importlib
import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import caltest
from caltest import calibrators, htests, lenses, measures, nulls, plots

DOCS = Path(__file__).parents[2] / "docs"
REGISTRIES = {
    "calibrators": calibrators.REGISTRY,
    "lenses": lenses.REGISTRY,
    "measures": measures.REGISTRY,
    "nulls": nulls.REGISTRY,
    "tests": htests.REGISTRY,
}
KEYS = [(kind, key) for kind, registry in REGISTRIES.items() for key in registry]

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the pages are in the repository only")


def extension(name):
    """Return a module of docs/_ext that needs no Sphinx."""
    spec = importlib.util.spec_from_file_location(f"caltest_docs{name}", DOCS / f"_ext/{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def public():
    """The module that knows what is public."""
    return extension("_public")


@pytest.fixture(scope="module")
def pages(public):
    return {entry.path for entry in public.entries()}


def public_paths(path, value):
    """Yield the path of a name, or of those of a module and of the modules in it."""
    if not inspect.ismodule(value):
        yield path
        return
    for one in value.__all__:
        if one != "REGISTRY":
            yield from public_paths(f"{path}.{one}", getattr(value, one))


def test_public_name_has_a_page(pages):
    """A name of caltest is documented, and each name of a module that it is."""
    names = [name for name in caltest.__all__ if name != "__version__"]
    expected = {
        p for name in names for p in public_paths(f"caltest.{name}", getattr(caltest, name))
    }
    missing = {path for path in expected if path not in pages and not is_elsewhere(path, pages)}
    assert not missing


def test_groups_of_the_api_hold_public_names(pages):
    """The groups of the API reference name nothing that is gone."""
    groups = extension("_groups").GROUPS
    grouped = {
        f"{m}.{name}" for m, found in groups.items() for names in found.values() for name in names
    }
    assert grouped <= pages


def is_elsewhere(path, pages):
    """Tell whether the object has a page under a shorter name."""
    module, _, name = path.rpartition(".")
    value = getattr(importlib.import_module(module), name)
    return f"caltest.{name}" in pages and getattr(caltest, name) is value


def test_key_has_an_api_page(public, pages):
    """A key of a registry leads to the page of what it stands for."""
    assert not [key for kind, key in KEYS if public.page_of_key(kind, key) not in pages]


def test_test_pages_are_of_tests():
    """No page is left over from a test that is gone."""
    pages = {path.stem for path in (DOCS / "tests").glob("*.md")}
    assert pages - set(htests.REGISTRY) <= {"index", "nulls", "lenses", "monitoring"}


@pytest.mark.parametrize("name", plots.__all__)
def test_plot_is_in_the_gallery(name):
    """Each plot is drawn and linked in the gallery."""
    gallery = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert f"ct.plots.{name}(" in gallery
    assert f"`caltest.plots.{name}`" in gallery


def test_command_has_a_section_with_examples_and_options():
    """The page on the command line shows each command with its examples and all of its options."""
    module = extension("_commands")
    assert "```{commands}" in (DOCS / "command_line.md").read_text(encoding="utf-8")
    names = {name for name, _ in module.commands()}
    assert {"test", "report", "list", "demo"} <= names
    for name, command in module.commands():
        text = module.section(name, command)
        options = [one.opts[0] for one in command.params if one.opts[0].startswith("--")]
        assert f"caltest {name}" in text.split("```sh")[1]
        assert all(f"`{option}`" in text for option in options)


def test_every_page_is_in_a_toctree():
    """Each folder's index leads to every page, where blocks of code start at the margin."""
    pages = [path for path in DOCS.rglob("*.md") if "_build" not in path.parts]
    for folder in {path.parent for path in pages}:
        index = (folder / "index.md").read_text(encoding="utf-8")
        tree = "".join(re.findall(r"```\{toctree\}\n(.*?)```", index, flags=re.DOTALL))
        names = {path.stem for path in folder.glob("*.md")} - {"index"}
        assert re.search(r"^\*$", tree, flags=re.MULTILINE) or all(
            re.search(rf"(^|<){name}>?$", tree, flags=re.MULTILINE) for name in names
        ), folder.name
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^ +```(python|console)", text, flags=re.MULTILINE), path.name


def test_doors_lead_to_pages_that_end_with_their_report():
    """Each door, of the README too, opens on a page whose last section is a report."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    readme = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    doors = re.findall(r"^- \[\*\*.*?\*\*\]\((.*?)\)", index, flags=re.MULTILINE)
    assert len(doors) == 5
    for door in doors:
        assert f"](docs/{door})" in readme
        last = (DOCS / door).read_text(encoding="utf-8").split("```{report}")
        assert len(last) == 2, door
        assert "page = ct.report(" in last[0], door


def test_picture_of_the_house_has_every_folder():
    """The floors of the architecture page are the folders of the package, and arrows fit."""
    house = extension("_house")
    package = Path(caltest.__file__).parent
    folders = {folder.parent.name for folder in package.glob("*/__init__.py")}
    rooms = [one for floor in house.floors() for one in floor]
    assert folders <= {one.name for one in rooms}
    assert all(one.purpose for one in rooms)
    assert house.drawing() <= {one.name for one in rooms}


@pytest.mark.parametrize(
    ("file", "form"),
    [
        ("CHANGELOG.md", "\n## [{}] - "),
        ("CITATION.cff", "\nversion: {}\n"),
        ("docs/citation.md", "version = {{{}}},"),
        ("docs/installation.md", "caltest-{}-py3-none-any.whl"),
    ],
)
def test_version_is_that_of_the_package(file, form):
    """What names the version names the one that is installed."""
    text = (DOCS.parent / file).read_text(encoding="utf-8")
    assert form.format(caltest.__version__) in text


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_named_files_exist(page):
    """What the pages for developers name is there; names in capitals stand for the reader's own."""
    text = (DOCS.parent / page).read_text(encoding="utf-8")
    paths = set(re.findall(r"`((?:caltest|docs|tests|\.ci)/[\w/]+(?:\.\w+)?)`", text))
    named = {path for path in paths if not re.search(r"[A-Z]", path)}
    assert named
    missing = {path for path in named if not (DOCS.parent / path).exists()}
    assert not missing


@pytest.mark.slow
def test_site_builds_with_every_page(tmp_path, pages):
    """Sphinx builds the site without a warning, and it has the public names and the commands."""
    for name in ("sphinx", "myst_parser", "numpydoc", "pydata_sphinx_theme", "sphinx_copybutton"):
        pytest.importorskip(name)
    from sphinx.util.inventory import InventoryFile

    commands = extension("_commands").commands

    options = ["-n", "-W", "--keep-going", "-q", "-b", "html", "-d", str(tmp_path / "doctrees")]
    command = [sys.executable, "-m", "sphinx", *options, str(DOCS), str(tmp_path / "html")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    content = (tmp_path / "html/objects.inv").read_bytes()
    inventory = InventoryFile.loads(content, uri="").data
    names = {name for kind, found in inventory.items() if kind.startswith("py:") for name in found}
    assert pages <= names
    page = (tmp_path / "html/command_line.html").read_text(encoding="utf-8")
    assert all(f'id="caltest-{name.replace(" ", "-")}"' in page for name, _ in commands())
    for file in (tmp_path / "html").rglob("*.html"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"<(script|link|img|iframe)[^>]* (src|href)=.https?:", text), file.name
