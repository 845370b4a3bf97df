// The text of the open app: the editor, what is wrong with it, and saving it.

import { AppCasesPanel, casesWords } from "./app_cases_panel.js";
import { AppEditor } from "./app_editor.js";
import { button, element, setClass, setText } from "./elements.js";
import { question } from "./requests.js";

const PAUSE_MILLISECONDS = 350;
// A server that is away, or that has just started what checks texts.
const AGAIN_MILLISECONDS = 3000;

export class AppTextPanel {
  constructor(service) {
    this.service = service;
    this.editor = new AppEditor(service.vocabulary, "Text of the app", { changed: (text) => this.changed(text), save: () => this.save() });
    this.cases = new AppCasesPanel(service, () => this.checkSoon());
    this.verdict = element("p", { class: "app-verdict", role: "status", "data-part": "app-verdict" });
    this.list = element("ul", { class: "app-mistakes", "data-part": "app-mistakes" });
    this.saveButton = button("Save", () => this.save());
    this.discard = button("Discard changes", () => this.drop());
    this.said = element("p", { class: "said", role: "status", "data-part": "app-saved" });
    this.onTop = button("Save mine on top", () => this.save({ onTop: true }));
    this.theirs = button("Take theirs", () => this.drop());
    this.conflict = element("div", { class: "row", hidden: true }, this.onTop, this.theirs);
    this.root = element(
      "div", { class: "app-text" },
      element("div", { class: "row app-tools" }, this.verdict, this.discard, this.saveButton),
      this.said, this.conflict, this.editor.root, this.list,
      element("p", { class: "quiet" }, "Ctrl-Space completes, Ctrl-S saves, Ctrl-F finds. What you type is kept in this browser until you save or discard it."),
    );
    this.turn = 0;
  }

  enter() {
    this.editor.enter();
  }

  // Another app, or the same with another text.
  open() {
    this.say("", "");
    this.shown = this.service.open;
    this.editor.show(this.service.text);
    this.editor.allow(this.service.isKnown);
    this.cases.open();
    this.check();
  }

  // The server's text, if nothing was typed here.
  refresh() {
    const mayType = this.editor.isAllowed;
    if (this.shown !== this.service.open || mayType !== this.service.isKnown) this.open();
    else if (!this.service.drafts.get(this.service.open) && this.service.stored && this.editor.text !== this.service.stored.text) this.open();
    this.draw();
  }

  // Another tab has changed the draft.
  takeDraft() {
    if (this.editor.text !== this.service.text) this.open();
  }

  changed(text) {
    this.service.edit(text);
    this.say("", "");
    this.draw();
    this.checkSoon();
  }

  checkSoon() {
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.check(), PAUSE_MILLISECONDS);
  }

  // Only the answer about the newest text counts.
  async check() {
    clearTimeout(this.pause);
    const turn = ++this.turn;
    const { text } = this.editor;
    this.service.mistakes = 0;
    if (!this.service.open || !text.trim()) {
      this.showMistakes([]);
      const hint = this.service.isKnown ? "Write a query, or begin with a template." : "Waiting for the server …";
      this.showVerdict(this.service.open ? hint : "", "");
      return;
    }
    const cases = this.cases.text;
    const answer = await question("/api/apps/check", { text, ...(cases.trim() ? { cases } : {}) });
    if (turn !== this.turn) return;
    if (!answer.isDone) {
      this.pause = setTimeout(() => this.check(), AGAIN_MILLISECONDS);
      this.showVerdict(answer.status ? `Not checked: ${answer.body?.detail ?? `the server answered ${answer.status}.`}` : "Not checked: the server does not answer.", "warn");
      return;
    }
    const mistakes = answer.body.mistakes ?? [];
    this.showMistakes(mistakes);
    this.service.mistakes = mistakes.length;
    this.cases.show(answer.body.cases ?? null);
    if (!mistakes.length && answer.body.cases?.length) {
      const words = casesWords(answer.body.cases);
      this.showVerdict(`No mistakes; ${words}`, answer.body.cases.every(({ passed }) => passed) ? "good" : "bad");
    } else this.showVerdict(mistakes.length ? mistakeWords(mistakes) : "No mistakes", mistakes.length ? "bad" : "good");
    if (!mistakes.length) this.explain(text, turn);
  }

  async explain(text, turn) {
    const answer = await question("/api/apps/explain", { text });
    if (turn !== this.turn || !answer.isDone) return;
    this.service.explained = answer.body;
    this.service.vocabulary.takeExplained(answer.body);
    this.service.notify("explained");
  }

  showMistakes(mistakes) {
    this.editor.showMistakes(mistakes);
    this.list.replaceChildren(...mistakes.map((one) => element("li", {}, this.mistake(one))));
  }

  mistake(one) {
    const place = button(`Line ${one.line}, column ${one.column}`, () => this.editor.goTo(one));
    place.className = "app-link";
    return element("span", {}, place, `: ${one.message}`);
  }

  showVerdict(words, tone) {
    setText(this.verdict, words);
    setClass(this.verdict, `app-verdict ${tone}`);
  }

  // true if the server has the text now. Who asks while it is being saved waits for that.
  save(how = {}) {
    this.saving ??= this.doSave(how).finally(() => (this.saving = null));
    return this.saving;
  }

  async doSave(how) {
    if (!this.service.open) return false;
    this.isSaving = true;
    this.draw();
    const problem = await this.service.save(this.editor.text, how);
    this.isSaving = false;
    this.conflict.hidden = !problem?.isConflict || !this.service.stored;
    if (problem?.mistakes) this.showMistakes(problem.mistakes);
    const unfit = this.service.mistakes ? " It has mistakes, so it cannot be published yet." : "";
    this.say(problem ? problem.words : `Saved as version ${this.service.stored?.version ?? 1}.${unfit}`, problem ? "bad" : "good");
    this.draw();
    return !problem;
  }

  drop() {
    const { open, stored } = this.service;
    if (!stored) return;
    this.service.drafts.drop(open);
    this.editor.replace(stored.text);
    this.say("", "");
    this.service.notify("edit");
    this.draw();
  }

  say(words, tone) {
    if (!words) this.conflict.hidden = true;
    setText(this.said, words);
    setClass(this.said, `said ${tone}`);
  }

  draw() {
    const isNew = !this.service.stored;
    this.saveButton.disabled = this.isSaving || !(this.service.isChanged || isNew);
    this.discard.hidden = isNew;
    this.discard.disabled = !this.service.isChanged;
  }
}

// How many, and the first of them: the list may be below the window.
function mistakeWords(mistakes) {
  const [{ line, message }] = mistakes;
  return `${mistakes.length} mistake${mistakes.length === 1 ? "" : "s"}, line ${line}: ${message}`;
}
