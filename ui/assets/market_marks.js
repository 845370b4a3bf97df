// What happened on the markets that are shown: fills, opportunities, and changes of the settings.

import { ask } from "./requests.js";

const MOST = 300;
export const KINDS = { fills: "Fills", opportunities: "Opportunities", settings: "Settings changes" };

// Return [{time, kind, id, words, exchange, symbol}]; a mark without exchange is of all markets.
export async function readMarks(base, markets, kinds) {
  const wanted = [...markets].filter(Boolean);
  const reads = [];
  if (kinds.fills) for (const { exchange } of wanted) reads.push(readFills(base, exchange));
  if (kinds.opportunities) reads.push(readOpportunities(base, wanted));
  if (kinds.settings) reads.push(readSettings());
  return (await Promise.all(reads)).flat();
}

async function items(path) {
  const answer = await ask("GET", path);
  return answer.isDone ? answer.body.items : [];
}

async function readFills(base, exchange) {
  const found = await items(`/api/trades?${new URLSearchParams({ base, exchange, limit: MOST })}`);
  return found.map((fill) => ({ time: fill.filled_at, kind: fill.side === "buy" ? "bought" : "sold", id: fill.arbitrage_id, words: `${fill.side} ${fill.amount} at ${fill.price}`, exchange: fill.exchange, symbol: fill.symbol }));
}

async function readOpportunities(base, [buy, sell]) {
  const asked = { base, limit: MOST, ...(sell ? { buy_exchange: buy.exchange, sell_exchange: sell.exchange } : { exchange: buy.exchange }) };
  const found = await items(`/api/opportunities?${new URLSearchParams(asked)}`);
  return found.map((one) => ({ time: one.event_time, kind: "opportunity", id: one.outcome === "taken" ? one.opportunity_id : "", words: `${one.outcome}, ${one.net_bps} bps` }));
}

async function readSettings() {
  const found = await items(`/api/settings/versions?limit=100`);
  return found.filter((one) => one.changes.length).map((one) => ({ time: one.changed_at, kind: "settings", id: "", words: `v${one.version}` }));
}
