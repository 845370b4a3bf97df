// Of the session's markets: base and quote currency, and the digits shown: prices by tick size, amounts by the finest
// lot of their asset.

const ticks = new Map();
const lots = new Map();
const pairs = new Map();

// series: rows with exchange, symbol, base, quote_currency, tick_size, lot_step
export function setSteps(series) {
  for (const one of series) {
    ticks.set(`${one.exchange} ${one.symbol}`, digitsOf(one.tick_size));
    pairs.set(`${one.exchange} ${one.symbol}`, [one.base, one.quote_currency]);
    lots.set(one.base, Math.max(digitsOf(one.lot_step), lots.get(one.base) ?? 0));
  }
}

// Undefined for an unknown market.
export function tickDigits(exchange, symbol) {
  return ticks.get(`${exchange} ${symbol}`);
}

export function baseOf(exchange, symbol) {
  return pairOf(exchange, symbol)[0];
}

export function quoteOf(exchange, symbol) {
  return pairOf(exchange, symbol)[1];
}

// The codes in the symbol for an unknown market, as after an earlier session with others.
function pairOf(exchange, symbol) {
  return pairs.get(`${exchange} ${symbol}`) ?? symbol.split(":")[0].split("/");
}

export function lotDigits(base) {
  return lots.get(base);
}

export function digitsOf(step) {
  const text = String(step);
  return text.includes(".") ? text.split(".")[1].replace(/0+$/, "").length : 0;
}
