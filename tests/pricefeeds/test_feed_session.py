"""One symbol's inputs in order: what is noted, what is published, and what a bad frame does."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from market.time_units import MICROSECONDS
from pricefeeds.errors import FeedRejectedError, FrameRejectedError
from pricefeeds.feed.feed_session import FeedLimits, FeedSession
from pricefeeds.quoting.symbol_feed import RejectedQuote, Row, SymbolFeed
from pricefeeds.wire.wire_port import FetchSnapshot, Send
from tests.pricefeeds.little_exchange import HELLO, LittleConversation
from tests.pricefeeds.samples import MARKET

LIMITS = FeedLimits(stale_after=MICROSECONDS, first_book=2 * MICROSECONDS)
BOOK = '{"bid": "100", "ask": "101", "time": null}'
OTHER = '{"bid": "100", "ask": "102", "time": null}'
CROSSED = '{"bid": "103", "ask": "102", "time": null}'


@dataclass
class Notes:
    """A recorder that keeps everything in one order."""

    said: list[tuple[str, str | bytes]] = field(default_factory=list)

    def note(self, symbol: str, kind: str, now: int, data: str | bytes = b"") -> None:
        assert symbol == MARKET.symbol
        self.said.append((kind, data))

    def note_rows(self, symbol: str, now: int, rows: Sequence[Row]) -> None:
        self.said += [("row", row.reason if isinstance(row, RejectedQuote) else row.kind) for row in rows]


class Heard:
    """A listener on an open connection, with what it published and noted."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.notes = Notes()
        self.listener = FeedSession(SymbolFeed(MARKET, 7, 0), self.rows.extend, self.notes, LIMITS)
        self.listener.start(7, 0)
        self.wishes = self.listener.open(LittleConversation(MARKET, None), 1)

    @property
    def kinds(self) -> list[str]:
        return [row.reason if isinstance(row, RejectedQuote) else row.kind for row in self.rows]


@pytest.fixture
def heard() -> Heard:
    return Heard()


def test_every_input_is_noted_before_what_it_led_to(heard: Heard) -> None:
    listener = heard.listener
    listener.correct(5, 2)
    listener.frame(BOOK, 3)
    listener.snapshot(OTHER.encode(), 4)
    listener.confirm(5, 6)
    listener.renew(7)
    listener.lose("down", 8)
    listener.close(9)
    listener.close(10)
    assert heard.notes.said == [
        ("started", "7"), ("opened", b""), ("offset", "5"), ("frame", BOOK), ("row", "quote"),
        ("snapshot", OTHER.encode()), ("row", "quote"), ("confirmed", "5"), ("alive", b""), ("row", "alive"),
        ("lost", "down"), ("row", "withdrawn"), ("closed", b""),
    ]  # fmt: skip
    assert heard.kinds == ["quote", "quote", "alive", "withdrawn"]


def test_what_the_conversation_wishes_is_handed_on(heard: Heard) -> None:
    assert heard.wishes == [Send(HELLO)]
    assert heard.listener.frame("fetch", 2) == [FetchSnapshot("/book")]
    assert heard.listener.frame("beat", 3) == []
    assert heard.rows == []


@pytest.mark.parametrize(
    ("frame", "counter"), [("gap", "gaps"), ("sum", "checksums"), ("{", "malformed"), (b"\xff", "malformed")]
)
def test_a_bad_frame_withdraws_and_is_counted_before_it_is_told(heard: Heard, frame: str | bytes, counter: str) -> None:
    heard.listener.frame(BOOK, 2)
    with pytest.raises(FrameRejectedError):
        heard.listener.frame(frame, 3)
    assert heard.kinds == ["quote", "withdrawn"]
    assert getattr(heard.listener.feed.state, counter) == 1
    assert heard.listener.feed.state.status == "resyncing"


def test_a_rejection_is_told_as_it_is(heard: Heard) -> None:
    with pytest.raises(FeedRejectedError):
        heard.listener.frame("no", 2)


def test_only_believable_books_hold(heard: Heard) -> None:
    listener = heard.listener
    listener.frame(BOOK, 2)
    assert listener.verdict(MICROSECONDS // 4) == "fine"
    listener.frame(CROSSED, MICROSECONDS // 2)
    assert listener.verdict(MICROSECONDS * 3 // 4) == "doubtful"
    listener.frame(BOOK, MICROSECONDS)
    assert listener.verdict(MICROSECONDS) == "fine"


def test_a_confirmation_holds_as_of_its_time(heard: Heard) -> None:
    listener = heard.listener
    listener.frame(BOOK, 2)
    listener.frame("beat", MICROSECONDS)
    listener.confirm(MICROSECONDS - 10, MICROSECONDS)
    assert listener.verdict(MICROSECONDS + 1) == "fine"
    listener.hear(2 * MICROSECONDS - 11)
    assert listener.verdict(2 * MICROSECONDS - 11) == "doubtful"
    assert listener.verdict(2 * MICROSECONDS - 10) == "stale"


def test_nothing_is_renewed_that_nobody_knows_to_hold(heard: Heard) -> None:
    """Even where the watch itself hangs."""
    heard.listener.frame(BOOK, 2)
    heard.listener.renew(MICROSECONDS)
    heard.listener.renew(MICROSECONDS + 2)
    heard.listener.renew(MICROSECONDS + 3)
    assert heard.kinds == ["quote", "alive", "withdrawn"]
    assert heard.listener.feed.state.status == "stale"


def test_a_connection_that_is_closed_is_heard_no_more(heard: Heard) -> None:
    heard.listener.close(2)
    assert heard.listener.frame(BOOK, 3) == []
    assert heard.listener.snapshot(BOOK.encode(), 4) == []
    assert heard.rows == []


def test_a_row_that_could_not_be_published_is_in_the_recording_all_the_same() -> None:
    def fail(_: list[Row]) -> None:
        raise BufferError("the log is away")

    notes = Notes()
    listener = FeedSession(SymbolFeed(MARKET, 7, 0), fail, notes, LIMITS)
    listener.open(LittleConversation(MARKET, None), 1)
    with pytest.raises(BufferError):
        listener.frame(BOOK, 2)
    assert notes.said[-2:] == [("frame", BOOK), ("row", "quote")]
