"""Binance's market streams over WebSocket: subscribe by name, raw or wrapped with the stream's name."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import orjson

from simulators.binance.binance_feed import BinanceFeed, Message
from simulators.web.exchange_gateway import MarketStep
from simulators.web.subscribers import SubscriberConnection, Subscribers

_KINDS = ("depth", "depth@100ms", "trade", "aggTrade", "ticker", "miniTicker", "bookTicker")
_STEPS_A_MESSAGE = 3
"""Of depth@100ms, at the pace at which simulated exchanges step."""
_WRAPPED = "combined:"
"""Channels of connections that asked for each message's stream beside it."""


class _InvalidError(Exception):
    """Sent to the client as `code` and `msg`."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class BinanceStream:
    """`feeds` by the exchange's own name of the market."""

    def __init__(self, subscribers: Subscribers, feeds: Mapping[str, BinanceFeed]) -> None:
        self._subscribers = subscribers
        self._feeds = feeds
        self._steps = dict.fromkeys(feeds, 0)
        self._best = {name: feed.book_ticker() for name, feed in feeds.items()}

    def publish(self, name: str, step: MarketStep) -> None:
        feed = self._feeds[name]
        for trade in step.trades:
            self._publish_event(f"{name.lower()}@trade", partial(feed.trade, trade))
            self._publish_event(f"{name.lower()}@aggTrade", partial(feed.aggregate_trade, trade))
        self._publish_event(f"{name.lower()}@bookTicker", lambda: self._best_if_new(name))
        self._steps[name] += 1
        # a crossed book, caused only by a fault, is published at once: the next step would correct it
        bid, ask = feed.book.best("buy"), feed.book.best("sell")
        is_crossed = bid is not None and ask is not None and bid >= ask
        if is_crossed or self._steps[name] % _STEPS_A_MESSAGE == 0:
            self._publish_depth(feed, "depth@100ms", "100ms")

    def beat(self) -> None:
        for name, feed in self._feeds.items():
            self._publish_event(f"{name.lower()}@ticker", feed.ticker)
            self._publish_event(f"{name.lower()}@miniTicker", feed.mini_ticker)
            self._publish_depth(feed, "depth", "1000ms")

    def join(self, connection: SubscriberConnection, path: str, streams: str) -> None:
        """What an address itself subscribes to: /ws/<stream>, or /stream?streams=<stream>/<stream>."""
        prefix = _WRAPPED if path == "/stream" else ""
        names = streams.split("/") if path == "/stream" else [path.removeprefix("/ws").strip("/")]
        connection.channels |= {prefix + name for name in names if _is_stream(name)}

    def on_message(self, connection: SubscriberConnection, text: str, is_wrapped: bool) -> None:
        request_id: object = None
        try:
            fields = _fields(text)
            request_id = fields.get("id")
            result = self._answer(connection, fields, _WRAPPED if is_wrapped else "")
        except _InvalidError as error:
            connection.send({"error": {"code": error.code, "msg": str(error)}, "id": request_id})
            return
        connection.send({"result": result, "id": request_id})

    def _answer(self, connection: SubscriberConnection, fields: Mapping[str, Any], prefix: str) -> object:
        method, names = fields.get("method"), fields.get("params", [])
        if method == "LIST_SUBSCRIPTIONS":
            return sorted(channel.removeprefix(_WRAPPED) for channel in connection.channels)
        if method not in ("SUBSCRIBE", "UNSUBSCRIBE"):
            kinds = "`SUBSCRIBE`, `UNSUBSCRIBE`, `LIST_SUBSCRIPTIONS`"
            raise _InvalidError(2, f"Invalid request: unknown variant `{method}`, expected one of {kinds}")
        if not isinstance(names, list) or not all(isinstance(name, str) and _is_stream(name) for name in names):
            raise _InvalidError(2, "Invalid request: invalid stream")
        channels = {prefix + name for name in names}
        connection.channels = (
            connection.channels | channels if method == "SUBSCRIBE" else connection.channels - channels
        )
        return None

    def _best_if_new(self, name: str) -> Message | None:
        best, last = self._feeds[name].book_ticker(), self._best[name]
        if {**best, "u": 0} == {**last, "u": 0}:
            return None
        self._best[name] = best
        return best

    def _publish_depth(self, feed: BinanceFeed, kind: str, speed: str) -> None:
        """Drained even without listeners, so that a new one gets no earlier changes."""
        message = feed.depth_update(speed)
        self._publish_event(f"{feed.listing.market_id.lower()}@{kind}", lambda: message)

    def _publish_event(self, stream: str, make: Callable[[], Message | None]) -> None:
        """The message is built only if there are listeners."""
        wrapped = _WRAPPED + stream
        if not self._subscribers.has(stream) and not self._subscribers.has(wrapped):
            return
        message = make()
        if message is not None:
            self._subscribers.broadcast(stream, message)
            self._subscribers.broadcast(wrapped, {"stream": stream, "data": message})


def _is_stream(name: str) -> bool:
    """An unknown market is accepted and never has messages, as on the real exchange."""
    market, _, kind = name.partition("@")
    return market.isalnum() and market.islower() and kind in _KINDS


def _fields(text: str) -> dict[str, Any]:
    try:
        fields = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise _InvalidError(3, f"Invalid JSON: {error}") from error
    if not isinstance(fields, dict):
        raise _InvalidError(2, "Invalid request: request is not an object")
    return fields
