// Recordings for backtests: upload a file or pick a tick set, see what was rejected and why, and run a backtest on it.
// Somebody who has none gets one that is made for it.

import { choice, pick } from "./choices.js";
import { button, element, field, setClass, setText, titled } from "./elements.js";
import { count, fullTime, reasonName } from "./format.js";
import { persistentPart } from "./persistent_part.js";
import { namedTable } from "./plain_table.js";
import { PolledView } from "./polled_view.js";
import { sendFile } from "./recording_upload.js";
import { ask, problemText } from "./requests.js";

const POLL_MILLISECONDS = 10_000;
const JOB_MILLISECONDS = 700;
const MOST_UNANSWERED = 20;
const LISTED_SECONDS = 90;
const PATH = "/api/recordings";
const ENDED = ["done", "failed", "cancelled"];
const DOING = { queued: "Waiting for its turn…", running: "Working…" };
// No answer, or too many at a time: asked again.
const PASSING = [0, 408, 429, 503];

class RecordingsView extends PolledView {
  constructor() {
    super(POLL_MILLISECONDS);
    this.set = choice({});
    this.look = button("What is in it", () => this.work({ work: "look", set: this.set.value }));
    this.run = button("Run a backtest on it", () => this.start(this.set.value), "main");
    this.pickRow = element("div", { class: "row", hidden: true }, field("Recording", this.set), this.look, this.run);
    this.empty = element("div", { class: "row", hidden: true }, element("p", {}, "There is no recording yet. The example is twenty minutes of BTC on two exchanges, made up, with spreads that pay."), button("Make the example and run a backtest on it", () => this.runExample(), "main"));
    this.said = element("p", { class: "said", role: "status", "data-part": "recordings-said" });
    this.progress = element("progress", { max: "1", value: "0", hidden: true, "aria-label": "Upload" });
    this.stop = button("Stop it", () => this.stopJob());
    this.stopRow = element("div", { class: "row", hidden: true }, this.stop);
    this.found = element("div", { class: "comparison", "data-part": "recording" });
    this.root = element("section", { class: "box market", "data-part": "recordings", "aria-label": "Recordings" }, element("h3", {}, "Recordings"), this.pickRow, this.empty, this.uploadForm(), this.progress, this.said, this.stopRow, this.found);
  }

  // data: whether there are any, which the page knows already: so nothing moves once they are read
  enter({ data, setTriggerValue }) {
    this.send = setTriggerValue;
    this.showWhether(Boolean(data?.sets));
    super.enter();
  }

  showWhether(areThere) {
    this.pickRow.hidden = !areThere;
    this.empty.hidden = areThere;
  }

  async read() {
    const answer = await ask("GET", "/api/tick-sets");
    if (!answer.isDone) return this.say(`Recordings are not known: ${problemText(answer)}`, "bad");
    this.known = answer.body.map((one) => one.name);
    const drawn = JSON.stringify(answer.body);
    if (this.drawn === drawn) return undefined;
    this.drawn = drawn;
    const wanted = this.set.value;
    this.set.replaceChildren(...answer.body.map((one) => element("option", { value: one.name }, `${one.name}: ${count(one.quotes)} quotes of ${one.bases.join(", ")} on ${one.exchanges.join(", ")}`)));
    if (this.known.includes(wanted)) pick(this.set, wanted);
    this.showWhether(this.known.length > 0);
    return undefined;
  }

  uploadForm() {
    this.file = element("input", { type: "file" });
    this.name = element("input", { type: "text", autocomplete: "off", placeholder: "august" });
    this.format = choice({ auto: "as it looks" });
    this.exchange = element("input", { type: "text", autocomplete: "off", placeholder: "if the file does not say" });
    this.symbol = element("input", { type: "text", autocomplete: "off", placeholder: "BTC/USD" });
    this.spread = element("input", { type: "text", inputmode: "decimal", autocomplete: "off", placeholder: "for prints and bars" });
    this.alike = element("input", { type: "text", autocomplete: "off", placeholder: "USDT=USD" });
    this.mapping = element("textarea", { rows: "6", spellcheck: "false" });
    const asked = element("div", { class: "rule-fields" }, field("File", this.file), field("Into the recording", this.name), field("Format", this.format), field("Exchange", this.exchange), field("Market", this.symbol), field("Half spread (bps)", this.spread), field("Count as alike", this.alike));
    const mapped = element("details", {}, element("summary", {}, "Mapping of the columns, for a CSV of your own"), field("Mapping", this.mapping));
    this.import = button("Upload and import", () => this.upload());
    const form = element("details", {}, element("summary", {}, "Upload a file"), asked, mapped, element("div", { class: "row" }, this.import));
    form.ontoggle = () => form.open && this.showFormats();
    return form;
  }

  async showFormats() {
    if (this.format.options.length > 1) return;
    const answer = await ask("GET", `${PATH}/formats`);
    for (const name of answer.isDone ? answer.body.slice(1) : []) this.format.append(element("option", { value: name }, name));
  }

  async upload() {
    const [file] = this.file.files;
    if (!file) return this.say("Choose a file first.", "bad");
    const set = this.name.value.trim();
    if (!set) return this.say("Give the recording a name: a new one, or one that it is to be added to.", "bad");
    return this.busy(async () => {
      const key = [file.name, file.size, file.lastModified].join();
      if (this.sent?.key !== key) {
        const sent = await sendFile(`${PATH}/uploads`, file, (share) => this.showProgress(share, file.name));
        this.progress.hidden = true;
        if (!sent.id) return this.say(`Not uploaded: ${sent.reason}`, "bad");
        // another attempt with other options sends nothing again
        this.sent = { key, id: sent.id };
      }
      const alike = this.alike.value.split(/[\s,]+/).filter(Boolean);
      const spread = this.spread.value.trim();
      const found = await this.job({ work: "import", set, upload_id: this.sent.id, format: this.format.value, exchange: this.exchange.value, symbol: this.symbol.value, half_spread_bps: spread || null, alike, mapping: this.mapping.value });
      if (found) this.sent = null;
      return found;
    });
  }

  work(asked) {
    return this.busy(() => this.job(asked));
  }

  runExample() {
    return this.busy(async () => {
      const found = await this.job({ work: "example" });
      if (found && (await this.listed(found.set))) await this.startNow(found.set);
    });
  }

  start(set) {
    return this.busy(() => this.startNow(set));
  }

  // One thing at a time.
  async busy(act) {
    const buttons = [this.look, this.run, this.import, ...this.empty.querySelectorAll("button")];
    for (const one of buttons) one.disabled = true;
    try {
      return await act();
    } finally {
      for (const one of buttons) one.disabled = false;
    }
  }

  // What the job says is in the recording; null if it failed, which is said.
  async job(asked) {
    this.found.replaceChildren();
    const begun = await ask("POST", `${PATH}/jobs`, asked);
    // the upload was removed, or imported: it is sent again
    if (begun.status === 404) this.sent = null;
    const answer = begun.isDone ? await this.ended(begun) : begun;
    if (!answer.isDone || answer.body.state !== "done") {
      this.say(`Not done: ${answer.isDone ? (answer.body.reason ?? answer.body.state) : problemText(answer)}`, "bad");
      return null;
    }
    this.show(answer.body);
    await this.read();
    return answer.body;
  }

  // The answer once the job has ended, or if none comes. While nobody sees it, nothing is asked.
  async ended(begun) {
    let answer = begun;
    this.asked = begun.body.id;
    this.stopRow.hidden = false;
    for (let unanswered = 0; unanswered < MOST_UNANSWERED && !ENDED.includes(answer.body?.state); ) {
      if (answer.isDone) this.say(DOING[answer.body.state], "");
      await pause(JOB_MILLISECONDS);
      if (document.hidden || this.timer === undefined) continue;
      answer = await ask("GET", `${PATH}/jobs/${this.asked}`);
      if (!answer.isDone && !PASSING.includes(answer.status)) break;
      unanswered = answer.isDone ? 0 : unanswered + 1;
    }
    this.stopRow.hidden = true;
    return answer;
  }

  async stopJob() {
    this.stop.disabled = true;
    const answer = await ask("DELETE", `${PATH}/jobs/${this.asked}`);
    this.stop.disabled = false;
    if (!answer.isDone) this.say(`Not stopped: ${problemText(answer)}`, "bad");
  }

  // The part that runs backtests finds new recordings by itself, seconds later.
  async listed(set) {
    for (let waited = 0; waited < LISTED_SECONDS && !this.known?.includes(set); waited += 1) {
      this.say(`${set} is made; waiting until backtests know it…`, "");
      await pause(1_000);
      await this.read();
    }
    if (this.known?.includes(set)) return true;
    this.say(`${set} is made, but the part that runs backtests does not know it yet: one that runs now goes first. If none does, is a session running on this data folder?`, "bad");
    return false;
  }

  async startNow(set) {
    const answer = await ask("POST", "/api/backtests", { tick_set: set });
    if (!answer.isDone) return this.say(`Not started: ${problemText(answer)}`, "bad");
    this.say(`A backtest of ${set} is queued; its result comes below.`, "good");
    // the lists below are drawn by the server
    return this.send("started", answer.body.backtest_id);
  }

  show(found) {
    const rejected = Object.values(found.rejected).reduce((sum, rows) => sum + rows, 0);
    const span = found.start_time ? `, ${fullTime(found.start_time)} to ${fullTime(found.end_time)}` : "";
    this.say(`${found.set}: ${count(found.quotes)} quotes${span}; ${rejected ? `${count(rejected)} rows rejected` : "no row rejected"}.`, "good");
    const reasons = Object.entries(found.rejected).map(([reason, rows]) => [reasonName(reason), count(rows)]);
    const examples = found.examples.map((one) => [reasonName(one.reason), one.source, count(one.line), one.text]);
    const sources = found.sources.map((one) => [one.name, one.format, [one.exchange, one.symbol].filter(Boolean).join(" "), count(one.rows), count(Object.values(one.rejected).reduce((sum, rows) => sum + rows, 0))]);
    this.found.replaceChildren(
      ...found.problems.map((words) => element("p", { class: "bad" }, `Cannot be backtested yet: ${words}.`)),
      titled("Files", namedTable("Files of the recording", ["File", "Format", "Market", "#Quotes", "#Rejected"], sources, "None.")),
      ...(rejected ? [titled("Rejected", namedTable("Rejected rows by reason", ["Reason", "#Rows"], reasons, "None.")), titled("The first of each", namedTable("Rejected rows", ["Reason", "File", "#Line", "Row"], examples, "None."))] : []),
      ...(found.assumptions.length ? [titled("Assumed", element("ul", {}, ...found.assumptions.map((words) => element("li", {}, words))))] : []),
    );
  }

  showProgress(share, name) {
    this.progress.hidden = false;
    this.progress.value = share;
    this.say(`Uploading ${name}: ${Math.floor(share * 100)} %`, "");
  }

  say(words, tone) {
    setText(this.said, words);
    setClass(this.said, `said ${tone}`);
  }
}

function pause(milliseconds) {
  return new Promise((done) => setTimeout(done, milliseconds));
}

export const { mount, unmount } = persistentPart(() => new RecordingsView());
