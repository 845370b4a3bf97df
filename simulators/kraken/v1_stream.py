"""Kraken's WebSocket v1 conversation: subscriptions, orders, ping, status and heartbeats.

https://docs.kraken.com/exchange/api-reference/spot-websocket-v1; `ohlc` and `spread` are not simulated.
"""

from collections.abc import Mapping
from typing import Any

from simulators.kraken.market_channels import DEPTHS
from simulators.kraken.public import KrakenDay, KrakenPairs
from simulators.kraken.rejections import error_text
from simulators.kraken.rows import wsname
from simulators.kraken.v1_channels import V1Account, V1DepthView, book_parts, ticker_part, trade_parts
from simulators.matching.listings import Listing
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import Call, MarketStep, json_fields
from simulators.web.stream_tokens import StreamTokens
from simulators.web.subscribers import SubscriberConnection, Subscribers

_HEARTBEAT = "v1:heartbeat"
_MARKETS = ("ticker", "trade", "book")
_TRADES_AT_START = 50
_ORDER_EVENTS = {
    "addOrder": "AddOrder",
    "cancelOrder": "CancelOrder",
    "cancelAll": "CancelAll",
    "cancelAllOrdersAfter": "CancelAllOrdersAfter",
    "editOrder": "EditOrder",
}
"""Events, by the names that REST has for them; `amendOrder` is not simulated here."""
Fields = dict[str, Any]


class KrakenV1Stream:
    """`rest`: the private calls that place and end orders."""

    def __init__(
        self,
        exchange: SimulatedExchange,
        subscribers: Subscribers,
        days: Mapping[str, KrakenDay],
        tokens: StreamTokens,
        rest: Mapping[str, Call],
    ) -> None:
        self._exchange = exchange
        self._subscribers = subscribers
        self._days = days
        self._tokens = tokens
        self._rest = rest
        self._pairs = KrakenPairs(exchange.listings)
        self._views: dict[tuple[str, int], V1DepthView] = {}
        self._account = V1Account(exchange)

    def greet(self, connection: SubscriberConnection) -> None:
        connection.send(
            {"connectionID": id(connection), "event": "systemStatus", "status": "online", "version": "1.9.1"}
        )

    def beat(self) -> None:
        """Send a heartbeat about once a second to all who have subscribed to anything."""
        self._subscribers.broadcast(_HEARTBEAT, {"event": "heartbeat"})

    def publish(self, step: MarketStep) -> None:
        listing, day = self._exchange.listings[step.symbol], self._days[step.symbol]
        if step.trades and self._is_heard(listing, "trade"):
            self._send(listing, "trade", trade_parts(step.trades, listing))
        if step.trades and self._is_heard(listing, "ticker"):
            self._send(listing, "ticker", ticker_part(day))
        for depth in DEPTHS:
            view, channel = self._views.get((step.symbol, depth)), f"book-{depth}"
            row = None if view is None else view.update(self._exchange.books[step.symbol])
            if row is not None and self._is_heard(listing, channel):
                self._send(listing, channel, *book_parts(row))

    def _is_heard(self, listing: Listing, channel: str) -> bool:
        return self._subscribers.has(_key(channel, listing))

    def _send(self, listing: Listing, channel: str, *parts: object) -> None:
        self._subscribers.broadcast(_key(channel, listing), [_number(channel), *parts, channel, wsname(listing)])

    def on_message(self, connection: SubscriberConnection, text: str) -> None:
        try:
            fields = json_fields(text)
        except RequestRejectedError:
            connection.send({"errorMessage": "Malformed request", "event": "error"})
            return
        event = fields.get("event")
        if event == "ping":
            connection.send({"event": "pong", **_asked(fields)})
        elif event in ("subscribe", "unsubscribe"):
            self._subscribe(connection, fields, is_start=event == "subscribe")
        elif isinstance(event, str) and event in _ORDER_EVENTS:
            self._trade(connection, fields, event)
        else:
            connection.send({"errorMessage": "Event(s) not found", "event": "error", **_asked(fields)})

    def _subscribe(self, connection: SubscriberConnection, fields: Fields, *, is_start: bool) -> None:
        wanted = fields.get("subscription")
        wanted = wanted if isinstance(wanted, dict) else {}
        name = str(wanted.get("name"))
        pairs: list[object] = [None]
        if name in _MARKETS:
            pairs = fields["pair"] if isinstance(fields.get("pair"), list) else [fields.get("pair")]
        for pair in pairs:
            status: Fields = {"event": "subscriptionStatus", "subscription": {"name": name}, **_asked(fields)}
            if pair is not None:
                status["pair"] = pair
            try:
                channel = self._channel(name, wanted, connection, pair, is_start=is_start)
            except RequestRejectedError as error:
                connection.send({**status, "status": "error", "errorMessage": error.detail})
                continue
            named = {"channelID": _number(channel)} if pair is not None else {}
            is_on = "subscribed" if is_start else "unsubscribed"
            connection.send({**named, "channelName": channel, **status, "status": is_on})
            if is_start:
                self._greet_channel(connection, channel, pair)
        (connection.channels.add if connection.channels - {_HEARTBEAT} else connection.channels.discard)(_HEARTBEAT)

    def _channel(
        self, name: str, wanted: Fields, connection: SubscriberConnection, pair: object, *, is_start: bool
    ) -> str:
        """Return the channel's name, after the connection has joined or left it. Raises RequestRejectedError, in
        words."""
        if name in self._account.readers:
            if not self._tokens.is_valid(wanted.get("token")):
                raise RequestRejectedError("unknown_key", "ESession:Invalid session")
            readers = self._account.readers[name]
            (readers.join if is_start else readers.leave)(connection)
            return name
        if name not in _MARKETS:
            raise RequestRejectedError("invalid_request", "Subscription name invalid")
        depth = wanted.get("depth", 10)
        if name == "book" and (not isinstance(depth, int) or depth not in DEPTHS):
            raise RequestRejectedError("invalid_request", "Subscription depth not supported")
        channel = f"book-{depth}" if name == "book" else name
        key = _key(channel, self._listing(pair))
        (connection.channels.add if is_start else connection.channels.discard)(key)
        return channel

    def _listing(self, pair: object) -> Listing:
        try:
            return self._pairs.one(str(pair))
        except RequestRejectedError as error:
            raise RequestRejectedError("unknown_market", f"Currency pair not supported {pair}") from error

    def _greet_channel(self, connection: SubscriberConnection, channel: str, pair: object) -> None:
        """Send the first message of a channel."""
        if channel in self._account.readers:
            self._account.readers[channel].send_snapshot(connection, self._account.snapshot(channel))
            return
        listing = self._listing(pair)
        symbol = listing.market.symbol
        if channel == "ticker":
            first: object = ticker_part(self._days[symbol])
        elif channel == "trade":
            newest = self._exchange.tape.newest(symbol, _TRADES_AT_START)
            first = trade_parts(reversed(newest), listing)
        else:
            depth = int(channel.partition("-")[2])
            view = self._views.setdefault((symbol, depth), V1DepthView(listing, depth, clock=self._exchange.clock))
            row = view.snapshot(self._exchange.books[symbol])
            first = {"as": row["asks"], "bs": row["bids"]}
        connection.send([_number(channel), first, channel, wsname(listing)])

    def _trade(self, connection: SubscriberConnection, fields: Fields, event: str) -> None:
        answer: Fields = {"event": f"{event}Status", **_asked(fields)}
        try:
            if not self._tokens.is_valid(fields.get("token")):
                raise RequestRejectedError("unknown_key", "ESession:Invalid session")
            answer |= {"status": "ok", **self._answered(event, fields)}
        except RequestRejectedError as error:
            text = error.detail if error.reason == "unknown_key" else error_text(error)
            answer |= {"status": "error", "errorMessage": text}
        connection.send(answer)

    def _answered(self, event: str, fields: Fields) -> Fields:
        """Return REST's answer. Raises RequestRejectedError."""
        call = self._rest[_ORDER_EVENTS[event]]
        asked = {name: value for name, value in fields.items() if name not in ("event", "token", "reqid")}
        if event != "cancelOrder":
            row: Any = call(asked)
            if event == "addOrder":
                return {"descr": row["descr"]["order"], **({"txid": row["txid"][0]} if "txid" in row else {})}
            return dict(row)
        names = [{"txid": name} for name in _listed(asked, "txid")]
        names += [{"cl_ord_id": name} for name in _listed(asked, "cl_ord_id")]
        for name in names:
            call(name)
        return {}


def _listed(fields: Fields, name: str) -> list[object]:
    """Return the list. Raises RequestRejectedError."""
    rows = fields.get(name) or []
    if not isinstance(rows, list):
        raise RequestRejectedError("invalid_request", name)
    return rows


def _key(channel: str, listing: Listing) -> str:
    return f"v1:{channel}:{listing.market.symbol}"


def _number(channel: str) -> int:
    """Return a channel's id; the documents call it deprecated."""
    depth = channel.partition("-")[2]
    return 300 + DEPTHS.index(int(depth)) if depth else 100 + _MARKETS.index(channel)


def _asked(fields: Fields) -> Fields:
    """Return the request's own number, if it has one."""
    return {"reqid": fields["reqid"]} if isinstance(fields.get("reqid"), int) else {}
