"""Kraken's v2 book, whose every message is checked, and the v1 messages that recordings are made of."""

import json
from zlib import crc32

import pytest

from exchanges.books.errors import FeedDroppedError, FeedRejectedError, FrameRejectedError
from exchanges.books.port import Conversation, Heartbeat
from exchanges.kraken.book import CheckedBook, level_digits, parse_rest_book, parse_server_time, rest_book
from market.prices.book_top import BookTop
from tests.exchanges.books.kraken_v1 import book_message, take
from tests.exchanges.books.recordings import market_of
from tests.exchanges.books.samples import (
    ASKS,
    BIDS,
    NOW,
    conversation_of,
    kraken_book,
    levels,
    rejection_of,
    sent,
    top_of_frames,
)
from tests.pricefeeds.samples import level

EXCHANGE = "kraken"
DIGITS = "600002025000000" + "6000100200000000" + "600001050000000" + "5999990100000000"
SNAPSHOT = kraken_book("snapshot", BIDS, ASKS, crc32(DIGITS.encode()))

# The book of Kraken's own guide to the checksum (docs.kraken.com, "Book Checksum"), and its result.
GUIDE_ASKS = [(f"0.0{ticks}", "0.00000500") for ticks in range(5005, 5055, 5)]
GUIDE_BIDS = [("0.05000", "0.00000500")]
GUIDE_BIDS += [(f"0.0{ticks}", "0.00000500") for ticks in range(4995, 4945, -5) if ticks != 4985]
GUIDE_CHECKSUM = 974_947_235


def ready() -> Conversation:
    conversation = conversation_of(EXCHANGE)
    conversation.take_frame(SNAPSHOT, NOW)
    return conversation


def test_it_subscribes_to_as_many_levels_as_a_quote_has() -> None:
    parameters = {"channel": "book", "symbol": ["BTC/USD"], "depth": 10, "snapshot": True}
    assert sent(conversation_of(EXCHANGE)) == [{"method": "subscribe", "params": parameters}]


def test_the_checksum_of_the_exchanges_own_guide() -> None:
    book = CheckedBook(10)
    book.restart(levels(*GUIDE_BIDS), levels(*GUIDE_ASKS))
    book.check(GUIDE_CHECKSUM)
    with pytest.raises(FrameRejectedError) as caught:
        book.check(GUIDE_CHECKSUM + 1)
    assert caught.value.kind == "checksum"


def test_digits_are_the_exchanges_own() -> None:
    assert level_digits(level("0.05000", "0.10000000")) == "5000" + "10000000"
    assert level_digits(level("45283.5", "0.00000010")) == "452835" + "10"


def test_a_book_is_a_snapshot_and_its_changes() -> None:
    conversation = conversation_of(EXCHANGE)
    assert top_of_frames(conversation, SNAPSHOT) == BookTop(levels(*BIDS), levels(*ASKS))
    digits = DIGITS.replace("600001050000000", "")
    update = kraken_book("update", [("60000.10", "0")], [], crc32(digits.encode()), time="2023-11-14T22:13:20.000001Z")
    assert top_of_frames(conversation, update) == BookTop(levels(BIDS[1]), levels(*ASKS), 1_700_000_000_000_001)


def test_levels_pushed_out_of_the_depth_are_forgotten() -> None:
    book = CheckedBook(10)
    book.restart(levels(*((str(price), "1") for price in range(1, 11))), ())
    book.apply(levels(("11", "1")), ())
    book.apply(levels(("11", "0")), ())
    assert [entry.price for entry in book.top().bids] == list(range(10, 1, -1))


def test_a_lost_message_fails_the_checksum_of_the_next() -> None:
    lost = DIGITS.replace("600001050000000", "")
    assert rejection_of(ready(), kraken_book("update", [], [], crc32(lost.encode()))) == "checksum"


def test_a_change_before_the_snapshot_is_a_gap() -> None:
    assert rejection_of(conversation_of(EXCHANGE), kraken_book("update", BIDS, ASKS, 1)) == "sequence_gap"


@pytest.mark.parametrize("frame", ['{"channel":"heartbeat"}', '{"method":"pong","req_id":1}'])
def test_signs_of_life(frame: str) -> None:
    assert conversation_of(EXCHANGE).take_frame(frame, NOW) == [Heartbeat()]


@pytest.mark.parametrize(
    "frame",
    [
        '{"channel":"status","type":"update","data":[{"system":"online","api_version":"v2"}]}',
        '{"method":"subscribe","success":true,"result":{"channel":"book"}}',
        '{"channel":"ticker","type":"update","data":[]}',
    ],
)
def test_other_messages_are_received_without_effect(frame: str) -> None:
    assert conversation_of(EXCHANGE).take_frame(frame, NOW) == []


@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        '{"channel":"bok"}',
        '{"channel":["book"]}',
        '{"channel":{}}',
        '{"channel":"book","type":"update","data":[]}',
        '{"channel":"book","type":"updat","data":[{}]}',
        '{"channel":"book","type":"update","data":[{"symbol":"BTC/USD","bids":[],"asks":[]}]}',
        '{"channel":"status","data":[{}]}',
        kraken_book("update", [], [], 1, symbol="ETH/USD"),
        kraken_book("update", [("-1", "1")], [], 1),
        kraken_book("update", [("NaN", "1")], [], 1),
        kraken_book("update", [], [("1", "1e30")], 1),
        kraken_book("update", [], [], -1),
    ],
)
def test_malformed(frame: str) -> None:
    assert rejection_of(ready(), frame) == "malformed"


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        ({"method": "subscribe", "success": False, "error": "Currency pair not supported FOO/BAR"}, FeedRejectedError),
        ({"method": "subscribe", "success": False, "error": "Subscription depth not supported"}, FeedRejectedError),
        ({"method": "subscribe", "success": False, "error": "Exceeded msg rate"}, FeedDroppedError),
        ({"error": "EService:Unavailable"}, FeedDroppedError),
        ({"channel": "status", "type": "update", "data": [{"system": "maintenance"}]}, FeedDroppedError),
        ({"channel": "status", "type": "update", "data": [{"system": "cancel_only"}]}, FeedDroppedError),
    ],
)
def test_what_the_exchange_says_no_to(frame: dict[str, object], expected: type[Exception]) -> None:
    with pytest.raises(expected) as caught:
        conversation_of(EXCHANGE).take_frame(json.dumps(frame), NOW)
    assert type(caught.value) is expected


def test_the_book_by_rest() -> None:
    assert rest_book(market_of("BTC", "USD")) == "/0/public/Depth?pair=XBTUSD&count=100"
    assert rest_book(market_of("EUR", "USD")) == "/0/public/Depth?pair=EURUSD&count=100"
    body = b'{"error":[],"result":{"XXBTZUSD":{"asks":[["2","1.5",1616663113]],"bids":[["1","3",1616663112]]}}}'
    assert parse_rest_book(body) == BookTop(levels(("1", "3")), levels(("2", "1.5")))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"error":["EQuery:Unknown asset pair"]}', FeedRejectedError),
        (b'{"error":["EAPI:Rate limit exceeded"]}', FeedDroppedError),
        (b'{"error":[],"result":{}}', FrameRejectedError),
        (b'{"result":{}}', FrameRejectedError),
        (b"Bad gateway", FrameRejectedError),
    ],
)
def test_answers_that_are_no_book(body: bytes, expected: type[Exception]) -> None:
    with pytest.raises(expected):
        parse_rest_book(body)


def test_server_time() -> None:
    assert parse_server_time(b'{"error":[],"result":{"unixtime":1700000000,"rfc1123":"x"}}') == NOW


def test_v1_messages() -> None:
    assert book_message('{"event":"heartbeat"}') is None
    assert book_message('[1,[],"trade","XBT/USD"]') is None
    frame = '[0,{"a":[["2","1","9.1","r"]]},{"b":[["1","0","9.1"]],"c":"7"},"book-10","XBT/USD"]'
    message = book_message(frame)
    assert message is not None
    assert (message.pair, message.is_snapshot, message.checksum) == ("XBT/USD", False, 7)
    assert (message.bids, message.asks) == ([level("1", "0")], [level("2", "1")])
    with pytest.raises(FrameRejectedError):
        take(CheckedBook(10), message)


@pytest.mark.parametrize(
    "frame", ["x", "5", "[]", "[1,2,3]", '[1,2,"book-10","P"]', '[1,{},"book-10","P"]', '[1,{"a":5},"book-10","P"]']
)
def test_malformed_v1_messages(frame: str) -> None:
    with pytest.raises(FrameRejectedError):
        book_message(frame)
