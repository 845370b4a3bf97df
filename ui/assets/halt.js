// The button "Halt…" of every page. It stands in the page's first bytes and imports nothing: it works before any other
// script has come, and whatever becomes of them.
(() => {
  const ANSWER_MILLISECONDS = 12_000;
  const part = (name) => document.querySelector(`#halt [data-halt="${name}"]`);
  const [open, dialog, said, confirm, close] = ["open", "dialog", "said", "confirm", "close"].map(part);
  let attempts = 0;

  function say(words, tone = "") {
    said.textContent = words;
    said.className = tone;
  }

  async function ask() {
    try {
      const answer = await fetch("/api/trading-state", {
        method: "PUT",
        headers: { "Content-Type": "application/json" },
        body: '{"state": "halted"}',
        signal: AbortSignal.timeout(ANSWER_MILLISECONDS),
        cache: "no-store",
      });
      return { status: answer.status, body: await answer.json().catch(() => null) };
    } catch {
      return { status: 0, body: null };
    }
  }

  async function halt() {
    // only the last press is reported
    const attempt = ++attempts;
    say("Halting trading …");
    const { status, body } = await ask();
    if (attempt !== attempts) return;
    if (status === 200) {
      say(`Trading is halted (version ${body?.settings_version}).`, "good");
      confirm.disabled = true;
      close.textContent = "Close";
      close.focus();
    } else if (status === 0) say("No answer: trading may or may not be halted. Try again.", "bad");
    else if (status === 401) say("Not done: sign in with an operator's API key first.", "bad");
    else say(`Not done: ${body?.detail ?? `the server answered ${status}.`}`, "bad");
  }

  open.onclick = () => {
    say("");
    confirm.disabled = false;
    close.textContent = "Cancel";
    dialog.showModal();
  };
  confirm.onclick = halt;
  close.onclick = () => dialog.close();
  // a key that is held down must not confirm what it has just opened
  dialog.onkeydown = (event) => {
    if (event.repeat) event.preventDefault();
  };
})();
