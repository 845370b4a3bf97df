"""One symbol's inputs in order: what is noted, what is published, and what a bad frame does."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from exchanges.books.errors import FeedRejectedError, FrameRejectedError
from exchanges.books.port import FetchSnapshot, Send
from market.time_units import MICROSECONDS
from pricefeeds.feed.session import FeedLimits, FeedSession
from pricefeeds.quoting.symbol_feed import RejectedQuote, Row, SymbolFeed
from tests.pricefeeds.little_exchange import HELLO, LittleConversation
from tests.pricefeeds.samples import MARKET

LIMITS = FeedLimits(stale_after=MICROSECONDS, first_book=2 * MICROSECONDS)
BOOK = '{"bid": "100", "ask": "101", "time": null}'
OTHER = '{"bid": "100", "ask": "102", "time": null}'
CROSSED = '{"bid": "103", "ask": "102", "time": null}'


@dataclass
class RecordedEvents:
    """A recorder that keeps everything in one order."""

    said: list[tuple[str, str | bytes]] = field(default_factory=list)

    def record(self, symbol: str, kind: str, now: int, data: str | bytes = b"") -> None:
        assert symbol == MARKET.symbol
        self.said.append((kind, data))

    def record_rows(self, symbol: str, now: int, rows: Sequence[Row]) -> None:
        self.said += [("row", row.reason if isinstance(row, RejectedQuote) else row.kind) for row in rows]


class WireOutput:
    """A listener on an open connection, with what it published and noted."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.events = RecordedEvents()
        self.feed_session = FeedSession(SymbolFeed(MARKET, 7, 0), self.rows.extend, self.events, LIMITS)
        self.feed_session.start(7, 0)
        self.reservation_requests = self.feed_session.open(LittleConversation(MARKET, None), 1)

    @property
    def kinds(self) -> list[str]:
        return [row.reason if isinstance(row, RejectedQuote) else row.kind for row in self.rows]


@pytest.fixture
def heard() -> WireOutput:
    return WireOutput()


def test_every_input_is_recorded_before_what_it_led_to(heard: WireOutput) -> None:
    feed_session = heard.feed_session
    feed_session.correct(5, 2)
    feed_session.frame(BOOK, 3)
    feed_session.snapshot(OTHER.encode(), 4)
    feed_session.confirm(5, 6)
    feed_session.renew(7)
    feed_session.withdraw("down", 8)
    feed_session.close(9)
    feed_session.close(10)
    assert heard.events.said == [
        ("started", "7"), ("opened", b""), ("offset", "5"), ("frame", BOOK), ("row", "quote"),
        ("snapshot", OTHER.encode()), ("row", "quote"), ("confirmed", "5"), ("alive", b""), ("row", "alive"),
        ("lost", "down"), ("row", "withdrawn"), ("closed", b""),
    ]  # fmt: skip
    assert heard.kinds == ["quote", "quote", "alive", "withdrawn"]


def test_what_the_conversation_requests_is_handed_on(heard: WireOutput) -> None:
    assert heard.reservation_requests == [Send(HELLO)]
    assert heard.feed_session.frame("fetch", 2) == [FetchSnapshot("/book")]
    assert heard.feed_session.frame("beat", 3) == []
    assert heard.rows == []


@pytest.mark.parametrize(
    ("frame", "counter"), [("gap", "gaps"), ("sum", "checksums"), ("{", "malformed"), (b"\xff", "malformed")]
)
def test_a_bad_frame_withdraws_and_is_counted_before_it_is_reported(
    heard: WireOutput, frame: str | bytes, counter: str
) -> None:
    heard.feed_session.frame(BOOK, 2)
    with pytest.raises(FrameRejectedError):
        heard.feed_session.frame(frame, 3)
    assert heard.kinds == ["quote", "withdrawn"]
    assert getattr(heard.feed_session.feed.state, counter) == 1
    assert heard.feed_session.feed.state.status == "resyncing"


def test_a_rejection_is_reported_as_it_is(heard: WireOutput) -> None:
    with pytest.raises(FeedRejectedError):
        heard.feed_session.frame("no", 2)


def test_only_believable_books_hold(heard: WireOutput) -> None:
    feed_session = heard.feed_session
    feed_session.frame(BOOK, 2)
    assert feed_session.verdict(MICROSECONDS // 4) == "fine"
    feed_session.frame(CROSSED, MICROSECONDS // 2)
    assert feed_session.verdict(MICROSECONDS * 3 // 4) == "doubtful"
    feed_session.frame(BOOK, MICROSECONDS)
    assert feed_session.verdict(MICROSECONDS) == "fine"


def test_a_confirmation_holds_as_of_its_time(heard: WireOutput) -> None:
    feed_session = heard.feed_session
    feed_session.frame(BOOK, 2)
    feed_session.frame("beat", MICROSECONDS)
    feed_session.confirm(MICROSECONDS - 10, MICROSECONDS)
    assert feed_session.verdict(MICROSECONDS + 1) == "fine"
    feed_session.connection_alive(2 * MICROSECONDS - 11)
    assert feed_session.verdict(2 * MICROSECONDS - 11) == "doubtful"
    assert feed_session.verdict(2 * MICROSECONDS - 10) == "stale"


def test_nothing_is_renewed_that_nobody_knows_to_hold(heard: WireOutput) -> None:
    """Even if the watch itself hangs."""
    heard.feed_session.frame(BOOK, 2)
    heard.feed_session.renew(MICROSECONDS)
    heard.feed_session.renew(MICROSECONDS + 2)
    heard.feed_session.renew(MICROSECONDS + 3)
    assert heard.kinds == ["quote", "alive", "withdrawn"]
    assert heard.feed_session.feed.state.status == "stale"


def test_nothing_is_taken_from_a_connection_that_is_closed(heard: WireOutput) -> None:
    heard.feed_session.close(2)
    assert heard.feed_session.frame(BOOK, 3) == []
    assert heard.feed_session.snapshot(BOOK.encode(), 4) == []
    assert heard.rows == []


def test_a_row_that_could_not_be_published_is_in_the_recording_all_the_same() -> None:
    def fail(_: list[Row]) -> None:
        raise BufferError("the log is away")

    events = RecordedEvents()
    feed_session = FeedSession(SymbolFeed(MARKET, 7, 0), fail, events, LIMITS)
    feed_session.open(LittleConversation(MARKET, None), 1)
    with pytest.raises(BufferError):
        feed_session.frame(BOOK, 2)
    assert events.said[-2:] == [("frame", BOOK), ("row", "quote")]
