// Assets × exchanges: each market's best bid and ask, and the most profitable pair. Rows keep their place and their
// height; what changes is written into the cells that are there.

import { element, setClass, setText } from "./elements.js";
import { bps, count, exchangeName, number } from "./format.js";
import { marketFilter } from "./market_filter.js";
import { thresholdOf } from "./thresholds.js";

const DIGITS = 6;

export class MatrixView {
  // matches(base): whether it passes the search; onChoice(base)
  constructor({ table, counter, matches, onChoice }) {
    Object.assign(this, { table, counter, matches, onChoice });
    this.rows = new Map();
  }

  show(model, shownBase) {
    const [bases, exchanges] = [model.bases(), model.exchanges()];
    const layout = JSON.stringify([bases, exchanges]);
    if (layout !== this.layout) this.rebuild(bases, exchanges, layout, model.currency);
    let left = 0;
    for (const [base, row] of this.rows) {
      const isIn = this.matches(base) && marketFilter.fits(base, ...model.exchangesOf(base));
      row.node.hidden = !isIn;
      if (isIn) {
        left += 1;
        const asset = model.assets.get(base);
        const threshold = asset?.best ? thresholdOf(model.settings, { ...asset.best, base }) : Infinity;
        row.show(asset, threshold, base === shownBase);
      }
    }
    setText(this.counter, left === this.rows.size ? count(left) : `${count(left)} of ${count(this.rows.size)}`);
  }

  rebuild(bases, exchanges, layout, currency) {
    this.layout = layout;
    this.rows = new Map(bases.map((base) => [base, new Row(base, exchanges, () => this.onChoice(base))]));
    const head = (text, number) => element("th", { scope: "col", class: number ? "number" : "" }, text);
    const markets = exchanges.map((exchange) => head(exchangeName(exchange), true));
    const heads = [head("Asset"), ...markets, head("Best pair: buy → sell"), head("Gross bps", true), head("Net bps", true)];
    this.table.tHead.replaceChildren(element("tr", {}, ...heads));
    this.table.tBodies[0].replaceChildren(...[...this.rows.values()].map((row) => row.node));
    this.table.style.minWidth = `${320 + 112 * exchanges.length}px`;
    this.table.caption.textContent = `Best bid and ask of each asset on each exchange, in ${currency}, and the best pair after fees`;
  }
}

class Row {
  constructor(base, exchanges, choose) {
    this.base = base;
    this.button = element("button", { type: "button", "aria-pressed": "false", title: `Show prices and spreads of ${base}` }, base);
    this.button.onclick = choose;
    this.cells = new Map(exchanges.map((exchange) => [exchange, new Cell()]));
    this.pair = element("td", {}, "–");
    this.gross = element("td", { class: "number muted" }, "–");
    this.net = element("td", { class: "number strong" }, "–");
    const cells = [...this.cells.values()].map((cell) => cell.node);
    const head = element("th", { scope: "row" }, this.button);
    this.node = element("tr", { "data-asset": base }, head, ...cells, this.pair, this.gross, this.net);
  }

  show(asset, threshold, isShown) {
    this.button.setAttribute("aria-pressed", String(isShown));
    if (asset === this.asset && threshold === this.threshold) return;
    [this.asset, this.threshold] = [asset, threshold];
    const best = asset?.best ?? null;
    for (const [exchange, cell] of this.cells) cell.show(priceOn(exchange, asset, best), exchange, best);
    setText(this.pair, best ? `${exchangeName(best.buy_exchange)} → ${exchangeName(best.sell_exchange)}` : "–");
    setText(this.gross, best ? bps(best.gross_bps) : "–");
    setText(this.net, best ? bps(best.net_bps) : "–");
    setClass(this.net, `number strong ${best && best.net_bps >= threshold ? "good" : best ? "" : "muted"}`);
  }
}

class Cell {
  constructor() {
    this.bid = element("span", {}, "–");
    this.ask = element("span", {}, "");
    this.node = element("td", { class: "number market none" }, this.bid, this.ask);
  }

  show(price, exchange, best) {
    const isBuy = Boolean(price && best?.buy_exchange === exchange && best.buy_symbol === price.symbol);
    const isSell = Boolean(price && best?.sell_exchange === exchange && best.sell_symbol === price.symbol);
    setText(this.bid, price ? `${isSell ? "sell ▸ " : ""}${shortPrice(price.bid)}` : "–");
    setText(this.ask, price ? `${isBuy ? "buy ▸ " : ""}${shortPrice(price.ask)}` : "");
    setClass(this.bid, isSell ? "side" : "");
    setClass(this.ask, isBuy ? "side" : "");
    setClass(this.node, `number market ${price ? (price.is_fresh ? "" : "old") : "none"}`);
    this.node.title = price ? `${price.symbol}${price.is_fresh ? "" : ", stale"}` : "";
  }
}

// If an exchange has several markets: the one of the best pair, else the first.
function priceOn(exchange, asset, best) {
  const there = asset?.prices.filter((price) => price.exchange === exchange) ?? [];
  return there.find((price) => [best?.buy_symbol, best?.sell_symbol].includes(price.symbol)) ?? there[0] ?? null;
}

function shortPrice(value) {
  const whole = value >= 1 ? Math.floor(Math.log10(value)) + 1 : 0;
  return number(value, Math.max(DIGITS - Math.max(whole, 1), 0) + (value < 1 ? 1 : 0));
}
