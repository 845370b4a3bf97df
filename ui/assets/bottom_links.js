// The links at the bottom of a narrow page change the page as Streamlit's own do, in the same document.

const links = [...document.querySelectorAll("#bottom a")];

function go(event) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  history.pushState(null, "", event.currentTarget.href);
  dispatchEvent(new PopStateEvent("popstate"));
}

function mark() {
  for (const link of links) {
    if (link.pathname === location.pathname) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

for (const link of links) link.onclick = go;
window.navigation?.addEventListener("currententrychange", mark);
