"""What Bybit says over `/v5/trade`, in the words of its documents, restated as REST says it."""

import json

import pytest

from exchanges.bybit.order_socket import BybitOrderSocket
from exchanges.ports.order_calls import SocketAnswer
from exchanges.ports.orders import AnswerNotUnderstoodError

WIRE = BybitOrderSocket(None)
DATA = {"orderId": "a4c1718e-fe53-4659-a118-1f6ecce04ad9", "orderLinkId": ""}


@pytest.mark.parametrize(
    ("said", "read"),
    [
        (
            {"reqId": "7", "retCode": 0, "retMsg": "OK", "op": "order.create", "data": DATA, "connId": "c"},
            SocketAnswer("7", 200, {"retCode": 0, "retMsg": "OK", "result": DATA}),
        ),
        (
            {"reqId": "7", "retCode": 10019, "retMsg": "restarting", "op": "order.create", "data": {}, "connId": "c"},
            SocketAnswer("7", 200, {"retCode": 10019, "retMsg": "restarting", "result": {}}, ends=True),
        ),
        ({"retCode": 0, "retMsg": "OK", "op": "pong", "data": ["1711002002529"], "connId": "c"}, None),
    ],
)
def test_answers(said: object, read: object) -> None:
    assert WIRE.read(json.dumps(said)) == read


@pytest.mark.parametrize("said", ["", "[]", '{"reqId": "7"}', '{"reqId": "7", "retCode": "many"}'])
def test_anything_else_is_not_understood(said: str) -> None:
    with pytest.raises(AnswerNotUnderstoodError):
        WIRE.read(said)
