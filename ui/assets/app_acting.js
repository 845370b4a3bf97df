// What an app did to the settings and what it asked for in vain, in two lines.

import { microseconds } from "./app_states.js";
import { element, setText } from "./elements.js";
import { clockTime, count } from "./format.js";
import { pairWords } from "./settings_words.js";

export class AppActing {
  constructor() {
    this.standing = element("p", { hidden: true, "data-part": "app-standing" });
    this.leftOut = element("p", { class: "bad", hidden: true, "data-part": "app-left-out" });
    this.root = element("div", {}, this.standing, this.leftOut);
  }

  // `actions`: as GET /api/apps/{name} has them; undefined while they are not known.
  show(state, actions) {
    const { standing = [], left_out: leftOut = [] } = actions ?? {};
    const runs = ["running", "starting"].includes(state);
    const alone = runs ? "" : " The app does not run, so it takes nothing of that back; a person does on Bots & thresholds.";
    put(this.standing, standing.length ? `It set: ${standing.map(entryWords).join("; ")}.${alone}` : "");
    put(this.leftOut, leftOut.length ? `Rows that did nothing: ${leftOut.map(leftOutWords).join("; ")}.` : "");
  }
}

// What apps that do not run have left in the settings; "" if nothing.
export function leftWords(entries) {
  return entries?.length ? `Left in the settings by apps that do not run: ${entries.map((one) => `${one.app}: ${entryWords(one)}`).join("; ")}. A person takes it off on Bots & thresholds.` : "";
}

function put(place, words) {
  setText(place, words);
  place.hidden = !words;
}

function entryWords({ setting, key, value, since }) {
  const at = `since ${clockTime(microseconds(since))}`;
  if (setting === "disabled_assets") return `${key} is paused ${at}`;
  const subject = setting === "pair_thresholds" ? pairWords(key) : key;
  return `${subject} trades from ${value} bps ${at}`;
}

function leftOutWords({ reason, actions, last, last_at: at }) {
  return `${count(actions)} because ${reason} (last: ${last}, ${clockTime(microseconds(at))})`;
}
