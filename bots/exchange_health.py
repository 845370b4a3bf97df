"""Records the failures of a bot's exchange and knows the pauses of all exchanges.

A crash loses at most the failures not yet written; the next ones show the same.
"""

import logging
from collections.abc import Callable

from bots.decide.state_cache import StateCache
from market.decide.circuit_breaker import Failure, FailureKind
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, wall_now
from store.ports.parts import StoreParts
from store.ports.trading import Overview

ROUND_SECONDS = 0.5
MAX_PENDING_FAILURES = 1_000
"""Failures buffered during an outage of the store."""

REPEATED: frozenset[FailureKind] = frozenset({"look_up_unanswered", "account_rejected"})

log = logging.getLogger(__name__)


class ExchangeHealthWatch:
    """Writes one exchange's failures to the store; takes pauses, opening balances and the rate limit usage of the
    other bots into the cache."""

    def __init__(
        self,
        exchange: str,
        store: StoreParts,
        cache: StateCache,
        wall_clock: Callable[[], int] = wall_now,
    ) -> None:
        self._exchange = exchange
        self._wall_clock = wall_clock
        self._store = store
        self._cache = cache
        self._failures: dict[str, Failure] = {}

    def record_failure(self, kind: FailureKind, subject: str) -> None:
        """Record a failure of the exchange: of an order (`subject` is its client order id) or of the whole account.

        Kinds that repeat with every retry count once a second.
        """
        second = f":{self._wall_clock() // MICROSECONDS}" if kind in REPEATED else ""
        failure = Failure(f"{subject}:{kind}{second}", kind)
        if len(self._failures) < MAX_PENDING_FAILURES:
            self._failures.setdefault(failure.failure_id, failure)

    async def run(self) -> None:
        """Run until cancelled. Raises StoreUnavailableError; failures not written by then are written next time."""
        while True:
            await self.write()
            await SystemClock().sleep(ROUND_SECONDS)

    def observe(self, seen: Overview) -> None:
        """Take over what the other bots have stored."""
        self._cache.paused_until = {one.exchange: one.paused_until for one in seen.health}
        self._cache.unexplained = tuple(one.exchange for one in seen.health if one.unexplained_since)
        self._cache.update_opening(seen.opening)
        if self._cache.partners.budgets and self._cache.decides():
            for lease in seen.leases:
                self._cache.partners.observe(lease, seen.now)

    async def write(self) -> None:
        """Store the failures recorded since. Raises StoreUnavailableError."""
        for failure_id, failure in list(self._failures.items()):
            health = await self._store.health.record(self._exchange, failure)
            del self._failures[failure_id]
            if health.paused_until > self._cache.paused_until.get(self._exchange, 0):
                self._cache.paused_until[self._exchange] = health.paused_until
                log.error("exchange paused after %s", failure.kind, extra={"exchange": self._exchange})
