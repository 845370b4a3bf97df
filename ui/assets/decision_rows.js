// Checks and settings of one decision as rows of tables.

import { number, reasonName } from "./format.js";

export const CHECK_HEADS = ["Rejects as", "#Value", "#Limit", "Settings", "Result"];
export const SETTING_HEADS = ["Setting", "Value"];
const NONE = "–";
const PLACES = { bps: 2, ms: 1, share: 2 };

// sum: a text of money as it is shown
export function checkRows(checks, sum) {
  return checks.map((check) => {
    const figure = (text) => (text === null ? NONE : { text: figureText(text, check.unit, sum), title: text });
    const result = !check.known ? { text: "not asked here", class: "quiet" } : check.passed ? { text: "passed", class: "good" } : { text: "rejects", class: "bad" };
    return [reasonName(check.reason), figure(check.value), figure(check.limit), settingsText(check.settings), result];
  });
}

export function settingRows(settings) {
  return Object.entries(settings ?? {}).map(([name, value]) => [name, valueText(value)]);
}

function figureText(text, unit, sum) {
  if (unit === "money") return sum(text);
  return unit in PLACES ? `${number(text, PLACES[unit])}${unit === "share" ? "" : ` ${unit}`}` : text;
}

function settingsText(settings) {
  return Object.entries(settings).map(([name, value]) => `${name} ${valueText(value)}`).join(", ");
}

function valueText(value) {
  if (Array.isArray(value)) return value.join(", ") || "none";
  if (value !== null && typeof value === "object") return Object.entries(value).map(([name, one]) => `${name}: ${valueText(one)}`).join(", ") || "none";
  return String(value);
}
