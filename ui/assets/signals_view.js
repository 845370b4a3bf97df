// The newest signals of the moving average strategy: polled slowly, since they come every few seconds at most.

import { element, emptyRow, SlotRows, setText } from "./elements.js";
import { baseOf } from "./market_digits.js";
import { marketFilter } from "./market_filter.js";
import { baseAmount, exchangeName, fullTime, marketPrice, reasonName, stateName, timeParts } from "./format.js";

const ADDRESS = "/api/strategies/ma/trades?limit=8";
const ASK_MILLISECONDS = 5000;
const COLUMNS = 8;

export class SignalsView {
  constructor(body, counter) {
    this.counter = counter;
    this.rows = new SlotRows(body, signalRow);
    this.empty = emptyRow(COLUMNS, "");
    this.timer = setInterval(() => this.ask(), ASK_MILLISECONDS);
    this.ask();
  }

  async ask() {
    if (document.hidden) return;
    try {
      const answer = await fetch(ADDRESS);
      if (answer.ok) this.show((await answer.json()).items);
    } catch {
      // the server is away: the pill at the top says so, and the next poll comes by itself
    }
  }

  redraw() {
    if (this.signals) this.show(this.signals);
  }

  show(signals) {
    this.signals = signals;
    setText(this.counter, signals.length ? `newest ${signals.length}${marketFilter.isSet ? ", those that match" : ""}` : "");
    const fitting = signals.filter((signal) => marketFilter.fits(baseOf(signal.exchange, signal.symbol), signal.exchange));
    setText(this.empty.firstChild, signals.length ? "No signal matches the filter." : "No price has crossed its moving average yet.");
    this.rows.show(fitting, (signal) => signal.trade_id, this.empty);
  }

  close() {
    clearInterval(this.timer);
  }
}

function signalRow(signal) {
  const at = (value) => marketPrice(value, signal.exchange, signal.symbol);
  const order = signal.order;
  const tone = signal.trade_type === "BUY" ? "good" : "bad";
  return element(
    "tr",
    { "data-signal": signal.trade_id },
    element("td", { class: "time", title: fullTime(signal.timestamp) }, ...timeParts(signal.timestamp)),
    element("td", { class: `strong ${tone}` }, signal.trade_type),
    element("td", {}, exchangeName(signal.exchange), " ", element("small", {}, signal.symbol)),
    element("td", { class: "number" }, at(signal.trade_price)),
    element("td", { class: "number muted" }, at(signal.average)),
    element("td", { class: "after-number" }, [...new Set([signal.trade_location, signal.quote_region])].join(" / ")),
    element("td", {}, signal.trade_strategy),
    element("td", { title: order?.reason ? reasonName(order.reason) : "" }, order ? orderText(order, baseOf(signal.exchange, signal.symbol)) : "signal only"),
  );
}

function orderText(order, base) {
  const filled = Number(order.filled) > 0 ? ` ${baseAmount(order.filled, base)}` : "";
  return `${stateName(order.state)}${filled}`;
}
