"use strict";
// Tables sort by their headers: numbers as numbers, "< 1e-04" as the bound, text by the alphabet.
const valueOf = (cell) => {
  const text = cell.textContent.trim();
  const number = Number(text.replace(/\u2212/g, "-").replace(/ to .*$/, "").replace(/^<\s*/, "").replace(/,/g, "")
    .replace(/ ?(%|points)$/, ""));
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
// Long tables get a field that shows the rows with a text in them.
for (const box of document.querySelectorAll("details .scroll")) {
  const rows = [...box.querySelectorAll("tbody tr")];
  const field = Object.assign(document.createElement("input"),
    { type: "search", className: "search", placeholder: "Search in this table" });
  field.setAttribute("aria-label", `Search in: ${box.getAttribute("aria-label")}`);
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
  box.before(field);
}
// What is folded is printed all the same.
let closed = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const fold of closed) fold.open = true;
});
addEventListener("afterprint", () => { for (const fold of closed) fold.open = false; });
