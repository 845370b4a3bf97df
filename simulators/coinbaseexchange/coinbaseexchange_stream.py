"""Coinbase Exchange's WebSocket: level2, ticker, matches, heartbeat, and `user` for the account's own orders."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from simulators.coinbaseexchange.coinbaseexchange_feed import Message, ProductFeed
from simulators.coinbaseexchange.coinbaseexchange_rejections import KEY_REASONS, words_of
from simulators.matching.order_records import RequestRejectedError, SimulatedAccountEvent, SimulatedOrder
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import MarketStep, json_fields
from simulators.web.subscribers import SubscriberConnection, Subscribers

_CHANNELS = ("level2", "level2_batch", "ticker", "matches", "heartbeat", "user")
_SIGNED = ("level2", "user")


class _NotSubscribedError(Exception):
    """Sent to the client as the reason of an `error` message."""


class CoinbaseExchangeStream:
    """`check` verifies the signature in the fields of a subscribe. Raises RequestRejectedError."""

    def __init__(self, exchange: SimulatedExchange, check: Callable[[Mapping[str, Any]], None]) -> None:
        self.subscribers = Subscribers()
        self.feeds = {listing.market_id: ProductFeed(exchange, listing) for listing in exchange.listings.values()}
        self._by_symbol = {feed.listing.market.symbol: feed for feed in self.feeds.values()}
        self._check = check
        exchange.listen(self._publish_event)

    def publish(self, step: MarketStep) -> None:
        feed = self._by_symbol[step.symbol]
        name = feed.listing.market_id
        for trade in step.trades:
            feed.traded(trade)
            self._send(f"matches:{name}", partial(feed.match, trade))
            self._send(f"ticker:{name}", feed.ticker)
        if step.changes:
            feed.advance(len(step.changes))
            for channel in ("level2", "level2_batch"):
                self._send(f"{channel}:{name}", partial(feed.update, step.changes))

    def beat(self) -> None:
        for name, feed in self.feeds.items():
            self._send(f"heartbeat:{name}", feed.heartbeat)

    def rested(self, order: SimulatedOrder) -> None:
        """An order of the account is in the book."""
        feed = self._by_symbol[order.symbol]
        self.subscribers.broadcast(f"user:{feed.listing.market_id}", feed.opened(order))

    def _send(self, channel: str, message: Callable[[], Message | None]) -> None:
        """The message is built only if there are listeners."""
        if self.subscribers.has(channel):
            self.subscribers.broadcast(channel, message())

    def _publish_event(self, event: SimulatedAccountEvent) -> None:
        feed = self._by_symbol[event.order.symbol]
        self.subscribers.broadcast(f"user:{feed.listing.market_id}", feed.step_of(event))

    def on_message(self, connection: SubscriberConnection, text: str) -> None:
        try:
            fields = json_fields(text)
            subscribes = _subscribes(fields)
            wanted = self._wanted(fields, connection, subscribes)
            if subscribes and any(channel in _SIGNED for channel, _ in wanted):
                self._check_signature(fields)
        except RequestRejectedError as error:
            title = "Authentication Failed" if error.reason in KEY_REASONS else "Malformed JSON"
            connection.send({"type": "error", "message": title, "reason": words_of(error)})
            return
        except _NotSubscribedError as error:
            connection.send({"type": "error", "message": "Failed to subscribe", "reason": str(error)})
            return
        names = {f"{channel}:{product}" for channel, product in wanted}
        if subscribes:
            connection.channels.update(names)
        else:
            connection.channels.difference_update(names)
        connection.send({"type": "subscriptions", "channels": _listed(connection)})
        for channel, product in wanted if subscribes else ():
            greeting = self._greeting(channel, self.feeds[product])
            if greeting is not None:
                connection.send(greeting)

    def _wanted(
        self, fields: Mapping[str, Any], connection: SubscriberConnection, subscribes: bool
    ) -> list[tuple[str, str]]:
        """Channels and products; of an unsubscribe without products, all that the connection hears of the channel."""
        wanted = []
        for row in _list_of(fields, "channels"):
            own = row if isinstance(row, dict) else {}
            channel = str(own.get("name", "")) if own else str(row)
            if channel not in _CHANNELS:
                raise _NotSubscribedError(f"{channel} is not a valid channel")
            products = _list_of(own, "product_ids") or _list_of(fields, "product_ids")
            if not products and subscribes:
                raise _NotSubscribedError("No product_ids or channels provided")
            if not products:
                heard = (name.partition(":") for name in connection.channels)
                products = [product for name, _, product in heard if name == channel]
            wanted += [(channel, self._product(name)) for name in products]
        if not wanted and subscribes:
            raise _NotSubscribedError("No product_ids or channels provided")
        return wanted

    def _product(self, name: object) -> str:
        if not isinstance(name, str) or name not in self.feeds:
            raise _NotSubscribedError(f"{name} is not a valid product")
        return name

    def _check_signature(self, fields: Mapping[str, Any]) -> None:
        if not fields.get("signature"):
            raise _NotSubscribedError("level2, level3, and full channels now require authentication.")
        self._check(fields)

    def _greeting(self, channel: str, feed: ProductFeed) -> Message | None:
        """What a channel starts with."""
        if channel in ("level2", "level2_batch"):
            return feed.snapshot()
        if channel == "ticker":
            return feed.ticker()
        return feed.last_match() if channel == "matches" else None


def _subscribes(fields: Mapping[str, Any]) -> bool:
    kind = fields.get("type")
    if kind not in ("subscribe", "unsubscribe"):
        raise _NotSubscribedError("Type has to be either subscribe or unsubscribe")
    return bool(kind == "subscribe")


def _list_of(fields: Mapping[str, Any], name: str) -> list[object]:
    rows = fields.get(name) or []
    if not isinstance(rows, list):
        raise _NotSubscribedError(f"{name} is not a list")
    return rows


def _listed(connection: SubscriberConnection) -> list[dict[str, object]]:
    products: dict[str, list[str]] = {}
    for name in sorted(connection.channels):
        channel, _, product = name.partition(":")
        products.setdefault(channel, []).append(product)
    return [{"name": channel, "product_ids": names} for channel, names in products.items()]
