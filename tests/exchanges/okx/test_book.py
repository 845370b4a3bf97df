"""OKX's books by the id of the message before: a snapshot, changes, one missing, ids that fall, and still minutes."""

import json

import pytest

from exchanges.books.errors import FeedDroppedError, FeedRejectedError, FrameRejectedError
from exchanges.books.port import Conversation, Heartbeat
from exchanges.okx.book import parse_rest_book, parse_server_time
from market.prices.book_top import BookTop
from tests.exchanges.books.samples import (
    ASKS,
    BIDS,
    NOW,
    conversation_of,
    levels,
    okx_book,
    rejection_of,
    sent,
    top_of_frames,
)

EXCHANGE = "okx"
TIME = 1_700_000_000_123_000
TOP = BookTop(levels(*BIDS), levels(*ASKS), TIME)
SNAPSHOT = okx_book("snapshot", -1, 10, BIDS, ASKS)


def ready() -> Conversation:
    """Return a conversation whose book has message 10."""
    conversation = conversation_of(EXCHANGE)
    assert conversation.take_frame(SNAPSHOT, NOW) == [TOP]
    return conversation


def test_it_subscribes_to_the_channel_of_changes() -> None:
    [request] = sent(conversation_of(EXCHANGE))
    assert request == {"op": "subscribe", "args": [{"channel": "books", "instId": "BTC-USDT"}]}


def test_changes_follow_the_snapshot_whatever_lies_between_their_ids() -> None:
    conversation = ready()
    added = okx_book("update", 10, 17, [("60000.15", "1")], [])
    assert top_of_frames(conversation, added) == BookTop(levels(("60000.15", "1"), *BIDS), levels(*ASKS), TIME)
    assert top_of_frames(conversation, okx_book("update", 17, 110, [("60000.15", "0")], [])) == TOP


@pytest.mark.parametrize(("before", "number"), [(11, 12), (9, 12), (-1, 12), (0, 1)])
def test_a_change_of_another_message_is_a_gap(before: int, number: int) -> None:
    frame = okx_book("update", before, number, [], [])
    # what names no message before it is no change
    assert rejection_of(ready(), frame) == ("malformed" if before < 0 else "sequence_gap")


def test_a_change_before_the_snapshot_is_a_gap() -> None:
    assert rejection_of(conversation_of(EXCHANGE), okx_book("update", 10, 11, [], [])) == "sequence_gap"


def test_ids_may_fall_after_a_maintenance_and_the_chain_goes_on() -> None:
    conversation = ready()
    fallen = okx_book("update", 10, 3, [("60000.15", "1")], [])
    assert top_of_frames(conversation, fallen).bids[0] == levels(("60000.15", "1"))[0]
    assert rejection_of(conversation, okx_book("update", 3, 5, [], [])) is None


def test_a_still_minute_and_a_repetition_are_no_news() -> None:
    conversation = ready()
    assert conversation.take_frame(okx_book("update", 10, 10, [], []), NOW) == [Heartbeat()]
    change = okx_book("update", 10, 11, [("1", "1")], [])
    conversation.take_frame(change, NOW)
    assert conversation.take_frame(change, NOW) == [Heartbeat()]


@pytest.mark.parametrize("number", [1, 10, 99])
def test_a_snapshot_restarts_the_book_whatever_its_id(number: int) -> None:
    conversation = ready()
    bids = [("59000", "3")]
    restarted = okx_book("snapshot", -1, number, bids, ASKS)
    assert top_of_frames(conversation, restarted) == BookTop(levels(*bids), levels(*ASKS), TIME)
    assert rejection_of(conversation, okx_book("update", number, number + 1, [], [])) is None


def test_levels_beyond_the_depth_are_forgotten() -> None:
    conversation = conversation_of(EXCHANGE)
    bids = [(str(50_000 - number), "1") for number in range(400)]
    conversation.take_frame(okx_book("snapshot", -1, 1, bids, []), NOW)
    conversation.take_frame(okx_book("update", 1, 2, [("50001", "1")], []), NOW)
    gone = [(str(50_001 - number), "0") for number in range(400)]
    assert top_of_frames(conversation, okx_book("update", 2, 3, gone, [])) == BookTop((), (), TIME)


@pytest.mark.parametrize(
    "frame",
    [
        "pong",
        b"pong",
        '{"event":"subscribe","arg":{"channel":"books","instId":"BTC-USDT"},"connId":"1"}',
        '{"event":"unsubscribe","arg":{"channel":"books","instId":"BTC-USDT"},"connId":"1"}',
        '{"event":"notice","code":"64008","msg":"The connection will soon be closed for a service upgrade."}',
        '{"event":"channel-conn-count","channel":"books","connCount":"2","connId":"1"}',
        '{"arg":{"channel":"trades","instId":"BTC-USDT"},"data":[]}',
        okx_book("snapshot", -1, 11, BIDS, ASKS, instrument="ETH-USDT").replace('"books"', '"books5"'),
    ],
)
def test_other_messages_are_received_without_effect(frame: str | bytes) -> None:
    assert conversation_of(EXCHANGE).take_frame(frame, NOW) == []


@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        "[]",
        '{"event":"login","code":"0"}',
        '{"arg":5}',
        '{"arg":{"channel":"books","instId":"BTC-USDT"}}',
        '{"arg":{"channel":"books","instId":"BTC-USDT"},"action":"update","data":{}}',
        okx_book("snapshot", -1, 11, BIDS, ASKS, instrument="ETH-USDT"),
        okx_book("changes", 10, 11, [], []),
        okx_book("update", 10, -1, [], []),
        okx_book("update", 10, 11, [("0", "1")], []),
        okx_book("update", 10, 11, [], [("1", "nan")]),
        okx_book("update", 10, 11, [], []).replace('"ts"', '"ts":null,"was"'),
    ],
)
def test_malformed(frame: str) -> None:
    assert rejection_of(ready(), frame) == "malformed"


@pytest.mark.parametrize(
    ("code", "expected"),
    [("60018", FeedRejectedError), ("60012", FeedRejectedError), ("60014", FeedDroppedError), ("x", FeedDroppedError)],
)
def test_what_the_exchange_says_no_to(code: str, expected: type[Exception]) -> None:
    with pytest.raises(expected) as caught:
        conversation_of(EXCHANGE).take_frame(json.dumps({"event": "error", "code": code, "msg": "no"}), NOW)
    assert type(caught.value) is expected


def test_the_book_by_rest() -> None:
    sides = {"bids": [[*row, "0", "2"] for row in BIDS], "asks": [[*row, "0", "2"] for row in ASKS]}
    body = {"code": "0", "msg": "", "data": [{**sides, "ts": "1", "seqId": 5}]}
    assert parse_rest_book(json.dumps(body).encode()) == BookTop(levels(*BIDS), levels(*ASKS))
    with pytest.raises(FeedRejectedError, match=r"doesn't exist \(51001\)"):
        parse_rest_book(b'{"code":"51001","msg":"Instrument ID doesn\'t exist","data":[]}')
    with pytest.raises(FeedDroppedError, match="50011"):
        parse_rest_book(b'{"code":"50011","msg":"Too Many Requests","data":[]}')
    for nothing in (b"<html>", b'{"code":"0","data":[]}', b'{"code":0,"data":[{}]}'):
        with pytest.raises(FrameRejectedError):
            parse_rest_book(nothing)


def test_server_time() -> None:
    assert parse_server_time(b'{"code":"0","msg":"","data":[{"ts":"1700000000123"}]}') == TIME
