"""Joins: each event of one side meets what the other side keeps. Semantics are Siddhi 5.1's.

A current event is joined before it enters its own window, an expired one after it has left it; so a chunk gives a chunk
of current rows and then one of expired rows.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cep.engine.chunks import CURRENT, EXPIRED, RESET, Chunk, Clock, Event, Kind, Receiver, Row
from cep.engine.windows import Window

Keeps = Callable[[], Iterable[Event]]
"""What a side keeps now."""


@dataclass(slots=True)
class JoinSide:
    """One side as it runs. `triggers`: whether its events are joined; `is_outer`: also those that meet nothing."""

    is_left: bool
    width: int
    triggers: bool
    is_outer: bool
    keeps: Keeps = tuple


@dataclass(slots=True)
class Join:
    """Both sides and where their rows go."""

    left: JoinSide
    right: JoinSide
    meets: Callable[[Row, int], bool]
    """Of a joined row: the left side's values and then the right side's."""
    emit: Receiver

    def joined(self, side: JoinSide, chunk: Chunk, kind: Kind) -> None:
        """Join the events of that kind; a reset goes on with the expired ones."""
        if not side.triggers:
            return
        out = Chunk()
        for event in chunk:
            if event[0] is kind:
                out += self._rows(side, event)
            elif event[0] is RESET and kind is EXPIRED:
                out.append((RESET, event[1], ()))
        if out:
            self.emit(out)

    def _rows(self, side: JoinSide, event: Event) -> Chunk:
        kind, at, row = event
        other = self.right if side.is_left else self.left
        out = Chunk()
        for _, _, kept in other.keeps():
            together = (*row, *kept) if side.is_left else (*kept, *row)
            if self.meets(together, at):
                out.append((kind, at, together))
        if not out and side.is_outer:
            nothing = (None,) * other.width
            out.append((kind, at, (*row, *nothing) if side.is_left else (*nothing, *row)))
        return out

    def receiver(self, side: JoinSide, window: Callable[[Clock, Receiver], Window], clock: Clock) -> Receiver:
        """What the side's stream is given to; the side keeps what the window has."""
        made = window(clock, lambda chunk: self.joined(side, chunk, EXPIRED))
        side.keeps = made.rows

        def receive(chunk: Chunk) -> None:
            self.joined(side, chunk, CURRENT)
            made.receive(chunk)

        return receive

    def receiver_of_kept(self, side: JoinSide, keeps: Keeps) -> Receiver:
        """As `receiver`, of a side that is kept elsewhere: a named window."""
        side.keeps = keeps

        def receive(chunk: Chunk) -> None:
            self.joined(side, chunk, CURRENT)
            self.joined(side, chunk, EXPIRED)

        return receive


@dataclass(slots=True)
class PassingWindow:
    """Of a side without a window: nothing is kept, and every event expires at once."""

    clock: Clock
    emit: Receiver
    _nothing: tuple[Event, ...] = field(default=())

    def receive(self, chunk: Chunk) -> None:
        self.emit([(EXPIRED, self.clock.now, row) for _, _, row in chunk])

    def rows(self) -> Iterable[Event]:
        return self._nothing
