// The controls of the settings form: each shows a value, says when somebody changes it, and what is wrong with it.

import { element, setClass, setText } from "./elements.js";
import { decimal } from "./settings_edits.js";

let count = 0;

// The line below a control: its range, or what is wrong with the typed value.
class Below {
  constructor(range) {
    this.range = range;
    this.root = element("p", { class: "range", id: `setting-${(count += 1)}` }, range);
  }

  say(problem) {
    setText(this.root, problem ?? this.range);
    setClass(this.root, problem ? "range wrong" : "range");
  }
}

class Control {
  // unit: shown behind the control
  constructor(label, range, control, unit = "") {
    this.below = new Below(range);
    this.control = control;
    control.id = `${this.below.root.id}-control`;
    control.setAttribute("aria-describedby", this.below.root.id);
    const shown = unit ? element("div", { class: "with-unit" }, control, element("span", { class: "unit", "aria-hidden": "true" }, unit)) : control;
    this.root = element("div", { class: "field" }, element("label", { for: control.id }, label), shown, this.below.root);
    control.addEventListener("input", () => this.onTouch(control.value));
    control.addEventListener("blur", () => this.onLeave());
  }

  get isHeld() {
    return this.control.matches(":focus");
  }

  // Writing the same text again would move the cursor.
  show(value) {
    if (this.control.value !== String(value)) this.control.value = value;
  }

  mark(problem, isTouched) {
    this.below.say(problem);
    this.control.setAttribute("aria-invalid", String(Boolean(problem)));
    this.root.classList.toggle("touched", isTouched);
  }
}

export class NumberControl extends Control {
  // {label, range, unit, low, high, is_low_open, is_high_open, step}; without a step it is money. `general`: the setting
  // that holds while nothing is typed; without it a number is needed.
  constructor(spec) {
    super(spec.label, spec.range, element("input", { type: "text", inputmode: "decimal", autocomplete: "off", spellcheck: "false" }), spec.unit);
    this.spec = spec;
    if (spec.step) this.control.addEventListener("keydown", (event) => this.step(event));
  }

  problem(value) {
    const { range, low, high, is_low_open: isLowOpen, is_high_open: isHighOpen } = this.spec;
    if (this.spec.general && !String(value).trim()) return null;
    if (decimal(value) === null) return `Enter a number: ${range}.`;
    const number = Number(value);
    const isBelow = low !== null && (number < low || (isLowOpen && number === low));
    const isAbove = high !== null && (number > high || (isHighOpen && number === high));
    return isBelow || isAbove ? `Out of range: ${range}.` : null;
  }

  step(event) {
    const up = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!up || decimal(this.control.value) === null) return;
    event.preventDefault();
    // twelve digits are more than any step has: 0.1 + 0.2 is to read 0.3
    this.control.value = Number((Number(this.control.value) + up * this.spec.step).toPrecision(12));
    this.onTouch(this.control.value);
  }
}

export class ChoiceControl extends Control {
  constructor(spec) {
    super(spec.label, "", element("select", {}, ...spec.choices.map((choice) => element("option", { value: choice }, choice))));
  }

  problem() {
    return null;
  }
}

// Which exchanges are traded: a box to tick for each.
export class ExchangesControl {
  constructor(names, words) {
    this.below = new Below("");
    this.boxes = names.map((name) => element("input", { type: "checkbox", value: name }));
    const labels = this.boxes.map((box) => element("label", { class: "tick" }, box, words(box.value)));
    this.root = element(
      "fieldset", { class: "field", "aria-describedby": this.below.root.id },
      element("legend", {}, "Exchanges traded"), ...labels, this.below.root,
    );
    this.root.addEventListener("change", () => this.onTouch(this.boxes.filter((box) => box.checked).map((box) => box.value)));
    this.root.addEventListener("focusout", () => this.onLeave());
  }

  get control() {
    return this.boxes[0];
  }

  get isHeld() {
    return this.root.matches(":focus-within");
  }

  show(value) {
    for (const box of this.boxes) box.checked = value.includes(box.value);
  }

  problem() {
    return null;
  }

  mark(problem, isTouched) {
    this.below.say(problem);
    this.root.classList.toggle("touched", isTouched);
  }
}
