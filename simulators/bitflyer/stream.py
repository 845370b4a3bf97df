"""bitFlyer's Lightstream: JSON-RPC over WebSocket, public channels by product, and the account's own after `auth`."""

import hmac
from typing import Any
from weakref import WeakSet

from exchanges.credentials import Credentials
from market.money import ZERO
from market.time_units import MICROSECONDS
from simulators.bitflyer.public import BitflyerProducts
from simulators.bitflyer.rows import Row, board_row, expiry_of, order_id, stream_time, whole_board
from simulators.matching.listings import Listing
from simulators.matching.order_records import RequestRejectedError, SimulatedAccountEvent, SimulatedFill, SimulatedOrder
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import MarketStep, json_fields
from simulators.web.json_digits import plain
from simulators.web.signatures import BITFLYER_SKEW, hex_signature
from simulators.web.subscribers import SubscriberConnection, Subscribers

_SNAPSHOT_BEATS = 5
_KINDS = ("lightning_board_snapshot", "lightning_board", "lightning_ticker", "lightning_executions")
_PRIVATE = "child_order_events"
_INVALID_REQUEST, _NO_METHOD, _INVALID_PARAMS, _PARSE, _REJECTED = -32600, -32601, -32602, -32700, -32000


def event_row(exchange: SimulatedExchange, event: SimulatedAccountEvent) -> Row | None:
    """Return the message; None if bitFlyer sends none: a filled order is known from its last execution."""
    order = event.order
    if event.kind == "opened":
        return {**_named(exchange, order, order.placed_at, "ORDER"), **_terms(order)}
    if event.fill is not None:
        return {**_named(exchange, order, event.fill.filled_at, "EXECUTION"), **_executed(order, event.fill)}
    if order.state != "cancelled":
        return None
    when = order.ended_at or order.placed_at
    if order.immediate:
        return _named(exchange, order, when, "EXPIRE")
    size = {"price": plain(order.price or ZERO), "size": plain(order.remaining)}
    return {**_named(exchange, order, when, "CANCEL"), "side": order.side.upper(), **size}


def _named(exchange: SimulatedExchange, order: SimulatedOrder, micros: int, kind: str) -> Row:
    return {
        "product_code": exchange.listings[order.symbol].market_id,
        "child_order_id": order_id(order.order_id),
        "child_order_acceptance_id": order.order_id,
        "event_date": stream_time(micros),
        "event_type": kind,
    }


def _terms(order: SimulatedOrder) -> Row:
    return {
        "child_order_type": "MARKET" if order.price is None else "LIMIT",
        "side": order.side.upper(),
        "price": plain(order.price or ZERO),
        "size": plain(order.amount),
        "expire_date": stream_time(expiry_of(order))[:19],
    }


def _executed(order: SimulatedOrder, fill: SimulatedFill) -> Row:
    return {
        "exec_id": int(fill.fill_id),
        "side": fill.side.upper(),
        "price": plain(fill.price),
        "size": plain(fill.amount),
        "commission": plain(fill.fee),
        "sfd": plain(ZERO),
        "outstanding_size": plain(order.remaining),
    }


class _RpcError(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class BitflyerStream:
    def __init__(self, products: BitflyerProducts, subscribers: Subscribers, credentials: Credentials) -> None:
        self._products = products
        self._exchange = products.exchange
        self._subscribers = subscribers
        self._credentials = credentials
        self._signed_in: WeakSet[SubscriberConnection] = WeakSet()
        self._beats = 0
        self._channels = {
            f"{kind}_{code}": row for kind in _KINDS for code, row in products.exchange.listings_by_id.items()
        }
        self._exchange.listen(self._publish_event)

    def publish(self, step: MarketStep) -> None:
        """Publish a step, at most one message a channel."""
        listing = self._exchange.listings[step.symbol]
        book, code = self._exchange.books[step.symbol], listing.market_id
        if step.changes and self._subscribers.has(f"lightning_board_{code}"):
            self._send(f"lightning_board_{code}", board_row(listing, book, step.changes))
        if self._subscribers.has(f"lightning_ticker_{code}"):
            self._send(f"lightning_ticker_{code}", self._products.ticker(listing, is_stream=True))
        if step.trades and self._subscribers.has(f"lightning_executions_{code}"):
            self._send(f"lightning_executions_{code}", self._products.executions(step.trades, is_stream=True))

    def beat(self) -> None:
        """Publish the board snapshots again, as Lightstream does from time to time."""
        self._beats += 1
        if self._beats % _SNAPSHOT_BEATS:
            return
        for listing in self._exchange.listings.values():
            channel = f"lightning_board_snapshot_{listing.market_id}"
            if self._subscribers.has(channel):
                self._send(channel, self._board(listing))

    def on_message(self, connection: SubscriberConnection, text: str) -> None:
        try:
            fields = json_fields(text)
        except RequestRejectedError:
            connection.send(_failed(None, _PARSE, "Parse error"))
            return
        number = fields.get("id")
        try:
            listing = self._execute(connection, fields)
        except _RpcError as error:
            connection.send(_failed(number, error.code, str(error)))
            return
        if number is not None:
            connection.send({"jsonrpc": "2.0", "id": number, "result": True})
        if listing is not None:
            channel = f"lightning_board_snapshot_{listing.market_id}"
            connection.send(_message(channel, self._board(listing)))

    def _execute(self, connection: SubscriberConnection, fields: dict[str, Any]) -> Listing | None:
        """Return the listing whose board snapshot follows, if any. Raises _RpcError."""
        method, parameters = fields.get("method"), fields.get("params")
        if method not in ("subscribe", "unsubscribe", "auth"):
            raise _RpcError(_NO_METHOD, "Method not found")
        if not isinstance(parameters, dict):
            raise _RpcError(_INVALID_REQUEST, "Invalid Request")
        if method == "auth":
            self._sign_in(connection, parameters)
            return None
        channel = str(parameters.get("channel"))
        if set(parameters) != {"channel"} or (channel != _PRIVATE and channel not in self._channels):
            raise _RpcError(_INVALID_PARAMS, "Invalid params")
        if method == "unsubscribe":
            connection.channels.discard(channel)
            return None
        if channel == _PRIVATE and connection not in self._signed_in:
            raise _RpcError(_REJECTED, "Not authenticated")
        connection.channels.add(channel)
        return self._channels[channel] if channel.startswith("lightning_board_snapshot_") else None

    def _sign_in(self, connection: SubscriberConnection, parameters: dict[str, Any]) -> None:
        """Sign in by a signature over a time in milliseconds and a word of 16 to 255 characters."""
        if set(parameters) != {"api_key", "timestamp", "nonce", "signature"}:
            raise _RpcError(_INVALID_PARAMS, "Invalid params")
        moment, nonce = parameters["timestamp"], str(parameters["nonce"])
        if not isinstance(moment, int) or not 16 <= len(nonce) <= 255:
            raise _RpcError(_INVALID_PARAMS, "Invalid params")
        expected = hex_signature(self._credentials, f"{moment}{nonce}")
        is_in_time = abs(moment * 1_000 - self._exchange.clock.now()) <= BITFLYER_SKEW * MICROSECONDS
        is_right = hmac.compare_digest(expected, str(parameters["signature"]).encode())
        if parameters["api_key"] != self._credentials.api_key or not is_right or not is_in_time:
            raise _RpcError(_REJECTED, "Authentication failed")
        self._signed_in.add(connection)

    def _publish_event(self, event: SimulatedAccountEvent) -> None:
        row = event_row(self._exchange, event)
        if row is not None and self._subscribers.has(_PRIVATE):
            self._send(_PRIVATE, [row])

    def _board(self, listing: Listing) -> dict[str, object]:
        return whole_board(listing, self._exchange.books[listing.market.symbol])

    def _send(self, channel: str, message: object) -> None:
        self._subscribers.broadcast(channel, _message(channel, message))


def _message(channel: str, message: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": "channelMessage", "params": {"channel": channel, "message": message}}


def _failed(request_id: object, code: int, text: str) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}
