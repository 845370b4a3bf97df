"""Tickets: for the WebSocket, where a browser cannot send a key, and for a page's script, which sees the cookies of its
own connection alone and not one that came later.

Each is used once, within 30 s and for what it was asked for; it says who asked for it and nothing else. Kept in this
process alone: after its restart the page asks for another.
"""

import secrets
from collections import OrderedDict
from collections.abc import Callable
from typing import Literal

from market.time_units import MICROSECONDS
from session.clock import steady_now
from session.roles import Caller

TICKET_SECONDS = 30
MAX_TICKETS = 10_000
Purpose = Literal["live", "page"]
"""`live`: one connection to the stream. `page`: the script of one tab learns who its browser is."""


class Tickets:
    """Not for several threads: it belongs to the server's loop."""

    def __init__(self, now: Callable[[], int] = steady_now) -> None:
        self._now = now
        self._issued: OrderedDict[str, tuple[int, Purpose, Caller]] = OrderedDict()

    def issue(self, caller: Caller, purpose: Purpose = "live") -> str:
        """A new one; the oldest goes where too many were never used."""
        self._forget_expired()
        if len(self._issued) >= MAX_TICKETS:
            self._issued.popitem(last=False)
        ticket = secrets.token_urlsafe(32)
        self._issued[ticket] = (self._now() + TICKET_SECONDS * MICROSECONDS, purpose, caller)
        return ticket

    def redeem(self, ticket: str, purpose: Purpose = "live") -> Caller | None:
        """Who it was issued to, once; None where it is unknown, used, too old or for something else."""
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
