// The spread matrix: rows buy, columns sell, cells in bps net of fees and FX.

import { element, setClass, setText } from "./elements.js";
import { bps, exchangeName, number } from "./format.js";
import { hasOwnThresholds, thresholdOf } from "./thresholds.js";

const FULL_HEAT_BPS = 15;
const FIRST_COLUMN = 104;
const COLUMN = 62;

export class SpreadView {
  constructor(table, legend) {
    this.table = table;
    this.legend = legend;
  }

  // markets: [key, series] of one asset
  show(model, markets) {
    const layout = markets.map(([key]) => key).join();
    if (layout !== this.layout) this.rebuild(markets.map(([, series]) => series), layout);
    this.showCells(model);
  }

  rebuild(markets, layout) {
    this.layout = layout;
    this.cells = new Map();
    const heads = markets.map((market) => element("th", { scope: "col" }, marketName(market)));
    const rows = markets.map((buy) =>
      element("tr", {}, element("th", { scope: "row" }, marketName(buy)), ...markets.map((sell) => this.cell(buy, sell))),
    );
    const corner = element("td", { class: "corner" }, "buy ↓  sell →");
    this.table.style.minWidth = `${FIRST_COLUMN + COLUMN * markets.length}px`;
    this.table.tHead.replaceChildren(element("tr", {}, corner, ...heads));
    this.table.tBodies[0].replaceChildren(...rows);
  }

  cell(buy, sell) {
    if (buy.exchange === sell.exchange) {
      return element("td", { class: "self" }, element("span", { class: "unseen" }, "same exchange"));
    }
    const node = element("td", { class: "cell unknown" }, element("span", {}, "·"), element("small", {}));
    this.cells.set(`${buy.exchange} ${buy.symbol} ${sell.exchange} ${sell.symbol}`, node);
    return node;
  }

  showCells(model) {
    const known = model.spreads
      .map((spread) => [spread, this.cells.get(cellKey(spread))])
      .filter(([, node]) => node !== undefined);
    const fresh = known.filter(([spread]) => spread.is_fresh).map(([spread]) => spread.net_bps);
    const best = Math.max(...fresh);
    for (const [spread, node] of known) {
      showCell(node, spread, thresholdOf(model.settings, spread), spread.is_fresh && spread.net_bps === best);
    }
    setText(this.legend, ["★ and underlined: best now", barText(model.settings), "struck out: stale"].filter(Boolean).join(" · "));
  }
}

function barText(settings) {
  if (!settings) return "";
  if (hasOwnThresholds(settings)) return "framed: at or above its threshold";
  return `framed: at or above the threshold of ${bps(settings.min_net_bps)} bps`;
}

function showCell(node, spread, threshold, isBest) {
  const [text, mark] = node.children;
  setText(text, bps(spread.net_bps));
  setText(mark, spread.is_fresh ? (isBest ? "★ best" : "") : "stale");
  const heat = spread.is_fresh ? Math.min(Math.max(spread.net_bps, 0) / FULL_HEAT_BPS, 1) : 0;
  node.style.setProperty("--heat", heat.toFixed(2));
  const kind = spread.net_bps >= threshold ? "open" : spread.net_bps > 0 ? "good" : "none";
  setClass(node, `cell ${spread.is_fresh ? kind : "old"}${isBest ? " best" : ""}`);
  node.title = spreadTitle(spread);
}

function cellKey(spread) {
  return `${spread.buy_exchange} ${spread.buy_symbol} ${spread.sell_exchange} ${spread.sell_symbol}`;
}

function marketName(market) {
  return element("span", {}, exchangeName(market.exchange), element("small", {}, market.symbol));
}

function spreadTitle(spread) {
  const parts = [
    `Buy on ${exchangeName(spread.buy_exchange)}, sell on ${exchangeName(spread.sell_exchange)}`,
    `gross ${bps(spread.gross_bps)} − fees ${number(spread.fee_bps, 1)} = net ${bps(spread.net_bps)} bps`,
  ];
  for (const window of spread.windows) {
    parts.push(`last ${window.seconds} s: mean ${bps(window.mean_bps)}, highest ${bps(window.max_bps)} bps`);
  }
  return parts.join("\n");
}
