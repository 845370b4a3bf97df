"""Bybit's private stream: the account's orders, fills and balances, once the connection is signed for."""

from collections.abc import Callable, Mapping
from typing import Any

from exchanges.credentials import Credentials
from simulators.bybit.account import BybitAccount
from simulators.bybit.keys import check_connection
from simulators.bybit.orders import BybitOrders
from simulators.bybit.rejections import error_fields
from simulators.bybit.stream import reply
from simulators.matching.order_records import RequestRejectedError, SimulatedAccountEvent
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import json_fields
from simulators.web.request_fields import Row
from simulators.web.subscribers import SubscriberConnection, Subscribers

_TOPICS = ("order", "order.spot", "execution", "execution.spot", "wallet")
_SIGNED = "signed for"
"""A channel of connections that have proved whose they are."""


class BybitAccountStream:
    def __init__(
        self,
        exchange: SimulatedExchange,
        subscribers: Subscribers,
        credentials: Credentials,
        orders: BybitOrders,
        account: BybitAccount,
    ) -> None:
        self._exchange = exchange
        self._subscribers = subscribers
        self._credentials = credentials
        self._orders = orders
        self._account = account
        self._messages = 0
        exchange.listen(self._publish)

    def on_message(self, connection: SubscriberConnection, text: str) -> None:
        try:
            fields = json_fields(text)
        except RequestRejectedError:
            connection.send(reply({}, "error:Invalid JSON", connection, is_success=False))
            return
        operation = fields.get("op")
        if operation == "ping":
            stamp = [str(self._exchange.clock.now() // 1_000)]
            request_id = str(fields.get("req_id") or "")
            connection.send({"req_id": request_id, "op": "pong", "args": stamp, "conn_id": f"{id(connection):x}"})
        elif operation == "auth":
            self._sign_for(connection, fields)
        elif operation in ("subscribe", "unsubscribe"):
            self._subscribe(connection, fields, is_start=operation == "subscribe")
        else:
            connection.send(reply(fields, "error:invalid op", connection, is_success=False))

    def _sign_for(self, connection: SubscriberConnection, fields: Mapping[str, Any]) -> None:
        arguments = fields.get("args")
        try:
            signed = arguments if isinstance(arguments, list) else []
            check_connection(signed, self._credentials, self._exchange.clock.now())
        except RequestRejectedError as error:
            connection.send(reply(fields, f"error:{error_fields(error)[2]}", connection, is_success=False))
            return
        connection.channels.add(_SIGNED)
        connection.send(reply(fields, "", connection))

    def _subscribe(self, connection: SubscriberConnection, fields: Mapping[str, Any], *, is_start: bool) -> None:
        topics = fields.get("args")
        fault = None
        if _SIGNED not in connection.channels:
            fault = "Request not authorized"
        elif not isinstance(topics, list) or not topics or not all(topic in _TOPICS for topic in topics):
            fault = f"handler not found,topic:{str(topics)[:100]}"
        if fault is not None or not isinstance(topics, list):
            connection.send(reply(fields, f"error:{fault}", connection, is_success=False))
            return
        connection.channels = connection.channels | set(topics) if is_start else connection.channels - set(topics)
        connection.send(reply(fields, "", connection))

    def _publish(self, event: SimulatedAccountEvent) -> None:
        """Publish a step of the account's orders; an end that the last fill has reported already is none."""
        if event.kind == "ended" and event.order.state == "done":
            return
        spot = {"category": "spot"}
        if (fill := event.fill) is not None:
            self._send("execution", lambda: {**spot, **self._orders.streamed_fill(fill)})
        self._send("order", lambda: {**spot, **self._orders.streamed_order(event.order)})
        self._send("wallet", self._account.wallet_row)

    def _send(self, topic: str, row_of: Callable[[], Row]) -> None:
        heard = [name for name in (topic, f"{topic}.spot") if self._subscribers.has(name)]
        row = row_of() if heard else {}
        for name in heard:
            self._messages += 1
            now = self._exchange.clock.now() // 1_000
            message = {"id": f"{now}_{self._messages}", "topic": name, "creationTime": now, "data": [row]}
            self._subscribers.broadcast(name, message)
