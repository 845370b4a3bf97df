// The settings, each with its range: edits live in this document and its tab, and saved ones are sent to
// the server by this page itself. Nothing that Streamlit draws, or fails to draw, changes a field here.

import { ask, problemText } from "./requests.js";
import { recall, remember } from "./tab_memory.js";
import { element, setText } from "./elements.js";
import { exchangeName } from "./format.js";
import { persistentPart } from "./persistent_part.js";
import { liveFeed } from "./live_feed.js";
import { SettingsBar } from "./settings_bar.js";
import { Edits, differences } from "./settings_edits.js";
import { ChoiceControl, ExchangesControl, NumberControl } from "./settings_inputs.js";
import { PairAdder } from "./pair_adder.js";
import { changeList, pairWords, sentence, whoSince, withLabels } from "./settings_words.js";
import { user } from "./signed_in_user.js";

const KEPT = "settings.edits";
const OPEN = "settings.topics";
// Table, its topic, the setting that holds for those without an entry, and what an entry is.
const LIMITS = [
  ["asset_thresholds", "Minimum net spread of one asset", "min_net_bps", "threshold"],
  ["pair_thresholds", "Minimum net spread of one pair of exchanges", "min_net_bps", "threshold"],
  ["exchange_limits", "Maximum open notional of one exchange", "max_exchange_notional", "limit"],
  ["asset_limits", "Maximum open notional of one asset", "max_asset_notional", "limit"],
];
const PAIRS = "pair_thresholds";
const WORDS = { exchange_limits: exchangeName, pair_thresholds: pairWords };
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
    this.topics = [];
    this.addedPairs = [];
    this.fields = element("div", {}, element("p", { class: "quiet" }, "Waiting for the first settings; they appear once the system has started."));
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
    if (this.isLate) this.build();
    else this.draw();
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

  // Rebuild only if there are other fields, and later if the user types in one: apps add and remove entries too.
  build() {
    const { settings } = this.edits;
    if (!this.spec || !settings) return;
    const offered = [...new Set([...this.spec.exchanges, ...settings.enabled_exchanges, ...(this.edits.value(EXCHANGES) ?? [])])];
    // what has no fee trades nothing: it only has prices
    const { bases } = this.spec;
    const known = { exchange_limits: Object.keys(settings[FEES]), asset_limits: bases, asset_thresholds: bases, [PAIRS]: this.addedPairs };
    const limited = Object.fromEntries(LIMITS.map(([table]) => [table, [...new Set([...known[table], ...Object.keys(settings[table] ?? {}), ...this.edits.typedIn(table)])]]));
    const shape = JSON.stringify([this.spec, offered, Object.keys(settings[FEES]), limited]);
    this.isLate = shape !== this.shape && Boolean(this.held);
    if (shape !== this.shape && !this.isLate) {
      this.shape = shape;
      this.bar.root.hidden = false;
      this.controls.clear();
      this.topics = [
        ...this.spec.topics.map(({ title, fields }) => this.topic(title, this.fieldsOf(fields))),
        ...LIMITS.map(([table, title, general, kind]) => this.topic(title, limited[table].map((name) => this.limitField(table, name, { ...this.spec[kind], general })), table === PAIRS ? this.pairAdder() : null)),
        this.topic("Exchanges and fees", this.exchangeFields(offered, Object.keys(settings[FEES]))),
      ];
      this.fields.replaceChildren(element("div", { class: "columns" }, ...this.fieldsOf(this.spec.first.fields)), ...this.topics.map(({ root }) => root));
    }
    this.draw();
  }

  fieldsOf(fields) {
    return fields.map((field) => this.field(field.name, controlOf(field)));
  }

  // Folded, unless the user opened it in this tab.
  topic(title, fields, more = null) {
    const mark = element("span", { class: "warn" });
    const root = element("details", { class: "topic", open: openTopics().includes(title) }, element("summary", {}, title, " ", mark), element("div", { class: "columns" }, ...fields), more);
    root.ontoggle = () => remember(OPEN, JSON.stringify([...openTopics().filter((one) => one !== title), ...(root.open ? [title] : [])]));
    return { root, mark, names: fields.map((field) => field.dataset.setting) };
  }

  // An empty one takes the general limit.
  limitField(table, name, spec) {
    return this.field(`${table}.${name}`, new NumberControl({ ...spec, label: WORDS[table]?.(name) ?? name }));
  }

  pairAdder() {
    return new PairAdder(this.spec.exchanges, (name) => this.addPair(name)).root;
  }

  // Both directions are one pair, whichever of its exchanges is named first.
  addPair(name) {
    const turned = name.split("/").reverse().join("/");
    const shown = [name, turned].find((one) => this.controls.has(`${PAIRS}.${one}`)) ?? name;
    this.addedPairs = [...new Set([...this.addedPairs, shown])];
    this.build();
    this.showField(`${PAIRS}.${shown}`);
    this.controls.get(`${PAIRS}.${shown}`)?.control.focus();
  }

  exchangeFields(offered, charging) {
    const words = (name) => (this.spec.exchanges.includes(name) ? exchangeName(name) : `${exchangeName(name)} (not in this session)`);
    const fee = (name) => new NumberControl({ ...this.spec.fee, label: `Taker fee on ${exchangeName(name)} (fraction)` });
    return [this.field(EXCHANGES, new ExchangesControl(offered, words)), ...charging.map((name) => this.field(`${FEES}.${name}`, fee(name)))];
  }

  field(name, control) {
    control.root.dataset.setting = name;
    control.onTouch = (value) => this.touch(name, value);
    control.onLeave = () => this.leaveField(name);
    this.controls.set(name, control);
    return control.root;
  }

  get labels() {
    const named = [this.spec.first, ...this.spec.topics].flatMap((group) => group.fields).map((field) => [field.name, field.label]);
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
    this.build();
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
    const control = this.controls.get(name);
    if (!this.edits.isTouched(name) || !control) return null;
    return control.problem(this.edits.value(name)) ?? this.belowLeast(control.spec?.least, this.edits.value(name)) ?? this.rejected.get(name) ?? null;
  }

  // Some numbers must not be below another setting.
  belowLeast(least, value) {
    const lowest = least ? this.edits.value(least) : null;
    const isBelow = least && String(value).trim() && Number(value) < Number(lowest);
    return isBelow ? `Must not be below "${this.labels[least]}" (${lowest}).` : null;
  }

  draw() {
    const { settings, touched } = this.edits;
    if (!settings || !this.spec) return;
    for (const [name, control] of this.controls) {
      control.show(this.edits.value(name));
      if (control.spec?.general) control.control.placeholder = `as for all: ${this.edits.values[control.spec.general]}`;
      control.mark(this.problemOf(name), this.edits.isTouched(name));
    }
    this.drawTopics(touched);
    const mine = touched.map((name) => ({ name, before: this.edits.inForce(name), after: this.edits.value(name) }));
    const clashes = this.isSaving ? [] : this.edits.clashes;
    this.bar.draw({ version: settings.version, mine: changeList(mine, this.labels), count: mine.length, wrong: touched.filter((name) => this.problemOf(name)).length, isSaving: this.isSaving, isLive: this.isLive });
    const isTried = mine.length && !this.isSaving && !touched.some((name) => this.problemOf(name));
    this.bar.effects.ask(isTried ? this.edits.changes((name) => this.isNumber(name)) : null, this.labels);
    this.bar.drawClash(clashes.map((name) => ({ name, before: this.edits.typed.get(name).base, after: this.edits.inForce(name) })), this.labels);
    this.bar.drawWhole(touched.length ? this.rejected.get("settings") : null);
    this.root.dataset.version = settings.version;
  }

  // A folded topic says what is unsaved or wrong in it.
  drawTopics(touched) {
    for (const { mark, names } of this.topics) {
      const own = touched.filter((name) => names.includes(name));
      const wrong = own.filter((name) => this.problemOf(name)).length;
      setText(mark, own.length ? `● ${own.length} unsaved${wrong ? `, ${wrong} not valid` : ""}` : "");
    }
  }

  // Open the topic of a field, if it is folded.
  showField(name) {
    const topic = this.topics.find(({ names }) => names.includes(name));
    if (topic) topic.root.open = true;
  }

  async save() {
    if (this.isSaving) return;
    const { touched, clashes, settings: before } = this.edits;
    if (!touched.length) return this.bar.showMessage("good", "No unsaved changes.");
    const wrong = touched.find((name) => this.problemOf(name) && !this.rejected.has(name));
    if (wrong) {
      this.showField(wrong);
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
    this.showField(place);
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

function openTopics() {
  try {
    const open = JSON.parse(recall(OPEN) ?? "[]");
    return Array.isArray(open) ? open : [];
  } catch {
    return [];
  }
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
