// Lists to choose from.

import { element } from "./elements.js";

export function choice(options) {
  return element("select", {}, ...Object.entries(options).map(([value, words]) => element("option", { value }, words)));
}

// A value that REST allows and the list has not is added to it.
export function pick(select, value) {
  const text = String(value);
  if (![...select.options].some((one) => one.value === text)) select.append(element("option", { value: text }, /^\d+$/.test(text) ? `${text} s` : text));
  select.value = text;
}
