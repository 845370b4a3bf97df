"""OKX's private stream: the account's orders and balances, once the connection is signed for."""

from collections.abc import Mapping
from typing import Any

from exchanges.credentials import Credentials
from simulators.matching.order_records import RequestRejectedError, SimulatedAccountEvent
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.okx.account import OkxAccount
from simulators.okx.keys import check_login
from simulators.okx.lists import OkxLists
from simulators.okx.stream import Argument, arguments_in, error, reply, request_in
from simulators.web.request_fields import Row
from simulators.web.subscribers import SubscriberConnection, Subscribers

_SIGNED = "signed for"
"""A channel of connections that have proved whose they are."""
_CODES = {"unknown_key": "60005", "clock": "60006", "signature": "60007", "passphrase": "60024"}
_ORDERS_OF = ("ANY", "SPOT")


class OkxAccountStream:
    def __init__(
        self,
        exchange: SimulatedExchange,
        subscribers: Subscribers,
        credentials: Credentials,
        lists: OkxLists,
        account: OkxAccount,
    ) -> None:
        self._exchange = exchange
        self._subscribers = subscribers
        self._credentials = credentials
        self._lists = lists
        self._account = account
        exchange.listen(self._publish)

    def on_message(self, connection: SubscriberConnection, text: str) -> None:
        fields = request_in(connection, text)
        if fields is None:
            return
        operation = fields.get("op")
        if operation == "login":
            self._sign_for(connection, fields)
        elif operation not in ("subscribe", "unsubscribe"):
            connection.send(error("60012", f"Invalid request: {text[:200]}", connection))
        elif _SIGNED not in connection.channels:
            connection.send(error("60011", "Please log in", connection))
        else:
            for argument in arguments_in(fields):
                self._turn(connection, argument, is_start=operation == "subscribe")

    def _sign_for(self, connection: SubscriberConnection, fields: Mapping[str, Any]) -> None:
        try:
            check_login(arguments_in(fields)[0], self._credentials, self._exchange.clock.now())
        except RequestRejectedError as rejected:
            code = _CODES.get(rejected.reason, "60009")
            connection.send(error(code, "Login failed.", connection))
            return
        connection.channels.add(_SIGNED)
        connection.send({"event": "login", "code": "0", "msg": "", "connId": f"{id(connection):x}"})

    def _turn(self, connection: SubscriberConnection, argument: Argument, *, is_start: bool) -> None:
        key = self._key_of(argument)
        if key is None:
            text = f"Wrong URL or {dict(argument)} doesn't exist."[:200]
            connection.send(error("60018", text, connection))
            return
        connection.send(reply("subscribe" if is_start else "unsubscribe", argument, connection))
        if not is_start:
            connection.channels.discard(key)
            return
        connection.channels.add(key)
        if key == "account":
            connection.publish(key, _message({"channel": key}, self._account.balance_row()))

    def _key_of(self, argument: Argument) -> str | None:
        """Return the channel's name, with the kind of instruments and the instrument of orders; None if there is no
        such channel."""
        channel, kind, instrument = (argument.get(name, "") for name in ("channel", "instType", "instId"))
        if channel == "account" and argument.keys() <= {"channel", "extraParams"}:
            return channel
        if channel != "orders" or kind not in _ORDERS_OF or argument.keys() - {"channel", "instType", "instId"}:
            return None
        if not instrument:
            return f"orders.{kind}"
        return f"orders.{kind}.{instrument}" if instrument in self._exchange.listings_by_id else None

    def _publish(self, event: SimulatedAccountEvent) -> None:
        """Publish a step of the account's orders; an end that the last fill has reported already is none."""
        if event.kind == "ended" and event.order.state == "done":
            return
        instrument = self._exchange.listings[event.order.symbol].market_id
        arguments = [{"channel": "orders", "instType": kind} for kind in _ORDERS_OF]
        arguments += [{**argument, "instId": instrument} for argument in arguments]
        heard = {key: one for one in arguments if self._subscribers.has(key := ".".join(one.values()))}
        if heard:
            row = self._lists.streamed(event.order, event.fill)
            for key, argument in heard.items():
                self._subscribers.broadcast(key, _message(argument, row))
        if self._subscribers.has("account"):
            self._subscribers.broadcast("account", _message({"channel": "account"}, self._account.balance_row()))


def _message(argument: Mapping[str, str], row: Row) -> Row:
    return {"arg": {**argument, "uid": "1"}, "data": [row]}
