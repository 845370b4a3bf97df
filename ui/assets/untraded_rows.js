// Currencies that no market of the session has: accounts may hold dozens of them. They are folded away, and one click
// shows them in every list.

import { setText } from "./elements.js";
import { recall, remember } from "./tab_memory.js";

const SHOWN = "live.untraded";
const folds = new Set();

export class UntradedRows {
  // redraw(): of the list that the button is below
  constructor(button, redraw) {
    this.button = button;
    this.redraw = redraw;
    button.onclick = () => {
      remember(SHOWN, this.areShown ? "" : "yes");
      folds.forEach((fold) => fold.redraw());
    };
    folds.add(this);
  }

  get areShown() {
    return recall(SHOWN) === "yes";
  }

  close() {
    folds.delete(this);
  }

  // The rows to show, traded ones first, in the order of the markets.
  shown(model, rows) {
    const places = new Map(model.currencies().map((currency, index) => [currency, index]));
    const place = (row) => places.get(row.currency) ?? places.size;
    const sorted = [...rows].sort((one, other) => place(one) - place(other));
    const others = new Set(sorted.filter((row) => !places.has(row.currency)).map((row) => row.currency)).size;
    this.button.hidden = others === 0;
    this.button.setAttribute("aria-expanded", String(this.areShown));
    const currencies = others === 1 ? "currency" : "currencies";
    setText(this.button, `${this.areShown ? "Hide" : "Show"} ${others} more ${currencies}, not traded`);
    return this.areShown ? sorted : sorted.filter((row) => places.has(row.currency));
  }
}
