"""Lives a recorded feed again: what was heard goes through today's code, and what it says is held against what was
said then, byte for byte."""

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import get_args

from datasets.errors import ImportRejectedError
from market.instruments.markets import Market
from market.prices.book_top import BookTop
from market.prices.feed_state import FeedStatus
from market.time_units import MICROSECONDS
from pricefeeds.errors import FeedError
from pricefeeds.feed.feed_session import UNEXPECTED
from pricefeeds.quoting.symbol_feed import LATE_SECONDS, Row, SymbolFeed
from pricefeeds.recording.feed_recording import Note, NoteKind, PartEnd, RecordingHeader, book_of, row_text
from pricefeeds.wire.wire_exchanges import wire_of
from pricefeeds.wire.wire_port import Conversation, Heard

MakeConversation = Callable[[Market], Conversation]
"""A new conversation, as on a new connection. Raises FeedRejectedError."""

LATE_AFTER = LATE_SECONDS * MICROSECONDS
_STATUSES: dict[str, FeedStatus] = {status: status for status in get_args(FeedStatus)}


@dataclass(frozen=True, slots=True)
class ReplayDifference:
    """The first row that is not the recorded one; a side is None where it has no row at all."""

    symbol: str
    row: int
    """Of the symbol, counted from 1."""
    now: int
    """Microseconds UTC of what led to it."""
    recorded: bytes | None
    reenacted: bytes | None


@dataclass(frozen=True, slots=True)
class RawReplay:
    """What came of one exchange's recording. Where there is a difference, the counts end with it."""

    exchange: str
    session_id: str
    files: int
    notes: dict[NoteKind, int]
    rejected_messages: int
    """Messages that the conversation could not take."""
    equal_rows: dict[str, int]
    """Symbol → rows that came out again, byte for byte."""
    cut: tuple[str, ...]
    """Names of the files that were cut off and so were read up to their last whole line."""
    difference: ReplayDifference | None


class ReplayedFeed:
    """One symbol's feed, from its first note on."""

    def __init__(self, market: Market, make_conversation: MakeConversation, late_after: int = LATE_AFTER) -> None:
        self._market = market
        self._late_after = late_after
        self._make_conversation = make_conversation
        self._feed: SymbolFeed | None = None
        self._conversation: Conversation | None = None
        self.rejected_messages = 0

    def rows(self, note: Note) -> list[Row]:
        """What the feed says to a note that is no row. Raises ValueError for what no feeder could have noted."""
        if note.kind == "started":
            self._feed = SymbolFeed(self._market, int(note.data), note.now, self._late_after)
            self._conversation = None
            return []
        if self._feed is None:
            raise ValueError("the feed was not started before it")
        if note.kind in _STEPS:
            return _STEPS[note.kind](self._feed, note)
        if note.kind == "opened":
            self._feed.begin(note.now)
        return self._taken(self._feed, self._heard(note), note.now)

    def _taken(self, feed: SymbolFeed, heard: Iterable[Heard], now: int) -> list[Row]:
        return [row for said in heard if isinstance(said, BookTop) for row in feed.take(said, now)]

    def _heard(self, note: Note) -> list[Heard]:
        """Nothing for a rejected message: what the feeder made of it was noted too, as `lost` and `closed`."""
        if note.kind == "closed":
            self._conversation = None
            return []
        try:
            if note.kind == "opened":
                self._conversation = self._make_conversation(self._market)
                return self._conversation.open(note.now)
            return self._said(note)
        except (FeedError, *UNEXPECTED):
            self.rejected_messages += 1
            return []

    def _said(self, note: Note) -> list[Heard]:
        if self._conversation is None:
            # as a feeder does that hears of a connection it has given up already
            return []
        if note.kind == "frame":
            return self._conversation.hear(note.data, note.now)
        return self._conversation.take_snapshot(_bytes_of(note.data), note.now)


def _corrected(feed: SymbolFeed, note: Note) -> list[Row]:
    feed.correct(int(note.data), note.now)
    return []


_STEPS: dict[NoteKind, Callable[[SymbolFeed, Note], list[Row]]] = {
    "alive": lambda feed, note: feed.alive(note.now),
    "lost": lambda feed, note: feed.lose(_status_of(note.data), note.now),
    "book": lambda feed, note: feed.take(book_of(note.data), note.now),
    "confirmed": lambda feed, note: feed.confirm(int(note.data), note.now),
    "offset": _corrected,
}
"""What concerns the feed alone."""


def conversation_of(market: Market) -> Conversation:
    """Without keys: what was sent to the exchange is not lived again. Raises FeedRejectedError."""
    return wire_of(market.exchange).conversation(market, None)


def reenact(
    entries: Iterable[RecordingHeader | Note | PartEnd], make_conversation: MakeConversation = conversation_of
) -> RawReplay:
    """Live one exchange's recording again, up to its end or the first difference.

    `entries` as `read_recording` gives them. Raises ImportRejectedError, as reading does, and for notes that no feeder
    could have written.
    """
    stage = _Stage(make_conversation)
    for entry in entries:
        if isinstance(entry, Note):
            stage.take_note(entry)
        elif isinstance(entry, RecordingHeader):
            stage.take_header(entry)
        else:
            stage.take_end(entry)
        if stage.difference is not None:
            break
    return stage.result()


class _Stage:
    """All feeds of one exchange, and the rows that they said and that were not yet found in the recording."""

    def __init__(self, make_conversation: MakeConversation) -> None:
        self._make_conversation = make_conversation
        self._header: RecordingHeader | None = None
        self._feeds: dict[str, ReplayedFeed] = {}
        self._said: dict[str, deque[bytes]] = {}
        self._led: dict[str, Note] = {}
        """Symbol → the note that its last rows come from."""
        self._notes: Counter[NoteKind] = Counter()
        self._equal: Counter[str] = Counter()
        self._files = 0
        self._cut: list[str] = []
        self._rejected_messages = 0
        self.difference: ReplayDifference | None = None

    def take_header(self, header: RecordingHeader) -> None:
        if self._header is not None and self._header.exchange != header.exchange:
            raise ImportRejectedError(
                f"part {header.part} is of {header.exchange}, the others of {self._header.exchange}"
            )
        if self._header is None:
            self._enter(header)
        self._header = header

    def take_end(self, end: PartEnd) -> None:
        """Behind a cut nobody knows what else was said, and the feeds begin anew."""
        self._files += 1
        if end.reason == "closed":
            self._expect_nothing(*self._said)
        elif end.reason is None:
            self._cut.append(end.path.name)
        if end.reason != "continued" and self._header is not None:
            self._enter(self._header)

    def take_note(self, note: Note) -> None:
        feed = self._feeds.get(note.symbol)
        if feed is None:
            raise ImportRejectedError(f"{note.symbol} is no market of this recording, yet a note is about it")
        self._notes[note.kind] += 1
        if note.kind == "row":
            self._compare(note)
            return
        self._expect_nothing(note.symbol)
        self._led[note.symbol] = note
        try:
            self._said[note.symbol].extend(row_text(row) for row in feed.rows(note))
        except ValueError as error:
            raise ImportRejectedError(
                f"{note.symbol}: the note {note.kind!r} of {note.now} cannot be ({error})"
            ) from error

    def result(self) -> RawReplay:
        header = self._header
        return RawReplay(
            exchange="" if header is None else header.exchange,
            session_id="" if header is None else header.session_id,
            files=self._files,
            notes=dict(self._notes),
            rejected_messages=self._rejected_messages + sum(feed.rejected_messages for feed in self._feeds.values()),
            equal_rows=dict(self._equal),
            cut=tuple(self._cut),
            difference=self.difference,
        )

    def _enter(self, header: RecordingHeader) -> None:
        self._rejected_messages += sum(feed.rejected_messages for feed in self._feeds.values())
        late_after = _late_after(header)
        self._feeds = {
            market.symbol: ReplayedFeed(market, self._make_conversation, late_after) for market in header.markets
        }
        self._said = {symbol: deque() for symbol in self._feeds}

    def _compare(self, note: Note) -> None:
        said, recorded = self._said[note.symbol], _bytes_of(note.data)
        reenacted = said.popleft() if said else None
        if reenacted == recorded:
            self._equal[note.symbol] += 1
        else:
            self._differ(note.symbol, note.now, recorded, reenacted)

    def _expect_nothing(self, *symbols: str) -> None:
        """All that was said of these symbols must stand in the recording by now."""
        for symbol in symbols:
            if self._said[symbol]:
                self._differ(symbol, self._led[symbol].now, None, self._said[symbol][0])

    def _differ(self, symbol: str, now: int, recorded: bytes | None, reenacted: bytes | None) -> None:
        if self.difference is None:
            self.difference = ReplayDifference(symbol, self._equal[symbol] + 1, now, recorded, reenacted)


def _late_after(header: RecordingHeader) -> int:
    try:
        return int(header.settings.get("late_after", LATE_AFTER))
    except ValueError:
        raise ImportRejectedError(f"part {header.part} was recorded with a late_after that is no number") from None


def _status_of(data: str | bytes) -> FeedStatus:
    text = _bytes_of(data).decode()
    if text not in _STATUSES:
        raise ValueError(f"there is no status {text!r}")
    return _STATUSES[text]


def _bytes_of(data: str | bytes) -> bytes:
    return data.encode() if isinstance(data, str) else data
