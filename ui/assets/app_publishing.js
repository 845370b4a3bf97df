// What publishing will do, said before it is done: with which state it begins, and in which regions.

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
    this.saved = element("input", { type: "radio", name: "app-state", value: "saved" });
    this.savepoint = element("select", { "aria-label": "Savepoint" });
    this.savepoint.onchange = () => (this.saved.checked = true);
    this.fromSaved = element("div", { class: "row" }, element("label", { class: "tick" }, this.saved, "begin with what it had kept at"), this.savepoint);
    this.choice = element("fieldset", {}, element("legend", { class: "unseen" }, "State"), element("label", { class: "tick" }, this.keep, "keep the state where it fits"), element("label", { class: "tick" }, this.empty, "begin empty"), this.fromSaved);
    this.regions = element("fieldset", { class: "row", hidden: true, "data-part": "app-regions" });
    this.diff = new AppDiff("From the published version to this one");
    this.go = button("Publish", () => this.publish(), "main");
    this.said = element("p", { class: "said bad", role: "alert" });
    this.root = element(
      "section", { class: "box app-publish", hidden: true, "aria-label": "Publish", "data-part": "app-publish" },
      this.title, this.facts, this.choice, this.regions, this.diff.root, element("div", { class: "row" }, this.go, button("Not now", () => this.close())), this.said,
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
    this.fromSaved.hidden = this.regions.hidden = true;
    this.diff.root.hidden = true;
    const [regions, kept, preview, old, now] = await Promise.all([
      ask("GET", "/api/regions"),
      before ? ask("GET", appAddress(open, "/savepoints")) : null,
      before ? question(appAddress(open, "/publish"), { version, state: "keep", preview: true }) : null,
      before ? ask("GET", appAddress(open, `/versions/${before}`)) : null,
      before ? ask("GET", appAddress(open, `/versions/${version}`)) : null,
    ]);
    if (version !== this.version || open !== this.service.open) return;
    this.say(this.factsOf(before, preview));
    this.offerSavepoints(kept?.isDone ? kept.body.savepoints : []);
    this.offerRegions(regions.isDone ? regions.body.regions.map(({ name }) => name) : [], stored.regions ?? []);
    if (old?.isDone && now?.isDone && before !== version) {
      this.diff.root.hidden = false;
      this.diff.show(old.body.text, now.body.text, this.service.vocabulary);
    }
    this.root.scrollIntoView({ block: "nearest" });
    this.title.focus();
  }

  offerSavepoints(names) {
    this.fromSaved.hidden = !names.length;
    this.savepoint.replaceChildren(...names.map((name) => element("option", { value: name }, savepointWords(name))));
  }

  // None are offered if the session has none; all are chosen if the app runs in all.
  offerRegions(names, chosen) {
    this.regions.hidden = !names.length;
    this.boxes = names.map((name) => element("input", { type: "checkbox", value: name, checked: !chosen.length || chosen.includes(name) }));
    this.regions.replaceChildren(element("legend", {}, "Regions"), ...this.boxes.map((box) => element("label", { class: "tick" }, box, box.value)));
  }

  factsOf(before, preview) {
    if (!before) return ["The session runs the app from now on, also after a restart, until you stop it.", "Its rows are under Rows and in the topic apps; it does not trade."];
    const again = this.service.state === "running" ? "runs already; its state and its regions may be chosen again" : "starts again";
    const facts = [before === this.version ? `Version ${before} ${again}.` : `Version ${this.version} takes over from version ${before} at one place of the input log.`];
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

  // The choices that were offered, as REST takes them.
  wanted() {
    const wanted = {};
    if (!this.choice.hidden) wanted.state = this.empty.checked ? "empty" : "keep";
    if (!this.fromSaved.hidden && this.saved.checked) wanted.savepoint = this.savepoint.value;
    if (!this.regions.hidden) wanted.regions = this.boxes.filter((box) => box.checked).map((box) => box.value);
    return wanted;
  }

  async publish() {
    const { version } = this;
    const wanted = this.wanted();
    if (wanted.regions?.length === 0) {
      setText(this.said, "Choose at least one region.");
      return;
    }
    this.go.disabled = true;
    const problem = await this.service.act("publish", { version, ...wanted });
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

// 20261130T081500Z, as people read it.
export function savepointWords(name) {
  const [, ...parts] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(name) ?? [];
  const [year, month, day, hour, minute, second] = parts;
  return parts.length ? `${year}-${month}-${day} ${hour}:${minute}:${second} UTC` : name;
}
