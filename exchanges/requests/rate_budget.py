"""One account's share of the exchange's rate limits, and how it is divided.

Each limit is divided in two. `polls` can wait: comparisons, balances, openings. The rest is for trades, and a part of
that is reserved for open trades: unwinding and look-ups never wait behind new trades. What is left for new trades of a
long window is spread over it: a jump of prices at its end finds places, too.
"""

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from exchanges.errors import ExchangeUnavailableError, NotPostedError
from exchanges.ports.limits import OF_ORDERS, LimitRules, Weights
from exchanges.rate_counters import Limit, Used
from exchanges.requests.rate_limits import rules_of
from market.decide.place_values import LegPace
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, steady_now

log = logging.getLogger(__name__)

Purpose = Literal["poll", "follow", "close"]
"""Purpose of a read: it can wait, it follows an open order, or it is the last one, after all orders have ended."""
UsedLimits = Mapping[str, Used]
"""Counts by limit."""

POLLS_AT_ONCE = Fraction(1, 5)
"""Share of the polls of a window that may be used at once; the rest is spread, so that a killed process loses
little."""
OPEN_TRADES_SHARE = Fraction(1, 3)
"""Share of the trades' part that is reserved for open trades."""
SPREAD_SECONDS = 60
"""Windows of so long and longer are spread; a shorter one is over before the next jump."""
ENTRIES_AT_ONCE = Fraction(1, 5)
"""Share of the new trades' part of a spread window that may be used at once."""
RESERVED_ORDERS = 2
"""Orders that close a trade, whose weights reads cannot use."""

PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 120.0
"""First and longest pause after "too many requests" if the exchange names none."""

Rows = Mapping[str, Sequence[tuple[int, int]]]
"""Rows of `Used.rows`, by limit."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What one process has used of an account's limits, stored for its successor."""

    polls: Rows = field(default_factory=dict)
    trades: Rows = field(default_factory=dict)
    pause_ms: int = 0
    """Remaining pause."""
    pause_seconds: float = PAUSE_SECONDS


_SPENT = TypeAdapter(Spent)

_PURPOSE: ContextVar[Purpose] = ContextVar("purpose", default="poll")


@contextmanager
def requests_for(purpose: Purpose) -> Iterator[None]:
    """Read of this task within the block have that purpose."""
    token = _PURPOSE.set(purpose)
    try:
        yield
    finally:
        _PURPOSE.reset(token)


@dataclass(slots=True)
class RateBudget:
    """One account's budget, for all its connections. An unknown limit is not enforced."""

    exchange: str
    rules: LimitRules
    polls: UsedLimits
    trades: UsedLimits
    entries: UsedLimits = field(default_factory=dict)
    """Counters that spread the new trades' part of long windows; what `trades` counts, they count as well."""
    clock: Callable[[], int] = steady_now
    """Monotonic microseconds."""
    _paused_until: int = 0
    _pause_seconds: float = PAUSE_SECONDS
    """The next pause if the exchange names none."""

    def legs_left(self) -> int | None:
        """How many legs may be started now, each with its reads, without the part reserved for open trades; None if
        there is no limit."""
        now = self.clock()
        weights = [(name, weight) for name, weight in self.rules.leg.items() if name in self.trades]
        if not weights:
            return None
        if now < self._paused_until:
            return 0
        return max(0, int(min(self._room_for_entries(name, now) / weight for name, weight in weights)))

    def _room_for_entries(self, name: str, now: int) -> Fraction:
        used, spread = self.trades[name], self.entries.get(name)
        room = used.left(now) - _reserved(used.limit)
        return room if spread is None else min(room, spread.left(now))

    def pace(self) -> LegPace | None:
        """Return how many legs may be started if nothing is used; None if there is no limit."""
        weights = {name: weight for name, weight in self.rules.leg.items() if name in self.trades}
        if not weights:
            return None
        unused = RateBudget(self.exchange, self.rules, {}, _unused(self.trades), _unused(self.entries), lambda: 0)
        refills = (_entries_a_minute(self.trades[name].limit) / weight for name, weight in weights.items())
        return LegPace(unused.legs_left() or 0, min(refills))

    def has_room(self) -> bool:
        """Whether one order could be sent now, including the part reserved for open trades."""
        return self._exhausted_limit(self.rules.order, self.clock()) is None

    def spend(self, weights: Weights) -> None:
        """Spend an order's weights; never waits. Raises NotPostedError if a limit is used up."""
        now = self.clock()
        exhausted = self._exhausted_limit(weights, now)
        if exhausted is not None:
            raise NotPostedError(f"{self.exchange}'s rate limit is used up for now ({exhausted})")
        self._count(self.trades, weights, now)

    def _exhausted_limit(self, weights: Weights, now: int) -> str | None:
        """Return the limit that blocks an order, or None."""
        if now < self._paused_until:
            return "the exchange asked for a pause"
        used_limits = self.trades
        return next(
            (name for name, weight in weights.items() if name in used_limits and used_limits[name].left(now) < weight),
            None,
        )

    def record_leg(self) -> None:
        """Count a leg that another process sent, with its reads."""
        self._count(self.trades, self.rules.leg, self.clock())

    def _count(self, used_limits: UsedLimits, weights: Weights, now: int) -> None:
        _add(used_limits, weights, now)
        for name, spread in self.entries.items() if used_limits is self.trades else ():
            # what open trades use beyond it, new ones do not owe: the window itself counts it
            spread.add(min(weights.get(name, 0), max(0, int(spread.left(now)))), now)

    async def wait_for(self, weights: Weights) -> None:
        """Wait until a read fits into its limits, without the part reserved for orders. The last read of a session
        takes that part too, or a poll's, whichever is free first. What counts as orders do, as a cancellation may, is
        counted with them and waits for nothing.

        Raises ExchangeUnavailableError during a pause: the exchange would answer "too many requests" again.
        """
        purpose = _PURPOSE.get()
        reads = {name: weight for name, weight in weights.items() if name not in OF_ORDERS}
        while True:
            now = self.clock()
            if now < self._paused_until:
                raise ExchangeUnavailableError(f"{self.exchange} asked for a pause")
            seconds, used_limits = self._first_free(purpose, reads, now)
            if seconds <= 0:
                self._count(used_limits, reads, now)
                self._count(self.trades, {name: weights[name] for name in weights.keys() - reads.keys()}, now)
                return
            await SystemClock().sleep(seconds)

    def _first_free(self, purpose: Purpose, weights: Weights, now: int) -> tuple[float, UsedLimits]:
        """Seconds until a read of that purpose fits, and the limits that it is counted in."""
        if purpose == "poll":
            return _seconds_until(self.polls, weights, now), self.polls
        if purpose == "follow":
            reserved = self._reserved_for_orders()
            needed = {name: weight + reserved.get(name, 0) for name, weight in weights.items()}
            return _seconds_until(self.trades, needed, now), self.trades
        both = [(_seconds_until(used_limits, weights, now), used_limits) for used_limits in (self.trades, self.polls)]
        return min(both, key=lambda one: one[0])

    def _reserved_for_orders(self) -> Weights:
        return {name: RESERVED_ORDERS * weight for name, weight in self.rules.order.items()}

    def pause(self, seconds: float | None) -> None:
        """Send nothing for `seconds` after "too many requests". With None the pause doubles each time until the
        exchange answers. Polls resume one by one, since the exchange has counted more than we have."""
        now = self.clock()
        for used in self.polls.values():
            used.add(max(0, math.floor(used.left(now))), now)
        if seconds is None and now < self._paused_until:
            # a request that was sent before the pause was rejected too
            return
        if seconds is None:
            seconds, self._pause_seconds = self._pause_seconds, min(2 * self._pause_seconds, MAX_PAUSE_SECONDS)
        self._paused_until = max(self._paused_until, now + int(seconds * MICROSECONDS))

    def paused_for(self) -> float:
        """Return the seconds for which nothing may be sent."""
        return max(0, self._paused_until - self.clock()) / MICROSECONDS

    def learn(self, left: Mapping[str, int]) -> None:
        """Take what the exchange says is left of a limit as that: others may use the same account or address."""
        now = self.clock()
        for used_limits in (self.trades, self.polls):
            for name in left.keys() & used_limits.keys():
                unseen = math.floor(used_limits[name].left(now)) - left[name]
                self._count(used_limits, {name: max(0, unseen)}, now)

    def record_answer(self) -> None:
        """Reset the pause, as the exchange answered, unless one is running."""
        if self.clock() >= self._paused_until:
            self._pause_seconds = PAUSE_SECONDS

    def used(self) -> str:
        """Return what is used, as JSON for the account's next process."""
        now = self.clock()
        polls, trades = (
            {name: rows for name, used in used_limits.items() if (rows := used.rows(now))}
            for used_limits in (self.polls, self.trades)
        )
        pause_ms = math.ceil(max(0, self._paused_until - now) / 1_000)
        return _SPENT.dump_json(Spent(polls, trades, pause_ms, self._pause_seconds)).decode()

    def take_over(self, used: str, ago: int) -> None:
        """Continue from what another process had used `ago` microseconds before; call it before the first request."""
        try:
            spent = _SPENT.validate_json(used or "{}")
        except ValidationError as error:
            log.warning("used rate limits of %s cannot be read: %s", self.exchange, error)
            return
        then = self.clock() - ago
        for used_limits, rows_of in ((self.polls, spent.polls), (self.trades, spent.trades)):
            for name, rows in rows_of.items():
                for ms_ago, weight in rows:
                    self._count(used_limits, {name: weight}, then - ms_ago * 1_000)
        self._paused_until = then + spent.pause_ms * 1_000
        self._pause_seconds = spent.pause_seconds


def account_budget(exchange: str, clock: Callable[[], int] = steady_now, rules: LimitRules | None = None) -> RateBudget:
    """Return the budget of an account's bot: the account's limits, and its share of the address's limits.

    `rules`: of an exchange that is not in the catalogue.
    """
    rules = rules or rules_of(exchange)
    own = rules.share_of_address(rules.bots_share)
    for_polls = rules.polls_share
    reads = {name: limit.share_of(for_polls) for name, limit in own.items() if name not in OF_ORDERS}
    polls = {name: Used(limit.as_counter(POLLS_AT_ONCE)) for name, limit in reads.items()}
    trades = {name: Used(limit if name in OF_ORDERS else limit.share_of(1 - for_polls)) for name, limit in own.items()}
    entries = {
        name: Used(_spread(used.limit, rules.leg[name]))
        for name, used in trades.items()
        if name in rules.leg and used.limit.how == "window" and used.limit.seconds >= SPREAD_SECONDS
    }
    return RateBudget(exchange, rules, polls, trades, entries, clock)


def full_budget(exchange: str, rules: LimitRules | None = None) -> RateBudget:
    """Return the full rate limits, for a few requests before trading starts."""
    rules = rules or rules_of(exchange)
    used_limits = {name: Used(limit) for name, limit in rules.share_of_address().items()}
    return RateBudget(exchange, rules, used_limits, used_limits)


def _reserved(limit: Limit) -> int:
    """Return the part of a limit that is reserved for open trades."""
    return int(limit.maximum * OPEN_TRADES_SHARE)


def _spread(limit: Limit, leg: int) -> Limit:
    """Return the counter of the new trades' part of a window; at least one leg may begin at once, if any may."""
    for_entries = replace(limit, maximum=max(1, limit.maximum - _reserved(limit)))
    return for_entries.spread(min(for_entries.maximum, max(leg, int(for_entries.maximum * ENTRIES_AT_ONCE))))


def _entries_a_minute(limit: Limit) -> Fraction:
    """Return the weight that is refilled for new trades; what decays is refilled whole, whatever is reserved of it."""
    refilled = limit.maximum if limit.how == "counter" else limit.maximum - _reserved(limit)
    return 60 * refilled / limit.seconds


def _unused(used_limits: UsedLimits) -> UsedLimits:
    return {name: Used(used.limit) for name, used in used_limits.items()}


def _seconds_until(used_limits: UsedLimits, weights: Weights, now: int) -> float:
    """Seconds until all the weights fit."""
    waits = (used_limits[name].seconds_until(weight, now) for name, weight in weights.items() if name in used_limits)
    return max(waits, default=0.0)


def _add(used_limits: UsedLimits, weights: Weights, now: int) -> None:
    for name, weight in weights.items():
        if name in used_limits:
            used_limits[name].add(weight, now)
