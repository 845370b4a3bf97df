// Legs, fills, steps and decisions of one arbitrage as rows of tables.

import { LEG_ROLES } from "./labels.js";
import { baseAmount, exchangeName, marketPrice, reasonName, signed, stateName, sum } from "./format.js";
import { quoteOf } from "./market_digits.js";
import { isoText, zoneWord } from "./zone.js";

export const LEG_HEADS = ["Leg", "Exchange", "Symbol", "Side", "State", "#Amount", "#Filled", "#Limit", "#Mean price", "#Cost", "Our order id", "The exchange's"];
export const FILL_HEADS = ["Filled", "Leg", "Exchange", "#Price", "#Amount", "#Cost", "#Fee", "Fill"];
export const STEP_HEADS = ["Step", "Leg", "Exchange", "Clock", "#Time", "#Since detected", "#Since the step before"];
export const DECISION_HEADS = ["Decision", "#Time", "By", "#Token", "Reason"];
const NONE = "–";

export function legRows({ legs, base }) {
  return legs.map((leg) => {
    const at = (price) => (price === null ? NONE : { text: marketPrice(price, leg.exchange, leg.symbol), title: price });
    const quote = quoteOf(leg.exchange, leg.symbol);
    return [roleName(leg.role), exchangeName(leg.exchange), leg.symbol, leg.side, stateName(leg.state), exact(baseAmount(leg.amount, base), leg.amount), exact(baseAmount(leg.filled, base), leg.filled), at(leg.limit_price), at(leg.mean_price), exact(`${sum(leg.cost, quote)} ${quote}`, leg.cost), leg.client_order_id, leg.exchange_order_id ?? NONE];
  });
}

export function fillRows({ legs, base }) {
  return legs.flatMap((leg) =>
    leg.fills.map((fill) => {
      const quote = quoteOf(fill.exchange, fill.symbol);
      return [momentText(fill.filled_at), roleName(leg.role), exchangeName(fill.exchange), exact(marketPrice(fill.price, fill.exchange, fill.symbol), fill.price), exact(baseAmount(fill.amount, base), fill.amount), exact(`${sum(fill.cost, quote)} ${quote}`, fill.cost), exact(`${sum(fill.fee, fill.fee_currency)} ${fill.fee_currency}`, fill.fee), fill.fill_id];
    }),
  );
}

// In logical order: clocks of exchanges may be ahead or behind.
export function stepRows({ timeline, event_time: event }) {
  const detected = timeline.find((step) => step.step === "detected")?.at ?? event;
  return timeline.map((step, i) => [plain(step.step), step.role ? roleName(step.role) : "both", step.exchange ? exchangeName(step.exchange) : NONE, plain(step.clock), momentText(step.at), milliseconds(step.at - detected), i ? milliseconds(step.at - timeline[i - 1].at) : NONE]);
}

export function decisionRows({ history }) {
  return history.map((one) => [plain(one.what), momentText(one.at), one.actor, String(one.token), one.reason ? reasonName(one.reason) : ""]);
}

// With milliseconds, and every digit there is in its title.
export function momentText(microseconds) {
  const text = `${isoText(microseconds).replace("T", " ")} ${zoneWord()}`;
  return { text: text.slice(5), title: `${text.slice(0, 23)}${String(microseconds % 1000).padStart(3, "0")} ${zoneWord()}` };
}

function milliseconds(microseconds) {
  return `${signed(microseconds / 1000, 3)} ms`;
}

function exact(text, title) {
  return { text, title };
}

function roleName(role) {
  return LEG_ROLES[role] ?? role;
}

function plain(name) {
  return name.replaceAll("_", " ");
}
