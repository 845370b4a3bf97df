// Numbers, money and times as a trader reads them.

import { DIGITS, EXCHANGES, REASONS, SIGNS, STATES } from "./labels.js";
import { digitsOf, lotDigits, quoteOf, tickDigits } from "./market_digits.js";
import { isoText, zoneWord } from "./zone.js";

export const MINUS = "−";
const COIN_DIGITS = 8;

export function exchangeName(exchange) {
  return EXCHANGES[exchange] ?? exchange;
}

export function stateName(state) {
  return STATES[state] ?? plain(state);
}

// A short sentence without its full stop.
export function reasonName(reason) {
  return REASONS[reason] ?? capitalised(plain(reason));
}

const formats = new Map();

function formatOf(digits) {
  const known = formats.get(digits);
  if (known) return known;
  // round as Python does: half to even, and a decimal text exactly
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits, roundingMode: "halfEven" };
  const made = new Intl.NumberFormat("en-US", options);
  formats.set(digits, made);
  return made;
}

// value: a number, or a decimal as text
export function number(value, digits) {
  const text = formatOf(digits).format(String(value).replace(/^-/, ""));
  return Number(value) < 0 && !isNothing(text) ? MINUS + text : text;
}

export function signed(value, digits) {
  const text = number(value, digits);
  return Number(value) > 0 && !isNothing(text) ? `+${text}` : text;
}

export function bps(value) {
  return signed(value, 1);
}

export function moneyDigits(currency) {
  return DIGITS[currency] ?? 2;
}

export function price(value, currency, digits = moneyDigits(currency)) {
  return inCurrency("", number(value, digits), currency);
}

// By the market's own tick.
export function marketPrice(value, exchange, symbol) {
  return price(value, quoteOf(exchange, symbol), tickDigits(exchange, symbol) ?? digitsOf(value));
}

export function money(value, currency, digits = moneyDigits(currency)) {
  const text = number(String(value).replace(/^-/, ""), digits);
  const sign = isNothing(text) ? "" : Number(value) < 0 ? MINUS : "+";
  return inCurrency(sign, text, currency);
}

function inCurrency(sign, text, currency) {
  return SIGNS[currency] ? `${sign}${SIGNS[currency]}${text}` : `${sign}${text} ${currency}`;
}

function isNothing(text) {
  return !/[1-9]/.test(text);
}

// An amount of base: all digits of the asset's lot, cut and never rounded up.
export function amount(text, digits) {
  const [whole, fraction = ""] = String(text).split(".");
  const grouped = whole.replace("-", "").replace(/\B(?=(\d{3})+$)/g, ",");
  const shown = digits ? `${grouped}.${fraction.slice(0, digits).padEnd(digits, "0")}` : grouped;
  return whole.startsWith("-") && !isNothing(shown) ? MINUS + shown : shown;
}

// An amount of a currency or an asset.
export function sum(text, currency) {
  return amount(text, lotDigits(currency) ?? moneyDigits(currency));
}

export function baseAmount(text, base) {
  return amount(text, lotDigits(base) ?? COIN_DIGITS);
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

// As short as readable, like Python's `duration`.
export function duration(microseconds) {
  const seconds = Math.max(0, microseconds) / 1_000_000;
  if (seconds < 0.9995) {
    const milliseconds = seconds * 1000;
    return `${number(milliseconds, milliseconds >= 0.05 && milliseconds < 9.95 ? 1 : 0)} ms`;
  }
  if (seconds < 119.95) return `${number(seconds, 1)} s`;
  return seconds < 7170 ? `${number(seconds / 60, 0)} min` : `${number(seconds / 3600, 1)} h`;
}

// How far a clock is ahead (+) or behind.
export function offset(microseconds) {
  return `${signed(microseconds / 1000, 0)} ms`;
}

// From the tick's arrival until both legs were filled. In a replay these are of two clocks: null.
export function tookMicroseconds(arbitrage) {
  const took = arbitrage.times.filled - arbitrage.event_time;
  return took >= 0 && took < 600_000_000 ? took : null;
}

export function count(value) {
  return Number(value).toLocaleString("en-US");
}

function plain(name) {
  return name.replaceAll("_", " ");
}

// A figure of any size, to six digits.
export function sixDigits(value) {
  return String(Number(value.toPrecision(6)));
}

export function capitalised(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// The tone of a sum of money as it is shown: one that reads as 0.00 is neither good nor bad.
export function tone(value) {
  const shown = Math.round(Number(value) * 100);
  return shown > 0 ? "good" : shown < 0 ? "bad" : "flat";
}
