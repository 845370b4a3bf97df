// Hands the key over for a cookie that no script can read. The key stays in no variable and no address.

const form = document.getElementById("form");
const leave = document.getElementById("leave");
const field = document.getElementById("key");
const said = document.getElementById("said");

// Only paths of this server: "//elsewhere" and "https:" are other places.
function place() {
  const next = new URLSearchParams(location.search).get("next") ?? "/";
  const target = new URL(next, location.origin);
  return target.origin === location.origin ? target.pathname : "/";
}

async function send(path, body) {
  try {
    return await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    return null;
  }
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  said.textContent = "";
  const answer = await send("/api/sign-in", { key: field.value });
  field.value = "";
  if (answer?.ok) {
    location.replace(place());
    return;
  }
  const problem = answer ? await answer.json().catch(() => null) : null;
  said.textContent = problem?.detail ?? "The server does not answer. Try again in a moment.";
  field.focus();
});

leave.addEventListener("submit", async (event) => {
  event.preventDefault();
  await send("/api/sign-out");
  location.reload();
});

const answer = await fetch("/api/caller").catch(() => null);
const caller = answer?.ok ? await answer.json() : null;
if (caller?.means === "sign-in") {
  document.getElementById("who").textContent = `Signed in as ${caller.name} (${caller.role}).`;
  leave.hidden = false;
}
field.focus();
