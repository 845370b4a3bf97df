// The kill switch: from this browser straight to the server. Halting needs a second, deliberate act.

import { ask, problemText } from "./requests.js";
import { element, setClass, setText } from "./elements.js";
import { persistentPart } from "./persistent_part.js";
import { liveFeed } from "./live_feed.js";
import { user } from "./signed_in_user.js";

const STATES = {
  running: ["Trading is on.", "", "good"],
  reduce_only: ["Trading is reduce-only.", " No new arbitrages; single legs are still unwound.", "warn"],
  halted: ["Trading is halted.", " No orders are sent; orders in flight are followed to their end.", "bad"],
};
const DOING = { halted: "Halting trading …", reduce_only: "Switching to reduce-only …", running: "Resuming trading …" };
const DONE = { halted: "Trading is halted", reduce_only: "Trading is reduce-only", running: "Trading is on again" };

class KillSwitch {
  constructor() {
    this.strong = element("strong", {}, "The trading state is not known yet.");
    this.rest = element("span");
    this.sure = element("input", { type: "checkbox", id: "sure" });
    this.buttons = {
      halted: element("button", { type: "button", class: "halt" }, "Halt trading"),
      reduce_only: element("button", { type: "button" }, "Reduce-only"),
      running: element("button", { type: "button" }, "Resume trading"),
    };
    this.said = element("p", { class: "said", role: "status" });
    this.root = element(
      "section", { class: "box", "data-part": "kill-switch", "aria-label": "Kill switch" },
      element("p", { class: "state" }, this.strong, this.rest),
      // always show all, so that none takes the place that another had a moment ago
      element("div", { class: "row" }, element("label", { class: "tick" }, this.sure, "I want to halt trading"), ...Object.values(this.buttons)),
      this.said,
    );
    this.sure.onchange = () => this.draw();
    for (const [state, button] of Object.entries(this.buttons)) button.onclick = () => this.switchTo(state);
    this.version = 0;
    this.attempts = 0;
    user.listen(() => this.forgetRejection());
    this.draw();
  }

  enter() {
    this.hangUp ??= liveFeed.join(this);
  }

  leave() {
    this.hangUp?.();
    this.hangUp = undefined;
  }

  show(model, changed, feed) {
    this.isFresh = feed === "live";
    // another system may run at this address, whose versions restart
    if (changed.has("all")) this.version = 0;
    if (model.settings) this.take(model.settings.trading_state, model.settings.version);
    this.draw();
  }

  take(state, version) {
    if (version < this.version) return;
    this.state = state;
    this.version = version;
  }

  // A button is disabled only while the state is certain.
  draw() {
    const [strong, rest, tone] = STATES[this.state] ?? ["The trading state is not known yet.", "", "warn"];
    setText(this.strong, strong);
    setText(this.rest, rest);
    setClass(this.strong, tone);
    const isSo = (state) => Boolean(this.isFresh && this.state === state);
    this.sure.disabled = isSo("halted");
    this.buttons.halted.disabled = isSo("halted") || !this.sure.checked;
    this.buttons.reduce_only.disabled = isSo("reduce_only");
    this.buttons.running.disabled = isSo("running");
  }

  async switchTo(state) {
    // only the last press is reported
    const attempt = ++this.attempts;
    this.sure.checked = false;
    this.say(DOING[state], "");
    this.draw();
    const answer = await ask("PUT", "/api/trading-state", { state });
    if (answer.isDone) this.take(answer.body.state, answer.body.settings_version);
    this.draw();
    if (attempt !== this.attempts) return;
    if (answer.isDone) this.say(`${DONE[state]} (version ${answer.body.settings_version}).`, "good");
    else this.say(`${answer.status ? "Not done: " : "No answer: "}${problemText(answer)}`, "bad", answer.status === 401 || answer.status === 403);
  }

  // A rejection for lack of rights is cleared once somebody signs in.
  forgetRejection() {
    if (this.isRejection) this.say("", "");
  }

  say(words, tone, isRejection = false) {
    this.isRejection = isRejection;
    setText(this.said, words);
    setClass(this.said, `said ${tone}`);
  }
}

export const { mount, unmount } = persistentPart(() => new KillSwitch());
