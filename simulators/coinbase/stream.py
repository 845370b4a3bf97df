"""Coinbase's stream: books, tickers, trades and heartbeats, and `user` for the account's own orders.

Each message of a connection has the number after the one before it, whatever it is about.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from exchanges.credentials import Credentials
from simulators.coinbase.endpoints import Row
from simulators.coinbase.keys import check_subscription
from simulators.coinbase.rows import level_rows, status_of, streamed_order, ticker_row, trade_row
from simulators.market.traded_day import DayFigures, TradedDay
from simulators.matching.funded_account import first_fills
from simulators.matching.listings import Listing
from simulators.matching.order_records import RequestRejectedError, SimulatedAccountEvent, SimulatedOrder
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import Change, MarketStep, iso_text, json_fields
from simulators.web.subscribers import SubscriberConnection, Subscribers

_OF_PRODUCTS = ("level2", "ticker", "market_trades")
_USER, _BEATS = "user", "heartbeats"
_NAMED = {"level2": "l2_data"}
"""Channels whose messages have another name than the subscription."""
_WHOLE_BOOK, _FIRST_TRADES, _FIRST_ORDERS = 1_000, 50, 50
_BEGINNING = "1970-01-01T00:00:00Z"


class CoinbaseStream:
    def __init__(self, exchange: SimulatedExchange, subscribers: Subscribers, credentials: Credentials) -> None:
        self._exchange = exchange
        self._subscribers = subscribers
        self._credentials = credentials
        self._days = {symbol: TradedDay() for symbol in exchange.listings}
        self._beats = 0
        exchange.listen(self._publish_event)

    def figures(self, listing: Listing) -> DayFigures | None:
        """Return the day's figures; None if nothing was traded for a day."""
        self._exchange.venue.steps.look(listing.market.symbol)
        return self._days[listing.market.symbol].figures(self._exchange.clock.now())

    def publish(self, step: MarketStep) -> None:
        for trade in step.trades:
            self._days[step.symbol].add(trade)
        if step.is_late:
            return
        listing = self._exchange.listings[step.symbol]
        if step.changes:
            self._send("level2", listing, lambda: self._book_event("update", listing, step.changes))
        if step.trades:
            rows = [trade_row(trade, listing) for trade in reversed(step.trades)]
            self._send("market_trades", listing, lambda: {"type": "update", "trades": rows})
            self._send("ticker", listing, lambda: self._ticker_event("update", listing))

    def beat(self) -> None:
        self._beats += 1
        now = iso_text(self._exchange.clock.now(), " ", " +0000 UTC")
        for connection in self._subscribers.listeners(_BEATS):
            self._publish(connection, _BEATS, _BEATS, {"current_time": now, "heartbeat_counter": self._beats})

    def on_message(self, connection: SubscriberConnection, text: str) -> None:
        try:
            fields = json_fields(text)
            kind, channel = fields.get("type"), str(fields.get("channel"))
            if kind not in ("subscribe", "unsubscribe"):
                raise RequestRejectedError("misused", "type must be subscribe or unsubscribe")
            names = self._names(fields, channel)
            if kind == "unsubscribe":
                self._leave(connection, channel, names)
            else:
                self._join(connection, fields, channel, names)
        except RequestRejectedError as error:
            said = error.detail if error.reason == "misused" else "authentication failure"
            connection.send({"type": "error", "message": said})

    def _names(self, fields: Mapping[str, Any], channel: str) -> list[str]:
        """Return the products that a request names. Raises RequestRejectedError."""
        names = fields.get("product_ids") or []
        if channel not in (*_OF_PRODUCTS, _USER, _BEATS):
            raise RequestRejectedError("misused", f"{channel[:50]} is not a valid channel")
        if channel == _BEATS:
            return []
        if not isinstance(names, list) or any(name not in self._exchange.listings_by_id for name in map(str, names)):
            raise RequestRejectedError("misused", "invalid product_ids")
        return list(map(str, names))

    def _join(
        self, connection: SubscriberConnection, fields: Mapping[str, Any], channel: str, names: Sequence[str]
    ) -> None:
        if channel == _USER:
            check_subscription(str(fields.get("jwt", "")), self._credentials, self._exchange.clock.now())
        elif channel != _BEATS and not names:
            raise RequestRejectedError("misused", "product_ids is required")
        keys = [f"{channel}:{name}" for name in names] or [channel]
        connection.channels.update(keys)
        self._confirm(connection)
        for name, key in zip(names or [""], keys, strict=True):
            greeting = self._greeting(channel, name)
            if greeting is not None:
                self._publish(connection, key, channel, greeting)

    def _leave(self, connection: SubscriberConnection, channel: str, names: Sequence[str]) -> None:
        """End the subscription to those products; to all of the channel if none is named."""
        left = {f"{channel}:{name}" for name in names}
        connection.channels.difference_update(
            key for key in list(connection.channels) if key in left or (not names and key.partition(":")[0] == channel)
        )
        self._confirm(connection)

    def _confirm(self, connection: SubscriberConnection) -> None:
        listed: dict[str, list[str]] = {}
        for key in sorted(connection.channels):
            channel, _, product = key.partition(":")
            listed.setdefault(channel, []).append(product or channel)
        connection.send(self._message(connection, "subscriptions", {"subscriptions": listed}))

    def _greeting(self, channel: str, name: str) -> Row | None:
        """Return the first event of a subscription."""
        if channel == _USER:
            return self._own_orders(name)
        if channel == _BEATS:
            return None
        listing = self._exchange.listings_by_id[name]
        symbol = listing.market.symbol
        self._exchange.venue.steps.look(symbol)
        if channel == "level2":
            book = self._exchange.books[symbol]
            levels: list[Change] = [("buy", *level) for level in book.levels("buy", _WHOLE_BOOK)]
            levels += [("sell", *level) for level in book.levels("sell", _WHOLE_BOOK)]
            return self._book_event("snapshot", listing, levels)
        if channel == "ticker":
            return self._ticker_event("snapshot", listing)
        newest = self._exchange.tape.newest(symbol, _FIRST_TRADES)
        return {"type": "snapshot", "trades": [trade_row(trade, listing) for trade in newest]} if newest else None

    def _own_orders(self, name: str) -> Row:
        listings = self._exchange.listings
        orders = [
            order
            for order in reversed(self._exchange.customer.open_orders())
            if name in ("", listings[order.symbol].market_id)
        ]
        return {"type": "snapshot", "orders": [self._order_row(order) for order in orders[:_FIRST_ORDERS]]}

    def _order_row(self, order: SimulatedOrder) -> Row:
        """Return the order with the fills that this state of it counts: all are booked before any is reported."""
        fills = first_fills(self._exchange.customer.fills_of(order.order_id), order.filled)
        return streamed_order(order, fills, self._exchange.listings[order.symbol])

    def _book_event(self, kind: str, listing: Listing, changes: Sequence[Change]) -> Row:
        time = _BEGINNING if kind == "snapshot" else iso_text(self._exchange.clock.now())
        return {"type": kind, "product_id": listing.market_id, "updates": level_rows(listing, changes, time)}

    def _ticker_event(self, kind: str, listing: Listing) -> Row | None:
        figures = self.figures(listing)
        if figures is None:
            return None
        return {"type": kind, "tickers": [ticker_row(listing, self._exchange.books[listing.market.symbol], figures)]}

    def _publish_event(self, event: SimulatedAccountEvent) -> None:
        """Publish a step of the account's orders; an end that the last fill has reported already is none."""
        if event.kind == "ended" and status_of(event.order) == "FILLED":
            return
        listing = self._exchange.listings[event.order.symbol]
        for key in (_USER, f"{_USER}:{listing.market_id}"):
            for connection in self._subscribers.listeners(key):
                row = self._order_row(event.order)
                self._publish(connection, key, _USER, {"type": "update", "orders": [row]})

    def _send(self, channel: str, listing: Listing, event: Callable[[], Row | None]) -> None:
        """Send an event, which is made only if there are listeners."""
        key = f"{channel}:{listing.market_id}"
        listeners = self._subscribers.listeners(key)
        made = event() if listeners else None
        if made is not None:
            for connection in listeners:
                self._publish(connection, key, channel, made)

    def _publish(self, connection: SubscriberConnection, key: str, channel: str, event: Row) -> None:
        connection.publish(key, self._message(connection, _NAMED.get(channel, channel), event))

    def _message(self, connection: SubscriberConnection, channel: str, event: Row) -> Row:
        """Return the next message of the connection."""
        return {
            "channel": channel,
            "client_id": "",
            "timestamp": iso_text(self._exchange.clock.now()),
            "sequence_num": next(connection.numbers),
            "events": [event],
        }
