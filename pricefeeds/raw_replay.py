"""Raw replay: runs a recording's frames through today's feed code and compares the rows with the recorded ones,
byte for byte."""

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import get_args

from exchanges.books.errors import FeedError
from exchanges.books.port import Conversation, WireOutput
from exchanges.catalogue import wire_of
from exchanges.ccxt.generic_book import GenericBooks
from market.instruments.markets import Market
from market.money import decimal_of
from market.prices.book_top import BookTop
from market.prices.feed_state import FeedStatus
from market.time_units import MICROSECONDS
from pricefeeds.feed.session import UNEXPECTED
from pricefeeds.quoting.symbol_feed import LATE_SECONDS, Row, SymbolFeed
from pricefeeds.recording.feed_recording import (
    PartEnd,
    RecordedEvent,
    RecordedEventKind,
    RecordingHeader,
    book_of,
    row_text,
)
from tick_sets.errors import ImportRejectedError

MakeConversation = Callable[[Market], Conversation]
"""A new Conversation, as on a new connection. Raises FeedRejectedError."""

LATE_AFTER = LATE_SECONDS * MICROSECONDS
_STATUSES: dict[str, FeedStatus] = {status: status for status in get_args(FeedStatus)}


@dataclass(frozen=True, slots=True)
class ReplayDifference:
    """The first row that differs from the recording; a side is None if it has no row."""

    symbol: str
    row: int
    """Number of the row within its symbol, counted from 1."""
    now: int
    """Time of the event that produced it, microseconds UTC."""
    recorded: bytes | None
    replayed: bytes | None


@dataclass(frozen=True, slots=True)
class RawReplay:
    """Result of the raw replay of one exchange's recording. The counts end at the first difference."""

    exchange: str
    session_id: str
    files: int
    events: dict[RecordedEventKind, int]
    rejected_messages: int
    """Messages that the Conversation could not parse."""
    equal_rows: dict[str, int]
    """Rows reproduced byte for byte, by symbol."""
    cut: tuple[str, ...]
    """Names of truncated files, read up to their last complete line."""
    difference: ReplayDifference | None


class ReplayedFeed:
    """One symbol's feed, rebuilt from its recorded events."""

    def __init__(self, market: Market, make_conversation: MakeConversation, late_after: int = LATE_AFTER) -> None:
        self._market = market
        self._late_after = late_after
        self._make_conversation = make_conversation
        self._feed: SymbolFeed | None = None
        self._conversation: Conversation | None = None
        self.rejected_messages = 0

    def rows(self, event: RecordedEvent) -> list[Row]:
        """Rows that the feed produces for an event other than a row. Raises ValueError for an impossible event."""
        if event.kind == "started":
            self._feed = SymbolFeed(self._market, int(event.data), event.now, self._late_after)
            self._conversation = None
            return []
        if self._feed is None:
            raise ValueError("the feed was not started before this event")
        if event.kind in _STEPS:
            return _STEPS[event.kind](self._feed, event)
        if event.kind == "opened":
            self._feed.begin(event.now)
        return self._rows(self._feed, self._outputs(event), event.now)

    def _rows(self, feed: SymbolFeed, outputs: Iterable[WireOutput], now: int) -> list[Row]:
        return [row for output in outputs if isinstance(output, BookTop) for row in feed.take(output, now)]

    def _outputs(self, event: RecordedEvent) -> list[WireOutput]:
        """Nothing for a rejected message: its consequences were recorded as `lost` and `closed`."""
        if event.kind == "closed":
            self._conversation = None
            return []
        try:
            if event.kind == "opened":
                self._conversation = self._make_conversation(self._market)
                return self._conversation.open(event.now)
            return self._parsed(event)
        except (FeedError, *UNEXPECTED):
            self.rejected_messages += 1
            return []

    def _parsed(self, event: RecordedEvent) -> list[WireOutput]:
        if self._conversation is None:
            # the feeder too ignores a frame of a connection that it has closed
            return []
        if event.kind == "frame":
            return self._conversation.take_frame(event.data, event.now)
        return self._conversation.take_snapshot(_bytes_of(event.data), event.now)


def _corrected(feed: SymbolFeed, event: RecordedEvent) -> list[Row]:
    feed.correct(int(event.data), event.now)
    return []


def _looking_down(feed: SymbolFeed, event: RecordedEvent) -> list[Row]:
    feed.look_down_to(decimal_of(_bytes_of(event.data).decode()))
    return []


_STEPS: dict[RecordedEventKind, Callable[[SymbolFeed, RecordedEvent], list[Row]]] = {
    "alive": lambda feed, event: feed.alive(event.now),
    "lost": lambda feed, event: feed.withdraw(_status_of(event.data), event.now),
    "book": lambda feed, event: feed.take(book_of(event.data), event.now),
    "confirmed": lambda feed, event: feed.confirm(int(event.data), event.now),
    "offset": _corrected,
    "depth": _looking_down,
}
"""Events that concern the SymbolFeed only."""


def conversations_of(header: RecordingHeader) -> MakeConversation:
    """Conversations without API keys: requests to the exchange are not replayed."""
    if header.settings.get("adapter") == "generic":
        return lambda _: GenericBooks()
    name = header.settings.get("ccxt", header.exchange)
    return lambda market: wire_of(name).conversation(market, None)


def replay_raw(
    entries: Iterable[RecordingHeader | RecordedEvent | PartEnd], make_conversation: MakeConversation | None = None
) -> RawReplay:
    """Replay one exchange's recording up to its end or the first difference, by the parser that read it.

    `entries` as `read_recording` yields them. Raises ImportRejectedError, as reading does, and for events that no
    feeder could have recorded.
    """
    comparison = _RowComparison(make_conversation)
    for entry in entries:
        if isinstance(entry, RecordedEvent):
            comparison.take_event(entry)
        elif isinstance(entry, RecordingHeader):
            comparison.take_header(entry)
        else:
            comparison.take_end(entry)
        if comparison.difference is not None:
            break
    return comparison.result()


class _RowComparison:
    """All feeds of one exchange, and the replayed rows that were not matched with the recording yet."""

    def __init__(self, make_conversation: MakeConversation | None) -> None:
        self._make_conversation = make_conversation
        self._header: RecordingHeader | None = None
        self._feeds: dict[str, ReplayedFeed] = {}
        self._pending: dict[str, deque[bytes]] = {}
        self._last_event: dict[str, RecordedEvent] = {}
        """The event that produced a symbol's last rows, by symbol."""
        self._events: Counter[RecordedEventKind] = Counter()
        self._equal: Counter[str] = Counter()
        self._files = 0
        self._cut: list[str] = []
        self._rejected_messages = 0
        self.difference: ReplayDifference | None = None

    def take_header(self, header: RecordingHeader) -> None:
        if self._header is not None and self._header.exchange != header.exchange:
            raise ImportRejectedError(
                f"part {header.part} is of {header.exchange}, the other parts are of {self._header.exchange}"
            )
        if self._header is None:
            self._restart_feeds(header)
        self._header = header

    def take_end(self, end: PartEnd) -> None:
        """After a truncated file the rows that followed are unknown, so the feeds start again."""
        self._files += 1
        if end.reason == "closed":
            self._expect_none_pending(*self._pending)
        elif end.reason is None:
            self._cut.append(end.path.name)
        if end.reason != "continued" and self._header is not None:
            self._restart_feeds(self._header)

    def take_event(self, event: RecordedEvent) -> None:
        feed = self._feeds.get(event.symbol)
        if feed is None:
            raise ImportRejectedError(
                f"{event.symbol} is not a market of this recording, but a recorded event names it"
            )
        self._events[event.kind] += 1
        if event.kind == "row":
            self._compare(event)
            return
        self._expect_none_pending(event.symbol)
        self._last_event[event.symbol] = event
        try:
            self._pending[event.symbol].extend(row_text(row) for row in feed.rows(event))
        except ValueError as error:
            raise ImportRejectedError(
                f"{event.symbol}: the event {event.kind!r} at {event.now} is impossible ({error})"
            ) from error

    def result(self) -> RawReplay:
        header = self._header
        return RawReplay(
            exchange="" if header is None else header.exchange,
            session_id="" if header is None else header.session_id,
            files=self._files,
            events=dict(self._events),
            rejected_messages=self._rejected_messages + sum(feed.rejected_messages for feed in self._feeds.values()),
            equal_rows=dict(self._equal),
            cut=tuple(self._cut),
            difference=self.difference,
        )

    def _restart_feeds(self, header: RecordingHeader) -> None:
        self._rejected_messages += sum(feed.rejected_messages for feed in self._feeds.values())
        late_after = _late_after(header)
        make = self._make_conversation or conversations_of(header)
        self._feeds = {market.symbol: ReplayedFeed(market, make, late_after) for market in header.markets}
        self._pending = {symbol: deque() for symbol in self._feeds}

    def _compare(self, event: RecordedEvent) -> None:
        pending, recorded = self._pending[event.symbol], _bytes_of(event.data)
        replayed = pending.popleft() if pending else None
        if replayed == recorded:
            self._equal[event.symbol] += 1
        else:
            self._differ(event.symbol, event.now, recorded, replayed)

    def _expect_none_pending(self, *symbols: str) -> None:
        """Every row replayed for these symbols must have been in the recording by now."""
        for symbol in symbols:
            if self._pending[symbol]:
                self._differ(symbol, self._last_event[symbol].now, None, self._pending[symbol][0])

    def _differ(self, symbol: str, now: int, recorded: bytes | None, replayed: bytes | None) -> None:
        if self.difference is None:
            self.difference = ReplayDifference(symbol, self._equal[symbol] + 1, now, recorded, replayed)


def _late_after(header: RecordingHeader) -> int:
    try:
        return int(header.settings.get("late_after", LATE_AFTER))
    except ValueError:
        raise ImportRejectedError(f"part {header.part} has a late_after that is not a number") from None


def _status_of(data: str | bytes) -> FeedStatus:
    text = _bytes_of(data).decode()
    if text not in _STATUSES:
        raise ValueError(f"unknown status {text!r}")
    return _STATUSES[text]


def _bytes_of(data: str | bytes) -> bytes:
    return data.encode() if isinstance(data, str) else data
