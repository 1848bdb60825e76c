"use strict";
// Tables sort by their headers: numbers as numbers, "< 1e-04" as the bound, text by the alphabet.
const valueOf = (cell) => {
  const text = cell.textContent.trim();
  const number = Number(text.replace(/^[<(\[]\s*/, "").replace(/,.*\]$/, "").replace(/,/g, "")
    .replace(/ ?%$/, "").replace(/^.* = /, ""));
  return text !== "" && Number.isFinite(number) ? number : text;
};
const compare = (a, b) =>
  typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
for (const button of document.querySelectorAll("thead button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th");
    const table = head.closest("table");
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of table.querySelectorAll("thead th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [valueOf(row.cells[head.cellIndex]), row]);
    rows.sort((a, b) => (up ? 1 : -1) * compare(a[0], b[0]));
    body.append(...rows.map((pair) => pair[1]));
  });
}
// What is folded is printed all the same.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const fold of closed) fold.open = true;
});
addEventListener("afterprint", () => { for (const fold of closed) fold.open = false; });
