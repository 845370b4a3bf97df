// The wall: a screen that many look at from afar, larger and without links. Escape, and the end of the full screen, end
// it; `?wall` begins it.

const root = document.documentElement;

export function hangOnWall() {
  root.toggleAttribute("data-wall", true);
  root.requestFullscreen?.().catch(() => {});
}

function takeDown() {
  root.removeAttribute("data-wall");
}

addEventListener("fullscreenchange", () => document.fullscreenElement || takeDown());
addEventListener("keydown", ({ key }) => key === "Escape" && takeDown());
if (new URLSearchParams(location.search).has("wall")) root.toggleAttribute("data-wall", true);
