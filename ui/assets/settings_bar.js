// The bar of the settings form that stays in view: what is not saved, what became of saving, and what others changed.

import { element, setClass, setText } from "./elements.js";
import { SettingsEffects } from "./settings_effects.js";
import { changeList } from "./settings_words.js";

export class SettingsBar {
  // `acts`: save, discard, and keep or drop conflicting edits.
  constructor(acts) {
    this.count = element("strong");
    this.mine = element("div");
    this.effects = new SettingsEffects();
    this.lost = element("span", { class: "warn", hidden: true }, " Connection lost; your input is kept in this tab.");
    this.said = element("div", { class: "said", role: "status", "data-part": "settings-said" });
    this.whole = element("p", { class: "said bad", role: "alert", hidden: true });
    this.clash = this.clashBox(acts);
    this.discard = element("button", { type: "button" }, "Discard");
    this.save = element("button", { type: "button", class: "main" }, "Save settings");
    this.discard.onclick = acts.discard;
    this.save.onclick = acts.save;
    this.root = element(
      "div", { class: "bar box" },
      element("div", { class: "row" }, element("div", { class: "unsaved", "data-part": "unsaved", tabindex: "0", role: "group", "aria-label": "Unsaved changes" }, element("p", {}, this.count, this.lost), this.mine, this.effects.root), this.discard, this.save),
      this.whole, this.clash, this.said,
    );
  }

  clashBox(acts) {
    const button = (words, act) => {
      const made = element("button", { type: "button" }, words);
      made.onclick = act;
      return made;
    };
    this.clashWords = element("div");
    return element(
      "div", { class: "said bad", role: "alert", hidden: true, "data-part": "clash" },
      this.clashWords,
      element("div", { class: "row" }, button("Keep my changes", acts.keep), button("Discard my changes", acts.drop)),
    );
  }

  draw({ version, mine, count, wrong, isSaving, isLive }) {
    const invalid = wrong ? `; ${wrong} of them ${wrong === 1 ? "is" : "are"} not valid` : "";
    setText(this.count, count ? `● ${count} unsaved change${count === 1 ? "" : "s"} to version ${version}${invalid}` : `Version ${version}, no unsaved changes.`);
    setClass(this.count, count ? "warn" : "");
    if (this.mine.textContent !== mine.textContent || !count) this.mine.replaceChildren(...(count ? [mine] : []));
    this.lost.hidden = isLive !== false;
    this.discard.disabled = !count || Boolean(isSaving);
    this.save.disabled = !count || Boolean(isSaving);
  }

  drawClash(clashes, labels) {
    const key = JSON.stringify(clashes);
    this.clash.hidden = !clashes.length;
    if (key === this.clashKey) return;
    this.clashKey = key;
    this.clashWords.replaceChildren(
      "Another user changed the same settings. Your input is kept and not saved yet.",
      changeList(clashes, labels),
    );
  }

  // Errors that belong to no single field.
  drawWhole(words) {
    this.whole.hidden = !words;
    setText(this.whole, words ?? "");
  }

  // `list` is shown below the words; `isRejection`: for lack of rights, so it is cleared when a user signs in.
  showMessage(tone, words, list = null, isRejection = false) {
    this.isRejection = isRejection;
    setClass(this.said, `said ${tone}`);
    this.said.replaceChildren(words, ...(list ? [list] : []));
  }

  forgetRejection() {
    if (this.isRejection) this.showMessage("", "");
  }
}
