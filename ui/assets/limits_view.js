// How much of each limit is in use now, as bars, the fullest first.

import { element, setText } from "./elements.js";
import { count, exchangeName, money } from "./format.js";
import { persistentPart } from "./persistent_part.js";
import { PolledView } from "./polled_view.js";
import { ask, problemText } from "./requests.js";

const POLL_MILLISECONDS = 5000;
const SHOWN = 8;
const NEAR = 0.8;
const LIMITS = {
  daily_loss: "Loss of the day",
  too_many_open: "Open arbitrages",
  total_limit: "Open notional",
  exchange_limit: "Open notional on",
  asset_limit: "Open notional in",
  exposure: "Exposure to",
  currency_drift: "Drift of",
  exchange_paused: "Failures on",
};
const COUNTS = ["too_many_open", "exchange_paused"];
const OF_EXCHANGES = ["exchange_limit", "exchange_paused"];

class LimitsView extends PolledView {
  constructor() {
    super(POLL_MILLISECONDS);
    this.said = element("p", { class: "quiet", role: "status", "data-part": "limits-said" }, "Reading…");
    this.first = element("ul", { class: "limits", "aria-label": "Limits in use" });
    this.others = element("ul", { class: "limits", "aria-label": "Other limits" });
    this.summary = element("summary");
    this.more = element("details", { hidden: true }, this.summary, this.others);
    this.root = element("section", { class: "box", "data-part": "limits", "aria-label": "Limits" }, element("h3", {}, "Limits in use"), this.said, this.first, this.more);
  }

  async read() {
    const answer = await ask("GET", "/api/risk");
    if (!answer.isDone) {
      this.drawn = null;
      return setText(this.said, `Limits are not known: ${problemText(answer)}`);
    }
    const rows = usesOf(answer.body).sort((one, other) => (other.share ?? -1) - (one.share ?? -1));
    const drawn = JSON.stringify(rows);
    if (this.drawn === drawn) return undefined;
    this.drawn = drawn;
    this.first.replaceChildren(...rows.slice(0, SHOWN).map(row));
    this.others.replaceChildren(...rows.slice(SHOWN).map(row));
    this.more.hidden = rows.length <= SHOWN;
    setText(this.summary, `${count(rows.length - SHOWN)} more, with less in use`);
    const reached = rows.filter((one) => one.isReached).length;
    return setText(this.said, reached ? `${count(reached)} reached: what they stand against is not traded.` : "None is reached.");
  }
}

// share: of the limit; null if what is used has no price.
function usesOf({ checks, currency }) {
  return checks.filter(({ reason }) => reason in LIMITS).flatMap(({ reason, used }) => {
    const words = (value) => (COUNTS.includes(reason) ? count(Number(value)) : money(value, currency));
    const name = (of) => (of === null ? "" : ` ${OF_EXCHANGES.includes(reason) ? exchangeName(of) : of}`);
    return used.map((one) => ({
      name: `${LIMITS[reason]}${name(one.of)}`,
      share: one.used === null ? null : Number(one.limit) ? Number(one.used) / Number(one.limit) : 0,
      words: one.used === null ? `no price; limit ${words(one.limit)}` : `${words(one.used)} of ${words(one.limit)}`,
      isReached: one.is_reached && Number(one.limit) > 0,
    }));
  });
}

function row({ name, share, words, isReached }) {
  const bar = element("meter", { min: "0", max: "1", low: NEAR, high: "0.999", optimum: "0", value: String(Math.min(share ?? 0, 1)), "aria-label": name });
  return element("li", {}, element("span", {}, name), bar, element("span", { class: isReached ? "bad" : "quiet" }, isReached ? `${words}, reached` : words));
}

export const { mount, unmount } = persistentPart(() => new LimitsView());
