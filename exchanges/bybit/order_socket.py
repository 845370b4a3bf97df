"""Bybit's WebSocket of orders, `/v5/trade`: a connection is signed for once; states and fills are asked by REST.

https://bybit-exchange.github.io/docs/v5/websocket/trade/guideline and /v5/ws/connect, read in November 2026.
"""

from hashlib import sha256
from typing import Any

import orjson

from exchanges.credentials import is_private_key
from exchanges.ports.limits import Weights
from exchanges.ports.order_calls import PrivateCall, SocketAnswer, SocketEnding, SocketWire
from exchanges.ports.orders import number_in, optional_text_in, row_in

_OPERATIONS = {"v5/order/create": "order.create", "v5/order/cancel": "order.cancel"}
_SIGNED_FOR_MS = 10_000
_RESTARTING = 10019
"""It takes nothing new and finishes what it has."""
_OK = 200


class BybitOrderSocket:
    def __init__(self, client: Any) -> None:
        self._client = client
        self.opening_weights: Weights = {}
        # as its documents recommend
        self.ping: tuple[float, str] | None = (20.0, '{"op":"ping"}')

    @property
    def url(self) -> str:
        return str(self._client.implode_hostname(self._client.urls["api"]["ws"]["private"]["trade"]))

    def log_on(self, call_id: str) -> str:
        expires = self._client.nonce() + _SIGNED_FOR_MS
        signature = self._client.hmac(f"GET/realtime{expires}".encode(), self._client.secret.encode(), sha256)
        arguments = [self._client.apiKey, expires, signature]
        return orjson.dumps({"reqId": call_id, "op": "auth", "args": arguments}).decode()

    def weights(self, call: PrivateCall) -> Weights:
        """Each operation has the limit of its path; the address's is of HTTP."""
        return {"orders": 1}

    def message(self, call_id: str, call: PrivateCall) -> str:
        header = {"X-BAPI-TIMESTAMP": str(self._client.nonce()), "X-BAPI-RECV-WINDOW": "5000"}
        operation = _OPERATIONS[call.path]
        message = {"reqId": call_id, "header": header, "op": operation, "args": [dict(call.parameters)]}
        return orjson.dumps(message).decode()

    def read(self, message: str) -> SocketAnswer | SocketEnding | None:
        answer = row_in(message)
        call_id = optional_text_in(answer, "reqId")
        if call_id is None:
            # the answer to a ping
            return None
        code = int(number_in(answer, "retCode"))
        body = {"retCode": code, "retMsg": answer.get("retMsg"), "result": answer.get("data") or {}}
        return SocketAnswer(call_id, _OK, body, ends=code == _RESTARTING)


def bybit_order_socket(client: Any) -> SocketWire | None:
    """Only HMAC keys: how the others log on there is in no document, and ccxt signs REST with them alone."""
    return None if is_private_key(client.secret) else BybitOrderSocket(client)
