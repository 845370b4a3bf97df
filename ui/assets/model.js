// The state of the page, changed by messages alone, all lists of fixed length.

import { setSteps } from "./market_digits.js";

const KEPT_POINTS = 720;
const KEPT_ARBITRAGES = 200;
const KEPT_FILLED = 50;

export class Model {
  constructor() {
    this.isKnown = false;
    this.series = new Map();
    this.filled = [];
    this.arbitrages = new Map();
    this.episodes = [];
    this.assetEpisodes = [];
    this.assets = new Map();
    this.quotes = [];
    this.spreads = [];
    this.settings = null;
    this.ledger = { balances: [], feeds: [], rejections: [], episodes: {}, pnl: null, pnl_by: null, inventory: null };
  }

  apply(message) {
    switch (message.type) {
      case "snapshot":
        return this.replace(message);
      case "pulse":
        return this.advance(message);
      case "assets":
        return this.takeAssets(message.assets);
      case "trade":
        return this.takeTrade(message.arbitrage);
      case "ledger":
        this.ledger = message.ledger;
        this.ledgerAt = this.now;
        return undefined;
      case "settings":
        this.settings = message.settings;
        return undefined;
      default:
        return undefined;
    }
  }

  replace(message) {
    this.isKnown = true;
    this.currency = message.settlement_currency;
    this.mode = message.mode;
    // exchange → region of its bots; empty without regions
    this.regions = message.regions;
    this.simulatedMarket = message.simulated_market;
    setSteps(message.series);
    this.series = new Map(message.series.map((one) => [`${one.exchange} ${one.symbol}`, one]));
    this.arbitrages = new Map();
    for (const arbitrage of [...message.arbitrages].reverse()) this.keepArbitrage(arbitrage);
    this.settings = message.settings;
    this.ledger = message.ledger;
    this.ledgerAt = message.now;
    this.assets = new Map();
    this.takeAssets(message.assets);
    this.advance({ ...message, points: {} });
  }

  advance(message) {
    this.now = message.now;
    this.sources = message.sources;
    this.detection = message.detection;
    this.quotes = message.quotes;
    this.volatility = message.volatility;
    this.spreads = message.spreads;
    this.episodes = message.episodes;
    this.assetEpisodes = message.asset_episodes;
    for (const [key, point] of Object.entries(message.points)) this.addPoint(key, point);
  }

  // The rows that changed; the others stay the same objects, so that they are not drawn again.
  takeAssets(assets) {
    for (const asset of assets) this.assets.set(asset.base, asset);
  }

  // In the order of the session's markets, each once.
  bases() {
    return this.marketNames().bases;
  }

  exchanges() {
    return this.marketNames().exchanges;
  }

  isAsset(currency) {
    return this.marketNames().byBase.has(currency);
  }

  // Of the markets: assets first, then what they are priced in.
  currencies() {
    const quoted = [...this.series.values()];
    return [...new Set([...quoted.map((one) => one.base), ...quoted.map((one) => one.quote_currency)])];
  }

  exchangesOf(base) {
    return this.marketNames().byBase.get(base) ?? [];
  }

  // Markets only change with a snapshot.
  marketNames() {
    if (this.named?.series !== this.series) this.named = namesOf(this.series);
    return this.named;
  }

  addPoint(key, [time, mid, mean]) {
    const columns = this.series.get(key)?.points;
    if (!columns) return;
    const last = columns[0].length - 1;
    if (columns[0][last] === time) columns.forEach((column, i) => (column[last] = [time, mid, mean][i]));
    else columns.forEach((column, i) => column.push([time, mid, mean][i]));
    if (columns[0].length > KEPT_POINTS) columns.forEach((column) => column.shift());
  }

  takeTrade(arbitrage) {
    const isNew = !document.hidden && arbitrage.times.filled && !this.arbitrages.get(arbitrage.arbitrage_id)?.times.filled;
    if (isNew) this.filled = [...this.filled, arbitrage].slice(-KEPT_FILLED);
    this.keepArbitrage(arbitrage);
  }

  // Those whose fill came since the last call, as a message of its own and not with a snapshot.
  takeFilled() {
    const filled = this.filled;
    this.filled = [];
    return filled;
  }

  // A Map keeps the order of first sight, so a trade stays in its place while its legs fill.
  keepArbitrage(arbitrage) {
    this.arbitrages.set(arbitrage.arbitrage_id, arbitrage);
    if (this.arbitrages.size <= KEPT_ARBITRAGES) return;
    // one that is still open stays, however old it is
    const oldest = [...this.arbitrages.values()].find((one) => one.is_final) ?? arbitrage;
    this.arbitrages.delete(oldest.arbitrage_id);
  }

  newestArbitrages() {
    return [...this.arbitrages.values()].reverse();
  }
}

function namesOf(series) {
  const byBase = new Map();
  for (const { base, exchange } of series.values()) byBase.set(base, [...(byBase.get(base) ?? []), exchange]);
  const exchanges = [...new Set([...series.values()].map(({ exchange }) => exchange))];
  return { series, byBase, bases: [...byBase.keys()], exchanges };
}
