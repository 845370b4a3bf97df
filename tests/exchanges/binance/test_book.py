"""Binance's changes by update id: around the snapshot, one after the other, and with one missing."""

import json

import pytest

from exchanges.binance.book import parse_rest_book, parse_server_time
from exchanges.books.errors import FeedDroppedError, FeedRejectedError, FrameRejectedError
from exchanges.books.port import Conversation, FetchSnapshot, Heartbeat
from exchanges.books.snapshots import RETRY_AFTER
from market.prices.book_top import BookTop
from tests.exchanges.books.samples import (
    ASKS,
    BIDS,
    NOW,
    binance_book,
    binance_change,
    conversation_of,
    levels,
    rejection_of,
    sent,
    top_of_frames,
)

EXCHANGE = "binance"
FETCH = FetchSnapshot("/api/v3/depth?symbol=BTCUSDT&limit=1000")
TIME = 1_700_000_000_123_000
TOP = BookTop(levels(*BIDS), levels(*ASKS), TIME)


def ready() -> Conversation:
    """Return a conversation whose book includes update 10 and has joined the stream."""
    conversation = conversation_of(EXCHANGE)
    assert conversation.take_frame(binance_change(8, 10, [], []), NOW) == [FETCH]
    assert conversation.take_snapshot(binance_book(9), NOW) == [TOP]
    return conversation


def test_it_subscribes_to_changes() -> None:
    [request] = sent(conversation_of(EXCHANGE))
    assert request == {"method": "SUBSCRIBE", "params": ["btcusdt@depth@100ms"], "id": 1}


def test_changes_wait_for_the_snapshot_and_those_within_it_are_left_out() -> None:
    conversation = conversation_of(EXCHANGE)
    assert conversation.take_frame(binance_change(5, 6, [("1", "1")], []), NOW) == [FETCH]
    assert conversation.take_frame(binance_change(7, 9, [("60000.15", "1")], []), NOW) == []
    assert conversation.take_snapshot(binance_book(8), NOW) == [
        BookTop(levels(("60000.15", "1"), *BIDS), levels(*ASKS), TIME)
    ]
    assert top_of_frames(conversation, binance_change(10, 10, [("60000.15", "0")], [])) == TOP


def test_a_snapshot_ahead_of_all_changes_waits_for_the_one_that_follows_it() -> None:
    conversation = conversation_of(EXCHANGE)
    conversation.take_frame(binance_change(5, 6, [], []), NOW)
    assert conversation.take_snapshot(binance_book(20), NOW) == [TOP]
    assert conversation.take_frame(binance_change(7, 20, [("1", "1")], []), NOW) == [Heartbeat()]
    assert top_of_frames(conversation, binance_change(19, 22, [], [])) == TOP
    assert rejection_of(conversation, binance_change(24, 24, [], [])) == "sequence_gap"


def test_a_snapshot_behind_the_first_change_is_fetched_again() -> None:
    conversation = conversation_of(EXCHANGE)
    conversation.take_frame(binance_change(5, 6, [], []), NOW)
    assert conversation.take_snapshot(binance_book(3), NOW) == []
    assert conversation.take_frame(binance_change(7, 7, [], []), NOW + RETRY_AFTER) == [FETCH]
    assert conversation.take_snapshot(binance_book(4), NOW) == [TOP]


@pytest.mark.parametrize(("first", "last"), [(12, 12), (10, 11), (9, 12)])
def test_ids_that_do_not_follow_are_a_gap(first: int, last: int) -> None:
    assert rejection_of(ready(), binance_change(first, last, [], [])) == "sequence_gap"


def test_a_gap_among_the_waiting_is_one_too() -> None:
    conversation = conversation_of(EXCHANGE)
    conversation.take_frame(binance_change(5, 6, [], []), NOW)
    assert rejection_of(conversation, binance_change(8, 9, [], [])) == "sequence_gap"


def test_a_repetition_is_no_news() -> None:
    conversation = conversation_of(EXCHANGE)
    conversation.take_frame(binance_change(5, 6, [], []), NOW)
    assert conversation.take_frame(binance_change(5, 6, [], []), NOW) == []
    assert ready().take_frame(binance_change(8, 10, [("1", "1")], []), NOW) == [Heartbeat()]


def test_messages_of_combined_streams_are_wrapped() -> None:
    wrapped = json.dumps({"stream": "btcusdt@depth@100ms", "data": json.loads(binance_change(11, 11, [], []))})
    assert top_of_frames(ready(), wrapped) == TOP


@pytest.mark.parametrize(
    "frame",
    [
        '{"result":null,"id":1}',
        '{"e":"aggTrade","s":"BTCUSDT"}',
        '{"u":1,"s":"BTCUSDT","b":"1","B":"1","a":"2","A":"1"}',
    ],
)
def test_other_messages_are_received_without_effect(frame: str) -> None:
    assert conversation_of(EXCHANGE).take_frame(frame, NOW) == []


@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        '{"e":"depthUpdat"}',
        '{"e":5}',
        '{"result":5}',
        '{"stream":"btcusdt@depth@100ms"}',
        binance_change(11, 11, [], [], symbol="ETHUSDT"),
        binance_change(12, 11, [], []),
        binance_change(-1, 11, [], []),
        binance_change(11, 11, [("0", "1")], []),
        binance_change(11, 11, [], [("1", "nan")]),
        '{"e":"depthUpdate","E":1,"s":"BTCUSDT","U":11,"u":11,"b":[]}',
    ],
)
def test_malformed(frame: str) -> None:
    assert rejection_of(ready(), frame) == "malformed"


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        ('{"error":{"code":2,"msg":"Invalid request: invalid stream"},"id":1}', FeedRejectedError),
        ('{"code":-1121,"msg":"Invalid symbol."}', FeedRejectedError),
        ('{"code":-1003,"msg":"Too many requests"}', FeedDroppedError),
        ('{"code":[],"msg":"?"}', FeedDroppedError),
        ('{"e":"serverShutdown","E":1700000000000}', FeedDroppedError),
    ],
)
def test_what_the_exchange_says_no_to(frame: str, expected: type[Exception]) -> None:
    with pytest.raises(expected) as caught:
        conversation_of(EXCHANGE).take_frame(frame, NOW)
    assert type(caught.value) is expected


def test_the_book_by_rest() -> None:
    assert parse_rest_book(binance_book(5)) == BookTop(levels(*BIDS), levels(*ASKS))
    with pytest.raises(FeedRejectedError):
        parse_rest_book(b'{"code":-1121,"msg":"Invalid symbol."}')
    with pytest.raises(FrameRejectedError):
        parse_rest_book(b"<html>")


def test_server_time() -> None:
    assert parse_server_time(b'{"serverTime":1700000000123}') == TIME
