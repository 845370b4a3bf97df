"""Tokens that open Kraken's private channels: asked for by REST, good for a while."""

import secrets

from market.time_units import MICROSECONDS
from session.clock import Clock
from simulators.matching.order_records import RequestRejectedError

_GOOD_SECONDS = 900


class KrakenTokens:
    """A subscription goes on when its token has expired; only a new one needs a good token."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._expiry: dict[str, int] = {}

    def issue(self) -> dict[str, object]:
        now = self._clock.now()
        self._expiry = {token: expires for token, expires in self._expiry.items() if expires > now}
        token = secrets.token_urlsafe(32)
        self._expiry[token] = now + _GOOD_SECONDS * MICROSECONDS
        return {"token": token, "expires": _GOOD_SECONDS}

    def check(self, token: object) -> None:
        """Raises RequestRejectedError."""
        if not isinstance(token, str) or self._expiry.get(token, 0) <= self._clock.now():
            raise RequestRejectedError("unknown_key", "ESession:Invalid session")
