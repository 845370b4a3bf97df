"""One symbol's feed and what happens to it: noted for the recorder, given to conversation and feed, published."""

from collections.abc import Callable
from dataclasses import dataclass

from market.prices.book_top import BookTop
from market.prices.feed_state import FeedCounter, FeedStatus
from market.time_units import MICROSECONDS
from pricefeeds.errors import FrameFault, FrameRejectedError
from pricefeeds.quoting.book_comparison import RecentBooks
from pricefeeds.quoting.symbol_feed import Row, SymbolFeed
from pricefeeds.quoting.watchdog import Verdict, Watchdog
from pricefeeds.recording.feed_recorder import Recorder
from pricefeeds.wire.wire_port import Conversation, FetchSnapshot, Heard, Send

Publish = Callable[[list[Row]], None]
Wish = Send | FetchSnapshot

FAULT_COUNTERS: dict[FrameFault, FeedCounter] = {
    "malformed": "malformed",
    "sequence_gap": "gaps",
    "checksum": "checksums",
}
UNEXPECTED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What a reader that meets the unforeseen raises: the frame is to blame, and the loop must outlive it."""


@dataclass(frozen=True, slots=True)
class FeedLimits:
    """Microseconds: how old the newest sign of a book may be, how long the first may take, how long books are kept."""

    stale_after: int = 3 * MICROSECONDS
    first_book: int = 10 * MICROSECONDS
    kept: int = 10 * MICROSECONDS


class FeedSession:
    """The inputs of one symbol's conversation and feed, in one order. Times are microseconds UTC; nothing waits.

    The rows that an input leads to are published before the call returns.
    """

    def __init__(
        self, feed: SymbolFeed, publish: Publish, recorder: Recorder, limits: FeedLimits = FeedLimits()
    ) -> None:
        self.feed = feed
        self.shown = RecentBooks(limits.kept)
        self._publish = publish
        self._recorder = recorder
        self._limits = limits
        self._symbol = feed.market.symbol
        self._conversation: Conversation | None = None
        self._watchdog: Watchdog | None = None

    def start(self, last_sequence: int, now: int) -> None:
        """Say to the recorder what the feed was made from."""
        self._recorder.note(self._symbol, "started", now, str(last_sequence))

    def open(self, conversation: Conversation, now: int) -> list[Wish]:
        """A new connection: what to send and fetch first. Raises as `frame` does."""
        self._recorder.note(self._symbol, "opened", now)
        self.feed.begin(now)
        self.shown = RecentBooks(self._limits.kept)
        self._conversation = conversation
        self._watchdog = Watchdog(self._limits.stale_after, self._limits.first_book, now)
        # what is signed must be of the exchange's own time
        return self._guarded(lambda now: conversation.open(self.feed.exchange_now(now)), now)

    def frame(self, data: str | bytes, now: int) -> list[Wish]:
        """A message came: what to send and fetch. Raises FrameRejectedError, FeedDroppedError, FeedRejectedError; the
        quote is withdrawn and the fault counted by then."""
        self._recorder.note(self._symbol, "frame", now, data)
        self.hear(now)
        conversation = self._conversation
        return [] if conversation is None else self._guarded(lambda now: conversation.hear(data, now), now)

    def snapshot(self, body: bytes, now: int) -> list[Wish]:
        """The answer to a FetchSnapshot came. Raises as `frame` does."""
        self._recorder.note(self._symbol, "snapshot", now, body)
        conversation = self._conversation
        return [] if conversation is None else self._guarded(lambda now: conversation.take_snapshot(body, now), now)

    def hear(self, now: int) -> None:
        """Anything came: the connection lives."""
        if self._watchdog is not None:
            self._watchdog.hear(now)

    def confirm(self, held_at: int, now: int) -> None:
        """The newest book held at `held_at`, as REST shows."""
        self._recorder.note(self._symbol, "confirmed", now, str(held_at))
        self._say(self.feed.confirm(held_at, now), now)
        self._hold(held_at, now)

    def correct(self, offset: int, now: int) -> None:
        """The exchange's clock was measured."""
        self._recorder.note(self._symbol, "offset", now, str(offset))
        self.feed.correct(offset, now)

    def renew(self, now: int) -> None:
        """A second has passed: the quote is said to hold still, or withdrawn where nobody knows."""
        if self.verdict(now) == "stale":
            self.lose("stale", now)
            return
        self._recorder.note(self._symbol, "alive", now)
        self._say(self.feed.alive(now), now)

    def lose(self, status: FeedStatus, now: int) -> None:
        """The feed is not live."""
        self._recorder.note(self._symbol, "lost", now, status)
        self._say(self.feed.lose(status, now), now)

    def close(self, now: int) -> None:
        """The connection is gone."""
        if self._conversation is not None:
            self._recorder.note(self._symbol, "closed", now)
        self._conversation = self._watchdog = None

    def verdict(self, now: int) -> Verdict:
        return "fine" if self._watchdog is None else self._watchdog.verdict(now)

    def _guarded(self, step: Callable[[int], list[Heard]], now: int) -> list[Wish]:
        try:
            return self._heard(_read(step, now), now)
        except FrameRejectedError as error:
            self.feed.count(FAULT_COUNTERS[error.kind])
            self.lose("resyncing", now)
            raise

    def _heard(self, heard: list[Heard], now: int) -> list[Wish]:
        wishes: list[Wish] = []
        for item in heard:
            if isinstance(item, BookTop):
                self.shown.show(item, now)
                self._say(self.feed.take(item, now), now)
                self._hold(now, now)
            elif isinstance(item, Send | FetchSnapshot):
                wishes.append(item)
        return wishes

    def _hold(self, held_at: int, now: int) -> None:
        """Only a book that was believed counts."""
        if self._watchdog is not None and self.feed.last_accepted == now:
            self._watchdog.hold(held_at)

    def _say(self, rows: list[Row], now: int) -> None:
        if rows:
            # first, since publishing may fail: a recording without what its input led to could not be lived again
            self._recorder.note_rows(self._symbol, now, rows)
            self._publish(rows)


def _read(step: Callable[[int], list[Heard]], now: int) -> list[Heard]:
    try:
        return step(now)
    except UNEXPECTED as error:
        raise FrameRejectedError("malformed", f"no reader was prepared for it: {error!r}") from error
