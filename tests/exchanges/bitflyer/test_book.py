"""bitFlyer's boards: numbers without quotes, levels at price 0, changes before the first board."""

import json

import pytest

from exchanges.bitflyer.book import parse_rest_book
from exchanges.books.errors import FeedDroppedError, FeedRejectedError
from market.prices.book_top import BookTop
from tests.exchanges.books.samples import (
    NOW,
    bitflyer_board,
    conversation_of,
    levels,
    rejection_of,
    sent,
    top_of_frames,
)

EXCHANGE = "bitflyer"
WHOLE = bitflyer_board([("100.0", "1.5"), ("99.0", "0.09056")], [("101.0", "1e-08")], is_snapshot=True)


def test_it_subscribes_to_changes_before_boards() -> None:
    channels = ["lightning_board_BTC_JPY", "lightning_board_snapshot_BTC_JPY"]
    assert [request["params"] for request in sent(conversation_of(EXCHANGE))] == [
        {"channel": name} for name in channels
    ]


def test_a_book_is_a_board_and_its_changes() -> None:
    conversation = conversation_of(EXCHANGE)
    assert conversation.take_frame(bitflyer_board([("98", "1")], []), NOW) == []
    top = BookTop(levels(("100.0", "1.5"), ("99.0", "0.09056")), levels(("101.0", "0.00000001")))
    assert top_of_frames(conversation, WHOLE) == top
    change = bitflyer_board([("100.0", "0.0"), ("98.0", "2")], [("0", "5"), ("0.0", "7"), ("100.5", "3.0")])
    expected = BookTop(levels(("99", "0.09056"), ("98", "2")), levels(("100.5", "3"), ("101", "0.00000001")))
    assert top_of_frames(conversation, change) == expected
    assert top_of_frames(conversation, WHOLE) == top


@pytest.mark.parametrize(
    "frame",
    [
        '{"jsonrpc":"2.0","id":1,"result":true}',
        '{"jsonrpc":"2.0","method":"channelMessage","params":{"channel":"lightning_ticker_BTC_JPY","message":{}}}',
        '{"jsonrpc":"2.0","method":"channelMessage","params":{"channel":"lightning_executions_BTC_JPY","message":[]}}',
    ],
)
def test_other_messages_are_received_without_effect(frame: str) -> None:
    assert conversation_of(EXCHANGE).take_frame(frame, NOW) == []


@pytest.mark.parametrize(
    "frame",
    [
        "{}",
        '{"jsonrpc":"2.0","id":1,"result":false}',
        '{"method":"channelMessage"}',
        '{"method":"channelMessage","params":{"channel":"board"}}',
        '{"method":"channelMessage","params":{"channel":"lightning_board_BTC_JPY","message":{"bids":[]}}}',
        bitflyer_board([], [], product="ETH_JPY"),
        bitflyer_board([("-1", "1")], []),
        bitflyer_board([("1", "NaN")], []),
        bitflyer_board([("1", "1e99")], []),
        bitflyer_board([("null", "1")], []),
        bitflyer_board([("1", "true")], []),
    ],
)
def test_malformed(frame: str) -> None:
    conversation = conversation_of(EXCHANGE)
    conversation.take_frame(WHOLE, NOW)
    assert rejection_of(conversation, frame) == "malformed"


@pytest.mark.parametrize(
    ("code", "expected"), [(-32602, FeedRejectedError), (-32601, FeedRejectedError), (-32000, FeedDroppedError)]
)
def test_what_the_exchange_says_no_to(code: int, expected: type[Exception]) -> None:
    frame = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no"}})
    with pytest.raises(expected) as caught:
        conversation_of(EXCHANGE).take_frame(frame, NOW)
    assert type(caught.value) is expected


def test_the_book_by_rest() -> None:
    body = b'{"mid_price":33320,"bids":[{"price":30000,"size":0.1}],"asks":[{"price":36640,"size":5}]}'
    assert parse_rest_book(body) == BookTop(levels(("30000", "0.1")), levels(("36640", "5")))
    with pytest.raises(FeedDroppedError):
        parse_rest_book(b'{"status":-2,"error_message":"Under maintenance","data":null}')
