// Digits shown of the session's markets: prices by tick size, amounts by the finest lot of their asset.

const ticks = new Map();
const lots = new Map();

// series: rows with exchange, symbol, base, tick_size, lot_step
export function setSteps(series) {
  for (const one of series) {
    ticks.set(`${one.exchange} ${one.symbol}`, digitsOf(one.tick_size));
    lots.set(one.base, Math.max(digitsOf(one.lot_step), lots.get(one.base) ?? 0));
  }
}

// Undefined for an unknown market.
export function tickDigits(exchange, symbol) {
  return ticks.get(`${exchange} ${symbol}`);
}

export function lotDigits(base) {
  return lots.get(base);
}

export function digitsOf(step) {
  const text = String(step);
  return text.includes(".") ? text.split(".")[1].replace(/0+$/, "").length : 0;
}
