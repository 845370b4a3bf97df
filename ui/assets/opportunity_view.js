// The newest opportunities, and what became of them.

import { element, emptyRow, SlotRows, setText } from "./elements.js";
import { bps, capitalised, exchangeName, fullTime, marketPrice, money, stateName, timeParts } from "./format.js";

const SHOWN_OPPORTUNITIES = 8;

export class OpportunityView {
  constructor(body, counter) {
    this.counter = counter;
    this.rows = new SlotRows(body, opportunityRow, { marksNew: false });
    this.empty = emptyRow(5, "Waiting for the first opportunity…");
  }

  show(model) {
    const shown = model.opportunities.slice(0, SHOWN_OPPORTUNITIES).map((opportunity) => ({
      ...opportunity,
      arbitrage: model.arbitrages.get(opportunity.opportunity_id)?.state ?? null,
      isTradable: opportunity.net_bps >= (model.settings?.min_net_bps ?? Infinity),
      isOver: model.now > opportunity.expires_at,
    }));
    setText(this.counter, model.opportunityCount ? `${model.opportunityCount.toLocaleString("en-US")} seen` : "");
    this.rows.show(shown, (opportunity) => opportunity.opportunity_id, this.empty);
  }
}

function opportunityRow(opportunity) {
  return element(
    "tr",
    { class: opportunity.isTradable ? "" : "quiet", "data-opportunity": opportunity.opportunity_id },
    element("td", { class: "time", title: fullTime(opportunity.event_time) }, ...timeParts(opportunity.event_time)),
    element("td", {}, side(opportunity, "buy"), element("span", { class: "arrow" }, " → "), side(opportunity, "sell")),
    element("td", { class: `number strong ${opportunity.net_bps >= 0 ? "good" : "bad"}` }, bps(opportunity.net_bps)),
    element("td", { class: "number" }, money(opportunity.tradable_profit, opportunity.currency)),
    element("td", { class: "muted result" }, result(opportunity)),
  );
}

// Who decided against it, and why, is on the page Opportunities.
function result({ arbitrage, isTradable, isOver }) {
  if (arbitrage) return capitalised(stateName(arbitrage));
  if (!isTradable) return "Below the threshold";
  return isOver ? "Not taken" : "Open";
}

function side(opportunity, which) {
  const symbol = opportunity[`${which}_symbol`];
  const text = marketPrice(opportunity[`${which}_price`], opportunity[`${which}_exchange`], symbol);
  const title = `${which} ${opportunity[`${which}_amount`]} ${opportunity.base} at ${text}`;
  return element("span", { title }, exchangeName(opportunity[`${which}_exchange`]), " ", element("small", {}, text));
}
