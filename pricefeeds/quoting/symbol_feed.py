"""What the feed of one symbol writes to the log: decided here without I/O, from books and times alone."""

from dataclasses import dataclass, replace
from decimal import Decimal

from market.instruments.markets import Market
from market.prices.book_top import BookTop
from market.prices.feed_state import FeedCounter, FeedState, FeedStatus
from market.prices.quotes import FeedMark, MarkKind, Quote, next_sequence, rejection_of
from market.time_units import MICROSECONDS
from pricefeeds.quoting.clock_offset import ClockOffset

LATE_SECONDS = 3
LEAP_BOOKS = 5
LEAP_SECONDS = 3
"""A mid that leaps by more than half is believed once so many books in a row, over so long, agree on it."""


@dataclass(frozen=True, slots=True)
class RejectedQuote:
    """A quote that stays out of the log, and why."""

    quote: Quote
    reason: str


@dataclass(frozen=True, slots=True)
class _Leap:
    """Books in a row that agree with one another, and not with the last accepted one."""

    first_mid: Decimal
    since: int
    books: int


Row = Quote | FeedMark | RejectedQuote


class SymbolFeed:
    """One symbol's feed: its newest quote, its sequence and its counters. Times are microseconds UTC.

    A book whose time, by the exchange's clock corrected to ours, is more than `late_after` ago is no quote.
    """

    def __init__(
        self, market: Market, last_sequence: int, now: int, late_after: int = LATE_SECONDS * MICROSECONDS
    ) -> None:
        self.market = market
        self.clock_is_doubtful = False
        """Whether the exchange's clock should be asked: a book came late, or from the future."""
        self._counted = FeedState(
            market.exchange, market.region, market.symbol, "down", changed_at=now, last_received=0
        )
        """Its rare counters; what changes with each book stands beside it, and `state` brings both together."""
        self._status: FeedStatus = "down"
        self._changed_at = now
        self._last_received = 0
        self._quotes = 0
        self.last_accepted = 0
        self._late_after = late_after
        self._offset = ClockOffset()
        self._asked_at: int | None = None
        """When the connection was opened whose first book has not come yet."""
        self._heard: tuple[BookTop, int] | None = None
        """The newest book of the connection and when it came, believed or not."""
        self._sequence = last_sequence
        self._quote: Quote | None = None
        """What stands in the log as this symbol's quote; None where it was withdrawn or never was."""
        self._last_mid: Decimal | None = None
        """Of the last accepted book, whether it was withdrawn since or not."""
        self._leap: _Leap | None = None

    @property
    def state(self) -> FeedState:
        """As it stands now."""
        return replace(
            self._counted,
            status=self._status,
            changed_at=self._changed_at,
            last_received=self._last_received,
            quotes=self._quotes,
            offset_us=self._offset.value,
        )

    def begin(self, now: int) -> None:
        """A new connection was opened. Its first book was asked for, so that it is not older than that."""
        self._asked_at, self._heard = now, None

    def exchange_now(self, now: int) -> int:
        """What the exchange's clock shows now, as far as we know."""
        return now + (self._offset.value or 0)

    def take(self, top: BookTop, now: int) -> list[Row]:
        """Rows for a book that just arrived; none where its ten best levels are those in the log already.

        A book that cannot be true makes the quote before it doubtful too, which is therefore withdrawn. A mid more
        than half away from the last accepted one, however long ago that was, is believed once five books in a row and
        3 s of them agree on it; till then they are rejected.
        """
        asked_at, self._asked_at = self._asked_at, None
        self._heard = (top, now)
        if top.exchange_time is not None:
            self._hear_time(top.exchange_time, now)
        return self._judge(top, now, asked_at)

    def confirm(self, held_at: int, now: int) -> list[Row]:
        """Rows once the exchange has shown by another way that the newest book held at `held_at`.

        A book that was late by its own time, and yet is the exchange's newest, tells that the exchange's clock was set:
        that is all there is to go by where it cannot be asked.
        """
        if self._heard is None:
            return []
        top, heard_at = self._heard
        if not self._offset.is_measured:
            if top.exchange_time is not None and self._is_late(top, heard_at, None):
                self._offset.restart(top.exchange_time - heard_at, now)
            self.clock_is_doubtful = False
        return self._judge(top, now, held_at)

    def correct(self, offset: int, now: int) -> None:
        """The exchange's clock was asked and is so far ahead of ours."""
        self._offset.measure(offset, now)
        self.clock_is_doubtful = False

    def alive(self, now: int) -> list[Row]:
        """The row that renews the age of the quote in the log, while there is one."""
        return [] if self._quote is None else [self._mark("alive", now)]

    def lose(self, status: FeedStatus, now: int) -> list[Row]:
        """The feed is no longer to be believed: withdraws the quote in the log, once."""
        self._change(status, now)
        if self._quote is None:
            return []
        self._quote = None
        return [self._mark("withdrawn", now)]

    def count(self, counter: FeedCounter) -> None:
        self._counted = self._counted.counted(counter)

    def _judge(self, top: BookTop, now: int, held_at: int | None) -> list[Row]:
        quote = self._quote_of(top, now)
        reason = self._rejection_of(quote) or ("late" if self._is_late(top, now, held_at) else None)
        if reason is not None:
            self._count_rejection(reason)
            self.clock_is_doubtful |= reason == "late"
            return [RejectedQuote(quote, reason), *self.lose("resyncing", now)]
        self.last_accepted, self._last_mid = now, _middle(quote)
        is_new = self._quote is None or (self._quote.bids, self._quote.asks) != (quote.bids, quote.asks)
        self._change("live", now)
        self._last_received = now
        if not is_new:
            return []
        self._quote, self._sequence = quote, quote.sequence
        self._quotes += 1
        return [quote]

    def _hear_time(self, exchange_time: int, now: int) -> None:
        before = self._offset.value
        self._offset.hear(exchange_time, now)
        if before is not None and exchange_time - now - before > self._late_after:
            self.clock_is_doubtful = True

    def _is_late(self, top: BookTop, now: int, held_at: int | None) -> bool:
        """By the newer of the book's own time and of the time at which it is known to have held."""
        times = [] if held_at is None else [held_at]
        if top.exchange_time is not None and self._offset.value is not None:
            times.append(top.exchange_time - self._offset.value)
        return bool(times) and now - max(times) > self._late_after

    def _rejection_of(self, quote: Quote) -> str | None:
        received = self._last_received
        reason = rejection_of(quote, received, self._last_mid)
        if reason == "out_of_bounds" and rejection_of(quote, received) is None:
            # possible by itself, so that only the mid leaps
            self._leap = self._leap_with(quote)
            elapsed = quote.received_time - self._leap.since
            if self._leap.books < LEAP_BOOKS or elapsed < LEAP_SECONDS * MICROSECONDS:
                return reason
            reason = None
        self._leap = None
        return reason

    def _leap_with(self, quote: Quote) -> _Leap:
        leap = self._leap
        if leap is None or rejection_of(quote, self._last_received, leap.first_mid) is not None:
            return _Leap(_middle(quote), quote.received_time, books=1)
        return replace(leap, books=leap.books + 1)

    def _quote_of(self, top: BookTop, now: int) -> Quote:
        market = self.market
        return Quote(
            kind="fx" if market.is_fx else "quote",
            exchange=market.exchange,
            region=market.region,
            symbol=market.symbol,
            base=market.base,
            quote_currency=market.quote_currency,
            bids=top.bids,
            asks=top.asks,
            exchange_time=top.exchange_time,
            received_time=now,
            sequence=next_sequence(self._sequence, now),
        )

    def _mark(self, kind: MarkKind, now: int) -> FeedMark:
        market = self.market
        self._sequence = next_sequence(self._sequence, now)
        fx_kinds: dict[MarkKind, MarkKind] = {"alive": "fx_alive", "withdrawn": "fx_withdrawn"}
        return FeedMark(
            kind=fx_kinds[kind] if market.is_fx else kind,
            exchange=market.exchange,
            region=market.region,
            symbol=market.symbol,
            base=market.base,
            quote_currency=market.quote_currency,
            received_time=now,
            sequence=self._sequence,
        )

    def _change(self, status: FeedStatus, now: int) -> None:
        if status != self._status:
            self._status, self._changed_at = status, now

    def _count_rejection(self, reason: str) -> None:
        rejected = self._counted.rejected
        self._counted = replace(self._counted, rejected={**rejected, reason: rejected.get(reason, 0) + 1})


def _middle(quote: Quote) -> Decimal:
    return (quote.bid + quote.ask) / 2
