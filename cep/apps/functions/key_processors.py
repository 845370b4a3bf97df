"""Processors per key, as they run: each key's state and alarms, and what its rows and alarms do to them.

One heap has the alarms of all keys. An alarm that is set later again, as with each row of a busy key, stays where it is
in the heap until it comes up, and goes back then: the heap has about as many entries as alarms, however often they
move.
"""

import heapq
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from cep.apps.functions.plain_values import PLAIN, RESULTS, fits, is_plain
from cep.apps.functions.python_functions import run_of_others
from cep.apps.parts.app_context import KeyedState, PartContext
from cep.apps.parts.app_limits import FunctionFailedError
from cep.apps.parts.chunks import CURRENT, Chunk, Receiver, Row, RowTaker
from cep.apps.parts.scope import Columns, with_nearest

Alarm = tuple[int, int, Hashable, str]
"""When it is due, its number among all, key, name."""
LONGEST_ALARM = 100 * 366 * 86_400_000
MOST_ALARMS = 100
"""Of one key."""
SPARE_ENTRIES = 1_000
"""Entries of the heap without an alarm, beyond as many as there are alarms."""
RANDOM_DIGITS = 12
"""Hexadecimal ones of an id, those before its version (RFC 9562, 5.5)."""


@dataclass(frozen=True, slots=True)
class ProcessorPlan:
    """`label`: in a sentence. `made`: of the operator's class. `keys`: place of the key, by event stream. `columns`: of
    each event stream; `emits`: of each stream that it may write to."""

    label: str
    made: Callable[[], Any]
    keys: Mapping[str, int]
    columns: Mapping[str, Columns]
    emits: Mapping[str, Columns]


class KeyTurn:
    """The `ProcessorKey` of one row or alarm."""

    __slots__ = ("_context", "_emits", "alarms", "is_over", "key", "now", "rows", "state")

    def __init__(
        self, key: Any, now: int, state: dict[str, Any], context: PartContext, emits: Mapping[str, Columns]
    ) -> None:
        self.key, self.now, self.state, self._context, self._emits = key, now, state, context, emits
        self.rows: list[tuple[str, Row]] = []
        self.alarms: dict[str, int | None] = {}
        """When each alarm is due that was set or cleared, None if that."""
        self.is_over = False

    def set_alarm(
        self, name: str = "", *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> None:
        after = round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000)
        if type(name) is not str or not 0 <= after <= LONGEST_ALARM:
            raise ValueError(f"an alarm has a name, and comes now or later: {name!r} in {after} ms does not")
        self.alarms[name] = self.now + after

    def clear_alarm(self, name: str = "") -> None:
        self.alarms[name] = None

    def emit(self, stream: str, /, **values: Any) -> None:
        columns = self._emits.get(stream)
        if columns is None:
            raise ValueError(with_nearest(f"the text names no {stream!r} in emits", str(stream), list(self._emits)))
        row = []
        for column in columns:
            value = values.pop(column.name, None)
            if not fits(value, column.type):
                problem = f"{stream}.{column.name} is {column.type}, and {type(value).__name__} is none"
                raise ValueError(problem)
            result = RESULTS.get(column.type)
            row.append(value if value is None or result is None else result(value))
        if values:
            known = [one.name for one in columns]
            raise ValueError(with_nearest(f"{stream} has no column {next(iter(values))!r}", next(iter(values)), known))
        self.rows.append((stream, tuple(row)))

    def retire(self) -> None:
        self.is_over = True

    def random(self) -> float:
        digits = self._context.next_id().replace("-", "")[:RANDOM_DIGITS]
        return int(digits, 16) / 16.0**RANDOM_DIGITS


class Processors(KeyedState):
    """One processor of an app, for all of its keys. `emit`: takes a row of a stream, with its time."""

    def __init__(self, plan: ProcessorPlan, context: PartContext, emit: Callable[[str, int, Row], None]) -> None:
        self._plan, self._context, self._emit = plan, context, emit
        self._own = plan.made()
        self._states: dict[Hashable, dict[str, Any]] = {}
        self._alarms: dict[Hashable, tuple[Alarm, ...]] = {}
        """Of keys that have some."""
        self._count = 0
        """Of alarms that are set."""
        self._number = 0
        self._heap: list[Alarm] = []
        """Of each alarm an entry that is not later than it, and others that say nothing any more."""
        self._wakes: list[int] = []
        """When it will be called, a heap; always one that is not after the first of `_heap`."""
        context.keep(self, self._on_time)

    @property
    def key_count(self) -> int:
        return len(self._states)

    def taker(self, stream: str) -> RowTaker:
        """Return what does with one row of an event stream."""
        place, names = self._plan.keys[stream], [one.name for one in self._plan.columns[stream]]
        on_event, turn = self._own.on_event, self._turn

        def take(at: int, row: Row) -> None:
            key = row[place]
            if key is not None:
                turn(key, at, lambda me: on_event(me, stream, dict(zip(names, row, strict=True))))

        return take

    def receiver(self, stream: str) -> Receiver:
        take = self.taker(stream)

        def receive(chunk: Chunk) -> None:
            for kind, at, row in chunk:
                if kind is CURRENT:
                    take(at, row)

        return receive

    def state(self) -> object:
        return self._number, self._states, self._alarms, self._wakes

    def restore(self, state: Any) -> None:
        # that it will be called is kept by the app's context
        self._number, self._states, self._alarms, self._wakes = state
        self._rebuild()

    def head(self) -> object:
        return self._number, {}, {}, self._wakes

    def keys(self) -> list[Hashable]:
        return list(self._states)

    def entry(self, key: Hashable) -> object | None:
        state = self._states.get(key)
        return None if state is None else (state, self._alarms.get(key, ()))

    def put(self, entries: Sequence[tuple[Hashable, Any]]) -> None:
        for key, entry in entries:
            self._states.pop(key, None)
            self._alarms.pop(key, None)
            if entry is not None:
                self._states[key], alarms = entry
                if alarms:
                    self._alarms[key] = alarms

    def settle(self) -> None:
        self._rebuild()

    def _turn(self, key: Hashable, now: int, call: Callable[[KeyTurn], None]) -> None:
        """Let the key do what a row or an alarm asks for. Raises FunctionFailedError, and has changed nothing then."""
        if self.changed is not None:
            # also if it fails: lists and dicts in the state are the operator's to change
            self.changed.add(key)
        me = KeyTurn(key, now, dict(self._states.get(key, ())), self._context, self._plan.emits)
        try:
            run_of_others(call, me)
            # what the state is made of is the operator's: also to look through it may fail
            run_of_others(self._check, me)
        except FunctionFailedError as error:
            raise FunctionFailedError(f"{self._plan.label} failed for the key {key!r}: {error}") from error
        self._keep(me)
        for stream, row in me.rows:
            self._emit(stream, now, row)

    def _check(self, me: KeyTurn) -> None:
        """Raise ValueError, RecursionError."""
        if type(me.state) is not dict:
            raise ValueError(f"its state is a {type(me.state).__name__}, and has to be a dict")
        for name, value in me.state.items():
            if type(name) is not str or (type(value) not in PLAIN and not is_plain(value)):
                raise ValueError(f"state[{name!r}] is a {type(value).__name__}, which no snapshot keeps")
        kept = {one[3] for one in self._alarms.get(me.key, ())} | me.alarms.keys()
        if len(kept) - sum(due is None for due in me.alarms.values()) > MOST_ALARMS:
            raise ValueError(f"it has more than {MOST_ALARMS} alarms")
        if me.alarms and not callable(getattr(self._own, "on_alarm", None)):
            raise ValueError("it sets an alarm, and has no on_alarm(self, me, name)")

    def _keep(self, me: KeyTurn) -> None:
        key = me.key
        if me.is_over:
            self._states.pop(key, None)
            self._count -= len(self._alarms.pop(key, ()))
            return
        self._states[key] = me.state
        if me.alarms:
            self._set_alarms(key, me.alarms)

    def _set_alarms(self, key: Hashable, changes: Mapping[str, int | None]) -> None:
        before = self._alarms.get(key, ())
        kept = {one[3]: one for one in before}
        for name, due in changes.items():
            known = kept.pop(name, None)
            if due is None:
                continue
            self._number += 1
            kept[name] = alarm = (due, self._number, key, name)
            if known is None or due < known[0]:
                heapq.heappush(self._heap, alarm)
        self._count += len(kept) - len(before)
        if kept:
            self._alarms[key] = tuple(kept.values())
        else:
            self._alarms.pop(key, None)
        if len(self._heap) > 2 * self._count + SPARE_ENTRIES:
            self._rebuild()
        self._wait()

    def _on_time(self, _due: int, _what: object) -> None:
        """Call those whose alarms are due, in the order of their times; also alarms that they set meanwhile."""
        heap = self._heap
        while heap and heap[0][0] <= self._context.now:
            entry = heapq.heappop(heap)
            due, _, key, name = entry
            alarm = next((one for one in self._alarms.get(key, ()) if one[3] == name), None)
            if alarm is None:
                # cleared, or its key has retired
                continue
            if alarm != entry:
                if alarm[0] >= due:
                    heapq.heappush(heap, alarm)
                continue
            self._set_alarms(key, {name: None})
            self._turn(key, due, partial(self._alarm, name))
        while self._wakes and self._wakes[0] <= self._context.now:
            heapq.heappop(self._wakes)
        self._wait()

    def _alarm(self, name: str, me: KeyTurn) -> None:
        self._own.on_alarm(me, name)

    def _wait(self) -> None:
        if self._heap and (not self._wakes or self._heap[0][0] < self._wakes[0]):
            heapq.heappush(self._wakes, self._heap[0][0])
            self._context.wake_at(self._heap[0][0])

    def _rebuild(self) -> None:
        self._heap[:] = [alarm for alarms in self._alarms.values() for alarm in alarms]
        self._count = len(self._heap)
        heapq.heapify(self._heap)
