"""Tokens that open private channels: requested by REST, valid for a while. A subscription outlasts its token."""

import secrets

from market.time_units import MICROSECONDS
from runtime.clock import Clock


class StreamTokens:
    def __init__(self, clock: Clock, seconds: int, size: int) -> None:
        """Take `size`: random bytes of each token."""
        self._clock = clock
        self.seconds = seconds
        self._size = size
        self._expiry: dict[str, int] = {}

    def issue(self) -> str:
        now = self._clock.now()
        self._expiry = {token: expires for token, expires in self._expiry.items() if expires > now}
        token = secrets.token_urlsafe(self._size)
        self._expiry[token] = now + self.seconds * MICROSECONDS
        return token

    def is_valid(self, token: object) -> bool:
        return isinstance(token, str) and self._expiry.get(token, 0) > self._clock.now()
