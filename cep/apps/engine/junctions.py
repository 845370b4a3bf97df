"""Where the rows of a stream or of a named window go."""

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field

from cep.apps.parts.chunks import CURRENT, Chunk, Receiver, Row, RowTaker, of_one

RowListener = Callable[[int, Row], None]
"""Takes a row's time and values."""
OnFault = Callable[[Chunk, Exception], None]
"""Takes rows that a reader could not compute, and why."""
FAULTS = (ArithmeticError, TypeError, ValueError, AttributeError, LookupError)
"""What generated code raises if a value is not what its type says, or a function cannot compute it."""


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """A part that reads a stream. `take` does with one row what `receive` does with a chunk of it alone."""

    receive: Receiver
    take: RowTaker


@dataclass(slots=True)
class Junction:
    """Its readers in the order in which the app's text has them."""

    readers: list[Reader] = field(default_factory=list)
    listeners: list[RowListener] = field(default_factory=list)
    on_fault: OnFault | None = None
    """None: what a reader raises ends the app. To be set before readers are added."""
    takers: list[RowTaker] = field(default_factory=list)
    """What one row is given to: the readers, then the listeners."""
    outlet: list[RowTaker] = field(default_factory=lambda: [_nowhere])
    """All takers as one function, its only element: a call of it costs half of a loop over one. The list stays the
    same: generated functions hold it."""
    rest: list[RowTaker | None] = field(default_factory=lambda: [None])
    """All takers but the first as one function, its only element; None if there are none. The list stays the same, as
    `outlet` does."""

    def add(self, receive: Receiver, take: RowTaker | None = None) -> None:
        take = take or of_one(receive)
        if self.on_fault is not None:
            receive, take = _guarded(receive, self.on_fault), _guarded_taker(take, self.on_fault)
        self.takers.insert(len(self.readers), take)
        self.readers.append(Reader(receive, take))
        self._changed()

    def listen(self, listener: RowListener) -> None:
        self.listeners.append(listener)
        self.takers.append(listener)
        self._changed()

    def remove(self, reader: Reader) -> None:
        place = self.readers.index(reader)
        del self.readers[place], self.takers[place]
        self._changed()

    def _changed(self) -> None:
        self.outlet[0] = _all_of(self.takers)
        self.rest[0] = _all_of(self.takers[1:]) if len(self.takers) > 1 else None

    def send(self, chunk: Chunk) -> None:
        for reader in self.readers:
            reader.receive(chunk)
        for listener in self.listeners:
            for _, at, row in chunk:
                listener(at, row)

    def take(self, at: int, row: Row) -> None:
        """As `send` of a chunk of this row alone."""
        self.outlet[0](at, row)


def _nowhere(_at: int, _row: Row) -> None:
    """Take a row that nobody reads."""


def _all_of(takers: list[RowTaker]) -> RowTaker:
    match takers:
        case []:
            return _nowhere
        case [one]:
            return one
        case [first, second]:
            return _both(first, second)

    def take(at: int, row: Row) -> None:
        for taker in takers:
            taker(at, row)

    return take


def _both(first: RowTaker, second: RowTaker) -> RowTaker:
    def take(at: int, row: Row) -> None:
        first(at, row)
        second(at, row)

    return take


def _guarded(receive: Receiver, on_fault: OnFault) -> Receiver:
    def guarded(chunk: Chunk) -> None:
        try:
            receive(chunk)
        except FAULTS as error:
            on_fault(chunk, error)

    return guarded


def _guarded_taker(take: RowTaker, on_fault: OnFault) -> RowTaker:
    def guarded(at: int, row: Row) -> None:
        try:
            take(at, row)
        except FAULTS as error:
            on_fault([(CURRENT, at, row)], error)

    return guarded


Junctions = MutableMapping[str, Junction]


def faults_to(junction: Junction) -> OnFault:
    """Return the rows enter a stream of errors, with the reason as their last value."""

    def receive(chunk: Chunk, error: Exception) -> None:
        junction.send([(CURRENT, at, (*row, str(error))) for _, at, row in chunk])

    return receive


def drop_faults(_chunk: Chunk, _error: Exception) -> None:
    """Leave the rows out, as the app's text asks for."""
