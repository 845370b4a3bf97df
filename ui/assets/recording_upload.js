// A file sent in pieces, each a request of its own: one that was lost is sent again.

import { ask, problemText } from "./requests.js";

const MOST_TRIES = 5;
const AGAIN_MILLISECONDS = 2_000;

// {id} once the whole file is there, else {reason}. show(share): how much of it is.
export async function sendFile(path, file, show) {
  const begun = await ask("POST", path, { name: plainName(file.name), size: file.size });
  if (!begun.isDone) return { reason: problemText(begun) };
  let { upload_id: id, received, piece_bytes: most } = begun.body;
  while (received < file.size) {
    show(received / file.size);
    const answer = await sendPiece(`${path}/${id}?offset=${received}`, file.slice(received, received + most));
    if (!answer.isDone) return { reason: problemText(answer) };
    received = answer.body.received;
  }
  show(1);
  return { id };
}

async function sendPiece(path, piece) {
  let answer;
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    answer = await put(path, piece);
    // too many at a time, or no answer: the same piece again changes nothing
    if (answer.isDone || ![0, 408, 429, 503].includes(answer.status)) return answer;
    await new Promise((done) => setTimeout(done, AGAIN_MILLISECONDS));
  }
  return answer;
}

async function put(path, piece) {
  try {
    const answer = await fetch(path, { method: "PUT", headers: { "Content-Type": "application/octet-stream" }, body: piece, cache: "no-store" });
    return { isDone: answer.ok, status: answer.status, body: await answer.json().catch(() => null), isRead: false };
  } catch {
    return { isDone: false, status: 0, body: null, isRead: false };
  }
}

// The server takes letters, digits and a few signs.
function plainName(name) {
  return name.replace(/[^A-Za-z0-9._+-]/g, "_").replace(/^[^A-Za-z0-9]+/, "").slice(-120) || "recording";
}
