// A table that scrolls in itself, by keyboard too, and is named for those who do not see it.

import { element, emptyRow } from "./elements.js";
import { DEFINITIONS } from "./labels.js";

// heads: names, a number's with "#" in front; rows: arrays of texts, nodes or {text, class, title}
export function namedTable(name, heads, rows, empty) {
  const isNumber = heads.map((head) => head.startsWith("#"));
  const cell = (value, i) => {
    const { text, class: tone = "", title = null } = typeof value === "object" && value !== null && !(value instanceof Node) ? value : { text: value };
    return element("td", { class: `${isNumber[i] ? "number" : ""} ${tone}`.trim() || null, title }, text);
  };
  const lines = rows.map((row) => element("tr", {}, ...row.map(cell)));
  const head = element("tr", {}, ...heads.map((words, i) => element("th", { scope: "col", class: isNumber[i] ? "number" : null, title: DEFINITIONS[words.replace("#", "")] }, words.replace("#", ""))));
  const body = element("tbody", {}, ...(lines.length ? lines : [emptyRow(heads.length, empty)]));
  return element("div", { class: "scrolled", tabindex: "0", role: "region", "aria-label": name }, element("table", { "aria-label": name }, element("thead", {}, head), body));
}
