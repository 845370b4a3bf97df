// Parts of a page that outlive Streamlit's redraws: each is made once for the document and put in wherever Streamlit
// makes room for it, so that nothing that was typed or ticked in it can be drawn away.

// `part` has `root` and, where it wants, enter(component) and leave().
export function lasting(make) {
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
      // where it was put in anew before the old place went, it is still here
      if (parent !== place) return;
      place = null;
      part?.leave?.();
    },
  };
}

// Whoever types in it goes on typing.
function putIn(part, place) {
  const { focused } = part;
  const selection = focused && "selectionStart" in focused ? [focused.selectionStart, focused.selectionEnd] : null;
  place.replaceChildren(part.root);
  if (!part.isWatched) watchFocus(part);
  if (!focused) return;
  focused.focus({ preventScroll: true });
  if (selection && selection[0] !== null) focused.setSelectionRange(...selection);
}

// What is taken out of the page loses its focus without having been left.
function watchFocus(part) {
  part.isWatched = true;
  part.root.addEventListener("focusin", (event) => (part.focused = event.target));
  part.root.addEventListener("focusout", (event) => {
    if (part.root.isConnected && event.target.isConnected) part.focused = null;
  });
}
