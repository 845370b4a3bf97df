// One line: the source of the prices, what they were calibrated on, how much they move now, and the cost of trading.

import { setText } from "./elements.js";
import { exchangeName } from "./format.js";

export class SimulatedMarketView {
  constructor(line) {
    this.line = line;
  }

  show(model) {
    const market = model.simulatedMarket;
    this.line.hidden = !market;
    if (market) setText(this.line, [origin(market), volatility(model.volatility), fees(model.settings)].filter(Boolean).join("; "));
  }
}

function origin({ name, tape, calibrated_on }) {
  const prices = tape ? `prices of the tape ${tape}` : calibrated_on ? `calibrated on ${calibrated_on}` : "invented, for tests";
  return `Simulated market: ${name}, ${prices}`;
}

function volatility(byAsset) {
  const now = Object.entries(byAsset).map(([asset, share]) => `${asset} ${Math.round(share * 100)} % a year`);
  return now.length ? `volatility now ${now.join(", ")}` : "volatility after a minute of prices";
}

function fees(settings) {
  if (!settings) return "";
  const bps = settings.enabled_exchanges.map((exchange) => `${exchangeName(exchange)} ${Number((settings.taker_fees[exchange] * 10_000).toFixed(2))}`);
  return `fee tier of a large account, taker bps: ${bps.join(", ")}`;
}
