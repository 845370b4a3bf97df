"""Calls about orders that an exchange takes by REST and over a WebSocket alike, and what its folder says of these."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from exchanges.ports.limits import Weights


@dataclass(frozen=True, slots=True)
class PrivateCall:
    """One call in the words of REST."""

    method: str
    path: str
    parameters: Mapping[str, str]
    is_order: bool = False
    """Whether it makes an order, which needs a permit."""


Ask = Callable[[PrivateCall], Awaitable[object]]
"""Returns what REST would answer. Raises ccxt's errors."""
RestMethods = Mapping[tuple[str, str], str]
"""Method and path of a call → ccxt's method of it."""


def rest_calls(client: Any, methods: RestMethods) -> Ask:
    """`client`: of ccxt."""

    async def ask(call: PrivateCall) -> object:
        return await getattr(client, methods[call.method, call.path])(dict(call.parameters))

    return ask


@dataclass(frozen=True, slots=True)
class SocketAnswer:
    """What the exchange says to one call, restated as REST would say it."""

    call_id: str
    status: int
    body: object
    """The answer of REST, or its error."""
    left: Mapping[str, int] = field(default_factory=dict)
    """What is left of limits by the exchange's own count, by our names of them."""
    pause_seconds: int | None = None
    """How long the exchange wants to be left alone; None if it does not say."""
    ends: bool = False
    """Whether the exchange takes nothing more on this connection."""


@dataclass(frozen=True, slots=True)
class SocketEnding:
    """The exchange is about to close the connection."""


class SocketWire(Protocol):
    """An exchange's words over the WebSocket of its private API."""

    @property
    def url(self) -> str: ...

    @property
    def opening_weights(self) -> Weights:
        """What it weighs to connect and to log on."""
        ...

    @property
    def ping(self) -> tuple[float, str] | None:
        """After how many seconds without a message the exchange wants which of its own; None: WebSocket's pings are
        enough."""
        ...

    def log_on(self, call_id: str) -> str:
        """Return the first message of a connection, signed by the exchange's time."""
        ...

    def weights(self, call: PrivateCall) -> Weights: ...

    def message(self, call_id: str, call: PrivateCall) -> str:
        """Return the message of a call. Raises KeyError if the exchange has no such call there."""
        ...

    def read(self, message: str) -> SocketAnswer | SocketEnding | None:
        """None: nothing that was asked for. Raises AnswerNotUnderstoodError."""
        ...


MakeWire = Callable[[Any], SocketWire | None]
"""Of a ccxt client; None if the account's key cannot log on there."""
