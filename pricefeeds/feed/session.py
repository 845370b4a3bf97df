"""The inputs of one symbol's feed: recorded, passed to Conversation and SymbolFeed, and the rows published."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from exchanges.books.errors import FrameFault, FrameRejectedError
from exchanges.books.port import Conversation, FetchSnapshot, Send, WireOutput
from market.money import text_of
from market.prices.book_top import BookTop
from market.prices.feed_state import FeedCounter, FeedStatus
from market.time_units import MICROSECONDS
from pricefeeds.quoting.book_comparison import RecentBooks
from pricefeeds.quoting.symbol_feed import Row, SymbolFeed
from pricefeeds.quoting.watchdog import Verdict, Watchdog
from pricefeeds.recording.feed_recorder import Recorder

Publish = Callable[[list[Row]], None]
WireRequest = Send | FetchSnapshot

FAULT_COUNTERS: dict[FrameFault, FeedCounter] = {
    "malformed": "malformed",
    "sequence_gap": "gaps",
    "checksum": "checksums",
}
UNEXPECTED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What a parser raises for unexpected data: the frame is at fault, and the loop must survive it."""


@dataclass(frozen=True, slots=True)
class FeedLimits:
    """Microseconds: maximum age of the newest confirmed book, time limit for the first one, how long books are kept."""

    stale_after: int = 3 * MICROSECONDS
    first_book: int = 10 * MICROSECONDS
    keep: int = 10 * MICROSECONDS


class FeedSession:
    """One symbol's inputs in order. Times are microseconds UTC; no call blocks.

    The rows that an input produces are published before the call returns.
    """

    def __init__(
        self, feed: SymbolFeed, publish: Publish, recorder: Recorder, limits: FeedLimits = FeedLimits()
    ) -> None:
        self.feed = feed
        self.recent_books = RecentBooks(limits.keep)
        self._publish = publish
        self._recorder = recorder
        self._limits = limits
        self._symbol = feed.market.symbol
        self._conversation: Conversation | None = None
        self._watchdog: Watchdog | None = None

    def start(self, last_sequence: int, now: int) -> None:
        """Record the state that the feed starts from."""
        self._recorder.record(self._symbol, "started", now, str(last_sequence))

    def open(self, conversation: Conversation, now: int) -> list[WireRequest]:
        """Begin on a new connection and return the first requests; raises as `frame` does."""
        self._recorder.record(self._symbol, "opened", now)
        self.feed.begin(now)
        self.recent_books = RecentBooks(self._limits.keep)
        self._conversation = conversation
        self._watchdog = Watchdog(self._limits.stale_after, self._limits.first_book, now)
        # signatures need the exchange's time
        return self._guarded(lambda now: conversation.open(self.feed.exchange_now(now)), now)

    def frame(self, data: str | bytes, now: int) -> list[WireRequest]:
        """Take a received message and return the next requests. Raises FrameRejectedError, FeedDroppedError,
        FeedRejectedError, after the quote was withdrawn and the fault counted."""
        self._recorder.record(self._symbol, "frame", now, data)
        self.connection_alive(now)
        conversation = self._conversation
        return [] if conversation is None else self._guarded(lambda now: conversation.take_frame(data, now), now)

    def snapshot(self, body: bytes, now: int) -> list[WireRequest]:
        """Take the answer to a FetchSnapshot. Raises as `frame` does."""
        self._recorder.record(self._symbol, "snapshot", now, body)
        conversation = self._conversation
        return [] if conversation is None else self._guarded(lambda now: conversation.take_snapshot(body, now), now)

    def connection_alive(self, now: int) -> None:
        """Record that a frame or a pong was received: the connection is alive."""
        if self._watchdog is not None:
            self._watchdog.connection_alive(now)

    def confirm(self, held_at: int, now: int) -> None:
        """REST confirmed that the newest book was in force at `held_at`."""
        self._recorder.record(self._symbol, "confirmed", now, str(held_at))
        self._publish_rows(self.feed.confirm(held_at, now), now)
        self._book_held(held_at, now)

    def correct(self, offset: int, now: int) -> None:
        """Take a measurement of the exchange's clock."""
        self._recorder.record(self._symbol, "offset", now, str(offset))
        self.feed.correct(offset, now)

    def look_down_to(self, usable: Decimal, now: int) -> None:
        """Take how deep trades reach into the book, as notional in quote currency."""
        self._recorder.record(self._symbol, "depth", now, text_of(usable))
        self.feed.look_down_to(usable)

    def renew(self, now: int) -> None:
        """Once a second: publish that the quote is still in force, or the newer one that is; withdraw it if the feed is
        stale."""
        if self.verdict(now) == "stale":
            self.withdraw("stale", now)
            return
        self._recorder.record(self._symbol, "alive", now)
        self._publish_rows(self.feed.alive(now), now)

    def withdraw(self, status: FeedStatus, now: int) -> None:
        """Withdraw the quote: the feed is not live."""
        self._recorder.record(self._symbol, "lost", now, status)
        self._publish_rows(self.feed.withdraw(status, now), now)

    def close(self, now: int) -> None:
        """Record that the connection was closed."""
        if self._conversation is not None:
            self._recorder.record(self._symbol, "closed", now)
        self._conversation = self._watchdog = None

    def verdict(self, now: int) -> Verdict:
        return "fine" if self._watchdog is None else self._watchdog.verdict(now)

    def _guarded(self, step: Callable[[int], list[WireOutput]], now: int) -> list[WireRequest]:
        try:
            return self._apply(_read(step, now), now)
        except FrameRejectedError as error:
            self.feed.count(FAULT_COUNTERS[error.kind])
            self.withdraw("resyncing", now)
            raise

    def _apply(self, outputs: list[WireOutput], now: int) -> list[WireRequest]:
        requests: list[WireRequest] = []
        for item in outputs:
            if isinstance(item, BookTop):
                self.recent_books.add(item, now)
                self._publish_rows(self.feed.take(item, now), now)
                self._book_held(now, now)
            elif isinstance(item, Send | FetchSnapshot):
                requests.append(item)
        return requests

    def _book_held(self, held_at: int, now: int) -> None:
        """Only an accepted book counts."""
        if self._watchdog is not None and self.feed.last_accepted == now:
            self._watchdog.book_held(held_at)

    def _publish_rows(self, rows: list[Row], now: int) -> None:
        if rows:
            # recorded first, since publishing may fail: a raw replay needs the rows that each input produced
            self._recorder.record_rows(self._symbol, now, rows)
            self._publish(rows)


def _read(step: Callable[[int], list[WireOutput]], now: int) -> list[WireOutput]:
    try:
        return step(now)
    except UNEXPECTED as error:
        raise FrameRejectedError("malformed", f"the parser did not expect this: {error!r}") from error
