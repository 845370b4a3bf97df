// Two lines of sums over one time, drawn as steps: each value holds until the next.

import { element, shape } from "./elements.js";
import { money } from "./format.js";

const WIDTH = 1000;
const HEIGHT = 220;
const ROOM = 6;

// lines: [{ name, unit, end, points: [[microseconds, decimal text]] }], all from 0; time(microseconds): in words
export function linesChart(name, lines, time) {
  const values = [0, ...lines.flatMap(({ points }) => points.map(([, value]) => Number(value)))];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const longest = Math.max(1, ...lines.map(({ end, points }) => Math.max(end, points.at(-1)?.[0] ?? 0)));
  const x = (at) => ((at / longest) * WIDTH).toFixed(1);
  const y = (value) => (HEIGHT - ROOM - ((value - low) / (high - low || 1)) * (HEIGHT - 2 * ROOM)).toFixed(1);
  const sentence = `${name}, ${time(0)} to ${time(longest)}: ${lines.map(said).join("; ")}.`;
  const drawn = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": sentence, class: "lines-chart" });
  drawn.append(shape("line", { x1: 0, x2: WIDTH, y1: y(0), y2: y(0), class: "zero" }), ...lines.map((line, i) => shape("path", { d: steps(line, longest, x, y), class: `line-${i}` })));
  const keys = lines.map((line, i) => element("span", { class: `line-${i}` }, element("i"), said(line)));
  const ends = [0, longest].map((at) => element("span", {}, time(at)));
  return element("figure", { class: "lines" }, element("figcaption", { class: "lines-key" }, ...keys), drawn, element("div", { class: "lines-key quiet" }, ...ends));
}

function steps({ end, points }, longest, x, y) {
  const moves = points.map(([at, value]) => `H${x(at)}V${y(Number(value))}`);
  return `M${x(0)} ${y(0)}${moves.join("")}H${x(Math.min(longest, Math.max(end, points.at(-1)?.[0] ?? 0)))}`;
}

function said({ name, unit, points }) {
  const values = points.map(([, value]) => Number(value));
  if (!values.length) return `${name}: no trade that ended`;
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)].map((value) => money(String(value), unit));
  return `${name}: ${money(points.at(-1)[1], unit)} at the end, between ${low} and ${high}`;
}
