// The newest arbitrages, at most twenty, through a filter that also holds for those that come later.

import { recall, remember } from "./choices.js";
import { element, emptyRow, SlotRows, setText } from "./elements.js";
import { amount, bps, duration, exchangeName, fullTime, money, price, timeParts, tone, tookMicroseconds, words } from "./format.js";

const SHOWN = 20;
const FILTER = "live.filter";
const COLUMNS = 8;
const STATE_WORDS = {
  half_reserved: "reserving",
  reserved: "trading",
  single_leg: "one leg",
  closed: "closed",
  unwound: "unwound",
  held: "held",
  expired: "expired",
  unfilled: "unfilled",
};
const HIDDEN_STATES = new Set(["half_reserved", "expired"]);

export class TradesView {
  constructor(input, body, counter) {
    this.input = input;
    this.counter = counter;
    this.rows = new SlotRows(body, tradeRow);
    this.empty = emptyRow(COLUMNS, "");
    input.value = recall(FILTER) ?? "";
    input.addEventListener("input", () => {
      remember(FILTER, input.value);
      if (this.model) this.show(this.model);
    });
  }

  show(model) {
    this.model = model;
    const all = model.newestArbitrages().filter((arbitrage) => !HIDDEN_STATES.has(arbitrage.state));
    const terms = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fitting = all.filter((arbitrage) => fits(arbitrage, terms));
    const shown = fitting.slice(0, SHOWN);
    setText(this.empty.firstChild, all.length ? "No trade matches the filter." : "Waiting for the first trade…");
    // what the page holds is a part of the session's trades, so no total is told here
    setText(this.counter, all.length ? `newest ${shown.length}${terms.length ? " that match" : ""}` : "");
    this.rows.show(shown, (arbitrage) => arbitrage.arbitrage_id, this.empty);
  }
}

function fits(arbitrage, terms) {
  if (!terms.length) return true;
  const text = [
    arbitrage.arbitrage_id,
    arbitrage.base,
    STATE_WORDS[arbitrage.state],
    arbitrage.reason,
    ...arbitrage.legs.flatMap((leg) => [leg.exchange, exchangeName(leg.exchange), leg.symbol, leg.side, leg.role]),
    fullTime(arbitrage.event_time),
  ].join(" ");
  const lower = text.toLowerCase();
  return terms.every((term) => lower.includes(term));
}

function tradeRow(arbitrage) {
  const filled = (leg) => leg.mean_price !== null;
  const first = (side) => arbitrage.legs.find((leg) => leg.role === side);
  // a leg that was filled by completing it later shows that price
  const completed = (side) => arbitrage.legs.find((leg) => leg.role === "complete" && leg.side === side && filled(leg));
  const legOf = (side) => (first(side) && !filled(first(side)) && completed(side)) || first(side);
  const profit = arbitrage.profit;
  // a trade on one exchange alone has one leg, and a position instead of a profit
  const isSolo = arbitrage.buy_exchange === arbitrage.sell_exchange;
  const sideCell = (side, exchange, symbol) =>
    element("td", {}, isSolo && !first(side) ? "–" : legText(legOf(side), exchange, symbol));
  const took = tookMicroseconds(arbitrage);
  return element(
    "tr",
    { "data-trade": arbitrage.arbitrage_id, title: `id ${arbitrage.arbitrage_id}` },
    element("td", { class: "time", title: fullTime(arbitrage.event_time) }, ...timeParts(arbitrage.event_time)),
    element("td", {}, stateBadge(arbitrage)),
    sideCell("buy", arbitrage.buy_exchange, arbitrage.buy_symbol),
    sideCell("sell", arbitrage.sell_exchange, arbitrage.sell_symbol),
    element("td", { class: "number" }, `${amount(matchedAmount(arbitrage), 6)} ${arbitrage.base}`),
    element("td", { class: "number" }, bps(arbitrage.net_bps)),
    element("td", { class: "number muted" }, took === null ? "…" : duration(took)),
    element(
      "td",
      { class: `number strong ${profit ? tone(profit.net) : "flat"}`, title: profit ? profitTitle(profit) : "" },
      profit ? money(profit.net, profit.currency) : isSolo ? "–" : "…",
    ),
  );
}

function matchedAmount(arbitrage) {
  const filled = arbitrage.legs.filter((leg) => leg.role === "buy" || leg.role === "sell").map((leg) => leg.filled);
  const most = filled.reduce((best, text) => (Number(text) > Number(best) ? text : best), "0");
  return Number(most) > 0 ? most : arbitrage.amount;
}

function stateBadge(arbitrage) {
  const title = arbitrage.reason ? words(arbitrage.reason) : "";
  return element("span", { class: `badge ${arbitrage.state}`, title }, STATE_WORDS[arbitrage.state] ?? arbitrage.state);
}

function legText(leg, exchange, symbol) {
  const currency = symbol.split("/")[1];
  const text = !leg ? "…" : leg.mean_price ? price(leg.mean_price, currency) : unfilledWord(leg);
  return element("span", {}, exchangeName(exchange), " ", element("small", {}, text));
}

function unfilledWord(leg) {
  return leg.state === "done" ? "not filled" : words(leg.state).toLowerCase();
}

function profitTitle(profit) {
  return ["gross", "latency_decay", "slippage", "fees", "fx", "unwinding", "net"]
    .map((part) => `${part} ${money(profit[part], profit.currency, 4)}`)
    .join("\n");
}
