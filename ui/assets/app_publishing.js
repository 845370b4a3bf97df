// What publishing will do, said before it is done.

import { AppDiff } from "./app_editor.js";
import { appAddress } from "./app_states.js";
import { button, element, setClass, setText } from "./elements.js";
import { ask, problemText, question } from "./requests.js";

export class AppPublishing {
  // done(words, tone) says what became of it.
  constructor(service, done) {
    this.service = service;
    this.done = done;
    this.title = element("h4", { tabindex: "-1" });
    this.facts = element("ul", { class: "app-facts" });
    this.keep = element("input", { type: "radio", name: "app-state", value: "keep", checked: true });
    this.empty = element("input", { type: "radio", name: "app-state", value: "empty" });
    this.choice = element("fieldset", {}, element("legend", { class: "unseen" }, "State"), element("label", { class: "tick" }, this.keep, "keep the state where it fits"), element("label", { class: "tick" }, this.empty, "begin empty"));
    this.diff = new AppDiff("From the published version to this one");
    this.go = button("Publish", () => this.publish(), "main");
    this.said = element("p", { class: "said bad", role: "alert" });
    this.root = element(
      "section", { class: "box app-publish", hidden: true, "aria-label": "Publish", "data-part": "app-publish" },
      this.title, this.facts, this.choice, this.diff.root, element("div", { class: "row" }, this.go, button("Not now", () => this.close())), this.said,
    );
  }

  close() {
    this.root.hidden = true;
    this.version = null;
  }

  async open(version) {
    const { open, stored } = this.service;
    this.version = version;
    this.keep.checked = true;
    setText(this.said, "");
    setText(this.title, `Publish version ${version} of ${open}?`);
    this.say([]);
    this.root.hidden = false;
    const before = stored.published_version;
    this.choice.hidden = !before;
    this.diff.root.hidden = true;
    const [preview, old, now] = await Promise.all([
      before ? question(appAddress(open, "/publish"), { version, state: "keep", preview: true }) : null,
      before ? ask("GET", appAddress(open, `/versions/${before}`)) : null,
      before ? ask("GET", appAddress(open, `/versions/${version}`)) : null,
    ]);
    if (version !== this.version || open !== this.service.open) return;
    this.say(this.factsOf(before, preview));
    if (old?.isDone && now?.isDone && before !== version) {
      this.diff.root.hidden = false;
      this.diff.show(old.body.text, now.body.text, this.service.vocabulary);
    }
    this.root.scrollIntoView({ block: "nearest" });
    this.title.focus();
  }

  factsOf(before, preview) {
    if (!before) return ["The session runs the app from now on, also after a restart, until you stop it.", "Its rows are under Rows and in the topic apps; it does not trade."];
    const facts = [before === this.version ? `Version ${before} starts again.` : `Version ${this.version} takes over from version ${before} at one place of the input log.`];
    const { keeps, empty, dropped, reason } = preview?.isDone ? preview.body : {};
    if (keeps?.length) facts.push(`Keeps the state of: ${keeps.join(", ")}.`);
    if (empty?.length) facts.push(`Begins empty: ${empty.join(", ")}.`);
    if (dropped?.length) facts.push(`Drops the state of: ${dropped.join(", ")}.`);
    if (reason) facts.push(`${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`);
    if (preview && !preview.isDone) facts.push(`Which state fits is not known: ${problemText(preview)}`);
    return facts;
  }

  say(facts) {
    this.facts.replaceChildren(...facts.map((words) => element("li", {}, words)));
  }

  async publish() {
    const { version } = this;
    this.go.disabled = true;
    const problem = await this.service.act("publish", { version, ...(this.choice.hidden ? {} : { state: this.keep.checked ? "keep" : "empty" }) });
    this.go.disabled = false;
    if (problem) {
      setText(this.said, `Not published: ${problem}`);
      setClass(this.said, "said bad");
      return;
    }
    this.close();
    this.done(`Version ${version} is published.`, "good");
  }
}
