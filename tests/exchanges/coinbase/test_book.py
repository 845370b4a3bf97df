"""Coinbase Advanced's level2: a snapshot, changes by their sides, heartbeats, and what is rejected or passed over."""

import json

import pytest

from exchanges.books.errors import FeedDroppedError, FeedRejectedError, FrameRejectedError
from exchanges.books.port import Conversation, Heartbeat
from exchanges.coinbase.book import WIRE, parse_rest_book, parse_server_time
from market.prices.book_top import BookTop
from tests.exchanges.books.samples import (
    ASKS,
    BIDS,
    NOW,
    advanced_book,
    advanced_heartbeat,
    advanced_message,
    conversation_of,
    levels,
    rejection_of,
    sent,
    top_of_frames,
)

EXCHANGE = "coinbase"
TIME = 1_700_000_000_714_964
TOP = BookTop(levels(*BIDS), levels(*ASKS), TIME)


def ready() -> Conversation:
    """Return a conversation that has its snapshot."""
    conversation = conversation_of(EXCHANGE)
    assert conversation.take_frame(advanced_book("snapshot", 0), NOW) == [TOP]
    return conversation


def test_it_subscribes_to_books_and_heartbeats() -> None:
    assert sent(conversation_of(EXCHANGE)) == [
        {"type": "subscribe", "product_ids": ["BTC-USD"], "channel": channel} for channel in ("level2", "heartbeats")
    ]


def test_changes_follow_the_snapshot() -> None:
    conversation = ready()
    added = advanced_book("update", 1, [("60000.15", "1")], [])
    assert top_of_frames(conversation, added) == BookTop(levels(("60000.15", "1"), *BIDS), levels(*ASKS), TIME)
    assert top_of_frames(conversation, advanced_book("update", 2, [("60000.15", "0.00000000")], [])) == TOP


def test_a_new_snapshot_restarts_the_book() -> None:
    conversation = ready()
    top_of_frames(conversation, advanced_book("update", 1, [("60000.15", "1")], []))
    assert top_of_frames(conversation, advanced_book("snapshot", 2)) == TOP


def test_a_change_before_the_snapshot_is_a_gap() -> None:
    assert rejection_of(conversation_of(EXCHANGE), advanced_book("update", 1)) == "sequence_gap"


def test_a_heartbeat_says_that_the_book_is_unchanged() -> None:
    assert ready().take_frame(advanced_heartbeat(1), NOW) == [Heartbeat()]


def test_confirmations_and_trades_are_passed_over() -> None:
    conversation = ready()
    for channel in ("subscriptions", "market_trades", "ticker", "status"):
        assert conversation.take_frame(advanced_message(channel, 1, {"type": "update"}), NOW) == []


@pytest.mark.parametrize(
    "frame",
    [
        advanced_book("update", 1, product="BTC-USDC"),
        advanced_book("change", 1),
        advanced_message("l2_dat", 1),
        advanced_book("update", 1).replace('"bid"', '"bids"'),
        advanced_book("update", 1).replace('"price_level"', '"price"'),
        advanced_book("update", 1, [("0", "1")], []),
        advanced_book("update", 1, [("-1", "1")], []),
        advanced_book("update", 1).replace("2023-11-14T", "2023-11-14 at "),
        advanced_book("update", 1)[:-9],
        "[]",
    ],
)
def test_what_is_malformed(frame: str) -> None:
    assert rejection_of(ready(), frame) == "malformed"


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("authentication failure", FeedRejectedError),
        ("invalid product_ids", FeedRejectedError),
        ("too many requests", FeedDroppedError),
    ],
)
def test_an_error_is_final_if_a_retry_changes_nothing(message: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=message):
        ready().take_frame(json.dumps({"type": "error", "message": message}), NOW)


def test_the_number_of_a_message_is_read_without_its_levels() -> None:
    sharing = WIRE.sharing
    assert sharing is not None
    assert sharing.number_in(advanced_book("snapshot", 7).encode()) == 7
    assert sharing.number_in(advanced_heartbeat(123).encode()) == 123
    assert sharing.number_in(b'{"type":"error","message":"x"}') is None


def test_a_book_by_rest_and_the_time() -> None:
    sides = {
        name: [{"price": price, "size": size} for price, size in rows]
        for name, rows in (("bids", BIDS), ("asks", ASKS))
    }
    book = {"product_id": "BTC-USD", **sides, "time": "2023-11-14T22:13:20.714964Z"}
    assert parse_rest_book(json.dumps({"pricebook": book}).encode()) == TOP
    said = {"iso": "2023-11-14T22:13:20Z", "epochSeconds": "1700000000", "epochMillis": "1700000000123"}
    assert parse_server_time(json.dumps(said).encode()) == 1_700_000_000_123_000
    with pytest.raises(FrameRejectedError):
        parse_rest_book(b'{"pricebook":{"bids":[],"asks":[]}}')


@pytest.mark.parametrize(
    ("word", "message", "error"),
    [
        ("INVALID_ARGUMENT", "valid product_id is required", FeedRejectedError),
        ("INTERNAL", "internal error", FeedDroppedError),
    ],
)
def test_errors_by_rest(word: str, message: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        parse_rest_book(json.dumps({"error": word, "error_details": message, "message": message}).encode())
