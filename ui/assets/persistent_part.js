// Parts of a page that outlive Streamlit's redraws: each is created once for the document and inserted wherever
// Streamlit makes room for it, so that a redraw loses no input.

// `part` has `root` and optionally enter(component) and leave().
export function persistentPart(make) {
  let part = null;
  let place = null;
  return {
    // Streamlit calls this again after each script run and theme change.
    mount(component) {
      part ??= make();
      const found = component.parentElement.querySelector('[data-part="place"]');
      if (part.root.parentNode !== found) putIn(part, found);
      place = component.parentElement;
      part.enter?.(component);
    },
    unmount(parent) {
      // if it was mounted again before the old place was removed, it is still shown
      if (parent !== place) return;
      place = null;
      part?.leave?.();
    },
  };
}

// Keeps focus and selection, so that typing continues.
function putIn(part, place) {
  const { focused } = part;
  const selection = focused && "selectionStart" in focused ? [focused.selectionStart, focused.selectionEnd] : null;
  place.replaceChildren(part.root);
  if (!part.isWatched) watchFocus(part);
  if (!focused) return;
  focused.focus({ preventScroll: true });
  if (selection && selection[0] !== null) focused.setSelectionRange(...selection);
}

// A node that is removed from the page loses its focus without the user having left it.
function watchFocus(part) {
  part.isWatched = true;
  part.root.addEventListener("focusin", (event) => (part.focused = event.target));
  part.root.addEventListener("focusout", (event) => {
    if (part.root.isConnected && event.target.isConnected) part.focused = null;
  });
}
