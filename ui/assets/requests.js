// Requests to our own server: its answer, its rejection with the reason, or no answer at all.

const ANSWER_MILLISECONDS = 12_000;

// {isDone, status, body}: `status` 0 if no answer came: the request may or may not have been carried out.
export async function ask(method, path, body, headers = {}) {
  try {
    const answer = await fetch(path, {
      method,
      headers: { ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(ANSWER_MILLISECONDS),
      cache: "no-store",
    });
    return { isDone: answer.ok, status: answer.status, body: await answer.json().catch(() => null) };
  } catch {
    return { isDone: false, status: 0, body: null };
  }
}

// Why something was not done, as a sentence.
export function problemText({ status, body }) {
  if (status === 401) return "sign in with an operator's API key first.";
  if (status === 0) return "the server did not answer; the change may or may not have been made.";
  return body?.detail ?? `the server answered ${status}.`;
}
