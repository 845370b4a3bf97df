// Rows of an app that failed and are kept: why, their values, and giving them again, changed or as they were.

import { appAddress, microseconds } from "./app_states.js";
import { button, element, setClass, setText } from "./elements.js";
import { fullTime } from "./format.js";
import { ask, problemText } from "./requests.js";

const COLUMNS = ["Failed", "Stream", "Values", "Why", "Tries", "State", ""];

export class AppErrorsPanel {
  constructor(service) {
    this.service = service;
    this.body = element("tbody");
    this.said = element("p", { class: "said", role: "status", "data-part": "app-errors-said" });
    this.search = element("input", { type: "search", placeholder: "in the values or the reason", "aria-label": "Find failed rows" });
    this.search.onchange = () => this.read();
    this.all = button("Replay all that wait", () => this.change("replay", { all: true, ...this.chosen }));
    this.clear = button("Drop these…", () => this.offerDrop(true));
    this.surely = button("Drop them", () => this.change("drop", { all: true, ...this.chosen }), "halt");
    this.surely.hidden = true;
    // by the row's key: what was typed and not given yet, which stays if other rows are read again
    this.typed = new Map();
    this.more = button("More", () => this.read(this.next));
    this.more.hidden = true;
    const head = element("tr", {}, ...COLUMNS.map((name) => element("th", { scope: "col" }, name)));
    this.table = element("div", { class: "app-table", tabindex: "0", role: "region", "aria-label": "Failed rows" }, element("table", {}, element("thead", {}, head), this.body));
    this.root = element("div", { "data-part": "app-errors" }, element("div", { class: "row app-tools" }, this.search, this.all, this.clear, this.surely), this.said, this.table, this.more);
  }

  enter() {
    this.read();
  }

  offerDrop(isOffered) {
    this.surely.hidden = !isOffered;
  }

  open() {
    this.body.replaceChildren();
    this.search.value = "";
    this.typed.clear();
    this.say("", "");
    this.read();
  }

  get chosen() {
    return this.search.value ? { contains: this.search.value } : {};
  }

  async read(after = "") {
    this.offerDrop(false);
    const { open, stored } = this.service;
    if (!open || !stored) return;
    const query = new URLSearchParams({ ...this.chosen, ...(after ? { after } : {}) });
    const answer = await ask("GET", appAddress(open, `/errors?${query}`));
    if (open !== this.service.open) return;
    if (!answer.isDone) {
      this.say(`No failed rows came: ${problemText(answer)}`, "bad");
      return;
    }
    const { errors, count, next } = answer.body;
    if (!after) this.body.replaceChildren();
    this.body.append(...errors.map((one) => this.row(one)));
    this.next = next;
    this.more.hidden = !next;
    this.all.disabled = this.clear.disabled = !count;
    if (!this.isAnswer) this.say(count ? `${count} kept.` : "No rows are kept: none failed, or no stream has @OnError(action = 'store').", "");
    this.isAnswer = false;
  }

  row(one) {
    const values = element("textarea", { rows: "1", "aria-label": `Values of a row of ${one.stream}` });
    values.value = this.typed.get(one.key) ?? JSON.stringify(one.values);
    values.oninput = () => this.typed.set(one.key, values.value);
    const acts = [
      button("Replay", () => this.replay(one, values.value)),
      button("Drop", () => this.change("drop", { keys: [one.key] })),
    ];
    return element(
      "tr", { "data-error": one.key },
      element("td", {}, fullTime(microseconds(one.at)).replace(/\.\d+/, "")), element("td", {}, one.stream), element("td", {}, values),
      element("td", {}, one.error), element("td", {}, String(one.attempts)), element("td", {}, one.state),
      element("td", {}, element("span", { class: "row" }, ...acts)),
    );
  }

  // What was typed is stored first, so that what is given again is what is kept.
  async replay(one, typed) {
    if (typed !== JSON.stringify(one.values)) {
      let values;
      try {
        values = JSON.parse(typed);
      } catch {
        this.say("The values are no JSON; write them as they were, by column.", "bad");
        return;
      }
      const answer = await ask("PUT", appAddress(this.service.open, `/errors/${one.key}`), { values });
      if (!answer.isDone) {
        this.say(`Not changed: ${problemText(answer)}`, "bad");
        return;
      }
    }
    this.typed.delete(one.key);
    await this.change("replay", { keys: [one.key], again: one.state === "replayed" });
  }

  async change(what, body) {
    const answer = await ask("POST", appAddress(this.service.open, `/errors/${what}`), body);
    this.isAnswer = true;
    if (!answer.isDone) this.say(`Not done: ${problemText(answer)}`, "bad");
    else if (what === "drop") this.say(`${answer.body.dropped} dropped.`, "good");
    else if (answer.body.reason) this.say(`${answer.body.replayed} given again; then: ${answer.body.reason}`, "bad");
    else this.say(`${answer.body.replayed} given again.`, "good");
    await this.read();
  }

  say(words, tone) {
    setText(this.said, words);
    setClass(this.said, `said ${tone}`);
  }
}
