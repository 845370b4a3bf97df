// What the page knows of the apps: the server's list, the one that is open, and what is typed here.

import { Drafts } from "./app_drafts.js";
import { AppVocabulary } from "./app_completion.js";
import { appAddress } from "./app_states.js";
import { ask, problemText } from "./requests.js";
import { recall, remember } from "./tab_memory.js";

const POLL_MILLISECONDS = 2000;
const MOST_RATES = 60;
const OPEN = "apps.open";

export class AppService {
  constructor() {
    this.drafts = new Drafts();
    this.vocabulary = new AppVocabulary();
    this.listed = new Map();
    this.rates = new Map();
    this.open = recall(OPEN) || "";
    this.stored = null;
    this.listeners = new Set();
    // changes so far; an answer that was asked for before one ended tells of the time before it
    this.changes = 0;
    this.drafts.listen((name) => this.notify("draft", name));
  }

  listen(listener) {
    this.listeners.add(listener);
  }

  notify(what, name = "") {
    for (const listener of this.listeners) listener(what, name);
  }

  begin() {
    if (this.timer) return;
    this.timer = setInterval(() => document.hidden || this.poll(), POLL_MILLISECONDS);
    this.learn();
    this.poll();
  }

  end() {
    clearInterval(this.timer);
    this.timer = null;
  }

  async learn() {
    if (this.vocabulary.isKnown) return;
    const answer = await ask("GET", "/api/apps/language");
    if (!answer.isDone) return;
    this.vocabulary.take(answer.body);
    this.vocabulary.isKnown = true;
    this.notify("language");
  }

  // One question at a time: a slow server is not asked again before it has answered.
  async poll() {
    if (this.isPolling) return;
    this.isPolling = true;
    this.learn();
    await this.readList();
    await this.readOpen();
    this.isPolling = false;
  }

  async readList() {
    const { changes } = this;
    const answer = await ask("GET", "/api/apps");
    if (changes !== this.changes) return;
    this.trouble = answer.isDone ? "" : listTrouble(answer);
    if (answer.isDone) {
      this.left = answer.body.left;
      this.listed = new Map(answer.body.apps.map((app) => [app.name, app]));
      for (const app of answer.body.apps) this.noteRate(app.name, app.rows_per_second);
      this.isListed = true;
    }
    this.notify("list");
  }

  noteRate(name, rate) {
    if (rate === null || rate === undefined) return;
    this.rates.set(name, [...(this.rates.get(name) ?? []), rate].slice(-MOST_RATES));
  }

  // The open app as the server has it; null if it has none of that name.
  async readOpen() {
    const { open: name, changes } = this;
    if (!name) return;
    // what the list has not, the server need not be asked for
    const isOwn = this.isListed && !this.listed.has(name);
    const answer = isOwn ? { isDone: false, status: 404 } : await ask("GET", appAddress(name));
    if (name !== this.open || changes !== this.changes || (!answer.isDone && answer.status !== 404)) return;
    if (!answer.isDone && !this.drafts.get(name)) {
      // deleted elsewhere, and nothing of it was typed here
      this.show("");
      return;
    }
    this.take(answer.isDone ? answer.body : null);
  }

  // The open app as the server has it; null if it has none.
  take(stored) {
    const name = this.open;
    this.isAnswered = true;
    this.stored = stored;
    // a text whose answer was lost, and that the server has nevertheless
    if (this.stored && this.drafts.get(name)?.text === this.stored.text) {
      this.drafts.drop(name);
      this.notify("arrived");
    }
    this.readParts();
    this.notify("app");
  }

  // Streams, tables and windows of the version that runs, which the text in the editor may not have any more.
  async readParts() {
    const name = this.open;
    const version = this.stored?.published_version;
    if (!version || version === this.partsVersion) return;
    this.partsVersion = version;
    const answer = await ask("GET", appAddress(name, `/explain?version=${version}`));
    if (name !== this.open || version !== this.partsVersion) return;
    if (answer.isDone) this.runningParts = answer.body;
    else this.partsVersion = null;
    this.notify("parts");
  }

  get parts() {
    return this.runningParts ?? this.explained;
  }

  // Of which version `parts` are; "" while nobody knows them.
  get partsWords() {
    if (this.runningParts) return `version ${this.runningParts.version}`;
    return this.explained ? "the text in the editor" : "";
  }

  // Whether the text of the open app is known: a draft, or what the server has said of it.
  get isKnown() {
    return Boolean(this.isAnswered || this.drafts.get(this.open));
  }

  // Rows of the list: apps of the server and drafts that it does not have.
  rows() {
    const own = this.drafts.names().filter((name) => !this.listed.has(name)).map((name) => ({ name, state: "local", version: 0 }));
    return [...own, ...this.listed.values()].sort((a, b) => a.name.localeCompare(b.name));
  }

  get state() {
    return this.stored?.state ?? (this.listed.get(this.open)?.state ?? "local");
  }

  // What is in the editor: the draft, else the stored text.
  get text() {
    return this.drafts.get(this.open)?.text ?? this.stored?.text ?? "";
  }

  get isChanged() {
    const draft = this.drafts.get(this.open);
    return Boolean(draft) && draft.text !== this.stored?.text;
  }

  show(name) {
    this.open = name;
    this.stored = this.explained = this.runningParts = this.partsVersion = null;
    this.isAnswered = false;
    remember(OPEN, name);
    this.notify("open");
    this.readOpen();
  }

  edit(text) {
    if (!this.open) return;
    if (text === this.stored?.text) this.drafts.drop(this.open);
    else this.drafts.keep(this.open, { text, version: this.drafts.get(this.open)?.version ?? this.stored?.version ?? 0 });
    this.notify("edit");
  }

  create(name, text, cases = "") {
    this.drafts.keep(name, { text, version: 0 });
    this.drafts.keepCases(name, cases);
    this.show(name);
    this.notify("list");
  }

  // null if it is stored; else why not: {words, mistakes?, isConflict?}. A text that the server did not take stays a draft.
  async save(text, { onTop = false } = {}) {
    const name = this.open;
    const draft = this.drafts.get(name);
    const version = onTop ? this.stored?.version : (draft?.version ?? this.stored?.version);
    // after a reload the server may not have answered yet; the draft knows of which version it is
    const isThere = this.stored || (!this.isAnswered && version > 0);
    // a text with mistakes is stored too: it is a draft, and cannot be published
    const answer = isThere
      ? await ask("PUT", appAddress(name), { text, version, draft: true })
      : await ask("POST", "/api/apps", { name, text, draft: true });
    this.changes += 1;
    if (!answer.isDone) return this.notSaved(answer, name, text);
    // what was typed while the answer came stays a draft of the new version
    const now = this.drafts.get(name);
    if (!now || now.text === text) this.drafts.drop(name);
    else this.drafts.keep(name, { text: now.text, version: answer.body?.version ?? 0 });
    this.listed.set(name, answer.body);
    if (name === this.open) this.take(answer.body);
    this.readList();
    return null;
  }

  async notSaved(answer, name, text) {
    const isConflict = answer.status === 409 || answer.status === 412;
    if (isConflict || !answer.status) await this.readList();
    if (isConflict || !answer.status) await this.readOpen();
    // its answer was lost, or came too late, and the server has it nevertheless
    if (!answer.status && name === this.open && this.stored?.text === text) return null;
    return { words: `${name} is not saved: ${problemText(answer)} Your text is kept in this browser.`, mistakes: answer.body?.mistakes, isConflict };
  }

  // publish, stop, start, rollback: null, or why not.
  async act(verb, body) {
    const answer = await ask("POST", appAddress(this.open, `/${verb}`), body ?? {});
    this.changes += 1;
    await Promise.all([this.readOpen(), this.readList()]);
    return answer.isDone ? null : problemText(answer);
  }

  // What the running app has kept, as a savepoint: {savepoint, bytes}, or {problem}.
  async keepSavepoint() {
    const answer = await ask("POST", appAddress(this.open, "/savepoint"), {});
    return answer.isDone ? answer.body : { problem: problemText(answer) };
  }

  async remove() {
    const name = this.open;
    if (this.stored) {
      const answer = await ask("DELETE", appAddress(name));
      this.changes += 1;
      if (!answer.isDone) return problemText(answer);
    }
    this.drafts.drop(name);
    this.drafts.keepCases(name, "");
    this.listed.delete(name);
    this.show("");
    this.notify("list");
    return null;
  }
}

function listTrouble(answer) {
  if (answer.status === 404) return "This server keeps no apps.";
  if (answer.status === 0) return "The server does not answer; what you type is kept in this browser.";
  return problemText(answer);
}
