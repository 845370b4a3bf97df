// Alert rules of a user's own: what they look at, whether they fire, and making, changing and removing them.

import { ask, problemText } from "./requests.js";
import { RuleForm } from "./alert_rule_form.js";
import { button, element, setClass, setText } from "./elements.js";
import { persistentPart } from "./persistent_part.js";
import { PolledView } from "./polled_view.js";
import { user } from "./signed_in_user.js";

const POLL_MILLISECONDS = 10_000;
const AGAIN_MILLISECONDS = 1_000;
const PATH = "/api/alerts/rules";

class AlertRulesView extends PolledView {
  constructor() {
    super(POLL_MILLISECONDS);
    this.destinations = [];
    this.list = element("ul", { class: "alerts", "aria-label": "Alert rules" });
    this.said = element("p", { class: "said", role: "status", "data-part": "rules-said" });
    this.begin = button("New rule…", () => this.edit(null));
    this.form = new RuleForm((wanted, rule) => this.keep(wanted, rule), () => this.close());
    this.root = element("section", { class: "box", "data-part": "alert-rules", "aria-label": "Alert rules" }, element("div", { class: "row" }, element("h3", {}, "Alert rules"), this.begin), this.said, this.form.root, this.list);
    user.listen(() => this.say("", ""));
  }

  async read() {
    const answer = await ask("GET", PATH);
    if (!answer.isDone) return this.say(`Rules are not known: ${problemText(answer)}`, "bad");
    this.destinations = answer.body.destinations;
    const drawn = JSON.stringify(answer.body.rules);
    if (this.drawn === drawn) return undefined;
    this.drawn = drawn;
    const rows = answer.body.rules.map((rule) => this.row(rule));
    return this.list.replaceChildren(...(rows.length ? rows : [element("li", { class: "quiet" }, "No rules of your own yet.")]));
  }

  row(rule) {
    const labels = Object.entries(rule.labels).map(([name, value]) => `${name} ${value}`).join(", ");
    const state = rule.firing ? `fires${rule.series > 1 ? ` for ${rule.firing} of ${rule.series} series` : ""}` : rule.series ? "quiet" : "no such series now";
    const to = rule.destinations.length ? `to ${rule.destinations.join(", ")}` : this.destinations.length ? "to all destinations" : "";
    const words = element("div", {}, element("strong", { class: rule.firing ? (rule.severity === "failing" ? "bad" : "warn") : null }, `${rule.name}: ${state}`), element("div", {}, `${rule.metric}${labels ? ` (${labels})` : ""}: ${rule.condition}`), element("div", { class: "quiet" }, [rule.severity === "failing" ? "as failing" : "to check", to, `by ${rule.made_by}`].filter(Boolean).join(" · ")));
    return element("li", { "data-rule": rule.name }, words, element("div", { class: "row" }, named(button("Change…", () => this.edit(rule)), `Change ${rule.name}`), named(this.remover(rule), `Remove ${rule.name}`)));
  }

  // Asked for twice, in the same place.
  remover(rule) {
    const made = button("Remove", () => {
      if (made.textContent === "Remove") setText(made, "Really remove?");
      else this.remove(rule);
    });
    made.onblur = () => setText(made, "Remove");
    return made;
  }

  // In the first seconds of the server no metric is known: the form opens once there are some.
  async edit(rule) {
    clearTimeout(this.opening);
    const answer = await ask("GET", "/api/alerts/metrics");
    if (!answer.isDone) return this.say(`Metrics are not known: ${problemText(answer)}`, "bad");
    if (!answer.body.length) {
      this.opening = setTimeout(() => this.edit(rule), AGAIN_MILLISECONDS);
      return this.say("The dashboard has just started and not looked at its metrics yet: the form opens in some seconds.", "");
    }
    this.say("", "");
    this.begin.disabled = true;
    return this.form.open(answer.body, this.destinations, rule);
  }

  leave() {
    clearTimeout(this.opening);
    super.leave();
  }

  close() {
    this.form.close();
    this.begin.disabled = false;
    this.begin.focus();
  }

  // Returns why it was not kept, or "".
  async keep(wanted, rule) {
    const answer = await ask(rule ? "PUT" : "POST", rule ? `${PATH}/${rule.rule_id}` : PATH, wanted);
    if (!answer.isDone) return problemText(answer);
    this.begin.disabled = false;
    this.say(`${rule ? "Changed" : "Kept"}: ${answer.body.name}, ${answer.body.condition}.`, "good");
    await this.read();
    return "";
  }

  async remove(rule) {
    const answer = await ask("DELETE", `${PATH}/${rule.rule_id}`);
    this.say(answer.isDone ? `Removed: ${rule.name}.` : `Not removed: ${problemText(answer)}`, answer.isDone ? "good" : "bad");
    await this.read();
  }

  say(words, tone) {
    setText(this.said, words);
    setClass(this.said, `said ${tone}`);
  }
}

function named(made, words) {
  made.setAttribute("aria-label", words);
  return made;
}

export const { mount, unmount } = persistentPart(() => new AlertRulesView());
