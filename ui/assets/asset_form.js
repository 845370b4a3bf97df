// Takes an asset off the running session and back: from this browser straight to the server, as the kill switch.

import { element, setClass, setText } from "./elements.js";
import { liveFeed } from "./live_feed.js";
import { persistentPart } from "./persistent_part.js";
import { ask, problemText } from "./requests.js";
import { user } from "./signed_in_user.js";

const ADDRESS = "/api/assets";

class AssetForm {
  constructor() {
    this.names = element("datalist", { id: "session-assets" });
    this.input = element("input", { type: "text", list: "session-assets", autocomplete: "off", spellcheck: "false", "data-part": "asset-name" });
    this.buttons = {
      PUT: element("button", { type: "button" }, "Trade it"),
      DELETE: element("button", { type: "button" }, "Take it off"),
    };
    this.traded = element("p", { class: "quiet", "data-part": "assets-traded" });
    this.off = element("p", { class: "quiet", "data-part": "assets-off" });
    this.standby = element("p", { class: "quiet", "data-part": "assets-standby" });
    this.said = element("p", { class: "said", role: "status" });
    const label = element("label", { class: "row" }, "Asset", this.input);
    this.root = element(
      "section", { class: "box assets", "data-part": "asset-form", "aria-label": "Assets", hidden: true },
      element("p", { class: "state" }, element("strong", {}, "Assets"), " One that is taken off gets no new arbitrages; open ones are finished."),
      element("div", { class: "row" }, label, this.names, ...Object.values(this.buttons)),
      this.traded,
      this.off,
      this.standby,
      this.said,
    );
    this.input.oninput = () => this.draw();
    for (const [method, button] of Object.entries(this.buttons)) button.onclick = () => this.send(method);
    this.assets = [];
    user.listen(() => this.say("", ""));
  }

  enter() {
    this.hangUp ??= liveFeed.join(this);
  }

  leave() {
    this.hangUp?.();
    this.hangUp = undefined;
  }

  // When others take one off, there is a new version of the settings. Settings without such a list are of a server that
  // cannot do this.
  show(model) {
    const settings = model.settings;
    if (!settings?.disabled_assets || settings.version === this.version || this.isReading) return;
    this.read(settings.version);
  }

  // A failed read is repeated with the next settings.
  async read(version) {
    this.isReading = true;
    const answer = await ask("GET", ADDRESS);
    this.isReading = false;
    if (answer.isDone) {
      this.assets = answer.body;
      this.version = version;
    }
    this.root.hidden = !this.assets.length;
    this.draw();
  }

  get chosen() {
    const typed = this.input.value.trim().toUpperCase();
    return this.assets.find(({ base }) => base.toUpperCase() === typed);
  }

  draw() {
    const traded = this.assets.filter(({ enabled }) => enabled).map(({ base }) => base).join(", ");
    setText(this.traded, `Traded: ${traded || "none"}`);
    const off = this.assets.filter(({ enabled }) => !enabled);
    const listed = (isStandby) => off.filter(({ is_standby: standby }) => standby === isStandby).map(({ base }) => base).join(", ");
    setText(this.off, `Taken off: ${listed(false) || "none"}`);
    setText(this.standby, listed(true) ? `On standby: ${listed(true)}` : "");
    const layout = this.assets.map(({ base }) => base).join();
    if (layout !== this.layout) this.names.replaceChildren(...this.assets.map(({ base }) => element("option", { value: base })));
    this.layout = layout;
    this.buttons.PUT.disabled = this.chosen?.enabled !== false;
    this.buttons.DELETE.disabled = this.chosen?.enabled !== true;
  }

  async send(method) {
    const { base } = this.chosen;
    this.say(method === "PUT" ? `Adding ${base} …` : `Taking ${base} off …`, "");
    const answer = await ask(method, `${ADDRESS}/${encodeURIComponent(base)}`);
    if (answer.isDone) {
      this.assets = this.assets.map((one) => (one.base === base ? answer.body : one));
      this.say(method === "PUT" ? `${base} is traded.` : `${base} is taken off.`, "good");
    } else this.say(`${answer.status ? "Not done: " : "No answer: "}${problemText(answer)}`, "bad");
    this.draw();
  }

  say(words, tone) {
    setText(this.said, words);
    setClass(this.said, `said ${tone}`);
  }
}

export const { mount, unmount } = persistentPart(() => new AssetForm());
