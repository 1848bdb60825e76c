"""What runs the pages finds what they get wrong."""

import pytest

PYTHON = """# A page

```python
print("one")
```

It prints:

```text
{promised}
```
"""


@pytest.fixture
def shown(run_page, tmp_path):
    def run(text):
        page = tmp_path / "page.md"
        page.write_text(text, encoding="utf-8")
        return run_page(page, write=False)

    return run


@pytest.mark.parametrize(("promised", "right"), [("one", True), ("two", False)])
def test_python_block_is_compared_with_the_next_block(shown, promised, right):
    """A text block after Python is what that prints."""
    (block,) = shown(PYTHON.format(promised=promised))
    assert (block.printed == block.promised) is right
    assert block.line == 3


def test_python_block_without_text_prints_nothing(shown):
    """What no text block shows is a difference, and so is a text block after another language."""
    silent, loud = shown("```python\nx = 1\n```\n```py\n0 / 0\n```\n```python\nprint(x)\n```\n")
    assert silent.printed == silent.promised == ""
    assert (loud.printed, loud.promised) == ("1", "")


def test_error_of_caltest_is_what_the_block_prints(shown):
    """The last line of the traceback follows what was printed before."""
    code = "import caltest as ct\nprint(1)\nct.measures.ece([0.1, 1.2], [0, 1])"
    (block,) = shown(f"```python\n{code}\n```\n")
    first, last = block.printed.splitlines()
    assert first == "1"
    assert last.startswith("caltest.errors.InvalidInput: probs must lie in [0, 1]; got 1.2")


def test_warning_stops_the_page(shown):
    """A warning that the page does not deal with is an error."""
    with pytest.raises(UserWarning, match="surprise"):
        shown('```python\nimport warnings\nwarnings.warn("surprise")\n```\n')


def test_commands_run_with_pipes_input_and_status(shown):
    """A console block holds several commands, each followed by what it prints."""
    code = "from pathlib import Path\nPath('p.csv').write_text('y,p\\n1,0.9\\n0,0.2\\n')"
    commands = (
        "$ caltest test - --label y --probs p --test brier \\\n"
        "    --seed 1 --quiet --format csv < p.csv\n"
        "$ caltest test none.csv --label y\n"
        "caltest: FILE\n"
        "$ echo $?\n"
        "2\n"
    )
    _, first, second, status = shown(f"```python\n{code}\n```\n```console\n{commands}```\n")
    assert "brier" in first.printed
    assert (first.promised, second.promised) == ("", "caltest: FILE")
    assert second.printed.startswith("caltest: FILE must name a file; got 'none.csv'")
    assert status.printed == status.promised == "2"


def test_other_programs_are_refused(shown):
    """A page runs caltest and nothing else."""
    with pytest.raises(AssertionError, match="a page runs no rm"):
        shown("```console\n$ rm -r x\n```\n")


WRONG = """# One x

The x is an x.

```python
x = "x"
```

```python
print(x)
```

```text
y
```

```python
print("y")
```

```console
$ echo $?
x
$ caltest test none.csv \\
    --label y
$ echo $?
```

The last x.
"""


def test_rewriting_touches_nothing_but_what_was_printed(run_page, tmp_path):
    """Outputs of one letter go to their places, missing ones get a block, all else stays."""
    page = tmp_path / "page.md"
    page.write_text(WRONG, encoding="utf-8")
    shown = run_page(page, write=True)
    assert all(one.printed == one.promised for one in shown)
    error = shown[4].printed
    right = WRONG.replace("```text\ny\n", "```text\nx\n")
    right = right.replace('print("y")\n```\n', 'print("y")\n```\n\n```text\ny\n```\n')
    right = right.replace("echo $?\nx\n", "echo $?\n0\n")
    right = right.replace("--label y\n$ echo $?\n", f"--label y\n{error}\n$ echo $?\n2\n")
    assert page.read_text(encoding="utf-8") == right


def test_rewriting_leaves_a_right_page_as_it_stands(run_page, tmp_path):
    """Blank lines around an output are no difference."""
    page = tmp_path / "page.md"
    text = PYTHON.format(promised="\none  \n")
    page.write_text(text, encoding="utf-8")
    run_page(page, write=True)
    assert page.read_text(encoding="utf-8") == text
