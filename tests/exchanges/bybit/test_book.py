"""Bybit's books by update id: a snapshot, changes one after the other, one missing, and restarts."""

import json

import pytest

from exchanges.books.errors import FeedDroppedError, FeedRejectedError, FrameRejectedError
from exchanges.books.port import Conversation, Heartbeat
from exchanges.bybit.book import parse_rest_book, parse_server_time
from market.prices.book_top import BookTop
from tests.exchanges.books.samples import (
    ASKS,
    BIDS,
    NOW,
    bybit_book,
    conversation_of,
    levels,
    rejection_of,
    sent,
    top_of_frames,
)

EXCHANGE = "bybit"
TIME = 1_700_000_000_123_000
TOP = BookTop(levels(*BIDS), levels(*ASKS), TIME)
SNAPSHOT = bybit_book("snapshot", 10, BIDS, ASKS)


def ready() -> Conversation:
    """Return a conversation whose book has update 10."""
    conversation = conversation_of(EXCHANGE)
    assert conversation.take_frame(SNAPSHOT, NOW) == [TOP]
    return conversation


def test_it_subscribes_to_fifty_levels() -> None:
    [request] = sent(conversation_of(EXCHANGE))
    assert request == {"op": "subscribe", "args": ["orderbook.50.BTCUSDT"]}


def test_changes_follow_the_snapshot() -> None:
    conversation = ready()
    added = bybit_book("delta", 11, [("60000.15", "1")], [])
    assert top_of_frames(conversation, added) == BookTop(levels(("60000.15", "1"), *BIDS), levels(*ASKS), TIME)
    assert top_of_frames(conversation, bybit_book("delta", 12, [("60000.15", "0")], [])) == TOP


@pytest.mark.parametrize("update_id", [12, 9, 1])
def test_an_id_that_does_not_follow_is_a_gap(update_id: int) -> None:
    assert rejection_of(ready(), bybit_book("delta", update_id, [], [])) == "sequence_gap"


def test_a_change_before_the_snapshot_is_a_gap() -> None:
    assert rejection_of(conversation_of(EXCHANGE), bybit_book("delta", 11, [], [])) == "sequence_gap"


def test_a_repetition_is_no_news() -> None:
    conversation = ready()
    change = bybit_book("delta", 11, [("1", "1")], [])
    conversation.take_frame(change, NOW)
    assert conversation.take_frame(change, NOW) == [Heartbeat()]


@pytest.mark.parametrize("update_id", [1, 8, 99])
def test_a_snapshot_restarts_the_book_whatever_its_id(update_id: int) -> None:
    conversation = ready()
    bids = [("59000", "3")]
    restarted = bybit_book("snapshot", update_id, bids, ASKS)
    assert top_of_frames(conversation, restarted) == BookTop(levels(*bids), levels(*ASKS), TIME)
    assert rejection_of(conversation, bybit_book("delta", update_id + 1, [], [])) is None


def test_levels_beyond_the_depth_are_forgotten() -> None:
    conversation = conversation_of(EXCHANGE)
    bids = [(str(50_000 - number), "1") for number in range(50)]
    conversation.take_frame(bybit_book("snapshot", 1, bids, []), NOW)
    conversation.take_frame(bybit_book("delta", 2, [("50001", "1")], []), NOW)
    gone = [(str(50_001 - number), "0") for number in range(50)]
    assert top_of_frames(conversation, bybit_book("delta", 3, gone, [])) == BookTop((), (), TIME)


def test_without_the_time_of_the_market_the_messages_counts() -> None:
    fields = json.loads(SNAPSHOT)
    del fields["cts"]
    assert top_of_frames(conversation_of(EXCHANGE), json.dumps(fields)).exchange_time == TIME + 1_000


@pytest.mark.parametrize(
    "frame",
    [
        '{"success":true,"ret_msg":"subscribe","conn_id":"1","req_id":"","op":"subscribe"}',
        '{"success":true,"ret_msg":"pong","conn_id":"1","op":"ping"}',
        '{"topic":"publicTrade.BTCUSDT","type":"snapshot","ts":1,"data":[]}',
        '{"topic":"tickers.BTCUSDT","type":"snapshot","ts":1,"data":{}}',
    ],
)
def test_other_messages_are_received_without_effect(frame: str) -> None:
    assert conversation_of(EXCHANGE).take_frame(frame, NOW) == []


@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        "[]",
        '{"topic":5}',
        '{"topic":"orderbook.50.BTCUSDT"}',
        '{"topic":"orderbook.1.BTCUSDT","type":"snapshot","ts":1,"data":{}}',
        bybit_book("snapshot", 11, BIDS, ASKS, symbol="ETHUSDT"),
        bybit_book("snapshot", 11, BIDS, ASKS, symbol="ETHUSDT").replace(".ETHUSDT", ".BTCUSDT"),
        bybit_book("changes", 11, [], []),
        bybit_book("delta", -1, [], []),
        bybit_book("delta", 11, [("0", "1")], []),
        bybit_book("delta", 11, [], [("1", "nan")]),
        bybit_book("delta", 11, [], []).replace('"cts"', '"cts":null,"was"'),
    ],
)
def test_malformed(frame: str) -> None:
    assert rejection_of(ready(), frame) == "malformed"


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        ('{"success":false,"ret_msg":"error:Invalid symbol :[orderbook.50.X]","op":"subscribe"}', FeedRejectedError),
        ('{"success":false,"ret_msg":"error:handler not found,topic:x","op":"subscribe"}', FeedRejectedError),
        ('{"success":false,"ret_msg":"error:service restarting","op":"subscribe"}', FeedDroppedError),
    ],
)
def test_what_the_exchange_says_no_to(frame: str, expected: type[Exception]) -> None:
    with pytest.raises(expected) as caught:
        conversation_of(EXCHANGE).take_frame(frame, NOW)
    assert type(caught.value) is expected


def test_the_book_by_rest() -> None:
    body = {"retCode": 0, "retMsg": "OK", "result": {"s": "BTCUSDT", "b": BIDS, "a": ASKS, "u": 5}, "time": 1}
    assert parse_rest_book(json.dumps(body).encode()) == BookTop(levels(*BIDS), levels(*ASKS))
    with pytest.raises(FeedRejectedError, match=r"Not supported symbols \(10001\)"):
        parse_rest_book(b'{"retCode":10001,"retMsg":"Not supported symbols","result":{}}')
    with pytest.raises(FeedDroppedError, match="10006"):
        parse_rest_book(b'{"retCode":10006,"retMsg":"Too many visits!","result":{}}')
    with pytest.raises(FrameRejectedError):
        parse_rest_book(b"<html>")


def test_server_time() -> None:
    assert parse_server_time(b'{"retCode":0,"result":{"timeSecond":"1700000000"},"time":1700000000123}') == TIME
