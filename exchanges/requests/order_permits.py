"""The last question before an order leaves this machine: whether it may still go.

It is asked where the request is written to an open connection, after everything that may take time: a limiter, the
measuring of a clock, a turn among other requests, signing, a name's look-up, a TLS handshake.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

Ask = Callable[[], None]
"""Raises `exchanges.errors.NotPostedError` where the order must not go any more."""


def _nobody_objects() -> None:
    """For those who post on their own: tools and tests."""


@dataclass(frozen=True, slots=True)
class Permit:
    """What allows one order to be posted; `ask` comes last of all."""

    ask: Ask = _nobody_objects


ANY_TIME = Permit()
"""Of whoever posts without a deadline: tools and tests."""


@dataclass(slots=True)
class OutgoingOrder:
    """One order on its way out."""

    permit: Permit
    spend: Ask = field(default=_nobody_objects)
    """Takes what the order costs of the rate limits; raises NotPostedError where nothing is left."""

    def ask(self) -> None:
        """Raises NotPostedError: then nothing has left this machine."""
        self.permit.ask()
        self.spend()


_DEPARTURE: ContextVar[OutgoingOrder | None] = ContextVar("departure", default=None)


def departing() -> OutgoingOrder | None:
    """The order that this task is posting; None where it does something else."""
    return _DEPARTURE.get()


@contextmanager
def departure(permit: Permit) -> Iterator[None]:
    """Requests of this task are the posting of one order."""
    token = _DEPARTURE.set(OutgoingOrder(permit))
    try:
        yield
    finally:
        _DEPARTURE.reset(token)
