// The newest arbitrages, at most twenty, through a filter that also holds for those that come later.

import { recall, remember } from "./tab_memory.js";
import { marketFilter } from "./market_filter.js";
import { element, emptyRow, SlotRows, setText } from "./elements.js";
import { baseAmount, bps, count, duration, exchangeName, fullTime, marketPrice, money, reasonName, stateName, timeParts, tone, tookMicroseconds } from "./format.js";

const SHOWN = 20;
const FILTER = "live.filter";
const COLUMNS = 9;

export class TradesView {
  // openCount: the figure above, which is of this list and changes with it
  constructor(input, body, counter, openCount) {
    this.openCount = openCount;
    this.card = body.closest(".card");
    this.input = input;
    this.counter = counter;
    this.rows = new SlotRows(body, (arbitrage) => tradeRow(arbitrage, this.model.regions));
    this.empty = emptyRow(COLUMNS, "");
    // its link works by keyboard and in another tab; a click anywhere on the row does the same
    body.addEventListener("click", ({ target }) => {
      const link = target.closest("a") ? null : target.closest("[data-trade]")?.querySelector("a.open");
      if (link && !String(getSelection())) link.click();
    });
    input.value = recall(FILTER) ?? "";
    input.addEventListener("input", () => {
      remember(FILTER, input.value);
      if (this.model) this.show(this.model);
    });
  }

  show(model) {
    this.model = model;
    // the last column, which exists only with regions
    this.card.classList.toggle("with-location", Object.keys(model.regions).length > 0);
    const all = model.newestArbitrages();
    setText(this.openCount, count(all.filter((one) => !one.is_final).length));
    const terms = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fitting = all.filter((one) => marketFilter.fits(one.base, one.buy_exchange, one.sell_exchange) && fits(one, terms, model.regions));
    const isFiltered = terms.length > 0 || marketFilter.isSet;
    // what is open is not pushed out of sight
    const [open, ended] = [false, true].map((isFinal) => fitting.filter((one) => one.is_final === isFinal));
    const shown = [...open, ...ended].slice(0, Math.max(SHOWN, open.length));
    setText(this.empty.firstChild, all.length ? "No trade matches the filter." : "Waiting for the first trade…");
    // the page holds only part of the session's trades, so it shows no total
    setText(this.counter, all.length ? `newest ${shown.length}${isFiltered ? " that match" : ""}` : "");
    this.rows.show(shown, (arbitrage) => arbitrage.arbitrage_id, this.empty);
  }
}

function fits(arbitrage, terms, regions) {
  if (!terms.length) return true;
  const text = [
    arbitrage.arbitrage_id,
    arbitrage.base,
    stateName(arbitrage.outcome),
    arbitrage.reason ? reasonName(arbitrage.reason) : "",
    ...arbitrage.legs.flatMap((leg) => [leg.exchange, exchangeName(leg.exchange), leg.symbol, leg.side, leg.role]),
    fullTime(arbitrage.event_time),
    locationOf(arbitrage, regions),
  ].join(" ");
  const lower = text.toLowerCase();
  return terms.every((term) => lower.includes(term));
}

// The region of the bot of each leg, buy → sell; only one if both are the same.
function locationOf(arbitrage, regions) {
  const places = [arbitrage.buy_exchange, arbitrage.sell_exchange].map((exchange) => regions[exchange] ?? "");
  return [...new Set(places)].join(" → ");
}

function tradeRow(arbitrage, regions) {
  const filled = (leg) => leg.mean_price !== null;
  const first = (side) => arbitrage.legs.find((leg) => leg.role === side);
  // a leg that was filled by completing it later shows that price
  const completed = (side) => arbitrage.legs.find((leg) => leg.role === "complete" && leg.side === side && filled(leg));
  const legOf = (side) => (first(side) && !filled(first(side)) && completed(side)) || first(side);
  const profit = arbitrage.profit;
  // a trade on only one exchange has one leg, and a position instead of a profit
  const isSolo = arbitrage.buy_exchange === arbitrage.sell_exchange;
  const sideCell = (side, exchange, symbol) =>
    element("td", { class: side === "buy" ? "after-number" : "" }, isSolo && !first(side) ? "–" : legText(legOf(side), exchange, symbol));
  const took = tookMicroseconds(arbitrage);
  return element(
    "tr",
    { "data-trade": arbitrage.arbitrage_id, title: `id ${arbitrage.arbitrage_id}` },
    element("td", { class: "time", title: fullTime(arbitrage.event_time) }, openLink(arbitrage, ...timeParts(arbitrage.event_time))),
    element("td", {}, stateBadge(arbitrage)),
    element(
      "td",
      { class: `number strong ${profit ? tone(profit.net) : "flat"}`, title: profit ? profitTitle(profit) : "" },
      profit ? money(profit.net, profit.currency) : isSolo ? "–" : "…",
    ),
    sideCell("buy", arbitrage.buy_exchange, arbitrage.buy_symbol),
    sideCell("sell", arbitrage.sell_exchange, arbitrage.sell_symbol),
    element("td", { class: "number" }, `${baseAmount(matchedAmount(arbitrage), arbitrage.base)} ${arbitrage.base}`),
    element("td", { class: "number" }, bps(arbitrage.net_bps)),
    element("td", { class: "number muted" }, took === null ? "…" : duration(took)),
    element("td", { class: "location" }, locationOf(arbitrage, regions)),
  );
}

// All of its row: what happened, in every detail.
function openLink(arbitrage, ...words) {
  return element("a", { class: "open", href: `/arbitrage?id=${encodeURIComponent(arbitrage.arbitrage_id)}` }, ...words);
}

function matchedAmount(arbitrage) {
  const filled = arbitrage.legs.filter((leg) => leg.role === "buy" || leg.role === "sell").map((leg) => leg.filled);
  const most = filled.reduce((best, text) => (Number(text) > Number(best) ? text : best), "0");
  return Number(most) > 0 ? most : arbitrage.amount;
}

function stateBadge(arbitrage) {
  const title = arbitrage.reason ? reasonName(arbitrage.reason) : "";
  return element("span", { class: `badge ${arbitrage.outcome}`, title }, stateName(arbitrage.outcome));
}

function legText(leg, exchange, symbol) {
  const text = !leg ? "…" : leg.mean_price ? marketPrice(leg.mean_price, exchange, symbol) : unfilledWord(leg);
  return element("span", {}, exchangeName(exchange), " ", element("small", {}, text));
}

function unfilledWord(leg) {
  return leg.state === "done" ? "not filled" : stateName(leg.state);
}

function profitTitle(profit) {
  return ["gross", "latency_decay", "slippage", "fees", "fx", "unwinding", "net"]
    .map((part) => `${part} ${profit[part]} ${profit.currency}`)
    .join("\n");
}
