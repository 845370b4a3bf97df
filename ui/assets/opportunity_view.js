// The newest episodes of opportunities, each one row however often it was seen, and what became of it.

import { element, emptyRow, SlotRows, setText } from "./elements.js";
import { bps, capitalised, count, duration, exchangeName, fullTime, marketPrice, money, stateName, timeParts } from "./format.js";
import { marketFilter } from "./market_filter.js";
import { episodeCount } from "./ledger_view.js";
import { thresholdOf } from "./thresholds.js";

const COLUMNS = 7;
const SHOWN = 8;

export class OpportunityView {
  constructor(body, counter) {
    this.counter = counter;
    this.rows = new SlotRows(body, episodeRow, { marksNew: false });
    this.empty = emptyRow(COLUMNS, "Waiting for the first opportunity…");
  }

  show(model) {
    const arbitrages = model.newestArbitrages();
    const newest = marketFilter.base ? model.assetEpisodes : model.episodes;
    const fitting = newest.filter((one) => marketFilter.fits(one.base, one.buy_exchange, one.sell_exchange));
    const shown = fitting.slice(0, SHOWN).map((episode) => ({
      ...episode,
      arbitrage: arbitrages.find((one) => isOf(one, episode))?.state ?? null,
      isTradable: episode.best_net_bps >= thresholdOf(model.settings, episode),
      isOver: model.now > episode.until,
    }));
    setText(this.empty.firstChild, newest.length ? "No opportunity matches the filter." : "Waiting for the first opportunity…");
    const seen = episodeCount(model);
    setText(this.counter, seen ? `${count(seen)} ${seen === 1 ? "episode" : "episodes"}` : "");
    this.rows.show(shown, keyOf, this.empty);
  }
}

function keyOf({ start, base, buy_exchange, buy_symbol, sell_exchange, sell_symbol }) {
  return [start, base, buy_exchange, buy_symbol, sell_exchange, sell_symbol].join(" ");
}

function isOf(arbitrage, episode) {
  return (
    arbitrage.event_time >= episode.start &&
    arbitrage.event_time <= episode.end &&
    ["base", "buy_exchange", "buy_symbol", "sell_exchange", "sell_symbol"].every((name) => arbitrage[name] === episode[name])
  );
}

function episodeRow(episode) {
  return element(
    "tr",
    { class: episode.isTradable ? "" : "quiet", "data-episode": keyOf(episode) },
    element("td", { class: "time", title: fullTime(episode.start) }, ...timeParts(episode.start)),
    element("td", {}, side(episode, "buy"), element("span", { class: "arrow" }, " → "), side(episode, "sell")),
    element("td", { class: `number strong ${episode.best_net_bps >= 0 ? "good" : "bad"}` }, bps(episode.best_net_bps)),
    element("td", { class: "number" }, money(episode.best_profit, episode.currency)),
    element("td", { class: "number" }, count(episode.seen)),
    element("td", { class: "number" }, duration(episode.end - episode.start)),
    element("td", { class: "muted result" }, result(episode)),
  );
}

// The page Opportunities says who decided against it, and why.
function result({ arbitrage, isTradable, isOver }) {
  if (arbitrage) return capitalised(stateName(arbitrage));
  if (!isTradable) return "Below the threshold";
  return isOver ? "Not taken" : "Open";
}

// Prices change with each sighting: only in the title, where they take no room.
function side(episode, which) {
  const symbol = episode[`${which}_symbol`];
  const text = marketPrice(episode[`${which}_price`], episode[`${which}_exchange`], symbol);
  const title = `newest: ${which} ${episode[`${which}_amount`]} ${episode.base} at ${text}`;
  return element("span", { title }, exchangeName(episode[`${which}_exchange`]));
}
