// The spread table (exchange × exchange) and the newest opportunities.

import { element, emptyRow, KeyedRows, setClass, setText } from "./elements.js";
import { bps, exchangeName, fullTime, money, price, timeParts } from "./format.js";

const SHOWN_OPPORTUNITIES = 8;
const FULL_HEAT_BPS = 15;

export class SpreadView {
  constructor(tabs, table) {
    this.tabs = tabs;
    this.table = table;
    this.base = null;
  }

  show(model) {
    const bases = [...new Set([...model.series.values()].map((series) => series.base))];
    if (!bases.includes(this.base)) this.base = bases[0] ?? null;
    this.showTabs(bases, model);
    const markets = [...model.series.values()].filter((series) => series.base === this.base);
    const layout = markets.map((market) => `${market.exchange} ${market.symbol}`).join();
    if (layout !== this.layout) this.rebuild(markets, layout);
    this.showCells(model);
  }

  showTabs(bases, model) {
    if (bases.join() === this.shownBases?.join() && this.base === this.shownBase) return;
    [this.shownBases, this.shownBase] = [bases, this.base];
    this.tabs.replaceChildren(
      ...(bases.length < 2 ? [] : bases).map((base) => {
        const tab = element("button", { type: "button", "aria-pressed": String(base === this.base) }, base);
        tab.onclick = () => {
          this.base = base;
          this.show(model);
        };
        return tab;
      }),
    );
  }

  rebuild(markets, layout) {
    this.layout = layout;
    this.cells = new Map();
    const heads = markets.map((market) => element("th", { scope: "col" }, marketName(market)));
    const rows = markets.map((buy) =>
      element("tr", {}, element("th", { scope: "row" }, marketName(buy)), ...markets.map((sell) => this.cell(buy, sell))),
    );
    const corner = element("th", { class: "corner" }, "buy ↓  sell →");
    this.table.replaceChildren(
      element("thead", {}, element("tr", {}, corner, ...heads)),
      element("tbody", {}, ...rows),
    );
  }

  cell(buy, sell) {
    if (buy.exchange === sell.exchange) return element("td", { class: "self", "aria-label": "same exchange" });
    const node = element("td", { class: "cell unknown" }, "·");
    this.cells.set(`${buy.exchange} ${buy.symbol} ${sell.exchange} ${sell.symbol}`, node);
    return node;
  }

  showCells(model) {
    const threshold = model.settings?.min_net_bps ?? Infinity;
    for (const spread of model.spreads) {
      const node = this.cells.get(
        `${spread.buy_exchange} ${spread.buy_symbol} ${spread.sell_exchange} ${spread.sell_symbol}`,
      );
      if (!node) continue;
      setText(node, spread.is_fresh ? bps(spread.net_bps) : "stale");
      const heat = Math.min(Math.max(spread.net_bps, 0) / FULL_HEAT_BPS, 1);
      node.style.setProperty("--heat", spread.is_fresh ? heat.toFixed(2) : "0");
      const kind = !spread.is_fresh ? "old" : spread.net_bps >= threshold ? "open" : spread.net_bps > 0 ? "good" : "none";
      setClass(node, `cell ${kind}`);
      node.title = spreadTitle(spread);
    }
  }
}

export class OpportunityView {
  constructor(body, counter) {
    this.counter = counter;
    this.rows = new KeyedRows(body, opportunityRow);
    this.empty = emptyRow(5, "Waiting for the first opportunity…");
  }

  show(model) {
    const shown = model.opportunities.slice(0, SHOWN_OPPORTUNITIES).map((opportunity) => ({
      ...opportunity,
      arbitrage: model.arbitrages.get(opportunity.opportunity_id)?.state ?? null,
      isTradable: opportunity.net_bps >= (model.settings?.min_net_bps ?? Infinity),
    }));
    setText(this.counter, model.opportunityCount ? `${model.opportunityCount.toLocaleString("en-US")} seen` : "");
    this.rows.show(shown, (opportunity) => opportunity.opportunity_id, this.empty);
  }
}

function opportunityRow(opportunity) {
  const result = opportunity.arbitrage ? "traded" : opportunity.isTradable ? "" : "below threshold";
  return element(
    "tr",
    { class: opportunity.isTradable ? "" : "quiet", "data-opportunity": opportunity.opportunity_id },
    element("td", { class: "time", title: fullTime(opportunity.event_time) }, ...timeParts(opportunity.event_time)),
    element("td", {}, side(opportunity, "buy"), element("span", { class: "arrow" }, " → "), side(opportunity, "sell")),
    element("td", { class: `number strong ${opportunity.net_bps >= 0 ? "good" : "bad"}` }, bps(opportunity.net_bps)),
    element("td", { class: "number" }, money(opportunity.expected_profit, opportunity.currency)),
    element("td", { class: "muted result" }, result),
  );
}

function side(opportunity, which) {
  const symbol = opportunity[`${which}_symbol`];
  const text = price(opportunity[`${which}_price`], symbol.split("/")[1]);
  const title = `${which} ${opportunity[`${which}_amount`]} ${opportunity.base} at ${text}`;
  return element("span", { title }, exchangeName(opportunity[`${which}_exchange`]), " ", element("small", {}, text));
}

function marketName(market) {
  return element("span", {}, exchangeName(market.exchange), element("small", {}, market.symbol));
}

function spreadTitle(spread) {
  const parts = [
    `Buy on ${exchangeName(spread.buy_exchange)}, sell on ${exchangeName(spread.sell_exchange)}`,
    `gross ${bps(spread.gross_bps)} − fees ${spread.fee_bps.toFixed(1)} = net ${bps(spread.net_bps)} bps`,
  ];
  for (const window of spread.windows) {
    parts.push(`last ${window.seconds} s: mean ${bps(window.mean_bps)}, highest ${bps(window.max_bps)} bps`);
  }
  return parts.join("\n");
}
