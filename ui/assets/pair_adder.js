// Chooses a pair of exchanges for a threshold of its own: one direction, or both.

import { button, element, setText } from "./elements.js";
import { exchangeName } from "./format.js";

export class PairAdder {
  // add(name): a pair was chosen, `buy>sell` or `one/other`.
  constructor(exchanges, add) {
    this.add = add;
    this.buy = choice("Buy on", exchanges.map((name) => [name, exchangeName(name)]));
    this.sign = choice("Directions", [[">", "→ this direction"], ["/", "↔ both directions"]]);
    this.sell = choice("Sell on", exchanges.map((name) => [name, exchangeName(name)]));
    if (exchanges.length > 1) this.sell.value = exchanges[1];
    this.said = element("p", { class: "range wrong", role: "alert" });
    this.root = element("div", { class: "pair-adder", "data-part": "pair-adder" }, element("div", { class: "row" }, this.buy, this.sign, this.sell, button("Add the pair", () => this.choose())), this.said);
  }

  choose() {
    const isPair = this.buy.value !== this.sell.value;
    setText(this.said, isPair ? "" : "Choose two exchanges.");
    if (isPair) this.add(`${this.buy.value}${this.sign.value}${this.sell.value}`);
  }
}

function choice(label, options) {
  return element("select", { "aria-label": label }, ...options.map(([value, words]) => element("option", { value }, words)));
}
