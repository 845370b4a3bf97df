// Numbers, money and times as a trader reads them.

import { isoText, zoneWord } from "./zone.js";

const NAMES = {
  coinbaseexchange: "Coinbase",
  coinbase: "Coinbase",
  bitstamp: "Bitstamp",
  bitflyer: "bitFlyer",
  kraken: "Kraken",
  binance: "Binance",
};
const SIGNS = { USD: "$", EUR: "€", JPY: "¥", GBP: "£" };
export const MINUS = "−";

export function exchangeName(exchange) {
  return NAMES[exchange] ?? exchange;
}

export function number(value, digits) {
  const text = Math.abs(value).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return Number(value) < 0 && Number(text.replaceAll(",", "")) !== 0 ? MINUS + text : text;
}

export function signed(value, digits) {
  const text = number(value, digits);
  return Number(value) > 0 && Number(text.replaceAll(",", "")) !== 0 ? `+${text}` : text;
}

export function bps(value) {
  return signed(value, 1);
}

// Cents, unless the exchange quotes in whole units (yen) or far finer ones.
export function priceDigits(tickSize) {
  const text = String(tickSize);
  const digits = text.includes(".") ? text.split(".")[1].length : 0;
  return digits === 0 ? 0 : Math.min(Math.max(digits, 2), 8);
}

export function price(value, currency, digits = currency === "JPY" ? 0 : 2) {
  return `${SIGNS[currency] ?? ""}${number(value, digits)}${SIGNS[currency] ? "" : ` ${currency}`}`;
}

export function money(value, currency, digits = 2) {
  const text = number(Math.abs(value), digits);
  const sign = Number(text.replaceAll(",", "")) === 0 ? "" : Number(value) < 0 ? MINUS : "+";
  return SIGNS[currency] ? `${sign}${SIGNS[currency]}${text}` : `${sign}${text} ${currency}`;
}

// Plain digits of a decimal string, cut to what fits, never rounded up; at least `least` of them.
export function amount(text, digits = 8, least = 0) {
  const [whole, fraction = ""] = String(text).split(".");
  const kept = fraction.slice(0, digits).replace(/0+$/, "").padEnd(least, "0");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",").replace("-", MINUS);
  return kept ? `${grouped}.${kept}` : grouped;
}

export function clockTime(microseconds) {
  return isoText(microseconds).slice(11, 19);
}

// Seconds and, apart so that narrow screens can leave them out, milliseconds.
export function timeParts(microseconds) {
  const milliseconds = document.createElement("span");
  milliseconds.className = "milliseconds";
  milliseconds.textContent = isoText(microseconds).slice(19);
  return [clockTime(microseconds), milliseconds];
}

export function fullTime(microseconds) {
  return `${isoText(microseconds).replace("T", " ")} ${zoneWord()}`;
}

export function duration(microseconds) {
  if (microseconds < 0) return "0 ms";
  if (microseconds < 10_000_000) return `${Math.round(microseconds / 1000)} ms`;
  if (microseconds < 120_000_000) return `${Math.round(microseconds / 1_000_000)} s`;
  return `${Math.round(microseconds / 60_000_000)} min`;
}

// From the tick's arrival until both legs were filled. In a replay these are of two clocks: null.
export function tookMicroseconds(arbitrage) {
  const took = arbitrage.times.filled - arbitrage.event_time;
  return took >= 0 && took < 600_000_000 ? took : null;
}

export function count(value) {
  return Number(value).toLocaleString("en-US");
}

export function words(name) {
  const text = name.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// Of a sum of money as it is shown: what reads as 0.00 is neither.
export function tone(value) {
  const shown = Math.round(Number(value) * 100);
  return shown > 0 ? "good" : shown < 0 ? "bad" : "flat";
}
