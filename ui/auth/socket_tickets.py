"""Tickets: for the WebSocket, because a browser cannot send a key there, and for a page's script, which only sees the
cookies that its connection began with.

A ticket is valid once, for 30 s and for one purpose; it only identifies its caller. Tickets are kept in this process:
after a restart the page requests another.
"""

import secrets
from collections import OrderedDict
from collections.abc import Callable
from typing import Literal

from market.time_units import MICROSECONDS
from runtime.clock import steady_now
from ui.auth.callers import Caller

TICKET_SECONDS = 30
MAX_TICKETS = 10_000
Purpose = Literal["live", "page"]
"""`live`: one connection to the stream. `page`: the script of one tab learns who its browser is."""


class Tickets:
    """Not thread-safe: use it on the server's loop."""

    def __init__(self, now: Callable[[], int] = steady_now) -> None:
        self._now = now
        self._issued: OrderedDict[str, tuple[int, Purpose, Caller]] = OrderedDict()

    def issue(self, caller: Caller, purpose: Purpose = "live") -> str:
        """Return a new ticket. Beyond `MAX_TICKETS` unused ones the oldest is dropped."""
        self._forget_expired()
        if len(self._issued) >= MAX_TICKETS:
            self._issued.popitem(last=False)
        ticket = secrets.token_urlsafe(32)
        self._issued[ticket] = (self._now() + TICKET_SECONDS * MICROSECONDS, purpose, caller)
        return ticket

    def redeem(self, ticket: str, purpose: Purpose = "live") -> Caller | None:
        """Return the caller it was issued to; None if it is unknown, used, expired or for another purpose."""
        self._forget_expired()
        found = self._issued.pop(ticket, None)
        return None if found is None or found[1] != purpose else found[2]

    def _forget_expired(self) -> None:
        now = self._now()
        while self._issued:
            ticket, (expires, _, _) = next(iter(self._issued.items()))
            if expires > now:
                return
            del self._issued[ticket]
