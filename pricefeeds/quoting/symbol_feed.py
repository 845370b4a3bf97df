"""One symbol's feed: turns books into the rows that are written to the log. No I/O.

A book that offers to trades what the quote in the log offers is written in place of the next `alive`, not at once.
"""

from dataclasses import dataclass, replace
from decimal import Decimal

from market.decide.usable_depth import offer_the_same
from market.instruments.markets import Market
from market.prices.book_top import BookTop
from market.prices.feed_state import FeedCounter, FeedState, FeedStatus
from market.prices.quotes import FeedMark, MarkKind, Quote, next_sequence, rejection_of
from market.time_units import MICROSECONDS
from pricefeeds.quoting.clock_offset import ClockOffset

LATE_SECONDS = 3
LEAP_BOOKS = 5
LEAP_SECONDS = 3
"""A mid that leaps by more than half is accepted once this many books in a row, over this long, agree on it."""


@dataclass(frozen=True, slots=True)
class RejectedQuote:
    """A quote that is not written to the log, and the reject reason."""

    quote: Quote
    reason: str


@dataclass(frozen=True, slots=True)
class _Leap:
    """Consecutive books that agree with one another but not with the last accepted one."""

    first_mid: Decimal
    since: int
    books: int


Row = Quote | FeedMark | RejectedQuote


class SymbolFeed:
    """One symbol's newest quote, sequence and counters. Times are microseconds UTC.

    A book that is more than `late_after` old, by the exchange's clock corrected to ours, is rejected as late.
    """

    def __init__(
        self, market: Market, last_sequence: int, now: int, late_after: int = LATE_SECONDS * MICROSECONDS
    ) -> None:
        self.market = market
        self.clock_is_doubtful = False
        """Whether the exchange's clock should be measured: a book came late, or from the future."""
        self._counters = FeedState(
            market.exchange, market.region, market.symbol, "down", changed_at=now, last_received=0
        )
        """The rarely changing counters; `state` merges them with the values that change with each book."""
        self._status: FeedStatus = "down"
        self._changed_at = now
        self._last_received = 0
        self._quotes = 0
        self.last_accepted = 0
        self._late_after = late_after
        self._offset = ClockOffset()
        self._requested_at: int | None = None
        """When the current connection was opened; None once its first book was received."""
        self._last_book: tuple[BookTop, int] | None = None
        """The newest book of the connection, accepted or not, and when it was received."""
        self._sequence = last_sequence
        self._quote: Quote | None = None
        """This symbol's quote in the log; None if it was withdrawn or there was none."""
        self._later: Quote | None = None
        """The newest accepted quote, if the book differed from the one in the log, behind the usable depth alone."""
        self._usable: Decimal | None = None
        """Notional, in quote currency, up to which a change is written at once; None: every change is."""
        self._last_mid: Decimal | None = None
        """Mid of the last accepted book, even if it was withdrawn since."""
        self._leap: _Leap | None = None

    @property
    def state(self) -> FeedState:
        """The current state of the feed."""
        return replace(
            self._counters,
            status=self._status,
            changed_at=self._changed_at,
            last_received=self._last_received,
            quotes=self._quotes,
            offset_us=self._offset.value,
        )

    @property
    def status(self) -> FeedStatus:
        return self._status

    def look_down_to(self, usable: Decimal) -> None:
        """From now on write a change at once only if it is within that notional of a side's best price, in quote
        currency. 0: only if it is of a best price."""
        self._usable = usable

    def begin(self, now: int) -> None:
        """Begin on a new connection. Its first book is requested now, so it cannot be older."""
        self._requested_at, self._last_book = now, None

    def exchange_now(self, now: int) -> int:
        """Return the exchange's time now, by the known offset."""
        return now + (self._offset.value or 0)

    def take(self, top: BookTop, now: int) -> list[Row]:
        """Rows for a book that was just received; none if the log has its ten best levels already, or as much of them
        as trades can use.

        An invalid book makes the quote before it doubtful too, so that is withdrawn. A mid that differs by more than
        half from the last accepted one is accepted once five books in a row, over 3 s, agree on it; until then they
        are rejected.
        """
        requested_at, self._requested_at = self._requested_at, None
        self._last_book = (top, now)
        if top.exchange_time is not None:
            self._update_offset(top.exchange_time, now)
        return self._accept_or_reject(top, now, requested_at)

    def confirm(self, held_at: int, now: int) -> list[Row]:
        """Rows once REST has confirmed that the newest book was in force at `held_at`.

        A book that is late by its own time and still the exchange's newest shows that the exchange's clock was set;
        there is no other evidence if the clock cannot be measured.
        """
        if self._last_book is None:
            return []
        top, book_at = self._last_book
        if not self._offset.is_measured:
            if top.exchange_time is not None and self._is_late(top, book_at, None):
                self._offset.restart(top.exchange_time - book_at, now)
            self.clock_is_doubtful = False
        return self._accept_or_reject(top, now, held_at)

    def correct(self, offset: int, now: int) -> None:
        """Take a measurement of the exchange's clock: `offset` is how far it is ahead of ours."""
        self._offset.measure(offset, now)
        self.clock_is_doubtful = False

    def alive(self, now: int) -> list[Row]:
        """Return the row that renews the age of the quote in the log, if there is one: the newest book if that quote
        does not show all of it."""
        if self._quote is None:
            return []
        if self._later is None:
            return [self._mark("alive", now)]
        return [self._written(self._at(self._later, now))]

    def withdraw(self, status: FeedStatus, now: int) -> list[Row]:
        """Set `status` and withdraw the quote in the log, once."""
        self._change(status, now)
        if self._quote is None:
            return []
        self._quote = self._later = None
        return [self._mark("withdrawn", now)]

    def count(self, counter: FeedCounter) -> None:
        self._counters = self._counters.counted(counter)

    def _accept_or_reject(self, top: BookTop, now: int, held_at: int | None) -> list[Row]:
        quote = self._quote_of(top, now)
        reason = self._rejection_of(quote) or ("late" if self._is_late(top, now, held_at) else None)
        if reason is not None:
            self._count_rejection(reason)
            self.clock_is_doubtful |= reason == "late"
            return [RejectedQuote(quote, reason), *self.withdraw("resyncing", now)]
        self.last_accepted, self._last_mid = now, _middle(quote)
        self._change("live", now)
        self._last_received = now
        if self._quote is None or not self._offers(self._quote, quote):
            return [self._written(quote)]
        is_shown = (self._quote.bids, self._quote.asks) == (quote.bids, quote.asks)
        if not is_shown or self._later is not None:
            # also a book that is as shown again: what was taken out of the one in between is there again
            self._later = quote
        return []

    def _offers(self, shown: Quote, quote: Quote) -> bool:
        """Return whether the quote that is shown offers to trades what the other one does."""
        if self._usable is None:
            return (shown.bids, shown.asks) == (quote.bids, quote.asks)
        sides = (shown.bids, quote.bids), (shown.asks, quote.asks)
        return all(offer_the_same(*side, self._usable) for side in sides)

    def _written(self, quote: Quote) -> Quote:
        self._quote, self._later, self._sequence = quote, None, quote.sequence
        self._quotes += 1
        return quote

    def _at(self, quote: Quote, now: int) -> Quote:
        """Return a quote that is in force at `now`."""
        return replace(quote, received_time=now, sequence=next_sequence(self._sequence, now))

    def _update_offset(self, exchange_time: int, now: int) -> None:
        before = self._offset.value
        self._offset.add_message(exchange_time, now)
        if before is not None and exchange_time - now - before > self._late_after:
            self.clock_is_doubtful = True

    def _is_late(self, top: BookTop, now: int, held_at: int | None) -> bool:
        """By the newer of the book's own time and the time at which it was confirmed."""
        times = [] if held_at is None else [held_at]
        if top.exchange_time is not None and self._offset.value is not None:
            times.append(top.exchange_time - self._offset.value)
        return bool(times) and now - max(times) > self._late_after

    def _rejection_of(self, quote: Quote) -> str | None:
        received = self._last_received
        reason = rejection_of(quote, received, self._last_mid)
        if reason == "out_of_bounds" and rejection_of(quote, received) is None:
            # valid in itself: only the mid leaps
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
        rejected = self._counters.rejected
        self._counters = replace(self._counters, rejected={**rejected, reason: rejected.get(reason, 0) + 1})


def _middle(quote: Quote) -> Decimal:
    return (quote.bid + quote.ask) / 2
