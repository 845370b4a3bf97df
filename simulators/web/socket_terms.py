"""The life of each exchange's sockets: pings, the time for first subscriptions, the end by age, and how many messages a
client may send. No I/O."""

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Literal

from market.time_units import MICROSECONDS
from simulators.catalogue import terms_of
from simulators.exchange_terms import SocketTerms

SocketStep = Literal["ping", "notice", "no pong", "no subscription", "too old"]
"""What is due: a ping, the notice before the end, or the end for a reason."""
_NOTICE_SHARE = 0.1
"""Longest time from the notice to the end, as a share of a life that is shorter than the documented one."""


def socket_terms(exchange: str, lifetime: float | None = None, *, is_limited: bool = True) -> SocketTerms:
    """Return the terms; `lifetime` in seconds instead of the exchange's own, if given; without `is_limited` any number
    of messages."""
    terms = terms_of(exchange).sockets
    if lifetime is not None:
        notice = min(terms.notice_before, lifetime * _NOTICE_SHARE)
        terms = replace(terms, lifetime=lifetime, notice_before=notice)
    return terms if is_limited else replace(terms, messages_a_second=None)


@dataclass(slots=True)
class SocketLife:
    """One socket by its exchange's terms; times in microseconds."""

    terms: SocketTerms
    opened_at: int
    has_subscribed: bool = False
    _pinged: deque[tuple[int, bytes]] = field(default_factory=deque)
    """Pings without a pong, oldest first."""
    _last_ping: int = 0
    _arrivals: deque[int] = field(default_factory=deque)
    _hastened_at: int | None = None
    _is_noticed: bool = False

    def step(self, now: int) -> SocketStep | None:
        """Return what is due, the end before all else; a ping and a notice are due once."""
        terms = self.terms
        if self._pinged and _is_over(self._pinged[0][0], terms.pong_within, now):
            return "no pong"
        if not self.has_subscribed and _is_over(self.opened_at, terms.subscribe_within, now):
            return "no subscription"
        if self._is_too_old(now):
            return "too old"
        if not self._is_noticed and self._is_notice_due(now):
            self._is_noticed = True
            return "notice"
        return "ping" if _is_over(self._last_ping or self.opened_at, terms.ping_every, now) else None

    def ping(self, now: int) -> bytes:
        """Note a ping; the payload, of which a pong must be a copy."""
        payload = str(now // 1_000).encode()
        self._last_ping = now
        self._pinged.append((now, payload))
        return payload

    def take_pong(self, payload: bytes) -> None:
        """Take a pong, which answers its ping and those before it. One that nobody asked for changes nothing."""
        if any(sent == payload for _, sent in self._pinged):
            while self._pinged.popleft()[1] != payload:
                pass

    def may_send(self, now: int) -> bool:
        """Count a message of the client. Returns whether it is not one too many in any one second."""
        most = self.terms.messages_a_second
        if most is None:
            return True
        self._arrivals.append(now)
        while self._arrivals[0] <= now - MICROSECONDS:
            self._arrivals.popleft()
        return len(self._arrivals) <= most

    @property
    def is_hastened(self) -> bool:
        return self._hastened_at is not None

    def hasten(self, now: int) -> None:
        """End as by age: at once, or a moment after the notice if the exchange gives one."""
        self._hastened_at = now

    def _is_too_old(self, now: int) -> bool:
        if self._hastened_at is not None:
            return now > self._hastened_at if self.terms.notice_before else True
        return _is_over(self.opened_at, self.terms.lifetime, now)

    def _is_notice_due(self, now: int) -> bool:
        terms = self.terms
        if not terms.notice_before:
            return False
        before = None if terms.lifetime is None else terms.lifetime - terms.notice_before
        return self.is_hastened or _is_over(self.opened_at, before, now)


def _is_over(since: int, seconds: float | None, now: int) -> bool:
    return seconds is not None and now - since >= round(seconds * MICROSECONDS)
