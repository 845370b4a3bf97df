"""What a transport is to an app: a `Receiver` gives messages, a `SinkSender` takes rows.

Delivery is at least once, both ways. A receiver may tell the other side that a message arrived once `Intake.take` has
returned, and not before. Rows are sent again until `SinkSender.send` has returned; each has the id by which a repeated
one is known.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class TransportError(Exception):
    """A message was not delivered; one sentence without secrets."""


class NotTakenError(TransportError):
    """Try again: the other side is away, slow, or says that it takes nothing now."""

    def __init__(
        self, reason: str, wait_seconds: float | None = None, *, is_of_server: bool = False, taken: int = 0
    ) -> None:
        """`wait_seconds`: for how long the other side asks to be left alone. `is_of_server`: whether nobody is there,
        so that other destinations of the server need not be tried. `taken`: so many of the rows, the first ones, were
        taken."""
        super().__init__(reason)
        self.wait_seconds, self.is_of_server, self.taken = wait_seconds, is_of_server, taken


class RowsRefusedError(TransportError):
    """Give up: the other side will not take these rows, however often they are sent."""

    def __init__(self, reason: str, refused: Collection[str] = ()) -> None:
        """`refused`: ids of the rows that are meant, if the others were taken; none if that is not known."""
        super().__init__(reason)
        self.refused = refused


@dataclass(frozen=True, slots=True)
class OutgoingRow:
    """A row of a sink. `id`: as in the topic `apps`; `time`: milliseconds UTC, of the app's clock."""

    id: str
    time: int
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class IncomingMessage:
    """`properties`: what the transport says of it, as `trp:NAME` of the app's text reads it."""

    body: bytes
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TakenMessages:
    """`rows`: how many rows of the app the messages were. `refused`: why others were none, a sentence each."""

    rows: int
    refused: tuple[str, ...] = ()


class Intake(Protocol):
    """Where a receiver puts messages, for one source of an app."""

    async def take(self, messages: Sequence[IncomingMessage]) -> TakenMessages:
        """Return once the rows are kept; messages that are none are counted. Raises StreamError: give them again."""
        ...


class Receiver(Protocol):
    """One source of an app."""

    async def run(self, intake: Intake) -> None:
        """Receive until cancelled. Raises NotTakenError if the other side is away, RowsRefusedError if it will not have
        us; run it again later in both cases."""
        ...


class SinkSender(Protocol):
    """One sink of an app. Rows of one destination are sent in their order; destinations do not wait for each other."""

    @property
    def most_rows(self) -> int:
        """Return how many rows may be sent at once."""
        ...

    @property
    def linger_seconds(self) -> float:
        """Return for how long rows may wait so that more are sent at once; 0 for not at all."""
        ...

    def destination(self, values: Mapping[str, Any]) -> str:
        """Return where a row goes. Raises RowsRefusedError if it can go nowhere."""
        ...

    def server(self, destination: str) -> str:
        """Return who takes the destination's rows; there are few of these, and any number of destinations."""
        ...

    def shown(self, destination: str) -> str:
        """Return the destination for people, without secrets."""
        ...

    async def send(self, destination: str, rows: Sequence[OutgoingRow]) -> None:
        """Return once the other side has taken all of them. Raises NotTakenError, RowsRefusedError; then it may have
        taken some."""
        ...

    async def close(self) -> None:
        """End what `send` has opened; the next one opens it again."""
        ...
