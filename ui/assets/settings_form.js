// The settings, each with its range: edits live in this document and its tab, and saved ones are sent to
// the server by this page itself. Nothing that Streamlit draws, or fails to draw, changes a field here.

import { ask, problemText } from "./requests.js";
import { recall, remember } from "./tab_memory.js";
import { element } from "./elements.js";
import { exchangeName } from "./format.js";
import { persistentPart } from "./persistent_part.js";
import { liveFeed } from "./live_feed.js";
import { SettingsBar } from "./settings_bar.js";
import { Edits, differences } from "./settings_edits.js";
import { ChoiceControl, ExchangesControl, NumberControl } from "./settings_inputs.js";
import { changeList, sentence, whoSince, withLabels } from "./settings_words.js";
import { user } from "./signed_in_user.js";

const KEPT = "settings.edits";
const EXCHANGES = "enabled_exchanges";
const FEES = "taker_fees";

class SettingsForm {
  constructor() {
    this.edits = new Edits(keptEdits());
    this.controls = new Map();
    this.rejected = new Map();
    this.bar = new SettingsBar({
      save: () => this.save(),
      discard: () => this.discard(),
      keep: () => this.keepMine(),
      drop: () => this.discard(),
    });
    this.fields = element("div", { class: "columns" }, element("p", { class: "quiet" }, "Waiting for the first settings; they appear once the system has started."));
    this.bar.root.hidden = true;
    this.root = element("section", { class: "settings", "data-part": "settings-form", "aria-label": "Thresholds and limits" }, this.bar.root, this.fields);
    user.listen(() => this.bar.forgetRejection());
  }

  enter({ data }) {
    this.spec = data;
    this.hangUp ??= liveFeed.join(this);
    this.take(liveFeed.model.settings);
    this.build();
  }

  leave() {
    this.hangUp?.();
    this.hangUp = undefined;
  }

  show(model, changed, feed) {
    this.isLive = feed === "live";
    if (changed.has("all") || changed.has("settings")) this.take(model.settings);
    if (changed.has("all") && model.settings?.version < this.edits.settings?.version) this.reload();
    this.draw();
  }

  // Report changes by others at the fields that have unsaved edits here.
  take(settings) {
    const before = this.edits.settings;
    if (!settings || !this.edits.take(settings, this.held)) return;
    this.keep();
    this.build();
    if (before && this.edits.touched.length && !this.isSaving) this.showOthersChanges(before);
  }

  async reload() {
    const newest = await ask("GET", "/api/settings");
    if (!newest.isDone || this.isSaving) return;
    this.edits.replace(newest.body, this.held);
    this.build();
  }

  async showOthersChanges(before) {
    const people = await whoSince(before.version);
    const { settings } = this.edits;
    const changes = differences(before, settings);
    if (!changes.length || this.isSaving) return;
    this.bar.showMessage("", `${people} changed meanwhile (version ${settings.version}):`, changeList(changes, this.labels));
    this.draw();
  }

  get held() {
    return [...this.controls].find(([, control]) => control.isHeld)?.[0] ?? "";
  }

  // Rebuild only if the exchanges changed: a field must not vanish while the user types in it.
  build() {
    const { settings } = this.edits;
    if (!this.spec || !settings) return;
    const offered = [...new Set([...this.spec.exchanges, ...settings.enabled_exchanges, ...(this.edits.value(EXCHANGES) ?? [])])];
    const shape = JSON.stringify([this.spec, offered, Object.keys(settings[FEES])]);
    if (shape !== this.shape) {
      this.shape = shape;
      this.bar.root.hidden = false;
      this.controls.clear();
      this.fields.replaceChildren(...this.spec.columns.map((groups) => this.column(groups)));
      this.fields.lastElementChild.append(...this.exchangeFields(offered, Object.keys(settings[FEES])));
    }
    this.draw();
  }

  column(groups) {
    const group = ({ title, fields }) => [element("h4", {}, title), ...fields.map((field) => this.field(field.name, controlOf(field)))];
    return element("div", {}, ...groups.flatMap(group));
  }

  exchangeFields(offered, charging) {
    const words = (name) => (this.spec.exchanges.includes(name) ? exchangeName(name) : `${exchangeName(name)} (not in this session)`);
    const fee = (name) => new NumberControl({ ...this.spec.fee, label: `Taker fee on ${exchangeName(name)} (fraction)` });
    return [
      element("h4", {}, "Exchanges"),
      this.field(EXCHANGES, new ExchangesControl(offered, words)),
      ...charging.map((name) => this.field(`${FEES}.${name}`, fee(name))),
    ];
  }

  field(name, control) {
    control.root.dataset.setting = name;
    control.onTouch = (value) => this.touch(name, value);
    control.onLeave = () => this.leaveField(name);
    this.controls.set(name, control);
    return control.root;
  }

  get labels() {
    const named = this.spec.columns.flat().flatMap((group) => group.fields).map((field) => [field.name, field.label]);
    return { ...Object.fromEntries(named), [EXCHANGES]: "Exchanges traded", trading_state: "Trading state" };
  }

  touch(name, value) {
    this.edits.touch(name, value);
    this.rejected.delete(name);
    this.rejected.delete("settings");
    this.keep();
    this.draw();
  }

  leaveField(name) {
    if (this.isSaving) return;
    this.edits.leave(name);
    this.keep();
    this.draw();
  }

  discard() {
    this.edits.clear();
    this.rejected.clear();
    this.keep();
    this.bar.showMessage("", "");
    this.draw();
  }

  keepMine() {
    this.edits.keepOnTop();
    this.keep();
    this.bar.showMessage("", "");
    this.draw();
  }

  keep() {
    remember(KEPT, JSON.stringify(this.edits.kept()));
  }

  problemOf(name) {
    if (!this.edits.isTouched(name)) return null;
    return this.controls.get(name).problem(this.edits.value(name)) ?? this.rejected.get(name) ?? null;
  }

  draw() {
    const { settings, touched } = this.edits;
    if (!settings || !this.spec) return;
    for (const [name, control] of this.controls) {
      control.show(this.edits.value(name));
      control.mark(this.problemOf(name), this.edits.isTouched(name));
    }
    const mine = touched.map((name) => ({ name, before: this.edits.values[name], after: this.edits.value(name) }));
    const clashes = this.isSaving ? [] : this.edits.clashes;
    this.bar.draw({ version: settings.version, mine: changeList(mine, this.labels), count: mine.length, wrong: touched.filter((name) => this.problemOf(name)).length, isSaving: this.isSaving, isLive: this.isLive });
    this.bar.drawClash(clashes.map((name) => ({ name, before: this.edits.typed.get(name).base, after: this.edits.values[name] })), this.labels);
    this.bar.drawWhole(touched.length ? this.rejected.get("settings") : null);
    this.root.dataset.version = settings.version;
  }

  async save() {
    if (this.isSaving) return;
    const { touched, clashes, settings: before } = this.edits;
    if (!touched.length) return this.bar.showMessage("good", "No unsaved changes.");
    const wrong = touched.find((name) => this.problemOf(name) && !this.rejected.has(name));
    if (wrong) {
      this.controls.get(wrong).control.focus();
      return this.bar.showMessage("bad", "Not saved: see the messages at the fields.");
    }
    if (clashes.length) return this.bar.showMessage("bad", "Not saved: choose what to do about the settings that another user changed.");
    this.isSaving = true;
    const sent = this.edits.sent();
    this.bar.showMessage("", "Saving …");
    this.draw();
    const answer = await ask("PATCH", "/api/settings", this.edits.changes((name) => this.isNumber(name)), { "If-Match": `"${before.version}"` });
    this.isSaving = false;
    this.rejected.clear();
    if (answer.isDone) this.saved(before, sent, answer.body);
    else await this.notSaved(before, answer);
    this.keep();
    this.build();
  }

  isNumber(name) {
    return Boolean(this.controls.get(name)?.spec?.step);
  }

  // Compare the settings in force before and after, by the server's word: not by what the form believes to have sent.
  saved(before, sent, settings) {
    this.edits.settle(sent, settings);
    const changes = differences(before, settings);
    this.bar.showMessage("good", `Saved as version ${settings.version}:`, changeList(changes, this.labels));
  }

  async notSaved(before, answer) {
    const wrong = answer.body?.errors ?? [];
    if (answer.status === 412 || answer.status === 409) return this.passed(before);
    if (answer.status === 422 && wrong.length) {
      for (const { field, why } of wrong) this.reject(field, sentence(withLabels(why, this.labels)));
      return this.bar.showMessage("bad", "Not saved: see the messages at the fields.");
    }
    const kept = "Your input is kept.";
    if (!answer.status) return this.bar.showMessage("bad", `No answer: ${problemText(answer)} ${kept} Changes that took effect will leave the list of unsaved changes.`);
    return this.bar.showMessage("bad", `Not saved: ${problemText(answer)} ${kept}`, null, answer.status === 401 || answer.status === 403);
  }

  // At the field if there is one for it, else above all fields.
  reject(field, why) {
    const place = [...this.controls.keys()].find((name) => field === name || field.startsWith(`${name}.`)) ?? "settings";
    this.rejected.set(place, [this.rejected.get(place), why].filter(Boolean).join(" "));
  }

  // Somebody saved after these values were shown and before our attempt.
  async passed(before) {
    const newest = await ask("GET", "/api/settings");
    if (newest.isDone) this.edits.replace(newest.body, this.held);
    const people = await whoSince(before.version);
    const changes = changeList(differences(before, this.edits.settings), this.labels);
    const next = this.edits.clashes.length ? "choose below whether to keep or discard it." : "save again to apply it on top of these.";
    this.bar.showMessage("bad", `Not saved: ${people} changed the settings at the same moment (version ${this.edits.settings.version}). Your input is kept; ${next}`, changes);
  }
}

function controlOf(spec) {
  return spec.choices.length ? new ChoiceControl(spec) : new NumberControl(spec);
}

function keptEdits() {
  try {
    const kept = JSON.parse(recall(KEPT) ?? "{}");
    return kept && typeof kept === "object" ? kept : {};
  } catch {
    return {};
  }
}

export const { mount, unmount } = persistentPart(() => new SettingsForm());
