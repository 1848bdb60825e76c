"""The page in headless Chromium: no error, nothing overflows, every figure shows, tables sort."""

from pathlib import Path

import numpy as np
import pytest

import caltest as ct

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.skipif(not CHROMIUM.is_file(), reason=f"there is no {CHROMIUM}"),
    # What playwright leaves open at its end is not the page's.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]

HIDDEN = """() => [...document.querySelectorAll('svg')].filter((svg) => {
  const box = svg.getBoundingClientRect();
  return box.width < 5 || box.height < 5 || box.right > innerWidth + 1;
}).length"""

INJECTED = """() => {
  const script = document.createElement('script');
  script.textContent = 'window.ran = 1';
  const button = document.createElement('button');
  button.setAttribute('onclick', 'window.clicked = 1');
  document.body.append(script, button);
  button.click();
}"""


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def address(page, tmp_path_factory):
    return page.save(tmp_path_factory.mktemp("page") / "report.html").as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1024, 1600])
def test_page_opens_without_errors_and_nothing_overflows(browser, address, width, scheme):
    """At three widths and in both schemes all figures show and the console is empty."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    tab, said = context.new_page(), []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.goto(address)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate(HIDDEN) == 0
    assert said == []
    context.close()


def test_tables_sort_by_keyboard(browser, address):
    """Enter on a header sorts its column as numbers, a second time the other way."""
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(address)
    tab.locator("#data thead button").nth(1).focus()
    counts = []
    for _ in range(2):
        tab.keyboard.press("Enter")
        cells = tab.locator("#data tbody tr td:nth-child(2)").all_text_contents()
        counts.append([int(cell) for cell in cells])
    assert counts == [sorted(counts[0]), sorted(counts[0], reverse=True)]
    context.close()


def test_page_prints_what_is_folded(browser, address):
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(address)
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert tab.locator("details:not([open])").count() == 0
    assert tab.pdf(format="A4").startswith(b"%PDF")
    context.close()


def test_page_of_two_classes_obeys_its_own_policy(browser, tmp_path):
    """Its script and styles run without a word of the console; what is put in does not."""
    rng = np.random.default_rng(1)
    p = rng.random(300)
    made = ct.report(p, rng.random(300) < p**2, n_resamples=49, rng=1)
    context = browser.new_context()
    tab, said = context.new_page(), []
    tab.on("console", lambda message: said.append(message.text))
    tab.goto(made.save(tmp_path / "two.html").as_uri())
    tab.locator("#data thead button").nth(1).click()
    assert tab.locator("#data th[aria-sort=ascending]").count() == 1  # the script runs
    assert tab.evaluate("getComputedStyle(document.querySelector('h1')).fontFamily") != "serif"
    assert said == []
    tab.evaluate(INJECTED)
    assert tab.evaluate("[window.ran, window.clicked]") == [None, None]
    assert len(said) == 2
    assert all("Content Security Policy" in text for text in said)
    context.close()
