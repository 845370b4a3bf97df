"""Binance's WebSocket API: a session is logged on once by an Ed25519 key, and its calls need no signature.

https://developers.binance.com/docs/binance-spot-api-docs/websocket-api, read in November 2026.
"""

import math
from collections.abc import Mapping
from typing import Any

import orjson
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from exchanges.ports.limits import Weights
from exchanges.ports.order_calls import PrivateCall, SocketAnswer, SocketEnding, SocketWire
from exchanges.ports.orders import number_in, row_in, row_of, rows_of, text_in

_METHODS = {
    ("POST", "order"): ("order.place", {"weight": 1, "orders": 1}),
    ("DELETE", "order"): ("order.cancel", {"weight": 1}),
    ("GET", "order"): ("order.status", {"weight": 4}),
    # of one order
    ("GET", "myTrades"): ("myTrades", {"weight": 5}),
}
"""By method and path of REST: the name there, and the documented weights."""
_LIMITS = {("REQUEST_WEIGHT", "MINUTE", "1"): "weight", ("ORDERS", "SECOND", "10"): "orders"}
"""By the exchange's names of a limit: ours."""
_NUMBERS = frozenset(("recvWindow", "orderId", "limit"))
"""Parameters that the documents have as numbers; prices and amounts are texts there, too."""
_OK = 200


class BinanceOrderSocket:
    def __init__(self, client: Any) -> None:
        self._client = client
        # to connect, and to log on
        self.opening_weights: Weights = {"weight": 2 + 2}
        self.ping: tuple[float, str] | None = None

    @property
    def url(self) -> str:
        return str(self._client.implode_hostname(self._client.urls["api"]["ws"]["ws-api"]["spot"]))

    def log_on(self, call_id: str) -> str:
        signed = {"apiKey": self._client.apiKey, "timestamp": self._client.nonce()}
        # all parameters by name; ccxt's own form of this puts its `recvWindow` of ten seconds in
        text = "&".join(f"{name}={signed[name]}" for name in sorted(signed))
        signature = self._client.eddsa(text.encode(), self._client.secret, "ed25519")
        return _message(call_id, "session.logon", {**signed, "signature": signature})

    def weights(self, call: PrivateCall) -> Weights:
        return _METHODS[call.method, call.path][1]

    def message(self, call_id: str, call: PrivateCall) -> str:
        name, _ = _METHODS[call.method, call.path]
        terms = {key: int(text) if key in _NUMBERS else text for key, text in call.parameters.items()}
        return _message(call_id, name, {**terms, "timestamp": self._client.nonce()})

    def read(self, message: str) -> SocketAnswer | SocketEnding | None:
        answer = row_in(message)
        if "event" in answer:
            return SocketEnding() if row_of(answer["event"]).get("e") == "serverShutdown" else None
        if answer.get("id") is None:
            # to a message that it could not read: nothing says to which
            return None
        status = int(number_in(answer, "status"))
        body = answer.get("result") if status == _OK else row_of(answer.get("error"))
        return SocketAnswer(text_in(answer, "id"), status, body, _left(answer), _pause_seconds(answer))


def binance_order_socket(client: Any) -> SocketWire | None:
    """Only Ed25519 keys may open sessions (Session authentication)."""
    try:
        key = load_pem_private_key(client.secret.encode(), None)
    except (ValueError, TypeError):
        return None
    return BinanceOrderSocket(client) if isinstance(key, Ed25519PrivateKey) else None


def _message(call_id: str, method: str, parameters: Mapping[str, object]) -> str:
    return orjson.dumps({"id": call_id, "method": method, "params": parameters}).decode()


def _left(answer: Mapping[str, Any]) -> dict[str, int]:
    """Return what is left of the limits that the answer counts."""
    found = {}
    for row in rows_of(answer.get("rateLimits") or []):
        name = _LIMITS.get((text_in(row, "rateLimitType"), text_in(row, "interval"), text_in(row, "intervalNum")))
        if name is not None:
            found[name] = int(number_in(row, "limit") - number_in(row, "count"))
    return found


def _pause_seconds(answer: Mapping[str, Any]) -> int | None:
    """Return the seconds until `retryAfter`, by the exchange's clock (IP limits)."""
    data = row_of(answer.get("error") or {}).get("data")
    if not isinstance(data, Mapping) or not {"serverTime", "retryAfter"} <= data.keys():
        return None
    return max(0, math.ceil((number_in(data, "retryAfter") - number_in(data, "serverTime")) / 1_000))
