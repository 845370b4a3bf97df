// One numeric column of a stream over time, drawn by uPlot.

import { loadPlot } from "./charts.js";
import { element } from "./elements.js";
import { isLocalTime, isoText } from "./zone.js";

const HEIGHT = 180;

export class AppChart {
  constructor() {
    this.box = element("div", { class: "plot", role: "img" });
    this.root = element("div", { class: "app-chart", hidden: true }, this.box);
    new ResizeObserver(() => this.fit()).observe(this.root);
  }

  forget() {
    this.plot?.destroy();
    this.plot = null;
    this.root.hidden = true;
  }

  // points: [seconds, value], oldest first; marks: seconds at which the line has a dot
  async show(name, points, marks = []) {
    this.root.hidden = !name || points.length < 2;
    if (this.root.hidden) return;
    const data = marked(points, marks);
    await loadPlot();
    if (this.root.hidden) return;
    const colour = getComputedStyle(this.root).getPropertyValue("--text");
    if (this.plot && this.name === name && this.colour === colour) {
      this.plot.setData(data);
      return;
    }
    this.plot?.destroy();
    this.name = name;
    this.colour = colour;
    this.box.setAttribute("aria-label", `${name} over time`);
    this.plot = new window.uPlot(this.options(), data, this.box);
  }

  options() {
    const style = getComputedStyle(this.root);
    const [line, mark, faint, grid] = ["--line", "--mean", "--muted", "--border"].map((one) => resolved(this.root, one, style));
    const axis = { stroke: faint, font: `10.5px ${style.fontFamily}`, ticks: { show: false }, grid: { stroke: grid, width: 0.5 } };
    return {
      width: Math.max(this.box.clientWidth, 100),
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      tzDate: (seconds) => (isLocalTime() ? new Date(seconds * 1000) : window.uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC")),
      axes: [
        { ...axis, size: 26, grid: { show: false }, values: (_, marks) => marks.map((mark) => isoText(mark * 1e6).slice(11, 19)) },
        { ...axis, size: (_, values) => 14 + 6.4 * Math.max(0, ...(values ?? []).map((value) => value.length)) },
      ],
      series: [
        {},
        { stroke: line, width: 1.6, points: { size: 4, fill: line } },
        { paths: () => null, points: { show: true, size: 8, stroke: mark, fill: mark } },
      ],
    };
  }

  fit() {
    const width = this.box.clientWidth;
    if (this.plot && width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: HEIGHT });
  }
}

// The columns of the plot: times, values, and the value at each mark, which is the last one before it.
export function marked(points, marks) {
  const times = [...new Set([...points.map(([time]) => time), ...marks])].sort((one, other) => one - other);
  const values = new Map(points);
  const isMarked = new Set(marks);
  let last = points[0]?.[1] ?? null;
  const line = times.map((time) => (last = values.get(time) ?? last));
  return [times, line, times.map((time, i) => (isMarked.has(time) ? line[i] : null))];
}

// A canvas knows no variables and no mixed colours: the browser says what they come to.
function resolved(node, name, style) {
  const probe = element("i", { style: { color: `var(${name})` } });
  node.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour || style.color;
}
