"""Where the rows of a stream or of a named window go."""

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field

from cep.parts.chunks import CURRENT, Chunk, Receiver, Row

RowListener = Callable[[int, Row], None]
"""Of a row's time and values."""
OnFault = Callable[[Chunk, Exception], None]
"""Of rows that a reader could not compute, and why."""
FAULTS = (ArithmeticError, TypeError, ValueError, AttributeError, LookupError)
"""What generated code raises where a value is not what its type says, or a function cannot compute it."""


@dataclass(slots=True)
class Junction:
    """Its readers in the order in which the app's text has them."""

    readers: list[Receiver] = field(default_factory=list)
    listeners: list[RowListener] = field(default_factory=list)
    on_fault: OnFault | None = None
    """None: what a reader raises ends the app."""

    def send(self, chunk: Chunk) -> None:
        for reader in self.readers:
            if self.on_fault is None:
                reader(chunk)
            else:
                self._send_guarded(reader, chunk, self.on_fault)
        for listener in self.listeners:
            for _, at, row in chunk:
                listener(at, row)

    @staticmethod
    def _send_guarded(reader: Receiver, chunk: Chunk, on_fault: OnFault) -> None:
        try:
            reader(chunk)
        except FAULTS as error:
            on_fault(chunk, error)


Junctions = MutableMapping[str, Junction]


def faults_to(junction: Junction) -> OnFault:
    """The rows enter a stream of errors, with the reason as their last value."""

    def receive(chunk: Chunk, error: Exception) -> None:
        junction.send([(CURRENT, at, (*row, str(error))) for _, at, row in chunk])

    return receive


def drop_faults(_chunk: Chunk, _error: Exception) -> None:
    """The rows are left out, as the app's text asks for."""
