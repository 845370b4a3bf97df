// What a profit is made of, as a waterfall: each part begins where the one before it ended, and the last is the sum.

import { element, shape } from "./elements.js";
import { money } from "./format.js";

const WIDTH = 640;
const ROW = 30;
const LEFT = 132;
const RIGHT = 128;

// parts: [[name, decimal text]], the last being their sum; sentence: what a screen reader says of it
export function waterfall(parts, currency) {
  const spans = spansOf(parts.map(([, value]) => Number(value)));
  const low = Math.min(0, ...spans.flat());
  const high = Math.max(0, ...spans.flat());
  const scale = (value) => LEFT + ((value - low) / (high - low || 1)) * (WIDTH - LEFT - RIGHT);
  const sentence = `Attribution: ${parts.map(([name, value]) => `${name} ${money(value, currency)}`).join(", ")}.`;
  const drawn = shape("svg", { viewBox: `0 0 ${WIDTH} ${parts.length * ROW + 4}`, role: "img", "aria-label": sentence, class: "waterfall" });
  drawn.append(shape("line", { x1: scale(0), x2: scale(0), y1: 0, y2: parts.length * ROW, class: "zero" }));
  parts.forEach(([name, value], i) => drawn.append(...row(name, value, spans[i], { currency, y: i * ROW, scale, isSum: i === parts.length - 1 })));
  return element("div", { class: "scrolled", tabindex: "0", role: "region", "aria-label": "Attribution" }, drawn);
}

function spansOf(values) {
  let at = 0;
  return values.map((value, i) => {
    if (i === values.length - 1) return [0, value];
    const span = [at, at + value];
    at += value;
    return span;
  });
}

function row(name, value, [from, to], { currency, y, scale, isSum }) {
  const [left, right] = [Math.min(scale(from), scale(to)), Math.max(scale(from), scale(to))];
  const label = shape("text", { x: LEFT - 10, y: y + 20, class: "name" });
  label.textContent = name;
  const figure = shape("text", { x: WIDTH - RIGHT + 10, y: y + 20, class: isSum ? "figure sum" : "figure" });
  figure.textContent = money(value, currency);
  return [label, shape("rect", { x: left, y: y + 6, width: Math.max(right - left, 1.5), height: ROW - 10, rx: 2, class: isSum ? "sum" : Number(value) < 0 ? "loss" : "gain" }), figure];
}
