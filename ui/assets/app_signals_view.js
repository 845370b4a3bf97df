// Signals of stream apps: the level of each entity now, why, and since when, the worst first.

import { duration, fullTime, sixDigits } from "./format.js";
import { element, setText } from "./elements.js";
import { persistentPart } from "./persistent_part.js";
import { PolledView } from "./polled_view.js";
import { ask, problemText } from "./requests.js";
import { zoneWord } from "./zone.js";

const POLL_MILLISECONDS = 4000;
const COLUMNS = ["Level", "Entity", "Signal", "Why", "Value", "Since", "App"];
const TONES = { critical: "bad", warning: "warn", watch: "warn", none: "good" };
const ADVICE = "No running app has signals: publish exchange-signals, or an app with a table Signals.";

class AppSignalsView extends PolledView {
  constructor() {
    super(POLL_MILLISECONDS);
    this.said = element("p", { class: "quiet", role: "status", "data-part": "signals-said" }, "Reading…");
    this.search = element("input", { type: "search", placeholder: "entity, signal, level or app", "aria-label": "Find signals" });
    this.search.oninput = () => this.draw();
    this.body = element("tbody");
    const head = element("tr", {}, ...COLUMNS.map((name) => element("th", { scope: "col" }, name)));
    const table = element("table", {}, element("thead", {}, head), this.body);
    this.table = element("div", { class: "app-table", tabindex: "0", role: "region", "aria-label": "Signals" }, table);
    this.root = element("section", { class: "box", "data-part": "signals", "aria-label": "Signals" }, element("div", { class: "row app-tools" }, this.search), this.said, this.table);
    this.signals = [];
  }

  async read() {
    if (this.isReading) return;
    this.isReading = true;
    const answer = await ask("GET", "/api/signals");
    this.isReading = false;
    if (!answer.isDone) {
      setText(this.said, `Signals are not known: ${problemText(answer)}`);
      return;
    }
    this.signals = answer.body.signals;
    this.apps = answer.body.apps;
    this.draw();
  }

  draw() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = this.signals.filter((one) => words.every((word) => [one.entity, one.signal, one.level, one.reason, one.app].join(" ").toLowerCase().includes(word)));
    setText(this.said, this.apps?.length ? `${shown.length} of ${this.signals.length}, of ${this.apps.join(", ")}.` : ADVICE);
    const now = Date.now() * 1000;
    const drawn = JSON.stringify([shown, zoneWord(), Math.floor(now / 60_000_000)]);
    if (this.drawn === drawn) return;
    this.drawn = drawn;
    this.body.replaceChildren(...shown.map((one) => this.row(one, now)));
  }

  row(one, now) {
    const since = one.since === null ? "" : element("span", { title: fullTime(one.since) }, duration(Math.max(0, now - one.since)));
    const value = one.value === null ? "" : sixDigits(one.value);
    const cells = [element("span", { class: TONES[one.level] ?? "" }, one.level), one.entity, one.signal, one.reason, value, since, one.app];
    return element("tr", { "data-signal": `${one.app} ${one.entity} ${one.signal}` }, ...cells.map((cell) => element("td", {}, cell)));
  }
}

export const { mount, unmount } = persistentPart(() => new AppSignalsView());
