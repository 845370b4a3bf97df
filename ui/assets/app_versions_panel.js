// All versions of an app: who saved which when, what differs, and going back to one.

import { AppDiff } from "./app_editor.js";
import { appAddress, microseconds } from "./app_states.js";
import { button, element, setClass, setText } from "./elements.js";
import { fullTime } from "./format.js";
import { ask, problemText } from "./requests.js";

export class AppVersionsPanel {
  // publish(version): ask whether that version is to be published.
  constructor(service, editor, publish) {
    this.service = service;
    this.editor = editor;
    this.publish = publish;
    this.body = element("tbody");
    this.said = element("p", { class: "said", role: "status" });
    this.title = element("h4", {});
    this.diff = new AppDiff("What differs");
    this.diff.root.hidden = true;
    const head = element("tr", {}, ...["Version", "By", "Saved", "Note", ""].map((name) => element("th", { scope: "col" }, name)));
    this.table = element("div", { class: "app-table", tabindex: "0", role: "region", "aria-label": "Versions" }, element("table", {}, element("thead", {}, head), this.body));
    this.root = element("div", { "data-part": "app-versions" }, this.said, this.table, this.title, this.diff.root);
  }

  enter() {
    this.read();
    this.diff.enter();
  }

  open() {
    this.body.replaceChildren();
    this.key = "";
    this.diff.root.hidden = true;
    setText(this.title, "");
    this.say("", "");
  }

  async read() {
    const { open, stored } = this.service;
    if (!stored) {
      this.say("Nothing is saved yet.", "");
      return;
    }
    const answer = await ask("GET", appAddress(open, "/versions"));
    if (open !== this.service.open) return;
    if (!answer.isDone) {
      this.say(`No versions: ${problemText(answer)}`, "bad");
      return;
    }
    this.versions = answer.body.versions;
    const key = JSON.stringify([this.versions, stored.published_version]);
    if (key !== this.key) this.body.replaceChildren(...this.versions.map((one) => this.row(one)));
    this.key = key;
  }

  row({ version, author, created_at: at, note }) {
    const isPublished = version === this.service.stored.published_version;
    const acts = [
      button("Compare", () => this.compare(version)),
      button("Edit", () => this.edit(version)),
      ...(isPublished ? [] : [button("Publish", () => this.publish(version))]),
    ];
    acts.forEach((one) => one.setAttribute("aria-label", `${one.textContent} version ${version}`));
    return element(
      "tr", { "data-version": version },
      element("td", {}, String(version), isPublished ? element("strong", {}, " published") : null),
      element("td", {}, author ?? "–"), element("td", {}, at ? fullTime(microseconds(at)).replace(/\.\d+/, "") : "–"), element("td", {}, note || "–"),
      element("td", {}, element("span", { class: "row" }, ...acts)),
    );
  }

  async textOf(version) {
    const answer = await ask("GET", appAddress(this.service.open, `/versions/${version}`));
    if (answer.isDone) return answer.body.text;
    this.say(`Version ${version} did not come: ${problemText(answer)}`, "bad");
    return null;
  }

  // Against the text in the editor: that is what would be saved.
  async compare(version) {
    const text = await this.textOf(version);
    if (text === null) return;
    const now = this.editor.text;
    this.diff.root.hidden = false;
    setText(this.title, text === now ? `Version ${version} is the text in the editor.` : `From version ${version} to the text in the editor`);
    this.diff.show(text, now, this.service.vocabulary);
  }

  async edit(version) {
    const text = await this.textOf(version);
    if (text === null) return;
    this.editor.replace(text);
    this.say(`Version ${version} is in the editor; Ctrl-Z takes it back.`, "good");
  }

  say(words, tone) {
    setText(this.said, words);
    setClass(this.said, `said ${tone}`);
  }
}
