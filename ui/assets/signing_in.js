// The signed-in user, or the field for a key: the key is sent once, for a cookie that no script can read.

import { ask } from "./requests.js";
import { element, setText } from "./elements.js";
import { persistentPart } from "./persistent_part.js";
import { user } from "./signed_in_user.js";

const MOST_TRIES = 3;
const AGAIN_MS = 3_000;

class SigningIn {
  constructor() {
    this.field = element("input", {
      id: "key", type: "password", autocomplete: "current-password", maxlength: 200, required: true,
      placeholder: "needed to change anything", "aria-describedby": "key-help",
    });
    this.said = element("p", { class: "wrong", role: "alert" });
    this.form = element(
      "form", { class: "sign-in", "data-part": "sign-in" },
      element("label", { for: "key" }, "API key"), this.field, element("button", { type: "submit" }, "Sign in"),
      element("p", { class: "quiet", id: "key-help" },
        "The owner's key is in the file api_key in the data folder. It is sent once and not stored; the browser stays signed in for twelve hours."),
    );
    this.words = element("p", { class: "signed-in" });
    this.out = element("button", { type: "button" }, "Sign out");
    this.line = element("div", { class: "sign-in", hidden: true }, this.words, this.out);
    this.root = element("section", { "aria-label": "Signing in" }, this.line, this.form, this.said);
    this.form.onsubmit = (event) => this.signIn(event);
    this.out.onclick = async () => this.say(await user.signOut());
    this.tries = 0;
  }

  enter({ data, setTriggerValue }) {
    this.script = data.name;
    this.sendTicket = (ticket) => setTriggerValue("ticket", ticket);
    this.leave ??= this.begin();
    if (user.isKnown) this.show();
  }

  begin() {
    const stop = user.listen(() => this.show());
    user.refresh();
    return () => {
      stop();
      clearTimeout(this.again);
      this.again = undefined;
      this.leave = undefined;
    };
  }

  async signIn(event) {
    event.preventDefault();
    const key = this.field.value.trim();
    this.field.value = "";
    this.say("");
    const why = await user.signIn(key);
    this.say(why);
    if (why) this.field.focus();
  }

  say(why) {
    setText(this.said, why ?? "");
  }

  show() {
    const { caller } = user;
    this.line.hidden = !caller;
    this.form.hidden = caller?.role === "operator";
    this.bringTicket();
    // Python draws by what the script knows, so the sign-in is shown only once the script knows it
    const isAgreed = user.name === this.script || this.tries >= MOST_TRIES;
    if (!caller) return;
    if (!isAgreed) return setText(this.words, "Signing in …");
    const may = caller.role === "operator" ? "may change settings" : "read-only";
    this.words.replaceChildren("Signed in as ", element("strong", {}, caller.name), ` (${caller.role}): ${may}.`);
  }

  // The script only sees the cookies that its connection began with: a ticket tells it of a later sign-in.
  async bringTicket() {
    if (user.name === this.script) {
      this.tries = 0;
      return;
    }
    if (this.isBringing || this.tries >= MOST_TRIES) return;
    this.isBringing = true;
    this.tries += 1;
    // a ticket that is sent before the script's connection is made is lost
    this.again ??= setTimeout(() => {
      this.again = undefined;
      this.show();
    }, AGAIN_MS);
    const answer = user.name ? await ask("POST", "/api/tickets?purpose=page") : null;
    this.isBringing = false;
    if (!answer) this.sendTicket("none");
    else if (answer.isDone) this.sendTicket(answer.body.ticket);
  }
}

export const { mount, unmount } = persistentPart(() => new SigningIn());
