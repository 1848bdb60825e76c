// The theme's toggles of the sections in the sidebar have no names; screen readers need one.
document.addEventListener("DOMContentLoaded", () => {
  for (const summary of document.querySelectorAll("summary:has(> .toctree-toggle)")) {
    const link = summary.closest("li").querySelector("a");
    summary.setAttribute("aria-label", `Pages of ${link.textContent.trim()}`);
  }
});

// A formula that is wider than the page scrolls, with the keyboard too.
window.addEventListener("load", async () => {
  await window.MathJax?.startup?.promise;
  for (const formula of document.querySelectorAll('mjx-container[display="true"]')) {
    if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
  }
});
