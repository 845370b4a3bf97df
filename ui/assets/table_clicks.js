// Clicks on tables that Python draws: a head sorts, a row opens what it is of. The tables stay plain HTML, so a link in
// another tab, the keyboard and a screen reader work as everywhere.

const DRAWN_MILLISECONDS = 15_000;

class TableClicks {
  constructor() {
    this.listen = (event) => this.take(event);
  }

  enter({ parentElement, setTriggerValue }) {
    this.place = parentElement;
    this.send = setTriggerValue;
    document.addEventListener("click", this.listen);
    // the address names one: it is shown once, not with each drawing
    const asked = new URLSearchParams(location.search).get("arbitrage");
    if (asked && asked !== this.asked) this.showOnce(asked);
    this.asked = asked;
  }

  leave(parent) {
    // another place may have been mounted before the old one went
    if (parent !== this.place) return;
    document.removeEventListener("click", this.listen);
    this.stopWaiting?.();
  }

  take(event) {
    const { target } = event;
    if (!(target instanceof Element) || event.defaultPrevented || event.button || isForAnotherTab(event)) return;
    const head = target.closest(".rows [data-sort]");
    if (head) {
      this.send("sort", head.dataset.sort);
      this.keepFocus(head.dataset.sort.replace(/^-/, ""));
      return;
    }
    const row = target.closest(".rows tr[data-open]");
    // text that is being copied out of a row does not open it
    if (!row || String(getSelection())) return;
    event.preventDefault();
    this.send("open", row.dataset.open);
    this.showOnce(row.dataset.open);
  }

  // The table is drawn again, with a new button in the place of the one that was pressed.
  keepFocus(column) {
    this.whenDrawn(() => {
      if (document.activeElement !== document.body) return false;
      document.querySelector(`.rows [data-sort="${column}"], .rows [data-sort="-${column}"]`)?.focus({ preventScroll: true });
      return true;
    });
  }

  // What was opened is drawn below the table, some time later.
  showOnce(id) {
    this.whenDrawn(() => {
      const opened = document.querySelector(`[data-opened="${CSS.escape(id)}"]`);
      opened?.scrollIntoView({ block: "start" });
      opened?.focus({ preventScroll: true });
      return Boolean(opened);
    });
  }

  // Try `act` again with each change of the page, until it has done its work.
  whenDrawn(act) {
    this.stopWaiting?.();
    const watch = new MutationObserver(() => {
      if (act()) this.stopWaiting();
    });
    const timer = setTimeout(() => this.stopWaiting(), DRAWN_MILLISECONDS);
    this.stopWaiting = () => {
      watch.disconnect();
      clearTimeout(timer);
    };
    watch.observe(document.body, { childList: true, subtree: true });
    if (act()) this.stopWaiting();
  }
}

function isForAnotherTab(event) {
  return event.ctrlKey || event.metaKey || event.shiftKey;
}

const clicks = new TableClicks();

export function mount(component) {
  clicks.enter(component);
}

export function unmount(parent) {
  clicks.leave(parent);
}
