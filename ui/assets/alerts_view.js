// Alerts: what is wrong now and was, since when, who looks after it, and what is muted.

import { ask, problemText } from "./requests.js";
import { button, element, setClass, setText } from "./elements.js";
import { duration, fullTime } from "./format.js";
import { persistentPart } from "./persistent_part.js";
import { PolledView } from "./polled_view.js";
import { user } from "./signed_in_user.js";
import { zoneWord } from "./zone.js";

const POLL_MILLISECONDS = 4000;
const SHOWN = 100;
const MUTES = { 60: "1 hour", 480: "8 hours", 1440: "1 day", 10_080: "1 week" };

class AlertsView extends PolledView {
  constructor() {
    super(POLL_MILLISECONDS);
    this.summary = element("p", { "data-part": "alert-summary" }, "Reading…");
    this.said = element("p", { class: "said", role: "status", "data-part": "alert-said" });
    this.open = element("ul", { class: "alerts", "aria-label": "Open alerts" });
    this.past = element("ul", { class: "alerts", "aria-label": "Past alerts" });
    this.folded = element("details", {}, element("summary", {}, "Past alerts"), this.past);
    this.root = element("section", { class: "box", "data-part": "alerts", "aria-label": "Alerts" }, element("h3", {}, "Alerts"), this.summary, this.said, this.open, this.folded);
    user.listen(() => this.say("", ""));
  }

  async read() {
    if (this.isReading) return;
    this.isReading = true;
    const answer = await ask("GET", `/api/alerts?limit=${SHOWN}`);
    this.isReading = false;
    if (answer.isDone) this.draw(answer.body);
    else setText(this.summary, `Alerts are not known: ${problemText(answer)}`);
  }

  draw({ open, unacknowledged, items }) {
    const muted = items.filter((one) => one.ended_at === null && one.muted_until !== null).length;
    const parts = [open ? `${open} open, ${unacknowledged} of them not acknowledged` : "None open", ...(muted ? [`${muted} muted`] : [])];
    setText(this.summary, `${parts.join("; ")}.`);
    const drawn = JSON.stringify([items, zoneWord()]);
    if (this.drawn === drawn) return;
    this.drawn = drawn;
    this.fill(this.open, items.filter((one) => one.ended_at === null), "Nothing is wrong.");
    this.fill(this.past, items.filter((one) => one.ended_at !== null), "Nothing was wrong in the last thirty days.");
  }

  // A button that is in use keeps the focus, though its row is another one.
  fill(list, alerts, empty) {
    const active = list.getRootNode().activeElement;
    const [held, words] = [active?.closest?.("[data-alert]")?.dataset.alert, active?.textContent];
    list.replaceChildren(...(alerts.length ? alerts.map((one) => this.row(one)) : [element("li", { class: "quiet" }, empty)]));
    if (!held) return;
    const buttons = [...list.querySelectorAll(`[data-alert="${CSS.escape(held)}"] button`)];
    (buttons.find((one) => one.textContent === words) ?? buttons[0])?.focus();
  }

  row(alert) {
    const isOpen = alert.ended_at === null;
    const when = isOpen ? `since ${fullTime(alert.since)}` : `${fullTime(alert.since)}, for ${duration(alert.ended_at - alert.since)}`;
    const who = alert.acknowledged_by ? `acknowledged by ${alert.acknowledged_by}${alert.note ? `: ${alert.note}` : ""}` : isOpen ? "not acknowledged" : "";
    const muted = alert.muted_until === null ? "" : `muted by ${alert.muted_by} until ${fullTime(alert.muted_until)}`;
    const words = element("div", {}, element("strong", { class: alert.severity === "failing" ? "bad" : "warn" }, `${alert.severity === "failing" ? "Failing" : "To check"}: ${alert.part}`), element("div", {}, alert.what), element("div", { class: "quiet" }, [alert.todo, when, who, muted].filter(Boolean).join(" · ")));
    return element("li", { "data-alert": alert.alert_id }, words, isOpen ? this.acts(alert) : null);
  }

  acts(alert) {
    const path = `/api/alerts/${encodeURIComponent(alert.alert_id)}`;
    const named = (made, words) => (made.setAttribute("aria-label", `${words}: ${alert.part}, ${alert.what}`), made);
    const acts = [];
    if (!alert.acknowledged_by) acts.push(named(button("Acknowledge", () => this.change("POST", `${path}/acknowledge`, {}, "Acknowledged.")), "Acknowledge"));
    if (alert.muted_until === null) {
      const choice = element("select", { "aria-label": `Mute for: ${alert.part}, ${alert.what}` }, element("option", { value: "" }, "Mute…"), ...Object.entries(MUTES).map(([minutes, words]) => element("option", { value: minutes }, words)));
      choice.onchange = () => choice.value && this.change("PUT", `${path}/mute`, { minutes: Number(choice.value) }, "Muted.");
      acts.push(choice);
    } else acts.push(named(button("Unmute", () => this.change("DELETE", `${path}/mute`, undefined, "It counts again.")), "Unmute"));
    return element("div", { class: "row" }, ...acts);
  }

  async change(method, path, body, words) {
    const answer = await ask(method, path, body);
    this.say(answer.isDone ? words : `Not done: ${problemText(answer)}`, answer.isDone ? "good" : "bad");
    await this.read();
  }

  say(words, tone) {
    setText(this.said, words);
    setClass(this.said, `said ${tone}`);
  }
}

export const { mount, unmount } = persistentPart(() => new AlertsView());
