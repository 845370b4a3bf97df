// What is left of an arbitrage, sold or bought back now: asked for by an operator, confirmed, and carried out by the bots.

import { ask, problemText } from "./requests.js";
import { button, element, setClass, setText } from "./elements.js";
import { baseAmount, exchangeName, marketPrice } from "./format.js";

export class CloseNow {
  // changed: called once it was ordered
  constructor(changed) {
    this.changed = changed;
    this.words = element("p", { "data-part": "close-words" });
    this.said = element("p", { class: "said", role: "status", "data-part": "close-said" });
    this.begin = button("Close now…", () => this.askAgain());
    this.surely = button("Close it now", () => this.order(), "halt");
    this.keep = button("Keep it", () => this.showSure(false));
    this.root = element("section", { class: "box", "aria-label": "Close now", "data-section": "Close now" }, element("h4", {}, "Close now"), this.words, element("div", { class: "row" }, this.begin, this.surely, this.keep), this.said);
    this.showSure(false);
  }

  // What ended with a residual can be closed, and a leg that is open: one filled, the other not, or not yet.
  async read(id, row) {
    this.id = id;
    this.row = row;
    this.root.hidden = !canHoldOneSide(row) && !this.isOrdered;
    if (!canHoldOneSide(row)) return;
    const answer = await ask("GET", this.path);
    if (id === this.id) this.take(answer);
  }

  get path() {
    return `/api/arbitrages/${encodeURIComponent(this.id)}/close`;
  }

  take(answer) {
    const plan = (this.plan = answer.isDone ? answer.body : null);
    const reason = plan ? plan.why_not : `Not known: ${problemText(answer)}`;
    setText(this.words, reason ?? this.planWords(plan));
    this.begin.disabled = Boolean(reason);
    if (reason) this.showSure(false);
  }

  planWords({ side, exchange, symbol, amount, price, limit_price }) {
    const at = (text) => marketPrice(text, exchange, symbol);
    const { base } = this.row;
    const would = this.row.is_final ? "Would" : "In place of what its bots would do next, once no order of it is under way: would";
    return `${would} ${side} up to ${baseAmount(amount, base)} ${base} on ${exchangeName(exchange)} (${symbol}), once: at ${at(price)} now, at ${at(limit_price)} at the worst.`;
  }

  // The price of now, not of when the page was opened.
  async askAgain() {
    await this.read(this.id, this.row);
    if (this.begin.disabled) return;
    this.showSure(true);
    this.keep.focus();
  }

  showSure(isAsked) {
    const had = this.surely.contains(document.activeElement) || this.keep === this.root.getRootNode().activeElement;
    this.begin.hidden = isAsked;
    this.surely.hidden = this.keep.hidden = !isAsked;
    if (!isAsked && had) this.begin.focus();
  }

  async order() {
    this.showSure(false);
    this.say("Ordering…", "");
    const { side, amount, price } = this.plan;
    const answer = await ask("POST", this.path, { side, amount, price });
    this.isOrdered = answer.isDone;
    const when = this.row.is_final ? "a bot sends it within seconds" : "it is sent once no order is under way, within 20 seconds or not at all";
    if (answer.isDone) this.say(`Ordered (version ${answer.body.settings_version} of the settings): ${when}.`, "good");
    else this.say(`Not closed: ${problemText(answer)}`, "bad");
    if (answer.isDone) this.changed();
  }

  forget() {
    this.isOrdered = false;
    this.showSure(false);
    this.say("", "");
  }

  say(words, tone) {
    setText(this.said, words);
    setClass(this.said, `said ${tone}`);
  }
}

function canHoldOneSide({ state, legs }) {
  return state === "residual" || state === "single_leg" || (state === "reserved" && legs.some((leg) => Number(leg.filled) > 0));
}
