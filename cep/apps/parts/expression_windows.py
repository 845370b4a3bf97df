"""Windows that hold events for as long as a condition over them is true. Semantics are Siddhi 5.1's.

Aggregators in the condition move when it is computed, and only those that it comes to: what stands behind an `and` that
is false already does not move.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from cep.apps.parts.aggregators import Aggregator, AggregatorKind
from cep.apps.parts.app_context import PartContext, Stateful
from cep.apps.parts.chunks import CURRENT, EXPIRED, Chunk, Event, Receiver, Row
from cep.apps.parts.windows import Key

Moved = Callable[[int, Any], Any]
"""Takes an aggregator's number and what it is given; returns its value after that."""
Holds = Callable[[Row, int, Event, Event, Moved], bool]
"""Takes an event's row and time, the first and the last event in the window, and the aggregators."""


Condition = tuple[Holds, tuple[AggregatorKind, ...]]


class HeldCondition(Stateful):
    """The condition and its aggregators."""

    def __init__(
        self,
        holds: Holds | None,
        kinds: tuple[AggregatorKind, ...],
        width: int,
        text_of: Key | None = None,
        made: Callable[[object], Condition] | None = None,
    ) -> None:
        """Where each event brings its condition: `text_of` an event's row and time, and what is `made` of that; it
        raises ValueError. `holds` is None then."""
        self._holds, self._text_of, self._made = holds, text_of, made
        self._text: object = None
        self._nothing: Event = (EXPIRED, 0, (None,) * width)
        self._is_leaving = False
        self._aggregators: list[Aggregator] = [one.make() for one in kinds]

    def changes_with(self, event: Event) -> bool:
        """Whether it is another one from this event on; all that the window has is then to be looked at again."""
        if self._text_of is None:
            return False
        text = self._text_of(event[2], event[1])
        if text == self._text and self._holds is not None:
            return False
        self._take(text)
        return True

    def _take(self, text: object) -> None:
        if self._made is not None:
            self._holds, kinds = self._made(text)
            self._text, self._aggregators = text, [one.make() for one in kinds]

    def is_true(self, event: Event, kept: "deque[Event]", *, is_leaving: bool = False) -> bool:
        self._is_leaving = is_leaving
        first, last = (kept[0], kept[-1]) if kept else (self._nothing, self._nothing)
        return self._holds is not None and self._holds(event[2], event[1], first, last, self._moved)

    def reset(self) -> None:
        for one in self._aggregators:
            one.reset()

    def state(self) -> object:
        return self._text, [one.state() for one in self._aggregators]

    def restore(self, state: Any) -> None:
        text, state = state
        if text is not None:
            self._take(text)
        for aggregator, of_one in zip(self._aggregators, state, strict=True):
            aggregator.restore(of_one)

    def _moved(self, number: int, value: Any) -> Any:
        aggregator = self._aggregators[number]
        if self._is_leaving:
            aggregator.remove(value)
        else:
            aggregator.add(value)
        return aggregator.value


class ExpressionWindow(Stateful):
    """The oldest events leave until the condition is true again."""

    def __init__(self, context: PartContext, emit: Receiver, condition: HeldCondition) -> None:
        self._context, self._emit, self._condition = context, emit, condition
        self._kept: deque[Event] = deque()
        context.keep(self)

    def receive(self, chunk: Chunk) -> None:
        out: Chunk = []
        for _, at, row in chunk:
            if self._condition.changes_with((CURRENT, at, row)):
                again = list(self._kept)
                self._kept.clear()
                for event in again:
                    out += self._left_for(event)
            out += self._left_for((EXPIRED, at, row))
            out.append((CURRENT, at, row))
        self._emit(out)

    def _left_for(self, event: Event) -> Chunk:
        """Let the event enter, and return those that leave."""
        out: Chunk = []
        kept, now = self._kept, self._context.now
        kept.append(event)
        is_true = self._condition.is_true(event, kept)
        while kept and not is_true:
            leaves = kept.popleft()
            out.append((EXPIRED, now, leaves[2]))
            is_true = self._condition.is_true(leaves, kept, is_leaving=True)
        return out

    def state(self) -> object:
        return self._kept, self._condition.state()

    def restore(self, state: Any) -> None:
        self._kept, condition = state
        self._condition.restore(condition)

    def rows(self) -> Iterable[Event]:
        return self._kept


class ExpressionBatchWindow(Stateful):
    """A batch ends once the condition is false: with the event that made it so (`includes`), or before it. With
    `streams` events pass on as they come, and the batch expires where it ends.

    Aggregators in the condition begin again with the event that made it false, also if that was in the batch. An
    event for which the condition is false though nothing is there yet leaves and comes at once, in that order.
    """

    def __init__(
        self, context: PartContext, emit: Receiver, condition: HeldCondition, *, includes: bool, streams: bool
    ) -> None:
        self._context, self._emit, self._condition = context, emit, condition
        self._includes, self._streams = includes, streams
        self._filling: deque[Event] = deque()
        self._expiring: list[Event] = []
        self._seen = 0
        """How many of what fills a join has looked at: as in other batches these keep their times."""
        context.keep(self)

    def receive(self, chunk: Chunk) -> None:
        for _, at, row in chunk:
            coming: list[Event] = [(CURRENT, at, row)]
            if self._condition.changes_with(coming[0]):
                coming = [*self._filling, *coming]
                self._filling.clear()
            for event in coming:
                out = self._came(event)
                if out:
                    self._emit(out)

    def _came(self, event: Event) -> Chunk:
        filling = self._filling
        filling.append(event)
        if self._condition.is_true(event, filling):
            return [event] if self._streams else []
        self._condition.reset()
        self._condition.is_true(event, filling)
        filling.pop()
        if not filling:
            now = self._context.now
            return [*self._before(), (EXPIRED, now, event[2]), (CURRENT, now, event[2])]
        return self._streamed(event) if self._streams else self._ended(event)

    def _before(self) -> Chunk:
        """Return the batch before, as it leaves."""
        now, before = self._context.now, self._expiring
        self._expiring = []
        return [(EXPIRED, now, row) for _, _, row in before]

    def _ended(self, event: Event) -> Chunk:
        """Return the batch before leaves, and the one that is full comes."""
        now, out = self._context.now, self._before()
        filling, seen = list(self._filling), self._seen
        batch: list[Event] = [(CURRENT, at, row) for _, at, row in filling[:seen]]
        batch += [(CURRENT, now, row) for _, _, row in filling[seen:]]
        self._filling.clear()
        self._seen = 0
        (batch if self._includes else self._filling).append(event)
        self._expiring = batch
        return [*out, *batch]

    def _streamed(self, event: Event) -> Chunk:
        """Return what came before leaves; with the event or before it comes."""
        now, left = self._context.now, [row for _, _, row in self._filling]
        self._filling.clear()
        if self._includes:
            return [event, *((EXPIRED, now, row) for row in (*left, event[2]))]
        self._filling.append(event)
        return [*((EXPIRED, now, row) for row in left), event]

    def state(self) -> object:
        return self._filling, self._expiring, self._condition.state(), self._seen

    def restore(self, state: Any) -> None:
        # those of before have no number of what was looked at
        self._filling, self._expiring, condition, *seen = state
        self._seen = seen[0] if seen else 0
        self._condition.restore(condition)

    def rows(self) -> Iterable[Event]:
        self._seen = len(self._filling)
        return self._filling
