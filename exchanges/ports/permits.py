"""The last check before an order is sent: whether it is still permitted.

It runs when the request is written to an open connection, after everything that may take time: rate limiting, a clock
measurement, waiting for other requests, signing, DNS, the TLS handshake.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

PermitCheck = Callable[[], None]
"""Raises `exchanges.errors.NotPostedError` if the order must no longer be sent."""


RequestCheck = Callable[[str, str, str | None], None]
"""Checks an order's request before it is sent, by method, address, body. Raises `exchanges.errors.AccountRejectedError`
if that is not what was ordered."""


def _always() -> None:
    """No check, for tools and tests."""


def _any_request(_method: str, _url: str, _body: str | None) -> None:
    """No check, for tools and tests."""


@dataclass(frozen=True, slots=True)
class Permit:
    """Permits one order to be posted; `check` runs last, right before it is sent."""

    check: PermitCheck = _always


ALWAYS_PERMITTED = Permit()
"""A permit without a check, for tools and tests."""


@dataclass(slots=True)
class OutgoingOrder:
    """One order that is being sent."""

    permit: Permit
    spend: PermitCheck = field(default=_always)
    """Spends the order's weights; raises NotPostedError if a rate limit is used up."""
    check_request: RequestCheck = field(default=_any_request)

    def check(self) -> None:
        """Raise NotPostedError; then nothing was sent."""
        self.permit.check()
        self.spend()


_OUTGOING: ContextVar[OutgoingOrder | None] = ContextVar("departure", default=None)


def outgoing_order() -> OutgoingOrder | None:
    """Return the order that this task is posting; None if it posts none."""
    return _OUTGOING.get()


@contextmanager
def posting(permit: Permit, check_request: RequestCheck = _any_request) -> Iterator[None]:
    """Request of this task within the block post one order."""
    token = _OUTGOING.set(OutgoingOrder(permit, check_request=check_request))
    try:
        yield
    finally:
        _OUTGOING.reset(token)
