// Colours of the theme for a canvas that knows neither variables nor mixed colours: what the browser paints.

const painted = new Map();

// name: a custom property of `node`. "rgb(r, g, b)"
export function canvasColour(node, name) {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  node.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return asRgb(color);
}

function asRgb(colour) {
  const known = painted.get(colour);
  if (known) return known;
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const brush = canvas.getContext("2d", { willReadFrequently: true });
  brush.fillStyle = colour;
  brush.fillRect(0, 0, 1, 1);
  const [red, green, blue] = brush.getImageData(0, 0, 1, 1).data;
  const made = `rgb(${red}, ${green}, ${blue})`;
  painted.set(colour, made);
  return made;
}
