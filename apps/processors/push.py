"""A queue for each destination that rows are pushed to: in batches, in their order, and none waits for another.

A batch that is refused, or not answered in time, stays at the head of its queue and goes again later: after twice as
long each time, and by chance a little more, so that queues that failed together do not come back together.
"""

from typing import Any

from arbitrage.processors import ProcessorKey, processor

MOST_ROWS = 20
"""Of one batch."""
MOST_WAITING = 1_000
"""Of one destination; beyond that the oldest is given up."""
FLUSH_SECONDS = 1.0
ANSWER_SECONDS = 10.0
FIRST_SECONDS = 2.0
LONGEST_SECONDS = 300.0
TAKEN = range(200, 300)


@processor(key="destination", events=["push", "answer"])
class PushQueue:
    """`waiting`: rows in their order; `sent`: how many of them are on their way, as batch `batch`; `failures`: in
    turn."""

    def on_event(self, me: ProcessorKey, stream: str, row: dict[str, Any]) -> None:
        if stream == "push":
            # there is nothing to send of a row without a body
            if row["body"] is not None:
                self._push(me, row["body"])
        elif me.state.get("sent") and row["batch"] == me.state["batch"]:
            # an answer to another batch comes too late
            me.clear_alarm("late")
            self._take(me) if row["status"] in TAKEN else self._put_off(me)

    def on_alarm(self, me: ProcessorKey, name: str) -> None:
        if name == "late":
            self._put_off(me)
        else:
            self._send(me)

    def _push(self, me: ProcessorKey, body: str) -> None:
        state = me.state
        state["waiting"] = waiting = (*state.get("waiting", ()), body)
        if len(waiting) > MOST_WAITING:
            state["waiting"] = waiting[1:]
            state["sent"] = max(0, state.get("sent", 0) - 1)
            me.emit("given_up", destination=me.key, body=waiting[0])
        if state.get("sent") or state.get("failures"):
            return
        if len(waiting) >= MOST_ROWS:
            me.clear_alarm("flush")
            self._send(me)
        elif len(waiting) == 1:
            me.set_alarm("flush", seconds=FLUSH_SECONDS)

    def _send(self, me: ProcessorKey) -> None:
        state = me.state
        batch = state["waiting"][:MOST_ROWS]
        state["sent"], state["batch"] = len(batch), state.get("batch", 0) + 1
        me.emit("call", destination=me.key, batch=state["batch"], rows=len(batch), body="\n".join(batch))
        me.set_alarm("late", seconds=ANSWER_SECONDS)

    def _take(self, me: ProcessorKey) -> None:
        state = me.state
        state["waiting"], state["sent"], state["failures"] = state["waiting"][state["sent"] :], 0, 0
        if len(state["waiting"]) >= MOST_ROWS:
            self._send(me)
        elif state["waiting"]:
            me.set_alarm("flush", seconds=FLUSH_SECONDS)
        else:
            me.retire()

    def _put_off(self, me: ProcessorKey) -> None:
        state = me.state
        seconds = min(FIRST_SECONDS * 2.0 ** state.get("failures", 0), LONGEST_SECONDS)
        state["sent"], state["failures"] = 0, min(state.get("failures", 0) + 1, 20)
        me.set_alarm("again", seconds=seconds * (1.0 + 0.2 * me.random()))
