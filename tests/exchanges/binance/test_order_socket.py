"""What Binance says over its WebSocket API, in the words of its documents."""

import json

import pytest

from exchanges.binance.order_socket import BinanceOrderSocket
from exchanges.ports.order_calls import SocketAnswer, SocketEnding
from exchanges.ports.orders import AnswerNotUnderstoodError

WIRE = BinanceOrderSocket(None)
LIMITS = [
    {"rateLimitType": "ORDERS", "interval": "SECOND", "intervalNum": 10, "limit": 50, "count": 12},
    {"rateLimitType": "ORDERS", "interval": "DAY", "intervalNum": 1, "limit": 160_000, "count": 4_043},
    {"rateLimitType": "REQUEST_WEIGHT", "interval": "MINUTE", "intervalNum": 1, "limit": 6_000, "count": 321},
]


def test_an_answer_has_what_is_left_of_the_limits() -> None:
    said = {"id": "7", "status": 200, "result": {"orderId": 12510053279}, "rateLimits": LIMITS}
    expected = SocketAnswer("7", 200, {"orderId": 12510053279}, {"orders": 38, "weight": 5_679})
    assert WIRE.read(json.dumps(said)) == expected


def test_a_ban_says_how_long_it_lasts() -> None:
    data = {"serverTime": 1_659_142_907_531, "retryAfter": 1_659_142_910_000}
    error = {"code": -1003, "msg": "Way too much request weight used; IP banned.", "data": data}
    assert WIRE.read(json.dumps({"id": "7", "status": 418, "error": error})) == SocketAnswer(
        "7", 418, error, pause_seconds=3
    )


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ({"event": {"e": "serverShutdown", "E": 1_770_123_456_789}}, SocketEnding()),
        ({"event": {"e": "outboundAccountPosition"}}, None),
        ({"id": None, "status": 400, "error": {"code": -1135, "msg": "Invalid JSON"}}, None),
    ],
)
def test_what_answers_no_call(said: object, read: object) -> None:
    assert WIRE.read(json.dumps(said)) == read


@pytest.mark.parametrize("said", ["", "[]", "<html>", '{"id": "7"}', '{"id": "7", "status": 400, "error": "no"}'])
def test_anything_else_is_not_understood(said: str) -> None:
    with pytest.raises(AnswerNotUnderstoodError):
        WIRE.read(said)
