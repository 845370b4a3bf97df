// Requests to our own server: its answer, its rejection with the reason, or no answer at all.

const ANSWER_MILLISECONDS = 12_000;

// {isDone, status, body, isRead}: `status` 0 if no answer came: a change may or may not have been carried out then.
export async function ask(method, path, body, headers = {}, isRead = method === "GET") {
  try {
    const answer = await fetch(path, {
      method,
      headers: { ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_MILLISECONDS),
      cache: "no-store",
    });
    return { isDone: answer.ok, status: answer.status, body: await answer.json().catch(() => null), isRead };
  } catch {
    return { isDone: false, status: 0, body: null, isRead };
  }
}

// A question that is sent as a POST, and changes nothing.
export function question(path, body) {
  return ask("POST", path, body, {}, true);
}

// Why something was not done, as a sentence.
export function problemText({ status, body, isRead }) {
  if (status === 401) return "sign in with an operator's API key first.";
  if (status === 0) return isRead ? "the server did not answer; try again in a moment." : "the server did not answer; the change may or may not have been made.";
  return body?.detail ?? `the server answered ${status}.`;
}
