// What the processes of the session wrote about one arbitrage, read when somebody looks.

import { ask, problemText } from "./requests.js";
import { element, setText } from "./elements.js";
import { namedTable } from "./plain_table.js";

const AT_ONCE = 3;
const LINES = 100;
const HEADS = ["Time", "Part", "Level", "Event", "Fields"];

export class ArbitrageLogs {
  constructor() {
    this.said = element("p", { class: "quiet", role: "status" });
    this.place = element("div");
    this.details = element("details", { "data-name": "logs" }, element("summary", {}, "Lines of the logs that name it"), this.said, this.place);
    this.details.ontoggle = () => this.details.open && this.readOn !== this.id && this.read();
    this.follow = element("a", {}, "Follow them on Health");
    this.root = element("section", { class: "box", "aria-label": "Logs", "data-section": "Logs" }, element("h4", {}, "Logs"), this.details, this.follow);
  }

  choose(id) {
    this.id = id;
    this.readOn = null;
    this.follow.href = `/health?${new URLSearchParams({ log: "all", text: id })}#log`;
    this.place.replaceChildren();
    setText(this.said, "");
    if (this.details.open) this.read();
  }

  async read() {
    const { id } = this;
    if (!id) return;
    this.readOn = id;
    setText(this.said, "Searching…");
    const answer = await ask("GET", "/api/logs");
    if (id !== this.id) return;
    if (!answer.isDone) {
      this.readOn = null;
      setText(this.said, `Not read: ${problemText(answer)}`);
      return;
    }
    const lines = await this.linesOf(answer.body.parts, id);
    if (id !== this.id) return;
    const rows = lines.sort((one, other) => one.time.localeCompare(other.time)).map((one) => [one.time, one.part, one.level ?? "", one.event, Object.entries(one.fields).map(([name, value]) => `${name}=${value}`).join(" ")]);
    setText(this.said, `${rows.length} lines in ${answer.body.parts.length} logs of this machine; each is searched one megabyte back.`);
    this.place.replaceChildren(namedTable("Log lines", HEADS, rows, "No line names it."));
  }

  async linesOf(parts, id) {
    const waiting = [...parts];
    const found = [];
    const work = async () => {
      for (let part = waiting.shift(); part !== undefined; part = waiting.shift()) {
        const answer = await ask("GET", `/api/logs/${encodeURIComponent(part)}?${new URLSearchParams({ text: id, lines: LINES })}`);
        if (answer.isDone) found.push(...answer.body.lines.map((line) => ({ ...line, part, time: line.time ?? "" })));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return found;
  }
}
