"""A recorded feed comes out of today's code byte for byte, and the first row that does not is named."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exchanges.books.errors import FeedDroppedError
from exchanges.books.port import FetchSnapshot, Heartbeat, WireOutput
from market.instruments.markets import Market
from market.prices.book_top import BookTop
from pricefeeds.raw_replay import RawReplay, ReplayDifference, ReplayedFeed, replay_raw
from pricefeeds.recording.feed_recorder import Recorder
from pricefeeds.recording.feed_recording import (
    PartEnd,
    RecordedEvent,
    RecordingHeader,
    book_of,
    book_text,
    read_recording,
)
from tests.pricefeeds.recorded_notes import HEADER, folder_of, recorder_at
from tests.pricefeeds.samples import MARKET, book
from tick_sets.errors import ImportRejectedError

SYMBOL = MARKET.symbol
Entry = RecordingHeader | RecordedEvent | PartEnd


class PlainBooks:
    """A conversation whose frames are whole books, as `book_text` writes them; the first comes by REST."""

    def __init__(self) -> None:
        self._has_snapshot = False

    def open(self, now: int) -> list[WireOutput]:
        return [FetchSnapshot("/book")]

    def take_frame(self, frame: str | bytes, now: int) -> list[WireOutput]:
        if frame == "nonsense":
            raise FeedDroppedError("not a book")
        return [book_of(frame)] if self._has_snapshot else [Heartbeat()]

    def take_snapshot(self, body: bytes, now: int) -> list[WireOutput]:
        self._has_snapshot = True
        return [book_of(body)]


def plain_books(_: Market) -> PlainBooks:
    return PlainBooks()


class Feeder:
    """Notes what it does to its feed, as a feeder does."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._feed = ReplayedFeed(MARKET, plain_books)

    def does(self, event: RecordedEvent) -> None:
        self._recorder.record(event.symbol, event.kind, event.now, event.data)
        self._recorder.record_rows(event.symbol, event.now, self._feed.rows(event))


def text_of_book(top: BookTop) -> str:
    return book_text(top).decode()


LIFE = (
    RecordedEvent(SYMBOL, "started", 1, "500"),
    RecordedEvent(SYMBOL, "depth", 1, "100"),
    RecordedEvent(SYMBOL, "lost", 2, "resyncing"),
    RecordedEvent(SYMBOL, "opened", 3),
    RecordedEvent(SYMBOL, "frame", 4, text_of_book(book("1", "2"))),
    RecordedEvent(SYMBOL, "snapshot", 5, book_text(book("100", "101"))),
    RecordedEvent(SYMBOL, "alive", 6),
    RecordedEvent(SYMBOL, "frame", 7, text_of_book(book("103", "102"))),
    RecordedEvent(SYMBOL, "frame", 8, text_of_book(book("101", "102"))),
    RecordedEvent(SYMBOL, "frame", 9, "nonsense"),
    RecordedEvent(SYMBOL, "lost", 9, "down"),
    RecordedEvent(SYMBOL, "closed", 9),
    RecordedEvent(SYMBOL, "book", 10, book_text(book("101", "103"))),
    RecordedEvent(SYMBOL, "book", 11, book_text(book("101", "103", "2"))),
    RecordedEvent(SYMBOL, "alive", 12),
    RecordedEvent(SYMBOL, "lost", 13, "down"),
)
ROWS = ["quote", "alive", "crossed", "withdrawn", "quote", "withdrawn", "quote", "quote", "withdrawn"]


def recorded(root: Path, *lives: tuple[RecordedEvent, ...]) -> list[Entry]:
    """Each life is one process of the feeder."""
    for life in lives:
        recorder = recorder_at(root)
        feeder = Feeder(recorder)
        for event in life:
            feeder.does(event)
        recorder.close()
    return list(read_recording(folder_of(root)))


def replayed(entries: list[Entry]) -> RawReplay:
    return replay_raw(entries, plain_books)


def test_every_row_comes_out_again(tmp_path: Path) -> None:
    outcome = replayed(recorded(tmp_path, LIFE, LIFE))
    assert outcome.difference is None
    assert (outcome.exchange, outcome.session_id, outcome.files) == (MARKET.exchange, HEADER.session_id, 2)
    assert outcome.equal_rows == {SYMBOL: 2 * len(ROWS)}
    assert outcome.events["frame"] == 2 * 4
    assert outcome.events["row"] == 2 * len(ROWS)
    assert outcome.rejected_messages == 2
    assert outcome.cut == ()


def row_places(entries: list[Entry]) -> list[int]:
    return [place for place, entry in enumerate(entries) if isinstance(entry, RecordedEvent) and entry.kind == "row"]


def changed(entries: list[Entry], row: int) -> list[Entry]:
    place = row_places(entries)[row - 1]
    event = entries[place]
    assert isinstance(event, RecordedEvent)
    assert isinstance(event.data, bytes)
    spoiled = RecordedEvent(event.symbol, "row", event.now, event.data.replace(b'"bid":"101"', b'"bid":"101.0"'))
    return [*entries[:place], spoiled, *entries[place + 1 :]]


def without(entries: list[Entry], row: int) -> list[Entry]:
    place = row_places(entries)[row - 1]
    return [*entries[:place], *entries[place + 1 :]]


def doubled(entries: list[Entry], row: int) -> list[Entry]:
    place = row_places(entries)[row - 1]
    return [*entries[: place + 1], *entries[place:]]


# name: (what was done to the recording, to which row, the row that differs, whether both sides have one)
CHANGES: dict[str, tuple[Callable[[list[Entry], int], list[Entry]], int, int, tuple[bool, bool]]] = {
    "other bytes of the same number": (changed, 5, 5, (True, True)),
    "a row too few": (without, 2, 2, (False, True)),
    "the last row too few": (without, len(ROWS), len(ROWS), (False, True)),
    "a row too many": (doubled, 2, 3, (True, False)),
}


@pytest.mark.parametrize(("change", "row", "at", "sides"), CHANGES.values(), ids=CHANGES.keys())
def test_the_first_difference_is_named(
    tmp_path: Path,
    change: Callable[[list[Entry], int], list[Entry]],
    row: int,
    at: int,
    sides: tuple[bool, bool],
) -> None:
    difference = replayed(change(recorded(tmp_path, LIFE), row)).difference
    assert difference is not None
    assert (difference.symbol, difference.row) == (SYMBOL, at)
    assert (difference.recorded is not None, difference.replayed is not None) == sides


def test_other_code_shows_as_a_difference(tmp_path: Path) -> None:
    class ThinnerBooks(PlainBooks):
        def take_frame(self, frame: str | bytes, now: int) -> list[WireOutput]:
            return [said for said in super().take_frame(frame, now) if not isinstance(said, BookTop) or now != 8]

    outcome = replay_raw(recorded(tmp_path, LIFE), lambda _: ThinnerBooks())
    assert outcome.difference is not None
    assert outcome.difference.row == 5
    assert outcome.difference.replayed is None
    assert b'"sequence":504' in (outcome.difference.recorded or b"")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(kept=st.integers(0, 2 * len(LIFE) + 3))
def test_a_recording_cut_anywhere_is_equal_as_far_as_it_goes(tmp_path: Path, kept: int) -> None:
    """What the last note led to may have been lost with the cut; the next process started again."""
    folder = tmp_path / str(kept)
    if not folder.exists():
        recorded(folder, LIFE)
    *whole, end = list(read_recording(folder_of(folder)))
    assert isinstance(end, PartEnd)
    entries = [*whole[:kept], PartEnd(end.path, None)]
    outcome = replayed([*entries, *whole, end])
    assert outcome.difference is None
    assert outcome.cut == (end.path.name,)
    assert outcome.equal_rows == {SYMBOL: len(row_places(entries)) + len(ROWS)}


IMPOSSIBLE: dict[str, tuple[list[RecordedEvent], str]] = {
    "nothing started": ([RecordedEvent(SYMBOL, "alive", 1)], "not started before this event"),
    "no sequence": ([RecordedEvent(SYMBOL, "started", 1, "x")], "invalid literal"),
    "no status": ([LIFE[0], RecordedEvent(SYMBOL, "lost", 2, "tired")], "unknown status 'tired'"),
    "no book": ([LIFE[0], RecordedEvent(SYMBOL, "book", 2, "{}")], "not a book"),
    "no market": ([RecordedEvent("ETH/EUR", "started", 1, "0")], "is not a market of this recording"),
}


@pytest.mark.parametrize(("events", "sentence"), IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_notes_that_cannot_be_are_rejected_in_one_sentence(events: list[RecordedEvent], sentence: str) -> None:
    with pytest.raises(ImportRejectedError, match=sentence) as caught:
        replayed([HEADER, *events])
    assert "\n" not in str(caught.value)


def test_files_of_two_exchanges_are_no_one_recording() -> None:
    other = RecordingHeader("session", "kraken", (MARKET,), part=2)
    with pytest.raises(ImportRejectedError, match="part 2 is of kraken, the other parts are of bitstamp"):
        replayed([HEADER, other])


def test_a_difference_says_when_it_was() -> None:
    outcome = replayed([HEADER, *LIFE[:6], RecordedEvent(SYMBOL, "row", 5, b"{}")])
    assert outcome.difference is not None
    assert outcome.difference == ReplayDifference(SYMBOL, 1, 5, b"{}", outcome.difference.replayed)
