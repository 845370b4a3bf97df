// Test cases beside the text: rows in, rows that must come out. They run on every check.

import { element, setText } from "./elements.js";

const EXAMPLE = '{"id": "one", "outputs": ["Out"], "events": [[0, "In", [1.0]]], "expected": {"out": [["Out", 0, false, [1.0]]]}}';

export class AppCasesPanel {
  // changed(): check again.
  constructor(service, changed) {
    this.service = service;
    this.input = element("textarea", { rows: "8", spellcheck: "false", placeholder: EXAMPLE, "data-part": "app-cases", "aria-label": "Test cases" });
    this.input.oninput = () => {
      service.drafts.keepCases(service.open, this.input.value);
      changed();
    };
    this.note = element("p", { class: "quiet", role: "status", "data-part": "app-cases-verdict" });
    this.list = element("ul", { class: "app-mistakes" });
    this.root = element(
      "div", {},
      element("p", { class: "quiet" }, "One case a line, as JSON: rows with their times in milliseconds, and the rows that must come out. They are kept in this browser and run whenever the text is checked."),
      this.input, this.note, this.list,
    );
  }

  get text() {
    return this.service.drafts.cases(this.service.open);
  }

  open() {
    this.input.value = this.text;
    this.show(null);
  }

  // cases: [{id, passed, reason}]; null if none were run.
  show(cases) {
    const failed = (cases ?? []).filter(({ passed }) => !passed);
    setText(this.note, !cases ? (this.text.trim() ? "Not run yet: the text has mistakes, or is being checked." : "") : cases.length ? `${cases.length - failed.length} of ${cases.length} cases as expected` : "");
    this.list.replaceChildren(...(cases ?? []).map(({ id, passed, reason }) => element("li", { class: passed ? "good" : "bad" }, `${passed ? "✓" : "✗"} ${id}${passed ? "" : `: ${reason ?? "not as expected"}`}`)));
  }
}

// What the line above the editor says of them; "" if all is well.
export function casesWords(cases) {
  const failed = (cases ?? []).filter(({ passed }) => !passed).length;
  return failed ? `${failed} of ${cases.length} cases fail${failed === 1 ? "s" : ""}` : cases?.length ? `${cases.length} case${cases.length === 1 ? "" : "s"} as expected` : "";
}
