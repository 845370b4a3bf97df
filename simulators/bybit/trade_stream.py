"""Bybit's WebSocket of orders: each operation is a request of REST, on a connection that was signed for once.

https://bybit-exchange.github.io/docs/v5/websocket/trade/guideline, read in November 2026.
"""

from collections.abc import Mapping
from typing import Any, Protocol
from uuid import uuid4
from weakref import WeakKeyDictionary

from exchanges.credentials import Credentials
from simulators.bybit.keys import check_connection, check_time
from simulators.bybit.rejections import error_fields
from simulators.matching.order_records import CodedError, RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.call_faults import CalledPath, CallFaults
from simulators.web.exchange_gateway import json_fields
from simulators.web.subscribers import SubscriberConnection, Subscribers

_PATHS = {name: f"/v5/{name.replace('.', '/')}" for name in ("order.create", "order.amend", "order.cancel")}
_SIGNED = "signed for orders"
"""A channel of connections that have proved whose they are."""
_REPEATED, _NO_SUCH, _USED = 20001, 10404, 20006

Row = dict[str, object]


class CalledOrders(Protocol):
    def __call__(self, path: str, fields: Mapping[str, Any]) -> tuple[object, dict[str, str]]:
        """Return what REST answers there and its headers of limits. Raises RequestRejectedError."""
        ...


class BybitTradeStream:
    def __init__(
        self, exchange: SimulatedExchange, subscribers: Subscribers, credentials: Credentials, call: CalledOrders
    ) -> None:
        self._exchange = exchange
        self._credentials = credentials
        self._call = call
        self._faults = CallFaults(subscribers, exchange.clock)
        self._ids: WeakKeyDictionary[SubscriberConnection, set[str]] = WeakKeyDictionary()

    def on_message(self, connection: SubscriberConnection, text: str) -> None:
        try:
            fields = json_fields(text)
        except RequestRejectedError:
            fields = {}
        operation = str(fields.get("op"))
        if operation == "ping":
            stamp = str(self._exchange.clock.now() // 1_000)
            connection.send(self._answer(connection, {}, "pong", 0, "OK", {"data": [stamp]}))
            return
        called = CalledPath("POST", _PATHS[operation]) if operation in _PATHS else None
        self._faults.deliver(connection, called, lambda: self._answered(connection, fields, operation))

    def _answered(self, connection: SubscriberConnection, fields: Mapping[str, Any], operation: str) -> Row:
        headers: dict[str, str] = {}
        try:
            if operation == "auth":
                data = self._sign_for(connection, fields)
            else:
                data, headers = self._ordered(connection, fields, operation)
        except RequestRejectedError as error:
            _, code, words = error_fields(error)
            return self._answer(connection, fields, operation, code, words, {"data": {}, "header": headers})
        rest = {} if operation == "auth" else {"data": data, "header": self._header(headers)}
        return self._answer(connection, fields, operation, 0, "OK", rest)

    def _sign_for(self, connection: SubscriberConnection, fields: Mapping[str, Any]) -> object:
        if _SIGNED in connection.channels:
            raise CodedError(_REPEATED, "Repeat auth")
        arguments = fields.get("args")
        signed = arguments if isinstance(arguments, list) else []
        check_connection(signed, self._credentials, self._exchange.clock.now())
        connection.channels.add(_SIGNED)
        return {}

    def _ordered(
        self, connection: SubscriberConnection, fields: Mapping[str, Any], operation: str
    ) -> tuple[object, dict[str, str]]:
        if operation not in _PATHS:
            raise CodedError(_NO_SUCH, "Op type is not found")
        if _SIGNED not in connection.channels:
            raise RequestRejectedError("unknown_key")
        self._check_id(connection, fields)
        self._faults.check(CalledPath("POST", _PATHS[operation]))
        header, arguments = fields.get("header"), fields.get("args")
        said = header if isinstance(header, dict) else {}
        check_time(
            str(said.get("X-BAPI-TIMESTAMP", "")),
            str(said.get("X-BAPI-RECV-WINDOW", "5000")),
            self._exchange.clock.now() // 1_000,
        )
        if not isinstance(arguments, list) or len(arguments) != 1 or not isinstance(arguments[0], dict):
            raise RequestRejectedError("invalid_request", "args")
        return self._call(_PATHS[operation], arguments[0])

    def _check_id(self, connection: SubscriberConnection, fields: Mapping[str, Any]) -> None:
        call_id = fields.get("reqId")
        if call_id is None:
            return
        used = self._ids.setdefault(connection, set())
        if str(call_id) in used:
            raise CodedError(_USED, "reqId is duplicated")
        used.add(str(call_id))

    def _header(self, headers: Mapping[str, str]) -> Row:
        return {**headers, "Traceid": uuid4().hex, "Timenow": str(self._exchange.clock.now() // 1_000)}

    def _answer(
        self,
        connection: SubscriberConnection,
        fields: Mapping[str, Any],
        operation: str,
        code: int,
        text: str,
        rest: Mapping[str, object],
    ) -> Row:
        named = {"reqId": str(fields["reqId"])} if "reqId" in fields else {}
        return {**named, "retCode": code, "retMsg": text, "op": operation, **rest, "connId": f"{id(connection):x}"}
