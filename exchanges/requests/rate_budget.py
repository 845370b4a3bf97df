"""What one account's bot has of the exchange's rate limits, and for what: decided before anything is traded.

Each limit is divided in two. `polls` are what can wait: comparisons, balances, openings. The rest is for trades, and
of that again a part is left for those that are open already: unwinding and looking up never wait behind new trades.
"""

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from exchanges.errors import ExchangeUnavailableError, NotPostedError
from exchanges.requests.rate_counters import Limit, Used
from exchanges.requests.rate_limits import (
    BOTS_SHARE,
    BOTS_SHARES,
    LEGS,
    LIMITS,
    OF_ORDERS,
    OF_THE_ADDRESS,
    ORDERS,
    Weights,
)
from market.time_units import MICROSECONDS
from session.clock import SystemClock, steady_now

log = logging.getLogger(__name__)

Purpose = Literal["poll", "follow"]
"""What a read is for: it can wait, or it follows an order that is under way."""
Purse = Mapping[str, Used]
"""By limit."""

POLLS = Fraction(2, 5)
"""Of every limit that reads count in."""
POLLS_OF: Mapping[str, Fraction] = {"kraken": Fraction(3, 5)}
"""Where orders are counted for themselves and comparing takes more: there four reads every 15 s, of one in two."""
POLLS_AT_ONCE = Fraction(1, 5)
"""Of what polls have of a window; the rest is spread over it, so that little is lost with a killed process."""
KEPT = Fraction(1, 3)
"""Of what trades have: for those that are open, not for new ones."""
KEPT_LEGS = 2
"""Legs whose weights no read takes from the orders that end a trade: those are rejected where nothing is left."""

SHUT_SECONDS = 1.0
LONGEST_SHUT_SECONDS = 120.0
"""How long nothing is sent after a "too many" where the exchange does not say itself: at first, and at most."""

Rows = Mapping[str, Sequence[tuple[int, int]]]
"""By limit, as `Used.rows` has them."""


@dataclass(frozen=True, slots=True)
class Spent:
    """All that one process has used of an account's limits, as it is written down for the next."""

    polls: Rows = field(default_factory=dict)
    trades: Rows = field(default_factory=dict)
    shut_ms: int = 0
    """For how long nothing is to be sent yet."""
    shut_seconds: float = SHUT_SECONDS


_SPENT = TypeAdapter(Spent)

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
    _shut_seconds: float = SHUT_SECONDS
    """Of the next "too many" that does not say for how long."""

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

    def has_room(self) -> bool:
        """Whether one order could leave now; what is kept for open trades is not kept from it."""
        return self._lacking(ORDERS.get(self.exchange, {}), self.clock()) is None

    def spend(self, weights: Weights) -> None:
        """Of an order that is leaving; never waits. Raises NotPostedError where nothing is left for it."""
        now = self.clock()
        lacking = self._lacking(weights, now)
        if lacking is not None:
            raise NotPostedError(f"no more requests to {self.exchange} for now ({lacking})")
        _add(self.trades, weights, now)

    def _lacking(self, weights: Weights, now: int) -> str | None:
        """What stands in an order's way."""
        if now < self._shut_until:
            return "it asked to stay away"
        purse = self.trades
        return next(
            (name for name, weight in weights.items() if name in purse and purse[name].left(now) < weight), None
        )

    def note_leg(self) -> None:
        """One that another process has sent, with all that follows it."""
        _add(self.trades, LEGS[self.exchange], self.clock())

    async def turn(self, weights: Weights) -> None:
        """Of a read: waits until there is room in the purse that it is paid from, beside what is left to orders.

        Raises ExchangeUnavailableError while the exchange wants nothing: it would say "too many" again.
        """
        follows = _PURPOSE.get() == "follow"
        purse = self.trades if follows else self.polls
        kept = self._kept_for_orders() if follows else {}
        while True:
            now = self.clock()
            if now < self._shut_until:
                raise ExchangeUnavailableError(f"{self.exchange} asked to stay away")
            waits = [
                purse[name].seconds_until(weight + kept.get(name, 0), now)
                for name, weight in weights.items()
                if name in purse
            ]
            if max(waits, default=0.0) <= 0:
                _add(purse, weights, now)
                return
            await SystemClock().sleep(max(waits))

    def _kept_for_orders(self) -> Weights:
        legs = LEGS.get(self.exchange, {})
        return {name: KEPT_LEGS * legs[name] for name in ORDERS.get(self.exchange, {})}

    def shut(self, seconds: float | None) -> None:
        """The exchange said "too many": nothing is sent for so long; None where it did not say how long, then for twice
        as long each time until it answers. Polls begin again one by one, since its count is fuller than ours."""
        now = self.clock()
        for used in self.polls.values():
            used.add(max(0, math.floor(used.left(now))), now)
        if seconds is None and now < self._shut_until:
            # what was asked before is rejected beside it
            return
        if seconds is None:
            seconds, self._shut_seconds = self._shut_seconds, min(2 * self._shut_seconds, LONGEST_SHUT_SECONDS)
        self._shut_until = max(self._shut_until, now + int(seconds * MICROSECONDS))

    def note_answer(self) -> None:
        """The exchange answered; where nothing was to be sent, to what was asked before."""
        if self.clock() >= self._shut_until:
            self._shut_seconds = SHUT_SECONDS

    def used(self) -> str:
        """All that is used, for the process that acts for the account after this one."""
        now = self.clock()
        polls, trades = (
            {name: rows for name, used in purse.items() if (rows := used.rows(now))}
            for purse in (self.polls, self.trades)
        )
        shut_ms = math.ceil(max(0, self._shut_until - now) / 1_000)
        return _SPENT.dump_json(Spent(polls, trades, shut_ms, self._shut_seconds)).decode()

    def take_over(self, used: str, ago: int) -> None:
        """Go on from what another process had used `ago` microseconds before; before anything is asked."""
        try:
            spent = _SPENT.validate_json(used or "{}")
        except ValidationError as error:
            log.warning("what was used of %s before is not known: %s", self.exchange, error)
            return
        then = self.clock() - ago
        for purse, rows_of in ((self.polls, spent.polls), (self.trades, spent.trades)):
            for name, rows in rows_of.items():
                for ms_ago, weight in rows if name in purse else ():
                    purse[name].add(weight, then - ms_ago * 1_000)
        self._shut_until = then + spent.shut_ms * 1_000
        self._shut_seconds = spent.shut_seconds


def account_budget(exchange: str, clock: Callable[[], int] = steady_now) -> RateBudget:
    """Of the bot of an account: the account's limits, and its share of the address's."""
    limits, shared = LIMITS[exchange], OF_THE_ADDRESS[exchange]
    share = BOTS_SHARES.get(exchange, BOTS_SHARE)
    own = {name: limit.part(share) if name in shared else limit for name, limit in limits.items()}
    for_polls = POLLS_OF.get(exchange, POLLS)
    reads = {name: limit.part(for_polls) for name, limit in own.items() if name not in OF_ORDERS}
    polls = {name: Used(limit.steady(POLLS_AT_ONCE)) for name, limit in reads.items()}
    trades = {name: Used(limit if name in OF_ORDERS else limit.part(1 - for_polls)) for name, limit in own.items()}
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
