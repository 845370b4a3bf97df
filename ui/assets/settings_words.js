// Texts of the settings form: changes, and who made them elsewhere.

import { ask } from "./requests.js";
import { element } from "./elements.js";
import { exchangeName } from "./format.js";

const ENTRIES = [
  ["taker_fees.", (name) => `Taker fee on ${exchangeName(name)}`],
  ["exchange_limits.", (name) => `Maximum open notional on ${exchangeName(name)}`],
  ["asset_limits.", (name) => `Maximum open notional in ${name}`],
  ["asset_thresholds.", (name) => `Minimum net spread of ${name}`],
  ["pair_thresholds.", (name) => `Minimum net spread, ${pairWords(name)}`],
];

// A pair's name in words: `a>b` is buying on a and selling on b, `a/b` both directions.
export function pairWords(name) {
  return name.split(/([>/])/).map((part) => ({ ">": " → ", "/": " ↔ " })[part] ?? exchangeName(part)).join("");
}

export function sentence(why) {
  const text = why.trim();
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

export function valueText(value) {
  if (value === undefined || value === null) return "none";
  return Array.isArray(value) ? value.map(exchangeName).join(", ") || "none" : String(value);
}

// The label of a field, in the form or not.
export function labelOf(name, labels) {
  const entry = ENTRIES.find(([table]) => name.startsWith(table));
  if (entry) return entry[1](name.slice(entry[0].length));
  return labels[name] ?? name.replaceAll("_", " ");
}

// A list of "field before → after", one for each that differs.
export function changeList(changes, labels) {
  const line = ({ name, before, after }) =>
    element(
      "li", { "data-change": name },
      `${labelOf(name, labels)}: `, element("span", { class: "before" }, valueText(before)), " → ",
      element("strong", {}, valueText(after)),
    );
  return element("ul", { class: "changes" }, ...changes.map(line));
}

// With the fields' labels for their names.
export function withLabels(why, labels) {
  return why.replace(/\b[a-z_0-9]+\b/g, (word) => (word in labels ? `"${labels[word]}"` : word));
}

// Who saved the versions after `version`; "Another user" if that is not known.
export async function whoSince(version) {
  const answer = await ask("GET", "/api/settings/versions?limit=20");
  const people = (answer.body?.items ?? []).filter((one) => one.version > version).map((one) => one.who);
  return [...new Set(people.reverse())].join(" and ") || "Another user";
}
