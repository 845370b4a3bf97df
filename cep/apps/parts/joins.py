"""Joins: each event that one side's window passes on, current or expired, meets what the other side keeps then.
Semantics are Siddhi 5.1's."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cep.apps.parts.app_context import PartContext
from cep.apps.parts.chunks import EXPIRED, RESET, Chunk, Event, Receiver, Row
from cep.apps.parts.windows import EventWindow

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
    finds: Callable[[Row, int], Iterable[Event]] | None = None
    """What it has for a row of the other side and its time, if that depends on the row."""


@dataclass(slots=True)
class Join:
    """Both sides and where their rows go."""

    left: JoinSide
    right: JoinSide
    meets: Callable[[Row, int], bool]
    """Of a joined row: the left side's values and then the right side's."""
    emit: Callable[[list[Chunk]], None]
    """Given the rows of each event as a chunk of their own."""

    def joined(self, side: JoinSide, chunk: Chunk) -> None:
        """Join what the side's window gave, in its order."""
        if not side.triggers:
            return
        chunks = [[(RESET, event[1], ())] if event[0] is RESET else self._rows(side, event) for event in chunk]
        self.emit([rows for rows in chunks if rows])

    def _rows(self, side: JoinSide, event: Event) -> Chunk:
        kind, at, row = event
        other = self.right if side.is_left else self.left
        out: Chunk = []
        for _, _, kept in other.keeps() if other.finds is None else other.finds(row, at):
            together = (*row, *kept) if side.is_left else (*kept, *row)
            if self.meets(together, at):
                out.append((kind, at, together))
        if not out and side.is_outer:
            nothing = (None,) * other.width
            out.append((kind, at, (*row, *nothing) if side.is_left else (*nothing, *row)))
        return out

    def receiver(
        self, side: JoinSide, window: Callable[[PartContext, Receiver], EventWindow], context: PartContext
    ) -> Receiver:
        """Return what the side's stream is given to; the side keeps what the window has."""
        made = window(context, lambda chunk: self.joined(side, chunk))
        side.keeps = made.rows
        return made.receive

    def receiver_of_kept(self, side: JoinSide, keeps: Keeps, *, meets_itself: bool) -> Receiver:
        """As `receiver`, of a side that is kept elsewhere: a named window. Where that meets itself, what one event
        gives goes on before the next one is joined."""
        side.keeps = keeps
        if not meets_itself:
            return lambda chunk: self.joined(side, chunk)

        def receive(chunk: Chunk) -> None:
            for event in chunk:
                self.joined(side, [event])

        return receive


@dataclass(slots=True)
class PassingWindow:
    """The window of a side without one: nothing is kept, and every event expires at once. Aggregators begin again
    then."""

    context: PartContext
    emit: Receiver
    _nothing: tuple[Event, ...] = field(default=())

    def receive(self, chunk: Chunk) -> None:
        now = self.context.now
        self.emit([one for event in chunk for one in (event, (EXPIRED, now, event[2]), (RESET, now, event[2]))])

    def rows(self) -> Iterable[Event]:
        return self._nothing
