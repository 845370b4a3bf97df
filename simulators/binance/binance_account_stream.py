"""Binance's WebSocket API: calls of REST under other names, and the account's stream of orders and balances."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from exchanges.exchange_credentials import Credentials
from market.money import ZERO
from simulators.binance.binance_endpoints import Fields, eight, milliseconds
from simulators.binance.binance_rejections import MisusedError, ReplacementError, error_fields
from simulators.binance.binance_rows import SELF_TRADE, status_of, stop_text, terms_of
from simulators.matching.funded_account import executed_cost
from simulators.matching.order_records import RequestRejectedError, SimulatedAccountEvent, SimulatedFill
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import json_fields
from simulators.web.signatures import check_binance_fields
from simulators.web.subscribers import SubscriberConnection, Subscribers

_CHANNEL = "user"
_SUBSCRIPTION = 0
"""One account, so one subscription a connection."""

_METHODS = {
    "ping": ("GET", "/api/v3/ping"),
    "time": ("GET", "/api/v3/time"),
    "exchangeInfo": ("GET", "/api/v3/exchangeInfo"),
    "depth": ("GET", "/api/v3/depth"),
    "trades.recent": ("GET", "/api/v3/trades"),
    "trades.aggregate": ("GET", "/api/v3/aggTrades"),
    "klines": ("GET", "/api/v3/klines"),
    "ticker.24hr": ("GET", "/api/v3/ticker/24hr"),
    "ticker.price": ("GET", "/api/v3/ticker/price"),
    "ticker.book": ("GET", "/api/v3/ticker/bookTicker"),
    "order.place": ("POST", "/api/v3/order"),
    "order.test": ("POST", "/api/v3/order/test"),
    "order.status": ("GET", "/api/v3/order"),
    "order.cancel": ("DELETE", "/api/v3/order"),
    "order.cancelReplace": ("POST", "/api/v3/order/cancelReplace"),
    "openOrders.status": ("GET", "/api/v3/openOrders"),
    "openOrders.cancelAll": ("DELETE", "/api/v3/openOrders"),
    "allOrders": ("GET", "/api/v3/allOrders"),
    "myTrades": ("GET", "/api/v3/myTrades"),
    "account.status": ("GET", "/api/v3/account"),
    "account.commission": ("GET", "/api/v3/account/commission"),
}
"""Method and path of each call over REST."""
# Said beside a call's own parameters.
_ASIDE = frozenset(("apiKey", "returnRateLimits"))

BalanceRows = Callable[[], dict[str, tuple[str, str]]]


class Calls(Protocol):
    """The endpoints of REST."""

    def is_signed(self, method: str, path: str) -> bool: ...

    def answer(self, method: str, path: str, fields: Fields) -> object:
        """Raises RequestRejectedError."""
        ...


class BinanceAccountStream:
    def __init__(
        self,
        exchange: SimulatedExchange,
        credentials: Credentials,
        subscribers: Subscribers,
        balances: BalanceRows,
        calls: Calls,
    ) -> None:
        self._calls = calls
        self._exchange = exchange
        self._credentials = credentials
        self._subscribers = subscribers
        self._balances = balances
        exchange.listen(self._publish_event)

    def on_message(self, connection: SubscriberConnection, text: str) -> None:
        request_id: object = None
        try:
            fields = json_fields(text)
            request_id = fields.get("id")
            result = self._answer(connection, str(fields.get("method")), _parameters(fields))
        except RequestRejectedError as error:
            status, code, words = error_fields(error)
            data = {"data": error.data} if isinstance(error, ReplacementError) else {}
            connection.send({"id": request_id, "status": status, "error": {"code": code, "msg": words, **data}})
            return
        connection.send({"id": request_id, "status": 200, "result": result, "rateLimits": []})

    def _answer(self, connection: SubscriberConnection, method: str, parameters: Mapping[str, Any]) -> object:
        if method in _METHODS:
            return self._called(*_METHODS[method], parameters)
        if method == "userDataStream.subscribe.signature":
            self._check(parameters)
            if _CHANNEL in connection.channels:
                raise MisusedError(-2035, "User Data Stream subscription already active.")
            connection.channels.add(_CHANNEL)
            return {"subscriptionId": _SUBSCRIPTION}
        if method == "userDataStream.unsubscribe":
            connection.channels.discard(_CHANNEL)
            return {}
        raise MisusedError(-32601, f"Method '{method}' is not supported.")

    def _called(self, method: str, path: str, parameters: Mapping[str, Any]) -> object:
        if self._calls.is_signed(method, path):
            self._check(parameters)
        fields = {name: value for name, value in _texts(parameters).items() if name not in _ASIDE}
        return self._calls.answer(method, path, fields)

    def _check(self, parameters: Mapping[str, Any]) -> None:
        """Signed are all parameters but the signature, by name. Raises RequestRejectedError."""
        fields = _texts(parameters)
        signed = "&".join(f"{name}={fields[name]}" for name in sorted(fields) if name != "signature")
        now = self._exchange.clock.now()
        check_binance_fields(fields.get("apiKey", ""), fields, signed, self._credentials, now)

    def _publish_event(self, event: SimulatedAccountEvent) -> None:
        """An execution report, and the balances that it leaves; the end of a filled order is in its last fill."""
        if not self._subscribers.has(_CHANNEL) or (event.kind == "ended" and event.order.state == "done"):
            return
        for message in (self._report(event), self._position(event)):
            self._subscribers.broadcast(_CHANNEL, {"subscriptionId": _SUBSCRIPTION, "event": message})

    def _report(self, event: SimulatedAccountEvent) -> dict[str, object]:
        order, fill, now = event.order, event.fill, milliseconds(self._exchange.clock.now())
        status, terms = status_of(order), terms_of(order)
        kind = {"filled": "TRADE", "ended": status}.get(event.kind, "NEW")
        event_time = fill.filled_at if fill is not None else order.ended_at or order.placed_at
        return {
            "e": "executionReport",
            "E": now,
            "s": self._exchange.listings[order.symbol].market_id,
            "c": order.client_order_id,
            "S": terms["side"],
            "o": terms["type"],
            "f": terms["timeInForce"],
            "q": terms["origQty"],
            "p": terms["price"],
            "P": stop_text(order),
            "F": eight(ZERO),
            "g": -1,
            "C": "",
            "x": kind,
            "X": status,
            "r": "NONE",
            "i": int(order.order_id),
            **_fill_fields(fill),
            "z": eight(order.filled),
            "T": milliseconds(event_time),
            "I": order.number,
            "w": order.state == "open" and not order.immediate and not order.is_waiting,
            "M": False,
            "O": milliseconds(order.placed_at),
            "Z": eight(executed_cost(self._fills_until(event))),
            "Q": eight(ZERO),
            "W": milliseconds(order.placed_at),
            "V": SELF_TRADE,
        }

    def _fills_until(self, event: SimulatedAccountEvent) -> list[SimulatedFill]:
        """The order's fills that `event` counts: events are published after all fills were booked."""
        fills, left = [], event.order.filled
        for fill in self._exchange.customer.fills_of(event.order.order_id):
            if left <= 0:
                break
            fills.append(fill)
            left -= fill.amount
        return fills

    def _position(self, event: SimulatedAccountEvent) -> dict[str, object]:
        now = milliseconds(self._exchange.clock.now())
        listing = self._exchange.listings[event.order.symbol]
        names = (listing.market.base, listing.market.quote_currency)
        balances = self._balances()
        rows = [{"a": name, "f": balances[name][0], "l": balances[name][1]} for name in names]
        return {"e": "outboundAccountPosition", "E": now, "u": now, "B": rows}


def _parameters(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Raises RequestRejectedError."""
    parameters = fields.get("params") or {}
    if not isinstance(parameters, dict):
        raise RequestRejectedError("invalid_request", "params")
    return parameters


def _texts(parameters: Mapping[str, Any]) -> dict[str, str]:
    """As they stand in a query."""
    return {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in parameters.items()}


def _fill_fields(fill: SimulatedFill | None) -> dict[str, object]:
    if fill is None:
        nothing = eight(ZERO)
        return {"l": nothing, "L": nothing, "n": "0", "N": None, "t": -1, "m": False, "Y": nothing}
    return {
        "l": eight(fill.amount),
        "L": eight(fill.price),
        "n": eight(fill.fee),
        "N": fill.fee_currency,
        "t": fill.number,
        "m": fill.liquidity == "maker",
        "Y": eight(fill.cost),
    }
