// The page Apps: write a stream app, try it, publish it, watch it and ask it. Streamlit only makes room for it; all that
// is typed lives in this browser.

import { AppActing } from "./app_acting.js";
import { AppDryRunPanel } from "./app_dry_run_panel.js";
import { AppErrorsPanel } from "./app_errors_panel.js";
import { AppList } from "./app_list.js";
import { AppPicture } from "./app_picture.js";
import { AppPublishing, savepointWords } from "./app_publishing.js";
import { AppQueryPanel } from "./app_query_panel.js";
import { AppRowsPanel } from "./app_rows_panel.js";
import { AppService } from "./app_service.js";
import { mayDelete, mayStart, mayStop, stateClass, stateWords } from "./app_states.js";
import { AppStatus } from "./app_status.js";
import { AppTextPanel } from "./app_text_panel.js";
import { AppVersionsPanel } from "./app_versions_panel.js";
import { button, element, setClass, setText } from "./elements.js";
import { count } from "./format.js";
import { persistentPart } from "./persistent_part.js";
import { user } from "./signed_in_user.js";
import { recall, remember } from "./tab_memory.js";

const TAB = "apps.tab";

class AppsPage {
  constructor() {
    this.service = new AppService();
    this.list = new AppList(this.service);
    this.text = new AppTextPanel(this.service);
    const { editor } = this.text;
    this.publishing = new AppPublishing(this.service, (words, tone) => this.say(words, tone));
    this.panels = {
      Text: this.text,
      Cases: this.text.cases,
      Picture: new AppPicture(this.service),
      Rows: new AppRowsPanel(this.service),
      Query: new AppQueryPanel(this.service),
      Errors: new AppErrorsPanel(this.service),
      "Dry run": new AppDryRunPanel(this.service, editor),
      Versions: new AppVersionsPanel(this.service, editor, (version) => this.publishing.open(version)),
    };
    this.tab = this.panels[recall(TAB)] ? recall(TAB) : "Text";
    this.head = this.headBox();
    this.welcome = element("div", { class: "app-welcome" });
    this.work = element("div", { class: "app-work", hidden: true }, this.head, this.said, this.publishing.root, this.status.root, this.acting.root, this.tabs(), ...this.panelBoxes());
    this.root = element("section", { class: "apps", "data-part": "apps", "aria-label": "Stream apps" }, this.list.root, element("div", {}, this.welcome, this.work));
    this.service.listen((what, name) => this.take(what, name));
    user.listen(() => this.say("", ""));
    this.draw();
  }

  headBox() {
    this.name = element("h3", { "data-part": "app-title" });
    this.pill = element("span", {}, element("i"), element("b"));
    this.reason = element("p", { class: "bad", "data-part": "app-reason" });
    this.version = element("span", { class: "quiet" });
    this.publish = button("Publish…", () => this.askPublish(), "main");
    this.stop = button("Stop", () => this.act("stop", "Stopped."));
    this.start = button("Start", () => this.act("start", "Started."));
    this.keep = button("Savepoint", () => this.keepSavepoint());
    this.keep.title = "Keep what the app has kept so far, to begin with it later";
    this.remove = button("Delete…", () => this.askRemove());
    this.surely = button("Delete it", () => this.doRemove(), "halt");
    this.keepIt = button("Keep it", () => this.showSure(false));
    this.said = element("p", { class: "said", role: "status", "data-part": "app-said" });
    this.status = new AppStatus();
    this.acting = new AppActing();
    return element("div", { class: "app-head" }, element("div", { class: "row" }, this.name, this.pill, this.version), this.reason, element("div", { class: "row app-acts" }, this.publish, this.stop, this.start, this.keep, this.remove, this.surely, this.keepIt));
  }

  tabs() {
    this.tabButtons = Object.keys(this.panels).map((name) => {
      const made = element("button", { type: "button", role: "tab", id: tabId(name), "aria-controls": `${tabId(name)}-panel` }, name);
      made.onclick = () => this.choose(name);
      return made;
    });
    const list = element("div", { class: "app-tabs", role: "tablist", "aria-label": "Views of the app" }, ...this.tabButtons);
    list.onkeydown = (event) => this.moveTab(event);
    return list;
  }

  moveTab(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const names = Object.keys(this.panels);
    const next = names[(names.indexOf(this.tab) + step + names.length) % names.length];
    this.choose(next);
    this.tabButtons.find((one) => one.textContent === next).focus();
  }

  panelBoxes() {
    this.boxes = Object.entries(this.panels).map(([name, panel]) => element("div", { role: "tabpanel", id: `${tabId(name)}-panel`, "aria-labelledby": tabId(name), "data-tab": name }, panel.root));
    return this.boxes;
  }

  enter() {
    this.isHere = true;
    if (this.service.open && !this.shown) this.openApp();
    this.service.begin();
    this.text.enter();
    this.publishing.diff.enter();
    this.panel.enter?.();
  }

  leave() {
    this.isHere = false;
    this.service.end();
    this.panel.leave?.();
  }

  get panel() {
    return this.panels[this.tab];
  }

  choose(name) {
    if (name !== this.tab) this.panel.leave?.();
    this.tab = name;
    remember(TAB, name);
    this.draw();
    if (this.isHere) this.panel.enter?.();
    this.panel.draw?.();
  }

  take(what, name) {
    if (what === "language") this.learn();
    if (what === "open") this.openApp();
    if (what === "app") this.refresh();
    if (what === "arrived") this.text.say(`Saved as version ${this.service.stored.version}.`, "good");
    if (what === "draft" && name === this.service.open) this.text.takeDraft();
    if (what === "explained" || what === "parts") this.panels.Rows.drawStreams();
    if (["explained", "parts", "app", "list"].includes(what)) this.panel.draw?.();
    this.draw();
  }

  learn() {
    this.list.learn();
    this.text.editor.relearn();
    this.panels.Query.editor.relearn();
    this.drawWelcome();
  }

  openApp() {
    this.shown = this.service.open;
    this.say("", "");
    this.showSure(false);
    this.publishing.close();
    for (const panel of Object.values(this.panels)) if (panel !== this.text.cases) panel.open?.();
    if (this.isHere) this.panel.enter?.();
    this.panel.draw?.();
  }

  refresh() {
    this.text.refresh();
    if (this.tab === "Versions") this.panels.Versions.read();
  }

  drawWelcome() {
    const { templates } = this.service.vocabulary.language;
    const cards = templates.map(({ name, description }) => {
      const use = button(name, () => this.list.use(name), "app-link");
      return element("li", {}, use, element("span", { class: "quiet" }, description));
    });
    this.welcome.replaceChildren(
      element("h3", {}, "Begin with one of these"),
      element("p", { class: "quiet" }, "An app is a query over rows that keep coming. Choose one, change it, try it on the last minutes, and publish it: the session then runs it until you stop it."),
      element("ul", { class: "app-cards" }, ...cards),
    );
  }

  draw() {
    this.list.draw();
    const { open, state, stored } = this.service;
    this.work.hidden = !open;
    this.welcome.hidden = Boolean(open);
    setText(this.name, open);
    setClass(this.pill, stateClass(state));
    setText(this.pill.lastElementChild, stateWords(state));
    setText(this.version, versionWords(stored, this.service.isChanged));
    setText(this.reason, stored?.reason ?? "");
    this.status.show(state, stored?.status);
    this.acting.show(state, stored?.actions);
    this.publish.disabled = Boolean(this.isBusy);
    this.stop.hidden = !mayStop(state);
    this.start.hidden = !mayStart(state);
    this.keep.hidden = state !== "running";
    this.remove.hidden = !mayDelete(state) || !this.surely.hidden;
    this.stop.disabled = this.start.disabled = this.keep.disabled = Boolean(this.isBusy);
    this.drawTabs();
  }

  drawTabs() {
    for (const one of this.tabButtons ?? []) {
      const isChosen = one.textContent === this.tab;
      one.setAttribute("aria-selected", String(isChosen));
      one.tabIndex = isChosen ? 0 : -1;
    }
    for (const box of this.boxes ?? []) box.hidden = box.dataset.tab !== this.tab;
  }

  // Unsaved text is saved first: what is published is always a version.
  async askPublish() {
    if (this.service.mistakes) {
      this.choose("Text");
      this.say("Not published: the text has mistakes.", "bad");
      return;
    }
    const { open } = this.service;
    // twice, if something was typed while the first was saved
    for (let tries = 0; tries < 2 && (!this.service.stored || this.service.isChanged); tries += 1) {
      this.choose("Text");
      if (!(await this.text.save()) || open !== this.service.open) return;
    }
    this.publishing.open(this.service.stored.version);
  }

  async act(verb, words) {
    this.isBusy = true;
    this.draw();
    const problem = await this.service.act(verb);
    this.isBusy = false;
    this.say(problem ? `Not done: ${problem}` : words, problem ? "bad" : "good");
    this.draw();
  }

  async keepSavepoint() {
    this.isBusy = true;
    this.draw();
    const { open } = this.service;
    const { savepoint, bytes, problem } = await this.service.keepSavepoint();
    this.isBusy = false;
    if (open === this.service.open) this.say(problem ? `No savepoint: ${problem}` : `Kept as ${savepointWords(savepoint)} (${count(bytes)} bytes); Publish… begins with it.`, problem ? "bad" : "good");
    this.draw();
  }

  askRemove() {
    this.showSure(true);
    this.keepIt.focus();
  }

  showSure(isAsked) {
    this.surely.hidden = this.keepIt.hidden = !isAsked;
    this.remove.hidden = isAsked;
  }

  async doRemove() {
    const problem = await this.service.remove();
    this.showSure(false);
    this.say(problem ? `Not deleted: ${problem}` : "", "bad");
    this.draw();
  }

  say(words, tone) {
    setText(this.said, words);
    setClass(this.said, `said ${tone}`);
  }
}

function tabId(name) {
  return `app-tab-${name.replaceAll(" ", "-").toLowerCase()}`;
}

function versionWords(stored, isChanged) {
  if (!stored) return "not saved on the server";
  const published = stored.published_version;
  const regions = stored.regions?.length ? ` (in ${stored.regions.join(", ")})` : "";
  const words = published === stored.version ? `version ${stored.version}` : `version ${stored.version}, ${published ? `version ${published} is published` : "not published"}`;
  return isChanged ? `${words}${regions}; your changes are not saved` : `${words}${regions}`;
}

export const { mount, unmount } = persistentPart(() => new AppsPage());
