// Who may use the service, for operators: browsers that are signed in, keys and their last use, tokens that were seen.

import { choice } from "./choices.js";
import { button, element, field, setClass, setText, titled } from "./elements.js";
import { fullTime } from "./format.js";
import { persistentPart } from "./persistent_part.js";
import { namedTable } from "./plain_table.js";
import { PolledView } from "./polled_view.js";
import { ask, problemText } from "./requests.js";
import { user } from "./signed_in_user.js";
import { zoneWord } from "./zone.js";

const POLL_MILLISECONDS = 15_000;
const ROLES = { viewer: "viewer", author: "author", operator: "operator" };
const OWNER = "owner";
const FOR_OPERATORS = "People, keys and sign-ins are shown to signed-in operators.";

class PeopleView extends PolledView {
  constructor() {
    super(POLL_MILLISECONDS);
    this.said = element("p", { class: "said quiet", role: "status", "data-part": "people-said" });
    this.tables = element("div", { class: "comparison" });
    this.name = element("input", { type: "text", autocomplete: "off", maxlength: "40", placeholder: "desk" });
    this.role = choice(ROLES);
    this.make = button("Make a key", () => this.makeKey());
    this.made = element("div", { "data-part": "made-key" });
    this.keyForm = element("details", { hidden: true }, element("summary", {}, "Make a key"), element("div", { class: "rule-fields" }, field("Whose it is", this.name), field("Role", this.role)), element("div", { class: "row" }, this.make), this.made);
    this.root = element("section", { class: "box market", "data-part": "people", "aria-label": "People" }, element("h3", {}, "People"), this.said, this.tables, this.keyForm);
    user.listen(() => this.read());
  }

  async read() {
    // who may not see it does not ask: each refusal would be an error in the browser's console
    if (user.caller?.role !== "operator") return this.hide();
    const answer = await ask("GET", "/api/people");
    if (answer.status === 401 || answer.status === 403) return this.hide();
    if (!answer.isDone) return this.say(`Who has access is not known: ${problemText(answer)}`, "bad");
    const drawn = JSON.stringify([answer.body, zoneWord()]);
    // a button that somebody is about to press stays where it is
    if (this.drawn === drawn || this.tables.contains(this.root.getRootNode().activeElement)) return undefined;
    this.drawn = drawn;
    return this.draw(answer.body);
  }

  // what was shown once is not there when somebody comes back
  leave() {
    super.leave();
    this.made.replaceChildren();
  }

  hide() {
    this.drawn = null;
    this.keyForm.hidden = true;
    this.made.replaceChildren();
    this.tables.replaceChildren();
    this.say(FOR_OPERATORS, "quiet");
  }

  draw(found) {
    this.keyForm.hidden = false;
    this.say(found.is_reading_open ? "Whoever reaches this address may read without a key; changes need one." : "Reading needs a key, too.", "quiet");
    const signIns = found.sign_ins.map((one) => [one.is_yours ? `${one.name} (you)` : one.name, this.ender(`End the sign-in of ${one.name} since ${fullTime(one.began_at)}`, () => this.end(one)), one.role, fullTime(one.began_at), seen(one), one.address, { text: browserName(one.browser), title: one.browser }, fullTime(one.ends_at)]);
    const keys = found.keys.map((one) => [one.name, one.name === OWNER ? "–" : this.ender(`End the key of ${one.name}`, () => this.endKey(one)), one.role, fullTime(one.created_at), seen(one), one.address || "–"]);
    const tokens = found.tokens.map((one) => [one.name, one.role, seen(one), one.address]);
    this.tables.replaceChildren(
      titled("Browsers signed in", namedTable("Browsers signed in", ["Key", "Sign-in", "Role", "Since", "Last seen", "From", "Browser", "Until"], signIns, "None.")),
      titled("Keys", namedTable("Keys", ["Name", "Key", "Role", "Made", "Used by a program", "From"], keys, "None."), element("p", { class: "quiet" }, "Whose key ends is signed out, too. A viewer reads, an author also writes and publishes stream apps, an operator changes everything.")),
      ...(found.issuer ? [titled(`Tokens of ${found.issuer}`, namedTable("Tokens seen", ["Subject", "Role", "Last seen", "From"], tokens, "None since the dashboard started."))] : []),
    );
  }

  // Asked for twice, in the same place.
  ender(what, end) {
    const made = button("End", () => {
      if (made.textContent === "End") setText(made, "Really end?");
      else end();
    });
    made.setAttribute("aria-label", what);
    made.onblur = () => setText(made, "End");
    return made;
  }

  async end(one) {
    const answer = await ask("DELETE", `/api/sign-ins/${one.sign_in_id}`);
    if (!answer.isDone) return this.say(`Not ended: ${problemText(answer)}`, "bad");
    if (one.is_yours) await user.refresh();
    return this.readAgain();
  }

  async endKey(one) {
    const answer = await ask("DELETE", `/api/keys/${one.name}`);
    if (!answer.isDone) return this.say(`Not ended: ${problemText(answer)}`, "bad");
    await user.refresh();
    return this.readAgain();
  }

  readAgain() {
    this.root.getRootNode().activeElement?.blur();
    return this.read();
  }

  async makeKey() {
    this.make.disabled = true;
    const answer = await ask("POST", "/api/keys", { name: this.name.value.trim(), role: this.role.value });
    this.make.disabled = false;
    if (!answer.isDone) return this.made.replaceChildren(element("p", { class: "bad" }, `Not made: ${problemText(answer)}`));
    const shown = element("input", { type: "text", readonly: true, value: answer.body.key });
    const copy = button("Copy", async () => {
      shown.select();
      await navigator.clipboard?.writeText(shown.value).catch(() => null);
    });
    this.made.replaceChildren(field(`Key of ${answer.body.name} (${answer.body.role}): it is shown this once, and only its hash is kept`, shown), element("div", { class: "row" }, copy, button("Done", () => this.made.replaceChildren())));
    this.name.value = "";
    return this.read();
  }

  say(words, tone) {
    setText(this.said, words);
    setClass(this.said, `said ${tone}`);
  }
}

function seen(one) {
  return one.seen_at === null ? "–" : fullTime(one.seen_at).replace(/\.\d+/, "");
}

// The last product that it names is the one that people know, but for those that all pretend to be.
function browserName(text) {
  const known = ["Edg", "OPR", "Firefox", "Chrome", "Safari"].find((name) => text.includes(`${name}/`));
  return { Edg: "Edge", OPR: "Opera" }[known] ?? known ?? (text.split(/[\s/]/)[0] || "–");
}

export const { mount, unmount } = persistentPart(() => new PeopleView());
