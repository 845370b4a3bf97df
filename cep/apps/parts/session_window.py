"""Sessions: events of one key that follow each other within a gap. Semantics are Siddhi 5.1's."""

from collections import deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from cep.apps.parts.app_context import PartContext, Stateful
from cep.apps.parts.chunks import CURRENT, EXPIRED, Chunk, Event, Receiver
from cep.apps.parts.windows import Key


@dataclass(slots=True)
class EventSession:
    """`end`: when it ends if nothing more comes."""

    start: int
    end: int
    events: list[Event] = field(default_factory=list)


class SessionWindow(Stateful):
    """Events pass on as they come. Those of a session expire together, with their own times, `latency` after it ended;
    until then late events enter it."""

    STATE = ("_open", "_ended")

    def __init__(self, context: PartContext, emit: Receiver, gap: int, key: Key | None, latency: int) -> None:
        self._context, self._emit = context, emit
        self._gap, self._key, self._latency = gap, key, latency
        self._open: dict[Hashable, EventSession] = {}
        self._ended: dict[Hashable, EventSession] = {}
        """Those that wait for late events, in the order in which they ended."""
        context.keep(self, self._on_time)

    def receive(self, chunk: Chunk) -> None:
        out: Chunk = []
        pushed: Chunk = []
        for _, at, row in chunk:
            key = None if self._key is None else self._key(row, at)
            if self._enter(key, (EXPIRED, at, row), pushed):
                out.append((CURRENT, at, row))
        for one in (pushed, out):
            if one:
                self._emit(one)

    def _enter(self, key: Hashable, event: Event, pushed: Chunk) -> bool:
        """Return False if the event is too late for its session. `pushed` gets what leaves for it."""
        at, now = event[1], self._open.get(key)
        if now is not None and now.start - self._gap <= at < now.start:
            now.start = at
            now.events.insert(0, event)
            return True
        if now is not None and at < now.start:
            before = self._ended.get(key)
            if before is None or not before.start - self._gap <= at <= before.end:
                return False
            before.start = min(at, before.start)
            before.events.append(event)
            return True
        if now is not None and at > now.end:
            pushed += self._end(key)
            now = None
        if now is None:
            now = self._open[key] = EventSession(at, at)
        now.end = max(now.end, at + self._gap)
        now.events.append(event)
        self._context.wake_at(now.end)
        return True

    def _end(self, key: Hashable) -> Chunk:
        """Return what expires when the session of the key ends: itself, or the one before that waited."""
        session = self._open.pop(key)
        if self._latency == 0:
            return session.events
        before = self._ended.pop(key, None)
        self._ended[key] = session
        self._context.wake_at(session.end + self._latency)
        return [] if before is None else before.events

    def _on_time(self, due: int, _what: object) -> None:
        over = sorted((one.end, place, key) for place, (key, one) in enumerate(self._open.items()) if one.end <= due)
        out: Chunk = []
        for _, _, key in over:
            out += self._end(key)
        late = [key for key, one in self._ended.items() if one.end + self._latency <= due]
        for key in late:
            out += self._ended.pop(key).events
        if out:
            self._emit(out)

    def rows(self) -> Iterable[Event]:
        kept = deque[Event]()
        for session in (*self._ended.values(), *self._open.values()):
            kept += session.events
        return kept
