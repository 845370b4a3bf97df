// A table of rows whose columns are known only when the rows come.

import { element } from "./elements.js";
import { number } from "./format.js";

const DIGITS = 6;

// A value as it is read; everything that is no number is text.
export function valueWords(value) {
  if (value === null || value === undefined) return "–";
  // without commas: a whole number may be an id or a time, and a column has one form
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : number(value, decimalsOf(value)).replaceAll(",", "");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

// As many decimals as the number has, six at most and enough for small ones.
function decimalsOf(value) {
  const size = Math.abs(value);
  const wanted = size > 0 && size < 1 ? Math.min(DIGITS - Math.floor(Math.log10(size)), 12) : DIGITS;
  return Math.min((String(value).split(".")[1] ?? "").replace(/e.*/, "").length || wanted, wanted);
}

function cell(value) {
  const isNumber = typeof value === "number";
  return element("td", { class: isNumber ? "number" : null, title: isNumber ? String(value) : null }, valueWords(value));
}

export class ResultTable {
  constructor(label) {
    this.head = element("thead");
    this.body = element("tbody");
    this.root = element("div", { class: "app-table", tabindex: "0", role: "region", "aria-label": label }, element("table", {}, this.head, this.body));
  }

  // rows: arrays in the order of `columns`
  show(columns, rows, emptyWords) {
    const all = JSON.stringify([columns, rows, emptyWords]);
    if (all === this.all) return;
    this.all = all;
    const isNumber = columns.map((_, i) => rows.some((row) => typeof row[i] === "number"));
    const key = JSON.stringify([columns, isNumber]);
    if (key !== this.key) this.head.replaceChildren(element("tr", {}, ...columns.map((name, i) => element("th", { scope: "col", class: isNumber[i] ? "number" : null }, name))));
    this.key = key;
    const made = rows.map((row) => element("tr", {}, ...row.map(cell)));
    this.body.replaceChildren(...(made.length ? made : [element("tr", { class: "empty" }, element("td", { colspan: Math.max(columns.length, 1) }, emptyWords))]));
  }
}
