// What a running app costs and gives, in a line of figures.

import { rateWords } from "./app_states.js";
import { element, setText } from "./elements.js";
import { count, duration, number } from "./format.js";

// Figure → its words; "" if the server did not say it.
const FIGURES = {
  "rows in": ({ rows_in_per_second: rate }) => rateWords(rate),
  "rows out": ({ rows_per_second: rate }) => rateWords(rate),
  lag: ({ lag_ms: lag }) => (known(lag) ? duration(lag * 1000) : ""),
  state: ({ state_bytes: bytes }) => (known(bytes) ? size(bytes) : ""),
  "partial matches": ({ partial_matches: matches }) => (known(matches) ? count(matches) : ""),
  keys: ({ keys }) => (known(keys) ? count(keys) : ""),
  repeats: ({ repeats }) => (repeats ? count(repeats) : ""),
  "rejected rows": ({ rejected_rows: rows }) => (rows ? count(rows) : ""),
  errors: ({ errors }) => errorWords(errors),
  snapshot: ({ snapshot_age_ms: age }) => (known(age) ? `${duration(age * 1000)} ago` : ""),
  CPU: ({ cpu }) => (known(cpu) ? `${number(cpu * 100, 1)} %` : ""),
  worker: ({ worker }) => (known(worker) ? String(worker) : ""),
  "up for": ({ uptime_seconds: seconds }) => (known(seconds) ? duration(seconds * 1e6) : ""),
};

export class AppStatus {
  constructor() {
    this.places = new Map(Object.keys(FIGURES).map((name) => [name, element("dd")]));
    this.root = element("dl", { class: "app-figures", hidden: true, "data-part": "app-status" }, ...[...this.places].map(([name, place]) => element("div", {}, element("dt", {}, name), place)));
  }

  show(state, status) {
    this.root.hidden = !status || !["running", "stopping", "starting", "failed"].includes(state);
    if (this.root.hidden) return;
    for (const [name, place] of this.places) {
      const words = FIGURES[name](status);
      setText(place, words);
      place.parentElement.hidden = !words;
      place.className = ["errors", "rejected rows"].includes(name) && words ? "bad" : "";
    }
  }
}

function known(value) {
  return value !== null && value !== undefined;
}

function size(bytes) {
  return bytes < 1024 * 1024 ? `${count(Math.ceil(bytes / 1024))} KiB` : `${number(bytes / 1024 / 1024, 1)} MiB`;
}

function errorWords(errors) {
  if (typeof errors === "number") return errors ? count(errors) : "";
  return Object.entries(errors ?? {}).filter(([, many]) => many).map(([kind, many]) => `${count(many)} ${kind}`).join(", ");
}
