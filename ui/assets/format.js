// Numbers, money and times as a trader reads them. All times UTC.

const NAMES = {
  coinbaseexchange: "Coinbase",
  coinbase: "Coinbase",
  bitstamp: "Bitstamp",
  bitflyer: "bitFlyer",
  kraken: "Kraken",
  binance: "Binance",
};
const SIGNS = { USD: "$", EUR: "€", JPY: "¥", GBP: "£" };
const MINUS = "−";

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

export function priceDigits(tickSize) {
  const text = String(tickSize);
  const digits = text.includes(".") ? text.split(".")[1].length : 0;
  return Math.min(digits, 8);
}

export function price(value, currency, digits = currency === "JPY" ? 0 : 2) {
  return `${SIGNS[currency] ?? ""}${number(value, digits)}${SIGNS[currency] ? "" : ` ${currency}`}`;
}

export function money(value, currency, digits = 2) {
  const text = number(Math.abs(value), digits);
  const sign = Number(text.replaceAll(",", "")) === 0 ? "" : Number(value) < 0 ? MINUS : "+";
  return SIGNS[currency] ? `${sign}${SIGNS[currency]}${text}` : `${sign}${text} ${currency}`;
}

// Plain digits of a decimal string, cut to what fits, never rounded up.
export function amount(text, digits = 8) {
  const [whole, fraction = ""] = String(text).split(".");
  const kept = fraction.slice(0, digits).replace(/0+$/, "");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",").replace("-", MINUS);
  return kept ? `${grouped}.${kept}` : grouped;
}

export function clockTime(microseconds, withMilliseconds = false) {
  const text = new Date(microseconds / 1000).toISOString();
  return withMilliseconds ? text.slice(11, 23) : text.slice(11, 19);
}

export function fullTime(microseconds) {
  return `${new Date(microseconds / 1000).toISOString().replace("T", " ").replace("Z", "")} UTC`;
}

export function duration(microseconds) {
  if (microseconds < 0) return "0 ms";
  if (microseconds < 10_000_000) return `${Math.round(microseconds / 1000)} ms`;
  if (microseconds < 120_000_000) return `${Math.round(microseconds / 1_000_000)} s`;
  return `${Math.round(microseconds / 60_000_000)} min`;
}

export function count(value) {
  return Number(value).toLocaleString("en-US");
}

export function words(name) {
  const text = name.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function tone(value) {
  return Number(value) > 0 ? "good" : Number(value) < 0 ? "bad" : "flat";
}
