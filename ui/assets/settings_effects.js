// What unsaved changes of the settings would have done in the last hour, each alone and all together.

import { element } from "./elements.js";
import { count, fullTime, money, tone } from "./format.js";
import { problemText, question } from "./requests.js";
import { labelOf } from "./settings_words.js";

const TYPING_MILLISECONDS = 700;

export class SettingsEffects {
  constructor() {
    this.root = element("div", { class: "effects quiet", role: "status", "data-part": "what-if" });
    this.asked = "";
  }

  // changes: the body of a change, or null if there is nothing to try
  ask(changes, labels) {
    const asked = changes ? JSON.stringify(changes) : "";
    if (asked === this.asked) return;
    this.asked = asked;
    clearTimeout(this.timer);
    this.root.replaceChildren();
    if (asked) this.timer = setTimeout(() => this.look(asked, changes, labels), TYPING_MILLISECONDS);
  }

  async look(asked, changes, labels) {
    const answer = await question("/api/settings/what-if", changes);
    // what was typed meanwhile is asked by itself
    if (asked !== this.asked) return;
    this.root.replaceChildren(...(answer.isDone ? effectNodes(answer.body, labels) : [`What they would have done is not known: ${problemText(answer)}`]));
  }
}

function effectNodes(found, labels) {
  const lines = found.fields.map((one) => effectLine(labelOf(one.field, labels), one.effect, found));
  if (found.fields.length > 1) lines.push(effectLine("All together", found.whole, found));
  return [element("p", { title: found.limits.join(" ") }, `${lookedAt(found)}, the checks repeated:`), element("ul", { class: "changes" }, ...lines)];
}

function lookedAt(found) {
  const some = (looked, all, words) => (all > looked ? `the newest ${count(looked)} of ${count(all)} ${words}` : `${count(looked)} ${words}`);
  const rejected = found.all_rejected ? `, ${some(found.rejected, found.all_rejected, "rejections that they concern")}` : "";
  return `Since ${fullTime(found.since).replace(/\.\d+/, "")}: ${some(found.taken, found.all_taken, found.all_taken === 1 ? "trade" : "trades")}${rejected}`;
}

function effectLine(name, effect, { currency }) {
  const parts = effect ? effectParts(effect, currency) : ["not tried: it changes what follows, as a backtest can tell"];
  return element("li", {}, `${name}: `, ...parts.flatMap((part, i) => (i ? ["; ", part] : [part])));
}

// Texts and nodes.
function effectParts(effect, currency) {
  const refused = sumOf(effect.refused);
  const allowed = sumOf(effect.allowed);
  const parts = [];
  if (refused.count) parts.push(element("span", {}, `${count(refused.count)} ${refused.count === 1 ? "trade" : "trades"} refused, whose net was `, amount(refused.money, currency)));
  if (allowed.count) parts.push(element("span", {}, `${count(allowed.count)} more ${allowed.count === 1 ? "opportunity" : "opportunities"} let through, worth at most `, amount(allowed.money, currency)));
  if (effect.smaller) parts.push(element("span", {}, `${count(effect.smaller)} ${effect.smaller === 1 ? "trade" : "trades"} smaller, `, amount(effect.smaller_money, currency)));
  if (effect.at_most) parts.push(`${count(effect.at_most)} ${effect.at_most === 1 ? "trade was" : "trades were"} cut by the maximum in force; what a larger size would have earned is not known`);
  return parts.length ? parts : ["the same trades"];
}

function sumOf(sums) {
  return { count: sums.reduce((sum, one) => sum + one.count, 0), money: sums.reduce((sum, one) => sum + Number(one.money), 0) };
}

function amount(value, currency) {
  return element("strong", { class: tone(value) }, money(value, currency));
}
