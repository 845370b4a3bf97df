"""Bybit's public stream of spot: books by depth, trades and tickers, subscribed to by topic."""

import re
from collections.abc import Mapping
from typing import Any

from market.instruments.orders import Side
from simulators.bybit.rows import day_row, streamed_trade
from simulators.matching.engine import MatchingBook
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.book_views import BookView, BookViews, ViewedLevels
from simulators.web.exchange_gateway import MarketStep, json_fields
from simulators.web.request_fields import Row
from simulators.web.streamed_steps import StreamedSteps
from simulators.web.subscribers import SubscriberConnection, Subscribers

DEPTHS = (1, 50, 200, 1_000)
_MOST_TOPICS = 10
"""In one request: docs/v5/ws/connect, Public channel - Args limits."""
_MOST_LETTERS = 21_000
"""Of all topics of a connection: the same."""
_TOPIC = re.compile(r"(?:orderbook\.(1|50|200|1000)|publicTrade|tickers)\.([A-Z0-9]{1,30})")
_WIRE_SIDES: tuple[tuple[str, Side], ...] = (("b", "buy"), ("a", "sell"))


class BybitStream:
    def __init__(self, exchange: SimulatedExchange, subscribers: Subscribers) -> None:
        self._exchange = exchange
        self._subscribers = subscribers
        self.steps = StreamedSteps(exchange)
        self._views: BookViews[tuple[str, int]] = BookViews()

    def publish(self, step: MarketStep) -> None:
        symbol = step.symbol
        self.steps.take(step)
        if step.is_late:
            return
        market_id = self._exchange.listings[symbol].market_id
        for depth in DEPTHS:
            self._publish_book(symbol, depth)
        if step.trades:
            rows = [streamed_trade(trade, market_id) for trade in step.trades]
            self._send(f"publicTrade.{market_id}", {"type": "snapshot", "data": rows})
            self._send(f"tickers.{market_id}", self._day(symbol))

    def beat(self) -> None:
        """Do nothing: the client sends heartbeats and gets answers."""

    def on_message(self, connection: SubscriberConnection, text: str) -> None:
        try:
            fields = json_fields(text)
        except RequestRejectedError:
            connection.send(reply({}, "error:Invalid JSON", connection, is_success=False))
            return
        operation = fields.get("op")
        if operation == "ping":
            connection.send({**reply(fields, "pong", connection), "op": "ping"})
        elif operation not in ("subscribe", "unsubscribe"):
            connection.send(reply(fields, "error:invalid op", connection, is_success=False))
        else:
            self._subscribe(connection, fields, is_start=operation == "subscribe")

    def _subscribe(self, connection: SubscriberConnection, fields: Mapping[str, Any], *, is_start: bool) -> None:
        topics = fields.get("args")
        fault = self._fault(connection, topics)
        if fault is not None or not isinstance(topics, list):
            connection.send(reply(fields, f"error:{fault}", connection, is_success=False))
            return
        connection.send(reply(fields, "subscribe" if is_start else "", connection))
        for topic in topics:
            if not is_start:
                connection.channels.discard(topic)
            elif topic not in connection.channels:
                connection.channels.add(topic)
                self._begin(connection, topic)

    def _fault(self, connection: SubscriberConnection, topics: object) -> str | None:
        """Return why the topics cannot be subscribed to, None if they can."""
        if not isinstance(topics, list) or not topics or not all(isinstance(topic, str) for topic in topics):
            return "args is invalid"
        if len(topics) > _MOST_TOPICS or sum(map(len, {*connection.channels, *topics})) > _MOST_LETTERS:
            return "args size is over the limit"
        for topic in topics:
            found = _TOPIC.fullmatch(topic)
            if found is None:
                return f"handler not found,topic:{topic[:100]}"
            if found[2] not in self._exchange.listings_by_id:
                return f"Invalid symbol :[{topic}]"
        return None

    def _begin(self, connection: SubscriberConnection, topic: str) -> None:
        """Send what a topic begins with: a whole book, or the ticker."""
        kind, *depth, name = topic.split(".")
        symbol = self._exchange.listings_by_id[name].market.symbol
        if kind == "tickers":
            connection.publish(topic, self._stamped(topic, self._day(symbol)))
        elif kind == "orderbook":
            view = self._view(symbol, int(depth[0]))
            connection.publish(topic, self._book_message(topic, "snapshot", view, view.snapshot(self._book(view))))

    def _view(self, symbol: str, depth: int) -> BookView:
        views = self._views.by_key
        if (symbol, depth) not in views:
            views[symbol, depth] = BookView(self._exchange.listings[symbol], depth, self.steps.first_number)
        return views[symbol, depth]

    def _publish_book(self, symbol: str, depth: int) -> None:
        topic = f"orderbook.{depth}.{self._exchange.listings[symbol].market_id}"
        is_read = self._subscribers.has(topic)
        changed = self._views.changes((symbol, depth), self._exchange.books[symbol], is_read=is_read)
        if changed is None:
            return
        view, changes = changed
        view.last_id += 1
        # of one level, whole books are sent
        kind, levels = ("snapshot", view.snapshot(self._book(view))) if depth == 1 else ("delta", changes)
        self._subscribers.broadcast(topic, self._book_message(topic, kind, view, levels))

    def _book(self, view: BookView) -> MatchingBook:
        return self._exchange.books[view.listing.market.symbol]

    def _book_message(self, topic: str, kind: str, view: BookView, levels: ViewedLevels) -> Row:
        rows = {name: [list(level) for level in levels[side]] for name, side in _WIRE_SIDES}
        numbers = {"u": view.last_id, "seq": self.steps.number(view.listing.market.symbol)}
        message = self._stamped(topic, {"type": kind, "data": {"s": view.listing.market_id, **rows, **numbers}})
        return {**message, "cts": message["ts"]}

    def _day(self, symbol: str) -> Row:
        row = day_row(self._exchange.listings[symbol], self.steps.figures(symbol))
        return {"type": "snapshot", "cs": self.steps.number(symbol), "data": row}

    def _send(self, topic: str, message: Row) -> None:
        if self._subscribers.has(topic):
            self._subscribers.broadcast(topic, self._stamped(topic, message))

    def _stamped(self, topic: str, message: Row) -> Row:
        return {"topic": topic, "ts": self._exchange.clock.now() // 1_000, **message}


def reply(
    fields: Mapping[str, Any], text: str, connection: SubscriberConnection, *, is_success: bool = True
) -> dict[str, object]:
    """Return the answer to a request, with its `req_id` and `op` if it has them."""
    request_id = fields.get("req_id")
    return {
        "success": is_success,
        "ret_msg": text,
        "conn_id": f"{id(connection):x}",
        "req_id": "" if request_id is None else str(request_id),
        "op": str(fields.get("op", "")),
    }
