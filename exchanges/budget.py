"""What one account's bot has of the exchange's rate limits, and for what: decided before anything is traded.

Each limit is divided in two. `polls` are what can wait: comparisons, balances, openings. The rest is for trades, and
of that again a part is left for those that are open already: unwinding and looking up never wait behind new trades.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from exchanges.counters import Limit, Used
from exchanges.errors import NotPostedError
from exchanges.limits import BOTS_SHARE, BOTS_SHARES, LEGS, LIMITS, OF_ORDERS, OF_THE_ADDRESS, Weights
from market.clock import MICROSECONDS, SystemClock, steady_now

Purpose = Literal["poll", "follow"]
"""What a read is for: it can wait, or it follows an order that is under way."""
Purse = Mapping[str, Used]
"""By limit."""

POLLS = Fraction(2, 5)
"""Of every limit that reads count in."""
KEPT = Fraction(1, 3)
"""Of what trades have: for those that are open, not for new ones."""

_PURPOSE: ContextVar[Purpose] = ContextVar("purpose", default="poll")


@contextmanager
def asking_for(purpose: Purpose) -> Iterator[None]:
    """Reads of this task are for that."""
    token = _PURPOSE.set(purpose)
    try:
        yield
    finally:
        _PURPOSE.reset(token)


@dataclass(slots=True)
class RateBudget:
    """One account's, for all its connections. A limit that it does not know holds nobody up."""

    exchange: str
    polls: Purse
    trades: Purse
    clock: Callable[[], int] = steady_now
    """Microseconds that nobody sets."""
    _shut_until: int = 0

    def legs_left(self) -> int | None:
        """How many legs may be begun now, each with the reads that follow it, beside what is kept for those that are
        open; None where nothing limits them."""
        now = self.clock()
        weights = [(self.trades[name], weight) for name, weight in LEGS[self.exchange].items() if name in self.trades]
        if not weights:
            return None
        if now < self._shut_until:
            return 0
        return max(0, int(min((used.left(now) - _kept(used.limit)) / weight for used, weight in weights)))

    def spend(self, weights: Weights, *, is_unwinding: bool) -> None:
        """Of an order that is leaving; never waits. Raises NotPostedError where nothing is left for it."""
        now = self.clock()
        for name, weight in weights.items():
            used = self.trades.get(name)
            if used is not None and used.left(now) - (0 if is_unwinding else _kept(used.limit)) < weight:
                raise NotPostedError(f"no more requests to {self.exchange} for now ({name})")
        _add(self.trades, weights, now)

    def note_leg(self) -> None:
        """One that another process has sent, with all that follows it."""
        _add(self.trades, LEGS[self.exchange], self.clock())

    async def turn(self, weights: Weights) -> None:
        """Of a read: waits until there is room in the purse that it is paid from."""
        purse = self.trades if _PURPOSE.get() == "follow" else self.polls
        while True:
            now = self.clock()
            waits = [purse[name].seconds_until(weight, now) for name, weight in weights.items() if name in purse]
            if max(waits, default=0.0) <= 0:
                _add(purse, weights, now)
                return
            await SystemClock().sleep(max(waits))

    def shut(self, seconds: float) -> None:
        """The exchange said "too many": nothing is begun for so long."""
        self._shut_until = max(self._shut_until, self.clock() + int(seconds * MICROSECONDS))


def account_budget(exchange: str, clock: Callable[[], int] = steady_now) -> RateBudget:
    """Of the bot of an account: the account's limits, and its share of the address's."""
    limits, shared = LIMITS[exchange], OF_THE_ADDRESS[exchange]
    share = BOTS_SHARES.get(exchange, BOTS_SHARE)
    own = {name: limit.part(share) if name in shared else limit for name, limit in limits.items()}
    polls = {name: Used(limit.part(POLLS)) for name, limit in own.items() if name not in OF_ORDERS}
    trades = {name: Used(limit if name in OF_ORDERS else limit.part(1 - POLLS)) for name, limit in own.items()}
    return RateBudget(exchange, polls, trades, clock)


def whole_budget(exchange: str) -> RateBudget:
    """Of who asks a few questions before anybody trades: all that there is."""
    purse = {name: Used(limit) for name, limit in LIMITS.get(exchange, {}).items()}
    return RateBudget(exchange, purse, purse)


def _kept(limit: Limit) -> int:
    """Of what trades have, for those that are open."""
    return int(limit.most * KEPT)


def _add(purse: Purse, weights: Weights, now: int) -> None:
    for name, weight in weights.items():
        if name in purse:
            purse[name].add(weight, now)
