"""Tickets for the WebSocket: a browser cannot send a key there, and a key has no business in a page or an address.

Each is used once and within 30 s; it says who asked for it and nothing else. Kept in this process alone: after its
restart the page asks for another.
"""

import secrets
from collections import OrderedDict
from collections.abc import Callable

from market.access import Caller
from market.clock import MICROSECONDS, steady_now

TICKET_SECONDS = 30
MOST_TICKETS = 10_000


class Tickets:
    """Not for several threads: it belongs to the server's loop."""

    def __init__(self, now: Callable[[], int] = steady_now) -> None:
        self._now = now
        self._issued: OrderedDict[str, tuple[int, Caller]] = OrderedDict()

    def issue(self, caller: Caller) -> str:
        """A new one; the oldest goes where too many were never used."""
        self._forget_expired()
        if len(self._issued) >= MOST_TICKETS:
            self._issued.popitem(last=False)
        ticket = secrets.token_urlsafe(32)
        self._issued[ticket] = (self._now() + TICKET_SECONDS * MICROSECONDS, caller)
        return ticket

    def redeem(self, ticket: str) -> Caller | None:
        """Who it was issued to, once; None where it is unknown, used or too old."""
        self._forget_expired()
        found = self._issued.pop(ticket, None)
        return None if found is None else found[1]

    def _forget_expired(self) -> None:
        now = self._now()
        while self._issued:
            ticket, (expires, _) = next(iter(self._issued.items()))
            if expires > now:
                return
            del self._issued[ticket]
